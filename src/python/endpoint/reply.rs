//! One reply on its way.

use std::sync::Arc;

use pyo3::{PyTraverseError, PyVisit, exceptions::PyRuntimeError, prelude::*};
use pyo3_async_runtimes::{TaskLocals, generic::future_into_py_with_locals};
use tokio::task::AbortHandle;

use super::{
    objects::ObjectBuilder,
    process::Owned,
    runtime::{ToolweaveRuntime, handle, has_ended},
};
use crate::endpoint::{Failure, EventQueue};

/// A request that has been sent, and what comes of it.
// Not frozen: PyO3 refuses a second borrow with an error where a lock would wait for a thread
// that waits for the interpreter.
#[pyclass(name = "HttpReply", module = "toolweave._core")]
#[derive(Debug)]
pub(crate) struct PyHttpReply {
    request: Owned<RequestTask>,
    objects: ObjectBuilder,
    /// Which of the bell's replies this is.
    #[pyo3(get)]
    key: u64,
    /// Whether there is nothing more to take.
    exhausted: bool,
    failure: Option<Failure>,
}

/// A request at work.
#[derive(Debug)]
pub(super) struct RequestTask {
    pub(super) queue: Arc<EventQueue>,
    pub(super) task: AbortHandle,
}

/// A failure as Python is told of it.
pub(super) type FailureTuple<'a> = (&'a str, Option<u16>, Option<f64>, bool, Option<&'a str>);

/// A sentence, the status, the seconds to wait, whether asking again may help, and the parameter
/// that the server does not like.
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
        Self { request: Owned::new(request), objects, key, exhausted: false, failure: None }
    }

    fn request(&self) -> PyResult<&RequestTask> {
        self.request.get().ok_or_else(|| {
            let message = "this reply belongs to the process that this one was forked from";
            PyRuntimeError::new_err(message)
        })
    }
}

#[pymethods]
impl PyHttpReply {
    /// What has come, at most `limit` events; None after the last of them.
    fn take<'py>(&mut self, py: Python<'py>, limit: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let queue = &self.request()?.queue;
        if self.exhausted {
            return Ok(None);
        }
        let found = queue.take(limit);
        if let Some(end) = found.end {
            self.exhausted = true;
            self.failure = end.err();
            if found.events.is_empty() {
                return Ok(None);
            }
        }
        self.objects.convert(py, found.events).map(Some)
    }

    /// How the reply failed, if it did: a sentence, the status, the seconds to wait, and whether
    /// asking again may help; and the parameter that the server does not like.
    #[getter]
    fn failure(&self) -> Option<FailureTuple<'_>> {
        self.failure.as_ref().map(failure_tuple)
    }

    /// An awaitable of a loop that cannot watch a bell: there is something to take.
    fn ready<'py>(
        &self,
        py: Python<'py>,
        event_loop: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let queue = Arc::clone(&self.request()?.queue);
        if has_ended() {
            // Only daemons are left to read, and they are to stay silent.
            return event_loop.call_method0("create_future");
        }
        let runtime = handle(py)?;
        let _entered = runtime.enter();
        let locals = TaskLocals::new(event_loop);
        future_into_py_with_locals::<ToolweaveRuntime, _, _>(py, locals, async move {
            queue.ready().await;
            Ok(())
        })
    }

    /// Lets go of the request: its connection is closed at once if the reply is not over.
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
