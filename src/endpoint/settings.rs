//! What connections are made with.

use std::{fmt, time::Duration};

use thiserror::Error;

/// What connections are made with.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// How long making one may take.
    pub connect_timeout: Duration,
    /// Through which proxy.
    pub proxy: ProxyChoice,
    /// Certificates to trust besides those of the system, as PEM.
    pub roots: Option<Vec<u8>>,
    /// The version of HTTP.
    pub http_version: HttpVersion,
    /// Whether redirects to the same host are followed.
    pub follow_redirects: bool,
    /// The longest head of an answer, in bytes.
    pub max_header_bytes: u32,
}

/// Through which proxy connections go.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum ProxyChoice {
    /// What the environment says.
    Environment,
    /// None.
    None,
    /// This one.
    Url(String),
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// What the server speaks.
    Auto,
    /// HTTP/1.1 alone.
    One,
    /// HTTP/2 alone.
    Two,
}

/// Settings that no client can be made with.
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
