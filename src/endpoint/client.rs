//! Connections, and who shares them.

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

/// A pool of connections. Clones share it, and so do clients of the same settings.
///
/// A process that was forked off has pools of its own.
#[derive(Clone)]
pub struct Client {
    pool: Arc<Pool>,
    settings: Arc<Settings>,
    /// The client in the place of this one, in a process that was forked off.
    after_fork: Arc<OnceLock<Client>>,
}

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
            pool: Arc::new(Pool { http: Some(http::client(settings)?), process: process::id() }),
            settings: Arc::new(settings.clone()),
            after_fork: Arc::default(),
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
    pub(super) fn in_this_process(&self) -> Result<&Self, ClientError> {
        let mut client = self;
        loop {
            if client.pool.process == process::id() {
                return Ok(client);
            }
            if client.after_fork.get().is_none() {
                // Another thread may have been faster.
                let _ = client.after_fork.set(Self::new(&client.settings)?);
            }
            match client.after_fork.get() {
                Some(after_fork) => client = after_fork,
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
