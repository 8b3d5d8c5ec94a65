//! Signals that end the server.

use std::io;

/// The exit code of a process that a second signal has ended.
pub(super) const INTERRUPTED: i32 = 130;

/// Wait for Ctrl-C or SIGTERM.
#[cfg(unix)]
pub(super) async fn first() -> io::Result<()> {
    use futures_util::future::select;
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    select(std::pin::pin!(interrupt.recv()), std::pin::pin!(terminate.recv())).await;
    Ok(())
}

/// Wait for Ctrl-C.
#[cfg(not(unix))]
pub(super) async fn first() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
