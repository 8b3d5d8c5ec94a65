//! Settings of the proxy.

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use reqwest::Url;

use crate::{message::wire_names, parser::Dialect};

/// Settings of the proxy.
#[derive(Clone)]
pub struct Settings {
    /// The address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// The base URL of the upstream, such as `http://127.0.0.1:8080/v1`.
    pub upstream: Url,
    /// The key for the upstream. The clients' keys are never sent there.
    pub upstream_key: Option<String>,
    /// The key that clients must send, if any.
    pub api_key: Option<String>,
    /// The mode of all models; by default it is chosen for each.
    pub mode: Option<Mode>,
    /// The dialect of all models; by default it is the one that the name of each stands for.
    pub dialect: Option<Dialect>,
    /// Maximum number of times that the model is asked again for the invalid calls of a reply.
    pub retries: u32,
    /// True to stream the arguments of calls as they are written: before they are complete, and
    /// neither validated nor repaired.
    pub stream_arguments: bool,
    /// Further paths that are passed on to the upstream, such as `/v1/embeddings`.
    pub pass: Vec<String>,
    /// Host names, besides addresses and those of the loopback, by which clients may reach the
    /// proxy.
    pub hosts: Vec<String>,
    /// Origins of web pages that may reach the proxy, such as `http://localhost:3000`.
    pub origins: Vec<String>,
    /// Limits on requests and time.
    pub limits: Limits,
    /// The number of threads.
    pub threads: usize,
    /// True to write a line of JSON for each request to standard error.
    pub log: bool,
    /// The file to which replies of the upstream are appended, which are private data.
    pub record: Option<PathBuf>,
}

/// Limits on requests and time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of requests at once.
    pub max_concurrency: usize,
    /// Maximum time for receiving a request, and for a client to read more of its response.
    pub client_timeout: Duration,
    /// Maximum time from a request to the upstream to the first byte of its reply.
    pub first_byte_timeout: Duration,
    /// Maximum time between two bytes of the upstream's reply.
    pub idle_timeout: Duration,
    /// Maximum time for a reply of the upstream.
    pub timeout: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body_bytes: 16 << 20,
            max_concurrency: 256,
            client_timeout: Duration::from_secs(60),
            first_byte_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            timeout: None,
        }
    }
}

wire_names! {
    /// The way in which the upstream is asked for calls.
    Mode {
        /// The prompt describes the tools, and the model writes calls as text.
        Natural = "natural",
        /// The upstream gets the tools, and calls that it has left in the text are recovered.
        Recover = "recover",
    }
}

impl Settings {
    /// Create settings for an upstream: on a free port of the loopback, with default limits.
    pub fn new(upstream: Url) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            upstream,
            upstream_key: None,
            api_key: None,
            mode: None,
            dialect: None,
            retries: 1,
            stream_arguments: false,
            pass: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits::default(),
            threads: 1,
            log: false,
            record: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("address", &self.address)
            .field("upstream", &self.upstream.host_str())
            .field("mode", &self.mode)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
