//! OpenAI-compatible endpoints: from the socket to events.
//!
//! [`stream_reply`] sends one request and decodes the reply while it arrives: bytes to server-sent
//! events, to chunks, to updates and, if there are tools, to calls that are validated and repaired.
//! The events go to an [`EventSink`], which can apply backpressure. Nothing here depends on Python.
//! A reply that has arrived already is decoded by [`read`], without a socket:
//!
//! ```
//! use bytes::Bytes;
//! use toolweave::endpoint::{BodyFormat, Event, EventSink, Limits, read};
//!
//! struct Text(String);
//!
//! impl EventSink for Text {
//!     fn put(&mut self, event: Event) {
//!         if let Event::Text(text) = event {
//!             self.0 += &text;
//!         }
//!     }
//!
//!     async fn room(&mut self) {}
//! }
//!
//! let body = "data: {\"choices\": [{\"delta\": {\"content\": \"Hello\"}}]}\n\ndata: [DONE]\n\n";
//! let (start, rest) = body.split_at(30);
//! let pieces = [start, rest].map(|piece| Bytes::from_static(piece.as_bytes()));
//! let limits = Limits { line: 1 << 20, body: 1 << 24 };
//! let mut text = Text(String::new());
//! read("a model", BodyFormat::Events, pieces, limits, None, &mut text)?;
//! assert_eq!(text.0, "Hello");
//! # Ok::<(), toolweave::endpoint::Failure>(())
//! ```

mod attempt;
mod chunk;
mod chunk_reader;
mod client;
mod decoder;
mod error_response;
mod event;
mod failure;
mod forward;
mod fragments;
mod http;
mod http_errors;
mod lenient;
#[cfg(test)]
mod notify;
mod peer;
#[cfg(any(test, feature = "python"))]
mod queue;
mod receive;
mod request;
mod retry;
mod secrets;
mod settings;
mod sse;
mod stream;
#[cfg(test)]
mod tests;
mod timer;

#[cfg(feature = "proxy")]
pub(crate) use self::secrets::Secrets;
#[cfg(feature = "python")]
pub(crate) use self::{
    chunk_reader::ChunkReader,
    queue::{Capacity, EventQueue, Wake},
};
pub use self::{
    client::Client,
    decoder::{BodyFormat, read},
    event::{CallParsing, Event, EventSink},
    failure::{Failure, FailureKind, TimeoutKind},
    forward::{ForwardedReply, forward},
    request::{Limits, Request, Retries, Timeouts},
    settings::{ClientError, HttpVersion, ProxyChoice, Settings},
    stream::stream_reply,
};
