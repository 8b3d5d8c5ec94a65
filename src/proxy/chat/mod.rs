//! The chat completions API of `OpenAI`: requests to messages and tools, replies to chunks.
//!
//! Both directions are pure functions. [`read`] checks a request, [`StreamWriter`] and
//! [`DocumentWriter`] write a reply.
//!
//! ```
//! use toolweave::proxy::chat;
//!
//! let body = br#"{"model": "m", "messages": [], "tools": [{"type": "retrieval"}]}"#;
//! let error = chat::read(body.as_slice().into()).unwrap_err();
//! assert_eq!(error.param.as_deref(), Some("tools[0].type"));
//! ```

mod request;
mod tools;
mod writer;

pub use self::{
    request::{ChatBody, read},
    writer::{DocumentWriter, ReplyHead, StreamWriter, error_body},
};
