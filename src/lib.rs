//! Inline tool calls for language models.
//!
//! Models write tool calls inside their text. This crate finds them while the reply streams,
//! validates and repairs their arguments, and writes the structured history as text again. Apart
//! from [`endpoint`] it performs no I/O: functions take and return plain data, and nothing blocks.
//!
//! The modules below form layers. A module may use those above it in this list, never those below;
//! `tests/core/layering.rs` checks this.

// Layer 0: plain data.

// Messages and tool calls, which all other modules use.
pub mod message;

// The name, description, parameters and result of a tool.
pub mod contract;

// The events of a chat, and the state that they produce.
pub mod lifecycle;

// Layer 1: pure functions of text and data.

// JSON Schema validation: compile once, validate many; violations are data.
pub mod validator;

// The size of JSON text, counted before it is parsed.
pub mod meter;

// Repair of invalid JSON, and coercion of values to the declared types.
pub mod repair;

// Contracts as Markdown, for the system prompt.
pub mod prompt;

// Incremental parsing of tool calls in a streamed reply.
pub mod parser;

// Validation and repair of calls.
pub mod calls;

// The structured history as natural text, and back.
pub mod consolidate;

// Reading of one reply: inline calls and native calls.
pub mod reply;

// The tools of a `tools.xml`: reading, checking, lookup, writing.
pub mod registry;

// Selection of a tool by scores from a model.
pub mod selection;

// An index of texts by their words.
pub mod search;

// Layer 2: native I/O.

// Requests to models over HTTP, from the socket to events.
#[cfg(feature = "endpoint")]
pub mod endpoint;

// Layer 3: the Python bindings.

#[cfg(feature = "python")]
mod python;
