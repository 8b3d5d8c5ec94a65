//! Inline tool calls for language models.
//!
//! Models write tool calls inside their text. This crate finds them while the
//! reply streams, checks and mends their arguments, and turns the structured
//! history back into text. It is sans-I/O but for [`endpoint`]: everything is fed and
//! answers with plain data, and nothing waits.
//!
//! The modules below stand in floors. A module may use those above it in this
//! list, never one further down; `tests/core/layering.rs` keeps it so.

// Ground floor: plain data.

// Messages and tool calls: the vocabulary every other module speaks.
pub mod message;

// What a tool is called, does, takes and returns.
pub mod contract;

// What happens in a chat, event by event, and what the events come to.
pub mod lifecycle;

// First floor: pure functions of text and data.

// JSON Schema: compile once, validate many; violations are data.
pub mod validator;

// The size of JSON text, counted before it is parsed.
pub mod meter;

// Broken JSON to JSON, and JSON of the wrong type to JSON that fits.
pub mod repair;

// Contracts as Markdown, for the system prompt.
pub mod prompt;

// Finding tool calls in a reply while it streams.
pub mod parser;

// From a found payload to a call that can be trusted.
pub mod calls;

// The structured history as natural text, and back.
pub mod consolidate;

// Reading one reply: calls in its text, and calls that the provider carries.
pub mod reply;

// The tools of a `tools.xml`: reading, checking, looking up, writing.
pub mod registry;

// Choosing a tool by the scores that a model gives.
pub mod selection;

// Texts by the words in them.
pub mod search;

// Second floor: native I/O.

// Asking a model over HTTP, from the socket to events.
#[cfg(feature = "endpoint")]
pub mod endpoint;

// Top floor: what Python sees.

#[cfg(feature = "python")]
mod python;
