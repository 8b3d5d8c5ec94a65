//! Conversion of the events of a reply to Python objects.

use std::sync::Mutex;

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyString, PyTuple},
};

use serde_json::Value;

use crate::{
    calls::CallOutcome,
    endpoint::Event,
    parser::CallId,
    python::{
        convert::{PeriodicYield, object, string, tuple},
        lock,
        message::{
            PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate,
            dialect_name,
        },
        parser::{
            CallEnd, LONG_CALL_BYTES, OpenIds, PyDiscarded, PyToolCallDelta, PyToolCallStart,
            Tools, fabricated_result,
        },
    },
};

fn is_large(event: &Event) -> bool {
    matches!(event, Event::End { raw, .. } if raw.len() > LONG_CALL_BYTES)
}

/// An event, or a call whose arguments are yet to be converted.
#[derive(Debug)]
enum Prepared {
    Object(Py<PyAny>),
    Deferred(CallEnd, CallOutcome<Value>),
}

/// Events that take long to convert, since there are calls of more than 128 KiB among them.
#[pyclass(name = "HttpLargeEvents", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyHttpLargeEvents(Mutex<Vec<Prepared>>);

#[pymethods]
impl PyHttpLargeEvents {
    /// Return the events, or an empty tuple if called again. Call this in a thread.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let prepared = std::mem::take(&mut *lock(&self.0));
        let objects = prepared.into_iter().map(|event| match event {
            Prepared::Object(object) => Ok(object.into_bound(py)),
            Prepared::Deferred(call_end, outcome) => {
                call_end.event_of_core(py, outcome, &mut PeriodicYield::default())
            }
        });
        tuple(py, objects)
    }
}

/// A converter for the events of one reply.
#[derive(Debug, Default)]
pub(super) struct ObjectBuilder {
    /// The tools, if the reply is parsed for calls.
    tools: Option<Tools>,
    open: OpenIds,
}

impl ObjectBuilder {
    pub(super) fn new(tools: Option<Tools>) -> Self {
        Self { tools, open: OpenIds::default() }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tools.as_ref().map_or(Ok(()), |tools| tools.traverse(visit))
    }

    pub(super) fn clear(&mut self) {
        self.tools = None;
    }

    /// Return the id of a call, given the one that it was sent with.
    fn id(
        &mut self,
        py: Python<'_>,
        index: usize,
        id: Option<CallId<&str>>,
    ) -> PyResult<Py<PyString>> {
        match (&self.tools, id) {
            (Some(tools), id) => tools.id(py, index, id, &mut self.open).map(Bound::unbind),
            (None, Some(id)) => Ok(string(py, id.text())),
            (None, None) => Ok(string(py, &format!("call_{index}"))),
        }
    }

    /// Return the events as a tuple, or as [`PyHttpLargeEvents`] if converting them takes long.
    pub(super) fn convert<'py>(
        &mut self,
        py: Python<'py>,
        events: Vec<Event>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if events.iter().any(is_large) {
            let prepared: Vec<_> =
                events.into_iter().map(|event| self.prepare(py, event)).collect::<PyResult<_>>()?;
            return object(py, PyHttpLargeEvents(Mutex::new(prepared)));
        }
        tuple(py, events.into_iter().map(|event| self.object(py, event))).map(Bound::into_any)
    }

    fn prepare(&mut self, py: Python<'_>, event: Event) -> PyResult<Prepared> {
        Ok(match event {
            Event::End { index, name, raw, dialect, recovered, outcome }
                if raw.len() > LONG_CALL_BYTES =>
            {
                let source = (dialect, recovered);
                Prepared::Deferred(self.call_end(py, index, &name, &raw, source)?, outcome)
            }
            event => Prepared::Object(self.object(py, event)?.unbind()),
        })
    }

    /// Return a call that has ended, without its outcome.
    fn call_end(
        &mut self,
        py: Python<'_>,
        index: usize,
        name: &str,
        raw: &str,
        (dialect, recovered): (&str, bool),
    ) -> PyResult<CallEnd> {
        let id = match self.open.remove(index) {
            Some(id) => id,
            None => self.id(py, index, None)?,
        };
        let (name, raw, dialect) = (string(py, name), string(py, raw), dialect_name(py, dialect));
        let accept = self.tools.as_ref().and_then(|tools| tools.accept(py));
        Ok(CallEnd { index, id, name, raw, dialect, recovered, accept })
    }

    fn object<'py>(&mut self, py: Python<'py>, event: Event) -> PyResult<Bound<'py, PyAny>> {
        let string = |text: &str| string(py, text);
        Ok(match event {
            Event::Text(text) => object(py, PyTextDelta { text: string(&text) })?,
            Event::Reasoning(text) => object(py, PyReasoningDelta { text: string(&text) })?,
            Event::Fragment(update) => object(py, PyToolCallUpdate::from_core(py, &update))?,
            Event::Start { index, id, name, recovered } => {
                let id = self.id(py, index, id.as_ref().map(CallId::as_deref))?;
                self.open.insert(index, id.clone_ref(py));
                object(py, PyToolCallStart { index, id, name: string(&name), recovered })?
            }
            Event::Delta { index, fragment } => {
                object(py, PyToolCallDelta { index, fragment: string(&fragment) })?
            }
            Event::End { index, name, raw, dialect, recovered, outcome } => {
                let call_end = self.call_end(py, index, &name, &raw, (dialect, recovered))?;
                call_end.event_of_core(py, outcome, &mut ())?
            }
            Event::Discarded { raw, reason } => {
                let reason = PyString::intern(py, reason.as_str()).unbind();
                object(py, PyDiscarded { raw: string(&raw), reason })?
            }
            Event::Fabricated { name, raw } => {
                fabricated_result(py, name.as_deref(), string(&raw))?
            }
            Event::Usage(usage) => object(py, PyUsageUpdate::from_core(&usage))?,
            Event::Finish { reason, .. } => object(py, PyFinishUpdate { reason })?,
        })
    }
}
