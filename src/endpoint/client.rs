//! Connections, and what they are made with.

use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    fmt, mem, process,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak},
    thread,
    time::{Duration, Instant},
};

use reqwest::{
    Certificate, ClientBuilder, Proxy, Url,
    header::{ACCEPT, HeaderMap, HeaderValue},
    redirect,
};
use thiserror::Error;

/// A pool of connections. Clones share it, and so do clients of the same settings.
///
/// A process that was forked off has pools of its own.
#[derive(Clone)]
pub struct Client {
    pool: Arc<Pool>,
    settings: Arc<Settings>,
    /// The client in the place of this one, in a process that was forked off.
    successor: Arc<OnceLock<Client>>,
}

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
pub struct ClientError(String);

impl Client {
    /// The pool of these settings: a new one without connections if nobody has one.
    ///
    /// # Errors
    /// The proxy or the certificates are none.
    pub fn new(settings: &Settings) -> Result<Self, ClientError> {
        if let Some(client) = registry().as_ref().and_then(|pools| shared(pools, settings)) {
            return Ok(client);
        }
        // Made without the lock: reading the certificates of the system takes a while.
        let client = Self {
            pool: Arc::new(Pool { http: Some(http(settings)?), process: process::id() }),
            settings: Arc::new(settings.clone()),
            successor: Arc::default(),
        };
        let Some(mut pools) = registry() else { return Ok(client) };
        if let Some(client) = shared(&pools, settings) {
            return Ok(client);
        }
        pools.retain(|_, entry| entry.pool.strong_count() > 0);
        pools.insert(key(settings), Entry::of(&client));
        Ok(client)
    }

    /// This client in this process.
    pub(super) fn here(&self) -> Result<&Self, ClientError> {
        let mut client = self;
        loop {
            if client.pool.process == process::id() {
                return Ok(client);
            }
            if client.successor.get().is_none() {
                // Another thread may have been faster.
                let _ = client.successor.set(Self::new(&client.settings)?);
            }
            match client.successor.get() {
                Some(successor) => client = successor,
                None => return Err(ClientError("the client is gone".to_owned())),
            }
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn http(&self) -> Option<&reqwest::Client> {
        self.pool.http.as_ref()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.settings).finish()
    }
}

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

/// The connections.
struct Pool {
    /// Always there, but while this is dropped.
    http: Option<reqwest::Client>,
    process: u32,
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The parent's connections are not a child's to close: both have the same sockets.
        if self.process != process::id() {
            mem::forget(self.http.take());
        }
    }
}

/// A client, as long as somebody has it.
struct Entry {
    pool: Weak<Pool>,
    settings: Arc<Settings>,
    successor: Arc<OnceLock<Client>>,
}

impl Entry {
    fn of(client: &Client) -> Self {
        Self {
            pool: Arc::downgrade(&client.pool),
            settings: Arc::clone(&client.settings),
            successor: Arc::clone(&client.successor),
        }
    }
}

/// The clients of this process and, where it was forked off, of those before it.
type Pools = HashMap<Key, Entry>;

/// What clients that are one have in common: the process, the settings, and what the environment
/// says about proxies and certificates.
type Key = (u32, Settings, [Option<OsString>; ENVIRONMENT.len()]);

const ENVIRONMENT: [&str; 11] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "REQUEST_METHOD",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

fn key(settings: &Settings) -> Key {
    (process::id(), settings.clone(), ENVIRONMENT.map(env::var_os))
}

static POOLS: OnceLock<Mutex<Pools>> = OnceLock::new();

/// The clients, or nothing where the lock stays taken: by a thread of the process that this one
/// was forked off from. Then nothing is shared.
fn registry() -> Option<MutexGuard<'static, Pools>> {
    const LONGEST_WAIT: Duration = Duration::from_millis(100);
    let pools = POOLS.get_or_init(Mutex::default);
    let begin = Instant::now();
    loop {
        match pools.try_lock() {
            Ok(pools) => return Some(pools),
            Err(TryLockError::Poisoned(pools)) => return Some(PoisonError::into_inner(pools)),
            Err(TryLockError::WouldBlock) if begin.elapsed() > LONGEST_WAIT => return None,
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}

fn shared(pools: &Pools, settings: &Settings) -> Option<Client> {
    let entry = pools.get(&key(settings))?;
    Some(Client {
        pool: entry.pool.upgrade()?,
        settings: Arc::clone(&entry.settings),
        successor: Arc::clone(&entry.successor),
    })
}

/// How many headers an answer may have.
const MAX_HEADERS: usize = 128;

const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// How much of one reply may be on its way over HTTP/2, and of all that share a connection:
/// replies that nobody reads hold up none of the others.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 64 << 20;

fn http(settings: &Settings) -> Result<reqwest::Client, ClientError> {
    // Fails where a provider is there already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let roots = roots(settings)?;
    let proxy = proxy(settings)?;
    let client = builder(settings, proxy.clone()).tls_certs_merge(roots.clone()).build();
    // A system may have no certificates at all, and the server not need any.
    client.or_else(|_| builder(settings, proxy).tls_certs_only(roots).build()).map_err(|err| {
        ClientError(format!("there is no HTTP client with these settings: {}", err.without_url()))
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
    // The errors of the library repeat the URL, and with it the password.
    let refused = |why: &str| {
        ClientError(format!("the proxy {why}; it is given as in http://user:password@host:port"))
    };
    let url = Url::parse(url).map_err(|err| refused(&format!("is no URL ({err})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("is of another kind than http and https"));
    }
    Proxy::all(url).map(Some).map_err(|_| refused("is none that can be used"))
}

fn roots(settings: &Settings) -> Result<Vec<Certificate>, ClientError> {
    let Some(pem) = &settings.roots else { return Ok(Vec::new()) };
    let refused = |why: &str| {
        ClientError(format!(
            "the roots {why}; they are given as PEM, with -----BEGIN CERTIFICATE----- lines"
        ))
    };
    let roots = Certificate::from_pem_bundle(pem)
        .map_err(|err| refused(&format!("cannot be read ({})", err.without_url())))?;
    if roots.is_empty() { Err(refused("hold no certificate")) } else { Ok(roots) }
}
