//! How a request, or its reply, can fail.

use std::time::Duration;

use thiserror::Error;

/// A request that was not answered, or a reply that broke off.
///
/// No text in it holds a key, or the user or the query of a URL.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// What happened, and how far the reply had come.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// How long the server asks to wait, where it does.
    pub retry_after: Option<Duration>,
    /// Whether asking again may help.
    pub transient: bool,
    /// How many bytes of the reply had come.
    pub received: u64,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The server cannot be reached.
    Connect,
    /// Something took too long.
    Timeout,
    /// The server answered with an error.
    Status,
    /// What the server sent is nothing that it may send.
    Protocol,
    /// What the server sent is larger than it may be.
    TooLarge,
    /// The connection broke off.
    Cut,
}
