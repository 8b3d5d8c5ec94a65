//! Batches of requests, for callers that need complete replies rather than streams.
//!
//! The requests of a batch share one [`CompletionQueue`] and one [`Notifier`]: a hundred replies
//! that finish while the event loop is busy wake it once and are taken at once. No Python object
//! is created before that.

use std::{
    collections::HashMap,
    future::Future,
    mem::{replace, take},
    sync::{Arc, Mutex, MutexGuard},
};

use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyDict, PyList},
};
use tokio::{sync::Notify, task::AbortHandle};

use super::{
    client::PyHttpClient,
    process::Owned,
    reply::failure_tuple,
    runtime::{awaitable, handle},
    wakeup::{Notifier, PyHttpWakeup},
};
use crate::{
    endpoint::{Event, EventSink, Failure, stream_reply},
    message::{FinishReason, UsageUpdate},
    python::{lock, message::PyUsageUpdate},
};

/// The finished replies that have not been taken yet.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    completions: Mutex<Completions>,
    /// Called when a reply has finished; without it, readers wait for `ready`.
    notifier: Option<Notifier>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct Completions {
    finished: Vec<Finished>,
    /// Number of requests in flight.
    in_flight: usize,
    /// True if the reader has been notified since it last took replies.
    notified: bool,
}

/// A request with its reply, collected from the events.
#[derive(Debug, Default)]
struct Finished {
    number: usize,
    text: String,
    finish: Option<FinishReason>,
    unknown: Option<String>,
    usage: Option<UsageUpdate>,
    failure: Option<Failure>,
}

impl CompletionQueue {
    pub(super) fn new(notifier: Option<Notifier>) -> Self {
        Self { completions: Mutex::default(), notifier, ready: Notify::new() }
    }

    fn completions(&self) -> MutexGuard<'_, Completions> {
        lock(&self.completions)
    }

    /// Take all finished replies; the next one to finish notifies the reader again.
    fn take(&self) -> Vec<Finished> {
        let mut completions = self.completions();
        completions.notified = false;
        take(&mut completions.finished)
    }

    /// Count one request less in flight, and queue its reply if it has one.
    fn close(&self, finished: Option<Finished>) {
        let wake = {
            let mut completions = self.completions();
            completions.in_flight -= 1;
            completions.finished.extend(finished);
            let wake = !completions.finished.is_empty() || completions.in_flight == 0;
            wake && !replace(&mut completions.notified, true)
        };
        if wake {
            match &self.notifier {
                Some(notifier) => notifier.notify(),
                None => self.ready.notify_one(),
            }
        }
    }

    /// Wait until a reply can be taken, or no request is in flight.
    async fn ready(&self) {
        loop {
            {
                let completions = self.completions();
                if !completions.finished.is_empty() || completions.in_flight == 0 {
                    return;
                }
            }
            self.ready.notified().await;
        }
    }
}

/// The outlet of one request, which collects its reply.
#[derive(Debug)]
struct Collector {
    queue: Arc<CompletionQueue>,
    /// None once it is queued.
    reply: Option<Finished>,
}

impl Collector {
    fn new(queue: &Arc<CompletionQueue>, number: usize) -> Self {
        queue.completions().in_flight += 1;
        let reply = Some(Finished { number, ..Finished::default() });
        Self { queue: Arc::clone(queue), reply }
    }

    fn end(&mut self, failure: Option<Failure>) {
        if let Some(reply) = self.reply.take() {
            self.queue.close(Some(Finished { failure, ..reply }));
        }
    }
}

impl EventSink for Collector {
    fn put(&mut self, event: Event) {
        // After its end, the request only waits for its connection.
        let Some(reply) = &mut self.reply else { return };
        match event {
            Event::Text(text) if reply.text.is_empty() => reply.text = text,
            Event::Text(text) => reply.text.push_str(&text),
            Event::Usage(update) => {
                // These are totals so far; some providers report input and output separately.
                let usage = reply.usage.get_or_insert_default();
                usage.input_tokens = usage.input_tokens.max(update.input_tokens);
                usage.output_tokens = usage.output_tokens.max(update.output_tokens);
                usage.cached_input_tokens =
                    usage.cached_input_tokens.max(update.cached_input_tokens);
            }
            Event::Finish { reason, unknown } => {
                reply.finish = Some(reason);
                reply.unknown = unknown;
                // The request continues until its connection can be reused.
                self.end(None);
            }
            // Calls are ignored here; the finish reason shows that there were some.
            _ => {}
        }
    }

    fn room(&mut self) -> impl Future<Output = ()> + Send {
        // The limit on the size of a body bounds a collected reply.
        std::future::ready(())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // The request was aborted and its outcome is not wanted, or the runtime has ended.
        if self.reply.is_some() {
            self.queue.close(None);
        }
    }
}

/// A batch of requests whose complete replies are collected. Dropping it aborts them.
///
/// Create it on the thread of the event loop. It cannot be used in a fork of its process.
///
/// Args:
///     client: The client that sends the requests.
///     wakeup: The socket that wakes the loop; None if the loop cannot watch one.
///
/// Raises:
///     RuntimeError: The wakeup socket belongs to the parent of this forked process.
// Not frozen, for the reason given at `PyHttpReply`.
#[pyclass(name = "HttpBatch", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyHttpBatch {
    client: Py<PyHttpClient>,
    requests: Owned<Requests>,
    /// The key under which the wakeup socket reports the batch.
    #[pyo3(get)]
    key: u64,
}

/// The requests in flight. Dropping this aborts them.
#[derive(Debug)]
struct Requests {
    queue: Arc<CompletionQueue>,
    tasks: HashMap<usize, AbortHandle>,
}

impl Requests {
    fn stop(&mut self) {
        // Finished requests that were not taken still return their connections to the pool.
        for one in &self.queue.completions().finished {
            self.tasks.remove(&one.number);
        }
        for (_, task) in self.tasks.drain() {
            task.abort();
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.stop();
    }
}

impl PyHttpBatch {
    fn requests(&mut self) -> PyResult<&mut Requests> {
        self.requests.get_mut().ok_or_else(|| {
            let message = "the requests belong to the parent of this forked process";
            PyRuntimeError::new_err(message)
        })
    }
}

#[pymethods]
impl PyHttpBatch {
    /// Create a batch, on the thread of the event loop that watches the wakeup socket.
    #[new]
    fn new(client: Py<PyHttpClient>, wakeup: Option<&PyHttpWakeup>) -> PyResult<Self> {
        let notifier = wakeup.map(PyHttpWakeup::notifier).transpose()?;
        let key = notifier.as_ref().map_or(0, |notifier| notifier.key);
        let requests =
            Requests { queue: Arc::new(CompletionQueue::new(notifier)), tasks: HashMap::new() };
        Ok(Self { client, requests: Owned::new(requests), key })
    }

    /// Send a request.
    ///
    /// Args:
    ///     number: The number of the request, different from those in flight.
    ///     url: The URL.
    ///     headers: The headers.
    ///     body: The body.
    ///
    /// Raises:
    ///     RuntimeError: Python is shutting down, or the batch belongs to the parent of this forked
    ///         process.
    ///     ValueError: The URL, a header or an option of the client is invalid.
    fn start(
        &mut self,
        py: Python<'_>,
        number: usize,
        url: &str,
        headers: &Bound<'_, PyDict>,
        body: &[u8],
    ) -> PyResult<()> {
        let runtime = handle(py)?;
        let (client, request) = self.client.get().request(py, url, headers, body)?;
        let requests = self.requests()?;
        let mut collector = Collector::new(&requests.queue, number);
        let task = runtime.spawn(async move {
            let end = stream_reply(&client, &request, None, &mut collector).await;
            collector.end(end.err());
        });
        requests.tasks.insert(number, task.abort_handle());
        Ok(())
    }

    /// Return the replies that have finished since the last call.
    ///
    /// The wakeup socket is signalled for the next one, and when the last request has ended.
    ///
    /// Returns:
    ///     The number, the text so far, the finish reason if the reply ended, the word of the
    ///     server if that is not a known reason, the usage if it is known, and the failure, if any,
    ///     in the form of `HttpReply.failure`.
    ///
    /// Raises:
    ///     RuntimeError: The batch belongs to the parent of this forked process.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let requests = self.requests()?;
        let finished = requests.queue.take();
        let list = PyList::empty(py);
        for one in finished {
            requests.tasks.remove(&one.number);
            let usage = one.usage.map(|usage| PyUsageUpdate::from_core(&usage));
            let finish = one.finish.map(FinishReason::as_str);
            let failure = one.failure.as_ref().map(failure_tuple);
            list.append((one.number, one.text, finish, one.unknown, usage, failure))?;
        }
        Ok(list)
    }

    /// Number of requests in flight: neither finished nor stopped.
    #[getter]
    fn in_flight(&mut self) -> PyResult<usize> {
        Ok(self.requests()?.queue.completions().in_flight)
    }

    /// Stop a request: its connection is closed at once, and it has no outcome.
    fn stop(&mut self, number: usize) -> PyResult<()> {
        if let Some(task) = self.requests()?.tasks.remove(&number) {
            task.abort();
        }
        Ok(())
    }

    /// Stop all requests in flight.
    fn close(&mut self) {
        if let Some(requests) = self.requests.get_mut() {
            requests.stop();
        }
    }

    /// Return an awaitable that completes when a reply can be taken or no request is in flight.
    ///
    /// For batches without a wakeup socket.
    ///
    /// Args:
    ///     event_loop: The loop that creates the future and is called when it completes.
    fn ready<'py>(&mut self, event_loop: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let queue = Arc::clone(&self.requests()?.queue);
        awaitable(event_loop, async move { queue.ready().await })
    }
}
