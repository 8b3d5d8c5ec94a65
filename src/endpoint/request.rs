//! Requests, with their timeouts, retries and size limits.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{Method, Url, header::HeaderMap};

/// A request to an endpoint.
#[derive(Clone)]
pub struct Request {
    /// The name of the model, with which failures begin.
    pub name: String,
    /// The HTTP method: POST for a chat completion.
    pub method: Method,
    /// The URL of the endpoint.
    pub url: Url,
    /// The headers, including the key.
    pub headers: HeaderMap,
    /// The body, as JSON.
    pub body: Bytes,
    /// Timeouts of the request.
    pub timeouts: Timeouts,
    /// Retries of the request.
    pub retries: Retries,
    /// Size limits of the response.
    pub limits: Limits,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// Timeouts of a request.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// The time from sending the request to the first byte of the reply.
    pub first_byte: Duration,
    /// The time between two bytes of the reply, while there is room for them.
    pub idle: Duration,
    /// The total time, including all attempts, the delays between them and the pauses of the
    /// reader.
    pub total: Option<Duration>,
}

/// Retries of a request, which happen only before the reply begins.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// Maximum number of retries.
    pub limit: u32,
    /// The delay before the first retry; it doubles for each further one.
    pub initial_delay: Duration,
    /// Maximum delay; a server that asks for a longer one is not retried.
    pub max_delay: Duration,
}

/// Size limits of a response, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The limit for one event of a stream.
    pub line: usize,
    /// The limit for the whole reply.
    pub body: u64,
}
