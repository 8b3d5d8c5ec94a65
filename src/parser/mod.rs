//! Finding tool calls in a reply while it streams.
