//! The structured history as natural text, and back.
