//! The Tokio runtime for requests: one thread, from the first request to interpreter shutdown.
//!
//! The runtime of `pyo3-async-runtimes` survives neither a fork nor the end of the interpreter.
//! This one is started anew in a fork, and is shut down before the interpreter finalizes.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};
use pyo3_async_runtimes::{
    TaskLocals,
    generic::{ContextExt, JoinError, Runtime as AnyRuntime, future_into_py_with_locals},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

use super::process::Owned;
use crate::python::lock;

/// Longest time that interpreter shutdown waits for the runtime. Only a name lookup, which cannot
/// be interrupted, takes that long.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Number of threads for name lookups and for completing Python awaitables.
const BLOCKING_THREADS: usize = 8;

/// Time after which an idle blocking thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_millis(100);

// Locked only while the interpreter is held, so that no fork can find it locked.
static RUNNING: Mutex<Option<Owned<Runtime>>> = Mutex::new(None);

// A fork of a process that is shutting down is shutting down as well.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Return a handle to the runtime of this process, which is started if necessary.
pub(super) fn handle(py: Python<'_>) -> PyResult<Handle> {
    if has_ended() {
        let message = "cannot send a request: Python is shutting down";
        return Err(PyRuntimeError::new_err(message));
    }
    let handle = {
        let mut running = lock(&RUNNING);
        if let Some(runtime) = running.as_ref().and_then(Owned::get) {
            return Ok(runtime.handle().clone());
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_keep_alive(IDLE_TIMEOUT)
            .thread_name("toolweave")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        *running = Some(Owned::new(runtime));
        handle
    };
    register_shutdown(py)?;
    Ok(handle)
}

/// Register [`end`] with `atexit`; forks inherit the registration.
fn register_shutdown(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        let end = pyo3::wrap_pyfunction!(end, py)?;
        py.import("atexit")?.call_method1("register", (end,))?;
    }
    Ok(())
}

/// Return true if the interpreter is shutting down.
pub(super) fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Shut the runtime down for good: drop its tasks and close every connection.
#[pyfunction(name = "_end_requests")]
fn end(py: Python<'_>) {
    ENDED.store(true, Ordering::Relaxed);
    let call_end = lock(&RUNNING).take();
    if let Some(runtime) = call_end.and_then(Owned::into_inner) {
        py.detach(|| runtime.shutdown_timeout(SHUTDOWN_TIMEOUT));
    }
}

/// Return an awaitable of an event loop that completes when `done` does.
pub(super) fn awaitable(
    event_loop: Bound<'_, PyAny>,
    done: impl Future<Output = ()> + Send + 'static,
) -> PyResult<Bound<'_, PyAny>> {
    let py = event_loop.py();
    let runtime = handle(py)?;
    let _entered = runtime.enter();
    let locals = TaskLocals::new(event_loop);
    future_into_py_with_locals::<ToolweaveRuntime, _, _>(py, locals, async {
        done.await;
        Ok(())
    })
}

/// The runtime as `pyo3-async-runtimes` sees it. Callers of that crate must have entered it.
struct ToolweaveRuntime;

/// A panic or cancellation that ended a task.
#[derive(Debug)]
struct TaskError(tokio::task::JoinError);

impl JoinError for TaskError {
    fn is_panic(&self) -> bool {
        self.0.is_panic()
    }

    fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        self.0.into_panic()
    }
}

/// A handle that completes when its task has ended.
struct Join(JoinHandle<()>);

impl Future for Join {
    type Output = Result<(), TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_err(TaskError)
    }
}

impl AnyRuntime for ToolweaveRuntime {
    type JoinError = TaskError;
    type JoinHandle = Join;

    fn spawn<F>(future: F) -> Join
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Join(tokio::spawn(future))
    }

    fn spawn_blocking<F>(function: F) -> Join
    where
        F: FnOnce() + Send + 'static,
    {
        Join(tokio::task::spawn_blocking(function))
    }
}

tokio::task_local! {
    static LOCALS: TaskLocals;
}

impl ContextExt for ToolweaveRuntime {
    fn scope<F, R>(locals: TaskLocals, future: F) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        F: Future<Output = R> + Send + 'static,
    {
        Box::pin(LOCALS.scope(locals, future))
    }

    fn get_task_locals() -> Option<TaskLocals> {
        LOCALS.try_with(Clone::clone).ok()
    }
}
