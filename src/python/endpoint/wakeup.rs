//! Wakeup of an event loop: one socket for all its replies.
//!
//! The loop watches one end. When a reply has events for a waiting reader, its key is queued and a
//! byte is written to the other end, unless a byte is there already. So the loop wakes once for
//! many replies, and Rust threads never wait for the interpreter.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};

use super::process::Owned;
use crate::python::lock;

#[derive(Debug)]
struct Wakeup {
    state: Mutex<State>,
    /// The key of the next notifier.
    next: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// Keys of the replies that have notified, each once.
    notified: VecDeque<u64>,
    /// True if a byte has been written and not been read.
    signalled: bool,
    /// None once closed.
    sockets: Option<Arc<SocketPair>>,
}

impl Wakeup {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The handle with which one reply, or one batch, wakes the loop.
#[derive(Debug)]
pub(super) struct Notifier {
    wakeup: Arc<Wakeup>,
    pub(super) key: u64,
}

impl Notifier {
    /// Wake the loop for this key; to be called once until the key has been read.
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

/// A socket with which requests wake the event loop that watches it.
///
/// Raises:
///     NotImplementedError: The system has no pairs of sockets.
#[pyclass(name = "HttpWakeup", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyHttpWakeup(Owned<Arc<Wakeup>>);

impl PyHttpWakeup {
    /// Return a notifier for one more reply or batch.
    pub(super) fn notifier(&self) -> PyResult<Notifier> {
        let Some(wakeup) = self.0.get() else {
            let message = "the wakeup socket belongs to the parent of this forked process";
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
        let state = State {
            notified: VecDeque::new(),
            signalled: false,
            sockets: Some(Arc::new(SocketPair::new()?)),
        };
        let wakeup = Wakeup { state: Mutex::new(state), next: AtomicU64::new(0) };
        Ok(Self(Owned::new(Arc::new(wakeup))))
    }

    /// Return the file descriptor for the loop to watch, or -1 once closed.
    fn fileno(&self) -> i32 {
        let state = self.0.get().map(|wakeup| wakeup.state());
        state.and_then(|state| state.sockets.clone()).map_or(-1, |sockets| sockets.fileno())
    }

    /// Return the keys of up to `limit` replies that have events.
    ///
    /// If there are more, the socket stays readable.
    fn ready_keys(&self, limit: usize) -> Vec<u64> {
        let Some(wakeup) = self.0.get() else { return Vec::new() };
        let Some(sockets) = wakeup.state().sockets.clone() else { return Vec::new() };
        // Drained first, so that a byte written from now on causes another call.
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

    /// Close the socket. Later wakeups are ignored.
    fn close(&self) {
        if let Some(wakeup) = self.0.get() {
            wakeup.state().sockets = None;
        }
    }
}

/// A socket; other systems than Unix have no pairs of them.
#[cfg(unix)]
type Socket = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
type Socket = std::net::TcpStream;

/// The two ends of a socket.
#[derive(Debug)]
struct SocketPair {
    reader: Socket,
    writer: Socket,
}

impl SocketPair {
    #[cfg(unix)]
    fn new() -> PyResult<Self> {
        let (reader, writer) = Socket::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    #[cfg(not(unix))]
    fn new() -> PyResult<Self> {
        let message = "this system has no pairs of sockets";
        Err(pyo3::exceptions::PyNotImplementedError::new_err(message))
    }

    #[cfg(unix)]
    fn fileno(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.reader)
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "there is no pair to ask")]
    fn fileno(&self) -> i32 {
        -1
    }

    fn signal(&self) {
        // The buffer has room: no second byte is written before the first has been read.
        let _ = std::io::Write::write(&mut &self.writer, &[0]);
    }

    fn drain(&self) {
        let _ = std::io::Read::read(&mut &self.reader, &mut [0]);
    }
}
