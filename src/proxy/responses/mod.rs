//! The responses API of `OpenAI`, as agents use it: input items, function tools, streaming events.
//!
//! [`read`] converts a request to one for chat completions, [`StreamWriter`] and
//! [`DocumentWriter`] write a reply. All are pure functions of their input. The server keeps no
//! state: a request that refers to a stored response is refused.

mod input;
mod output;
mod request;
mod stream;

pub use self::{output::DocumentWriter, request::read, stream::StreamWriter};
