//! Signals that end the server.

use std::io;

/// The exit code of a process that a second signal has ended.
pub(super) const INTERRUPTED: i32 = 130;

/// Ctrl-C and SIGTERM, which from now on do not end the process by themselves.
#[cfg(unix)]
#[derive(Debug)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Wait for the next signal.
    pub(super) async fn next(&mut self) {
        use futures_util::future::select;

        let Self { interrupt, terminate } = self;
        select(std::pin::pin!(interrupt.recv()), std::pin::pin!(terminate.recv())).await;
    }
}

/// Ctrl-C, which from now on does not end the process by itself.
#[cfg(windows)]
#[derive(Debug)]
pub struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    /// Wait for the next signal.
    pub(super) async fn next(&mut self) {
        self.0.recv().await;
    }
}
