//! Requests that are made together, for whoever needs what comes of them and not how.
//!
//! All of them share one [`Tray`] and one rope of the bell: a hundred replies that end while the
//! event loop is busy wake it once, and are taken at once. No reply is a Python object before that.

use std::{
    collections::HashMap,
    future::Future,
    mem::{replace, take},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyDict, PyList},
};
use pyo3_async_runtimes::{TaskLocals, generic::future_into_py_with_locals};
use tokio::{sync::Notify, task::AbortHandle};

use super::{
    bell::{PyHttpWakeup, Rope},
    client::PyHttpClient,
    process::Owned,
    reply::told,
    runtime::{Entered, handle},
};
use crate::{
    endpoint::{Event, Failure, Outlet, ask},
    message::{FinishReason, UsageUpdate},
    python::message::PyUsageUpdate,
};

/// Where replies lie that have ended, until they are taken.
#[derive(Debug)]
pub(super) struct Tray {
    pile: Mutex<Pile>,
    /// Pulled when there is something; without one, whoever waits does so for `ready`.
    rope: Option<Rope>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct Pile {
    ended: Vec<Ended>,
    /// Number of requests in flight.
    in_flight: usize,
    /// True if the reader has been notified since it last took replies.
    notified: bool,
}

/// A request that is over.
#[derive(Debug)]
struct Ended {
    number: usize,
    said: Said,
    failure: Option<Failure>,
}

/// What a reply says in the end.
#[derive(Debug, Default)]
struct Said {
    text: String,
    finish: Option<FinishReason>,
    usage: Option<UsageUpdate>,
}

impl Tray {
    pub(super) fn new(rope: Option<Rope>) -> Self {
        Self { pile: Mutex::default(), rope, ready: Notify::new() }
    }

    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all that has ended. The next one is told.
    fn take(&self) -> Vec<Ended> {
        let mut pile = self.pile();
        pile.notified = false;
        take(&mut pile.ended)
    }

    /// One request less is at work.
    fn close(&self, ended: Option<Ended>) {
        let news = {
            let mut pile = self.pile();
            pile.in_flight -= 1;
            pile.ended.extend(ended);
            let news = !pile.ended.is_empty() || pile.in_flight == 0;
            news && !replace(&mut pile.notified, true)
        };
        if news {
            match &self.rope {
                Some(rope) => rope.pull(),
                None => self.ready.notify_one(),
            }
        }
    }

    /// Waits until one has ended since the last look, or none is at work.
    async fn ready(&self) {
        loop {
            {
                let pile = self.pile();
                if !pile.ended.is_empty() || pile.in_flight == 0 {
                    return;
                }
            }
            self.ready.notified().await;
        }
    }
}

/// What a request is writing down of its reply.
#[derive(Debug)]
struct Note {
    tray: Arc<Tray>,
    number: usize,
    said: Said,
    over: bool,
}

impl Note {
    fn new(tray: &Arc<Tray>, number: usize) -> Self {
        tray.pile().in_flight += 1;
        Self { tray: Arc::clone(tray), number, said: Said::default(), over: false }
    }

    fn end(&mut self, failure: Option<Failure>) {
        if !replace(&mut self.over, true) {
            let said = take(&mut self.said);
            self.tray.close(Some(Ended { number: self.number, said, failure }));
        }
    }
}

impl Outlet for Note {
    fn put(&mut self, event: Event) {
        match event {
            Event::Text(text) if self.said.text.is_empty() => self.said.text = text,
            Event::Text(text) => self.said.text.push_str(&text),
            Event::Usage(update) => {
                // Totals so far, and providers report the two sides of them apart.
                let usage = self.said.usage.get_or_insert_default();
                usage.input_tokens = usage.input_tokens.max(update.input_tokens);
                usage.output_tokens = usage.output_tokens.max(update.output_tokens);
                usage.cached_input_tokens =
                    usage.cached_input_tokens.max(update.cached_input_tokens);
            }
            Event::Finish(reason) => {
                self.said.finish = Some(reason);
                // The request goes on until its connection can be used again.
                self.end(None);
            }
            // Calls are nobody's here: the reason why the reply ended tells of them.
            _ => {}
        }
    }

    fn room(&mut self) -> impl Future<Output = ()> + Send {
        // A reply that is to be had as a whole is bounded by how long it may be.
        std::future::ready(())
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // Aborted, so that nobody asks what came of it; or the runtime has ended.
        if !self.over {
            self.tray.close(None);
        }
    }
}

/// Requests that are made together.
// Not frozen, as replies are not: see there.
#[pyclass(name = "HttpBatch", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyHttpBatch {
    client: Py<PyHttpClient>,
    asked: Owned<Asked>,
    /// What it rings the bell with.
    #[pyo3(get)]
    key: u64,
}

/// Requests at work. They end with this.
#[derive(Debug)]
struct Asked {
    tray: Arc<Tray>,
    tasks: HashMap<usize, AbortHandle>,
}

impl Asked {
    fn stop(&mut self) {
        // Those that are over, but were not taken, leave connections that can be used again.
        for one in &self.tray.pile().ended {
            self.tasks.remove(&one.number);
        }
        for (_, task) in self.tasks.drain() {
            task.abort();
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.stop();
    }
}

impl PyHttpBatch {
    fn asked(&mut self) -> PyResult<&mut Asked> {
        self.asked.get_mut().ok_or_else(|| {
            let message = "these requests belong to the process that this one was forked from";
            PyRuntimeError::new_err(message)
        })
    }
}

#[pymethods]
impl PyHttpBatch {
    /// Must be called on the thread of the event loop that the bell belongs to.
    #[new]
    fn new(client: Py<PyHttpClient>, bell: Option<&PyHttpWakeup>) -> PyResult<Self> {
        let rope = bell.map(PyHttpWakeup::rope).transpose()?;
        let key = rope.as_ref().map_or(0, |rope| rope.key);
        let asked = Asked { tray: Arc::new(Tray::new(rope)), tasks: HashMap::new() };
        Ok(Self { client, asked: Owned::new(asked), key })
    }

    /// Sends a request; `take` gives what comes of it, by the number.
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
        let asked = self.asked()?;
        let mut note = Note::new(&asked.tray, number);
        let task = runtime.spawn(async move {
            let end = ask(&client, &request, None, &mut note).await;
            note.end(end.err());
        });
        asked.tasks.insert(number, task.abort_handle());
        Ok(())
    }

    /// All replies that have ended since the last look: the number, the text, why it ended, the
    /// tokens it took, and the failure as `HttpReply.failure` has it.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let asked = self.asked()?;
        let ended = asked.tray.take();
        let list = PyList::empty(py);
        for one in ended {
            asked.tasks.remove(&one.number);
            let usage = one.said.usage.map(|usage| PyUsageUpdate::from_core(&usage));
            let finish = one.said.finish.map(FinishReason::as_str);
            let failure = one.failure.as_ref().map(told);
            list.append((one.number, one.said.text, finish, usage, failure))?;
        }
        Ok(list)
    }

    /// How many requests are at work: neither over nor stopped.
    #[getter]
    fn in_flight(&mut self) -> PyResult<usize> {
        Ok(self.asked()?.tray.pile().in_flight)
    }

    /// Stops a request: its connection is closed at once, and nobody is told what comes of it.
    fn stop(&mut self, number: usize) -> PyResult<()> {
        if let Some(task) = self.asked()?.tasks.remove(&number) {
            task.abort();
        }
        Ok(())
    }

    /// Stops all that are at work.
    fn close(&mut self) {
        if let Some(asked) = self.asked.get_mut() {
            asked.stop();
        }
    }

    /// An awaitable of a loop that cannot watch a bell: there is something to take, or nothing is
    /// at work.
    fn ready<'py>(
        &mut self,
        py: Python<'py>,
        event_loop: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tray = Arc::clone(&self.asked()?.tray);
        let runtime = handle(py)?;
        let _entered = runtime.enter();
        let locals = TaskLocals::new(event_loop);
        future_into_py_with_locals::<Entered, _, _>(py, locals, async move {
            tray.ready().await;
            Ok(())
        })
    }
}
