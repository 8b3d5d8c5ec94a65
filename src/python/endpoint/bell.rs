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
struct Bell {
    waiting: Mutex<Waiting>,
    /// The number of the next rope.
    next: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    /// The ropes that have been pulled, each once.
    pulled: VecDeque<u64>,
    /// Whether a byte is on its way.
    rung: bool,
    /// None once the bell is closed.
    ends: Option<Arc<Ends>>,
}

impl Bell {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one reply rings the bell with.
#[derive(Debug)]
pub(super) struct Rope {
    bell: Arc<Bell>,
    pub(super) key: u64,
}

impl Rope {
    /// Says that there is something. Not again before that has been heard.
    pub(super) fn pull(&self) {
        let quiet = {
            let mut waiting = self.bell.waiting();
            waiting.pulled.push_back(self.key);
            if std::mem::replace(&mut waiting.rung, true) { None } else { waiting.ends.clone() }
        };
        // Not under the lock, which the loop takes as soon as it wakes.
        if let Some(ends) = quiet {
            ends.ring();
        }
    }
}

/// The bell of one event loop.
#[pyclass(name = "HttpWakeup", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyHttpWakeup(Owned<Arc<Bell>>);

impl PyHttpWakeup {
    /// A rope for one more reply.
    pub(super) fn rope(&self) -> PyResult<Rope> {
        let Some(bell) = self.0.get() else {
            let message = "this bell belongs to the process that this one was forked from";
            return Err(PyRuntimeError::new_err(message));
        };
        let key = bell.next.fetch_add(1, Ordering::Relaxed);
        Ok(Rope { bell: Arc::clone(bell), key })
    }
}

#[pymethods]
impl PyHttpWakeup {
    #[new]
    fn new() -> PyResult<Self> {
        let waiting =
            Waiting { pulled: VecDeque::new(), rung: false, ends: Some(Arc::new(Ends::new()?)) };
        let bell = Bell { waiting: Mutex::new(waiting), next: AtomicU64::new(0) };
        Ok(Self(Owned::new(Arc::new(bell))))
    }

    /// What the loop watches; -1 once the bell is closed.
    fn fileno(&self) -> i32 {
        let waiting = self.0.get().map(|bell| bell.waiting());
        waiting.and_then(|waiting| waiting.ends.clone()).map_or(-1, |ends| ends.fileno())
    }

    /// The keys of replies that have something. While there are more, the bell goes on ringing.
    fn heard(&self, most: usize) -> Vec<u64> {
        let Some(bell) = self.0.get() else { return Vec::new() };
        let Some(ends) = bell.waiting().ends.clone() else { return Vec::new() };
        // First, so that each byte leads to a look that comes after it was sent.
        ends.hush();
        let (keys, more) = {
            let mut waiting = bell.waiting();
            let many = waiting.pulled.len().min(most);
            let keys = waiting.pulled.drain(..many).collect();
            waiting.rung = !waiting.pulled.is_empty();
            (keys, waiting.rung)
        };
        if more {
            ends.ring();
        }
        keys
    }

    /// Closes the socket.
    fn close(&self) {
        if let Some(bell) = self.0.get() {
            bell.waiting().ends = None;
        }
    }
}

/// The two ends of a socket.
#[cfg(unix)]
#[derive(Debug)]
struct Ends {
    reader: std::os::unix::net::UnixStream,
    writer: std::os::unix::net::UnixStream,
}

#[cfg(unix)]
impl Ends {
    fn new() -> PyResult<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    fn fileno(&self) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(&self.reader)
    }

    fn ring(&self) {
        // There is room for it: no second byte is sent before the first has been read.
        let _ = std::io::Write::write(&mut &self.writer, &[0]);
    }

    fn hush(&self) {
        let _ = std::io::Read::read(&mut &self.reader, &mut [0]);
    }
}

/// Nothing that a loop could watch.
#[cfg(not(unix))]
#[derive(Debug)]
enum Ends {}

#[cfg(not(unix))]
impl Ends {
    fn new() -> PyResult<Self> {
        let message = "there are no pairs of sockets on this system";
        Err(pyo3::exceptions::PyNotImplementedError::new_err(message))
    }

    fn fileno(&self) -> i32 {
        match *self {}
    }

    fn ring(&self) {
        match *self {}
    }

    fn hush(&self) {
        match *self {}
    }
}
