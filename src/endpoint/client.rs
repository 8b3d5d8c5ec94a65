//! Connections, and what they are made with.

use std::time::Duration;

use thiserror::Error;

/// A pool of connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) http: reqwest::Client,
}

/// What connections are made with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

impl Client {
    /// Makes a pool without connections.
    pub fn new(settings: &Settings) -> Result<Self, ClientError> {
        // Fails where a provider is there already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(settings.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .build()
            .map_err(|err| ClientError(err.to_string()))?;
        Ok(Self { http })
    }
}
