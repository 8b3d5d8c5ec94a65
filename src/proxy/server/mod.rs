//! The HTTP server of the proxy.

mod api;
mod body;
mod connections;
mod guard;
mod page;
mod respond;
mod signals;
mod stalled;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
    task::JoinHandle,
};

pub use signals::Signals;

use super::{context::Context, recorder::Recorder, settings::Settings};
use crate::endpoint::{self, Client, HttpVersion, ProxyChoice};

/// A server that cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting is invalid.
    #[error("{0}")]
    Settings(String),
    /// The file of replies cannot be opened.
    #[error("cannot record replies in {path:?}: {source}")]
    Record {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The threads cannot be started.
    #[error("cannot start the server: {0}")]
    Threads(#[source] io::Error),
}

/// A running server, with threads of its own. Dropping it stops it at once.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    connections: JoinHandle<()>,
}

/// Time for connections to notice that they are closed, after the grace period.
const ABORT_TIME: Duration = Duration::from_millis(500);

impl Server {
    /// Start a server.
    ///
    /// # Errors
    /// Fails if a setting is invalid or the address cannot be bound.
    pub fn start(settings: Settings) -> Result<Self, StartError> {
        check(&settings)?;
        let client = Client::new(&endpoint::Settings {
            connect_timeout: Duration::from_secs(10),
            proxy: ProxyChoice::Environment,
            roots: None,
            http_version: HttpVersion::Auto,
            follow_redirects: false,
            max_header_bytes: 64 << 10,
        })
        .map_err(|error| StartError::Settings(error.to_string()))?;
        let threads = settings.threads;
        let address = settings.address;
        let recorder = Recorder::open(&settings).map_err(|source| StartError::Record {
            path: settings.record.clone().unwrap_or_default(),
            source,
        })?;
        let context = Context::new(settings, client, recorder).map_err(StartError::Settings)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("toolweave-proxy")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let bind = |source| StartError::Bind { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let (stop, stopped) = watch::channel(false);
        let connections =
            runtime.spawn(connections::accept(listener, Arc::new(context), address, stopped));
        Ok(Self { runtime, address, stop, connections })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Receive Ctrl-C and, as service managers send it, SIGTERM, from now on.
    ///
    /// # Errors
    /// Fails if the process cannot receive signals.
    pub fn signals(&self) -> io::Result<Signals> {
        let _runtime = self.runtime.enter();
        Signals::new()
    }

    /// Wait for a signal. A second one ends the process.
    pub fn wait_for_signal(&self, mut signals: Signals) {
        self.runtime.block_on(signals.next());
        self.runtime.spawn(async move {
            signals.next().await;
            std::process::exit(signals::INTERRUPTED);
        });
    }

    /// Stop the server: accept no more requests, and wait for this long until the responses that
    /// are being written have ended. Return true if all have.
    pub fn stop(self, grace: Duration) -> bool {
        let Self { runtime, stop, connections, .. } = self;
        let _ = stop.send(true);
        let ended =
            runtime.block_on(async { tokio::time::timeout(grace, connections).await.is_ok() });
        runtime.shutdown_timeout(ABORT_TIME);
        ended
    }
}

fn check(settings: &Settings) -> Result<(), StartError> {
    let invalid = |message: String| Err(StartError::Settings(message));
    let upstream = &settings.upstream;
    if !matches!(upstream.scheme(), "http" | "https") || upstream.host().is_none() {
        return invalid("the upstream must be a URL such as http://127.0.0.1:8080/v1".to_owned());
    }
    if settings.threads == 0 {
        return invalid("threads must be at least 1, got 0".to_owned());
    }
    if settings.limits.max_concurrency == 0 {
        return invalid("max_concurrency must be at least 1, got 0".to_owned());
    }
    if let Some(path) = settings.pass.iter().find(|path| !path.starts_with('/')) {
        return invalid(format!("a path to pass on must begin with a slash, got {path:?}"));
    }
    if !settings.address.ip().is_loopback() && settings.api_key.is_none() {
        return invalid(format!(
            "listening on {}, which other machines can reach, requires a key for clients",
            settings.address
        ));
    }
    Ok(())
}
