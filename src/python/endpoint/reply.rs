//! One streamed reply.

use std::sync::Arc;

use pyo3::{PyTraverseError, PyVisit, exceptions::PyRuntimeError, prelude::*};
use tokio::task::AbortHandle;

use super::{
    objects::ObjectBuilder,
    process::Owned,
    runtime::{awaitable, has_ended},
};
use crate::endpoint::{Event, EventQueue, Failure};

/// A request that has been sent, with its reply. Dropping it aborts the request.
///
/// It cannot be used in a fork of its process.
// Not frozen: PyO3 refuses a second borrow with an error, where a lock would wait for a thread
// that waits for the interpreter.
#[pyclass(name = "HttpReply", module = "toolweave._core")]
#[derive(Debug)]
pub(crate) struct PyHttpReply {
    request: Owned<RequestTask>,
    objects: ObjectBuilder,
    /// The key under which the wakeup socket reports the reply.
    #[pyo3(get)]
    key: u64,
    /// True if all events have been taken.
    exhausted: bool,
    failure: Option<Failure>,
    /// The finish reason of the server, if it is unknown and all events have been taken.
    #[pyo3(get)]
    unknown_reason: Option<String>,
}

/// The task of a request, and the queue that it fills.
#[derive(Debug)]
pub(super) struct RequestTask {
    pub(super) queue: Arc<EventQueue>,
    pub(super) task: AbortHandle,
}

/// A failure as Python gets it.
pub(super) type FailureTuple<'a> = (&'a str, Option<u16>, Option<f64>, bool, Option<&'a str>);

/// Return the message, the HTTP status, the seconds to wait, whether a retry may help, and the
/// parameter that the server rejects.
pub(super) fn failure_tuple(failure: &Failure) -> FailureTuple<'_> {
    let wait = failure.retry_after.map(|wait| wait.as_secs_f64());
    (&failure.message, failure.status, wait, failure.transient, failure.param.as_deref())
}

impl Drop for PyHttpReply {
    fn drop(&mut self) {
        self.close();
    }
}

impl PyHttpReply {
    pub(super) fn new(request: RequestTask, objects: ObjectBuilder, key: u64) -> Self {
        Self {
            request: Owned::new(request),
            objects,
            key,
            exhausted: false,
            failure: None,
            unknown_reason: None,
        }
    }

    fn request(&self) -> PyResult<&RequestTask> {
        self.request.get().ok_or_else(|| {
            let message = "the reply belongs to the parent of this forked process";
            PyRuntimeError::new_err(message)
        })
    }
}

#[pymethods]
impl PyHttpReply {
    /// Return the events that have arrived, at most `limit`; None after the last one.
    ///
    /// If none has arrived yet, the wakeup socket is signalled for the next one.
    ///
    /// Raises:
    ///     RuntimeError: The reply belongs to the parent of this forked process.
    fn take<'py>(&mut self, py: Python<'py>, limit: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let queue = &self.request()?.queue;
        if self.exhausted {
            return Ok(None);
        }
        let found = queue.take(limit);
        if let Some(Event::Finish { unknown, .. }) = found.events.last() {
            self.unknown_reason.clone_from(unknown);
        }
        if let Some(end) = found.end {
            self.exhausted = true;
            self.failure = end.err();
            if found.events.is_empty() {
                return Ok(None);
            }
        }
        self.objects.convert(py, found.events).map(Some)
    }

    /// The failure of the reply, if it failed, once all events have been taken.
    ///
    /// A tuple of the message, the HTTP status, the seconds to wait, True if a retry may help, and
    /// the parameter that the server rejects.
    #[getter]
    fn failure(&self) -> Option<FailureTuple<'_>> {
        self.failure.as_ref().map(failure_tuple)
    }

    /// Return an awaitable that completes when events can be taken.
    ///
    /// For replies without a wakeup socket.
    ///
    /// Args:
    ///     event_loop: The loop that creates the future and is called when it completes.
    fn ready<'py>(&self, event_loop: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let queue = Arc::clone(&self.request()?.queue);
        if has_ended() {
            // Only daemon threads are left to read; they must not see an error.
            return event_loop.call_method0("create_future");
        }
        awaitable(event_loop, async move { queue.ready().await })
    }

    /// Close the connection at once, unless all of the reply has been read.
    fn close(&mut self) {
        if !std::mem::replace(&mut self.exhausted, true)
            && let Some(request) = self.request.get()
        {
            request.task.abort();
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.objects.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.objects.clear();
    }
}
