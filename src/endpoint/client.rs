//! Connection pools, shared by clients with equal settings.

use std::{
    collections::HashMap,
    env,
    ffi::OsString,
    fmt, mem, process,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak},
    thread,
    time::{Duration, Instant},
};

use super::{
    http,
    settings::{ClientError, Settings},
};

/// A connection pool, shared by all clones and by all clients with equal settings.
///
/// A forked process has its own pools.
#[derive(Clone)]
pub struct Client {
    pool: Arc<Pool>,
    settings: Arc<Settings>,
    /// The client that replaces this one in a forked process.
    after_fork: Arc<OnceLock<Client>>,
}

impl Client {
    /// Return the client for these settings, sharing its pool with existing clients.
    ///
    /// # Errors
    /// Fails if the proxy or the certificates are invalid.
    pub fn new(settings: &Settings) -> Result<Self, ClientError> {
        if let Some(client) = lock_pools().as_ref().and_then(|pools| shared(pools, settings)) {
            return Ok(client);
        }
        // Built without holding the lock: reading the system's certificates takes a while.
        let client = Self {
            pool: Arc::new(Pool { http: Some(http::client(settings)?), process: process::id() }),
            settings: Arc::new(settings.clone()),
            after_fork: Arc::default(),
        };
        let Some(mut pools) = lock_pools() else { return Ok(client) };
        if let Some(client) = shared(&pools, settings) {
            return Ok(client);
        }
        pools.retain(|_, entry| entry.pool.strong_count() > 0);
        pools.insert(key(settings), Entry::of(&client));
        Ok(client)
    }

    /// Return the client to use in the current process.
    pub(super) fn in_this_process(&self) -> Result<&Self, ClientError> {
        let mut client = self;
        loop {
            if client.pool.process == process::id() {
                return Ok(client);
            }
            if client.after_fork.get().is_none() {
                // Another thread may have set it first.
                let _ = client.after_fork.set(Self::new(&client.settings)?);
            }
            match client.after_fork.get() {
                Some(after_fork) => client = after_fork,
                None => return Err(ClientError("the client has been closed".to_owned())),
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

/// The connections of a client.
struct Pool {
    /// Always set, except while this is dropped.
    http: Option<reqwest::Client>,
    process: u32,
}

impl Drop for Pool {
    fn drop(&mut self) {
        // A forked child must not close the connections of its parent: they share the sockets.
        if self.process != process::id() {
            mem::forget(self.http.take());
        }
    }
}

/// A client in the registry, kept only while it is in use.
struct Entry {
    pool: Weak<Pool>,
    settings: Arc<Settings>,
    after_fork: Arc<OnceLock<Client>>,
}

impl Entry {
    fn of(client: &Client) -> Self {
        Self {
            pool: Arc::downgrade(&client.pool),
            settings: Arc::clone(&client.settings),
            after_fork: Arc::clone(&client.after_fork),
        }
    }
}

/// The clients of this process and, in a forked process, of its ancestors.
type Pools = HashMap<Key, Entry>;

/// The properties that clients must share to use one pool: the process, the settings, and the
/// environment variables for proxies and certificates.
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

/// Lock the pools. Return `None` if the lock is never released, because a thread of the parent
/// process held it during a fork; nothing is shared then.
fn lock_pools() -> Option<MutexGuard<'static, Pools>> {
    const MAX_WAIT: Duration = Duration::from_millis(100);
    let pools = POOLS.get_or_init(Mutex::default);
    let begin = Instant::now();
    loop {
        match pools.try_lock() {
            Ok(pools) => return Some(pools),
            Err(TryLockError::Poisoned(pools)) => return Some(PoisonError::into_inner(pools)),
            Err(TryLockError::WouldBlock) if begin.elapsed() > MAX_WAIT => return None,
            Err(TryLockError::WouldBlock) => thread::yield_now(),
        }
    }
}

fn shared(pools: &Pools, settings: &Settings) -> Option<Client> {
    let entry = pools.get(&key(settings))?;
    Some(Client {
        pool: entry.pool.upgrade()?,
        settings: Arc::clone(&entry.settings),
        after_fork: Arc::clone(&entry.after_fork),
    })
}
