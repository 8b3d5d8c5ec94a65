//! The runtime that requests live on: one thread, from the first request to the interpreter's end.
//!
//! Not the one of `pyo3-async-runtimes`, which survives neither a fork nor the end of the
//! interpreter: this one is begun anew in a fork, and is over before Python begins to end.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use pyo3::{exceptions::PyRuntimeError, prelude::*};
use pyo3_async_runtimes::{
    TaskLocals,
    generic::{ContextExt, JoinError, Runtime as AnyRuntime},
};
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

use super::process::Owned;

/// How long the end of the interpreter may wait for the thread to notice. What it may be late for
/// is a look-up of a name, which nobody can interrupt.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Names are looked up on these, and awaitables of Python's completed.
const BLOCKING_THREADS: usize = 8;

/// How long such a thread stays when it has nothing to do.
const IDLE_TIMEOUT: Duration = Duration::from_millis(100);

// Locked by threads that hold the interpreter, and never for longer than they hold it, so that no
// fork can find it locked.
static RUNNING: Mutex<Option<Owned<Runtime>>> = Mutex::new(None);

// In a fork of a process that was about to end, it is about to end as well.
static ENDED: AtomicBool = AtomicBool::new(false);

fn running() -> MutexGuard<'static, Option<Owned<Runtime>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime of this process, begun if there is none yet.
pub(super) fn handle(py: Python<'_>) -> PyResult<Handle> {
    if has_ended() {
        let message = "Python is shutting down, so no model can be asked any more";
        return Err(PyRuntimeError::new_err(message));
    }
    let handle = {
        let mut running = running();
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

/// Has `atexit` call [`end`]; forks inherit what is registered there.
fn register_shutdown(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        let end = pyo3::wrap_pyfunction!(end, py)?;
        py.import("atexit")?.call_method1("register", (end,))?;
    }
    Ok(())
}

/// Whether the interpreter is about to end.
pub(super) fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Ends the runtime for good: whatever it still did is dropped, and every connection closed.
#[pyfunction(name = "_end_requests")]
fn end(py: Python<'_>) {
    ENDED.store(true, Ordering::Relaxed);
    let ended = running().take();
    if let Some(runtime) = ended.and_then(Owned::into_inner) {
        py.detach(|| runtime.shutdown_timeout(SHUTDOWN_TIMEOUT));
    }
}

/// The runtime as `pyo3-async-runtimes` sees it. Entered by whoever calls into there.
pub(super) struct ToolweaveRuntime;

/// A task that did not end by itself.
#[derive(Debug)]
pub(super) struct TaskError(tokio::task::JoinError);

impl JoinError for TaskError {
    fn is_panic(&self) -> bool {
        self.0.is_panic()
    }

    fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        self.0.into_panic()
    }
}

/// A task, until it has ended.
pub(super) struct Join(JoinHandle<()>);

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
