//! Construction of the HTTP client.

use std::time::Duration;

use reqwest::{
    Certificate, ClientBuilder, Proxy, Url,
    header::{ACCEPT, HeaderMap, HeaderValue},
    redirect,
};

use super::settings::{ClientError, HttpVersion, ProxyChoice, Settings};

/// Maximum number of response headers.
const MAX_HEADERS: usize = 128;

const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// HTTP/2 flow control windows, per stream and per connection: a reply that is not read does not
/// hold up the others.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Create a client without connections.
pub(super) fn client(settings: &Settings) -> Result<reqwest::Client, ClientError> {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let roots = roots(settings)?;
    let proxy = proxy(settings)?;
    let client = builder(settings, proxy.clone()).tls_certs_merge(roots.clone()).build();
    // A system may have no certificates at all, and the server may not need any.
    client.or_else(|_| builder(settings, proxy).tls_certs_only(roots).build()).map_err(|err| {
        ClientError(format!(
            "cannot create an HTTP client with these settings: {}",
            err.without_url()
        ))
    })
}

fn builder(settings: &Settings, proxy: Option<Proxy>) -> ClientBuilder {
    let accept = HeaderValue::from_static("text/event-stream, application/json");
    let builder = reqwest::Client::builder()
        .user_agent(concat!("toolweave/", env!("CARGO_PKG_VERSION")))
        .default_headers(HeaderMap::from_iter([(ACCEPT, accept)]))
        .connect_timeout(settings.connect_timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .redirect(redirect::Policy::none())
        .referer(false)
        .tcp_nodelay(true)
        .http1_max_headers(MAX_HEADERS)
        .http2_max_header_list_size(settings.max_header_bytes)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    let builder = match settings.http_version {
        HttpVersion::Auto => builder,
        HttpVersion::One => builder.http1_only(),
        HttpVersion::Two => builder.http2_prior_knowledge(),
    };
    match (&settings.proxy, proxy) {
        (_, Some(proxy)) => builder.no_proxy().proxy(proxy),
        (ProxyChoice::Environment, None) => builder,
        (_, None) => builder.no_proxy(),
    }
}

fn proxy(settings: &Settings) -> Result<Option<Proxy>, ClientError> {
    let ProxyChoice::Url(url) = &settings.proxy else { return Ok(None) };
    // The library's errors repeat the URL, and with it the password.
    let invalid = |why: &str| {
        ClientError(format!(
            "the proxy {why}; it must be a URL such as http://user:password@host:port"
        ))
    };
    let url = Url::parse(url).map_err(|err| invalid(&format!("is not a URL ({err})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("has a scheme other than http and https"));
    }
    Proxy::all(url).map(Some).map_err(|_| invalid("is invalid"))
}

fn roots(settings: &Settings) -> Result<Vec<Certificate>, ClientError> {
    let Some(pem) = &settings.roots else { return Ok(Vec::new()) };
    let invalid = |why: &str| {
        ClientError(format!(
            "the roots {why}; they must be PEM, with -----BEGIN CERTIFICATE----- lines"
        ))
    };
    let roots = Certificate::from_pem_bundle(pem)
        .map_err(|err| invalid(&format!("cannot be read ({})", err.without_url())))?;
    if roots.is_empty() { Err(invalid("hold no certificate")) } else { Ok(roots) }
}
