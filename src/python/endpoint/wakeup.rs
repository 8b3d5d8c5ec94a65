//! How an event loop hears that something has come: one socket for all its replies.
//!
//! The loop watches one end. A request that has something for somebody who waits notes that, and
//! puts a byte into the other end unless one is on its way already. So the loop wakes once for many
//! replies, and no thread of Rust's ever waits for the interpreter.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};

use super::process::Owned;

#[derive(Debug)]
struct Wakeup {
    state: Mutex<State>,
    /// The number of the next rope.
    next: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The ropes that have been pulled, each once.
    notified: VecDeque<u64>,
    /// Whether a byte is on its way.
    signalled: bool,
    /// None once the bell is closed.
    sockets: Option<Arc<SocketPair>>,
}

impl Wakeup {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one reply rings the bell with.
#[derive(Debug)]
pub(super) struct Notifier {
    wakeup: Arc<Wakeup>,
    pub(super) key: u64,
}

impl Notifier {
    /// Says that there is something. Not again before that has been heard.
    pub(super) fn notify(&self) {
        let to_signal = {
            let mut state = self.wakeup.state();
            state.notified.push_back(self.key);
            if std::mem::replace(&mut state.signalled, true) { None } else { state.sockets.clone() }
        };
        // Not under the lock, which the loop takes as soon as it wakes.
        if let Some(sockets) = to_signal {
            sockets.signal();
        }
    }
}

/// The bell of one event loop.
#[pyclass(name = "HttpWakeup", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyHttpWakeup(Owned<Arc<Wakeup>>);

impl PyHttpWakeup {
    /// A rope for one more reply.
    pub(super) fn notifier(&self) -> PyResult<Notifier> {
        let Some(wakeup) = self.0.get() else {
            let message = "this bell belongs to the process that this one was forked from";
            return Err(PyRuntimeError::new_err(message));
        };
        let key = wakeup.next.fetch_add(1, Ordering::Relaxed);
        Ok(Notifier { wakeup: Arc::clone(wakeup), key })
    }
}

#[pymethods]
impl PyHttpWakeup {
    #[new]
    fn new() -> PyResult<Self> {
        let state =
            State { notified: VecDeque::new(), signalled: false, sockets: Some(Arc::new(SocketPair::new()?)) };
        let wakeup = Wakeup { state: Mutex::new(state), next: AtomicU64::new(0) };
        Ok(Self(Owned::new(Arc::new(wakeup))))
    }

    /// What the loop watches; -1 once the bell is closed.
    fn fileno(&self) -> i32 {
        let state = self.0.get().map(|wakeup| wakeup.state());
        state.and_then(|state| state.sockets.clone()).map_or(-1, |sockets| sockets.fileno())
    }

    /// The keys of replies that have something. While there are more, the bell goes on ringing.
    fn ready_keys(&self, limit: usize) -> Vec<u64> {
        let Some(wakeup) = self.0.get() else { return Vec::new() };
        let Some(sockets) = wakeup.state().sockets.clone() else { return Vec::new() };
        // First, so that each byte leads to a look that comes after it was sent.
        sockets.drain();
        let (keys, more) = {
            let mut state = wakeup.state();
            let many = state.notified.len().min(limit);
            let keys = state.notified.drain(..many).collect();
            state.signalled = !state.notified.is_empty();
            (keys, state.signalled)
        };
        if more {
            sockets.signal();
        }
        keys
    }

    /// Closes the socket.
    fn close(&self) {
        if let Some(wakeup) = self.0.get() {
            wakeup.state().sockets = None;
        }
    }
}

/// The two ends of a socket.
#[cfg(unix)]
#[derive(Debug)]
struct SocketPair {
    reader: std::os::unix::net::UnixStream,
    writer: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl SocketPair {
    fn new() -> PyResult<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    fn fileno(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.reader)
    }

    fn signal(&self) {
        // There is room for it: no second byte is sent before the first has been read.
        let _ = std::io::Write::write(&mut &self.writer, &[0]);
    }

    fn drain(&self) {
        let _ = std::io::Read::read(&mut &self.reader, &mut [0]);
    }
}

/// Nothing that a loop could watch.
#[cfg(not(unix))]
#[derive(Debug)]
enum SocketPair {}

#[cfg(not(unix))]
impl SocketPair {
    fn new() -> PyResult<Self> {
        let message = "there are no pairs of sockets on this system";
        Err(pyo3::exceptions::PyNotImplementedError::new_err(message))
    }

    fn fileno(&self) -> i32 {
        match *self {}
    }

    fn signal(&self) {
        match *self {}
    }

    fn drain(&self) {
        match *self {}
    }
}
