//! OpenAI-compatible endpoints: from the socket to events.
//!
//! [`ask`] sends one request and reads the reply while it comes: bytes to server-sent events, to
//! chunks, to updates and, where there are tools to read calls of, to calls that are validated and
//! mended. What is read goes to an [`Outlet`], which says when it has had enough. Nothing here
//! knows of Python.

mod answer;
mod ask;
mod chunk;
mod client;
mod clock;
mod decoder;
mod event;
mod exchange;
mod failure;
mod fragments;
mod lenient;
mod peer;
mod reception;
mod refusal;
mod request;
mod retry;
mod sse;
#[cfg(test)]
mod tests;
mod trouble;

pub use self::{
    ask::ask,
    client::{Client, ClientError, HttpVersion, ProxyChoice, Settings},
    decoder::{Form, read},
    event::{Event, Outlet, Reading},
    failure::{Failure, FailureKind, Wait},
    request::{Limits, Request, Retries, Timeouts},
};
