//! The messages API of Anthropic: requests to messages and tools, replies to content blocks.
//!
//! [`read`] converts a request to one for chat completions, [`StreamWriter`] and
//! [`DocumentWriter`] write a reply. All are pure functions of their input.

mod document;
mod request;
mod stream;
mod tools;

pub use self::{
    document::{DocumentWriter, error_body},
    request::read,
    stream::StreamWriter,
};
