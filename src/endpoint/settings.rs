//! Settings of a client.

use std::{fmt, time::Duration};

use thiserror::Error;

/// Settings of a client.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Maximum time for establishing a connection.
    pub connect_timeout: Duration,
    /// The proxy to use.
    pub proxy: ProxyChoice,
    /// Certificates to trust in addition to the system's, as PEM.
    pub roots: Option<Vec<u8>>,
    /// The HTTP version to use.
    pub http_version: HttpVersion,
    /// True to follow redirects to the same host.
    pub follow_redirects: bool,
    /// Maximum size of the response headers, in bytes.
    pub max_header_bytes: u32,
}

/// The proxy that connections use.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ProxyChoice {
    /// The proxy from the environment variables.
    Environment,
    /// No proxy.
    None,
    /// The proxy at this URL.
    Url(String),
}

/// The HTTP version that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// The version that the server negotiates.
    Auto,
    /// HTTP/1.1 only.
    One,
    /// HTTP/2 only.
    Two,
}

/// The error for settings that no client can be created with.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ClientError(pub(super) String);

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("connect_timeout", &self.connect_timeout)
            .field("proxy", &self.proxy)
            .field("roots", &self.roots.as_ref().map(Vec::len))
            .field("http_version", &self.http_version)
            .field("follow_redirects", &self.follow_redirects)
            .field("max_header_bytes", &self.max_header_bytes)
            .finish()
    }
}

impl fmt::Debug for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("Environment"),
            Self::None => f.write_str("None"),
            // It may hold a password.
            Self::Url(_) => f.write_str("Url"),
        }
    }
}
