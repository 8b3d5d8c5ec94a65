//! What is asked, how long it may take, and how large the answer may be.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{Url, header::HeaderMap};

/// One request for a chat completion.
#[derive(Clone)]
pub struct Request {
    /// Whose model it is: so failures begin.
    pub name: String,
    /// Where to send it.
    pub url: Url,
    /// Its headers; the key is among them.
    pub headers: HeaderMap,
    /// Its body, as JSON.
    pub body: Bytes,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// How often it may be sent again.
    pub retries: Retries,
    /// How large the answer may be.
    pub limits: Limits,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From sending it to the first byte of the reply.
    pub first_byte: Duration,
    /// From any byte of the reply to the next, while there is room for it.
    pub idle: Duration,
    /// In all: attempts, the pauses between them, and those of whoever takes the reply included.
    pub total: Option<Duration>,
}

/// How often a request may be sent again where nothing of a reply has come.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// How often.
    pub most: u32,
    /// How long to wait the first time; it doubles from then on.
    pub initial_delay: Duration,
    /// The longest wait, whatever the server asks for.
    pub max_delay: Duration,
}

/// How large an answer may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// One event of a stream.
    pub line: usize,
    /// All of the reply.
    pub body: u64,
}
