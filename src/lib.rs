//! Inline tool calls for language models.
//!
//! Models write tool calls inside their text. This crate finds them while the
//! reply streams, checks and mends their arguments, and turns the structured
//! history back into text. It is sans-I/O: everything here is fed and answers
//! with plain data, and nothing waits.
//!
//! The modules below stand in floors. A module may use those above it in this
//! list, never one further down; `tests/core/layering.rs` keeps it so.

// Ground floor: plain data.
pub mod contract;
pub mod message;

// First floor: pure functions of text and data.
pub mod calls;
pub mod consolidate;
pub mod parser;
pub mod prompt;
pub mod repair;
pub mod validator;

// Top floor: what Python sees.
#[cfg(feature = "python")]
mod python;
