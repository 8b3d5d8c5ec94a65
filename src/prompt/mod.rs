//! Contracts as Markdown, for the system prompt.
