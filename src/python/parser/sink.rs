//! Conversion of frames to Python objects.

use std::sync::{Arc, OnceLock};

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use super::{
    accept::Accept,
    call_end::{CallEnd, fabricated_result},
    events::{PyDiscarded, PyToolCallDelta, PyToolCallStart},
    ids::{IdFactory, OpenIds},
};
use crate::{
    calls::{Argument, ArgumentValue, Backend, CallValidator, JsonValues, object_json},
    parser::{CallId, FoundCall, Frame, Sink},
    python::{
        convert::{PeriodicYield, convert, object, string},
        message::{PyReasoningDelta, PyTextDelta, dialect_name},
        validator::Compiled,
    },
    validator::{Validator, Violation},
};

/// The tools of a parser, which stay the same from reply to reply.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(super) validator: Arc<CallValidator<Compiled>>,
    /// The validator for values of the core, created on first use.
    pub(super) core_validator: Arc<OnceLock<Arc<CallValidator<Validator>>>>,
    /// The names of the tools, created once.
    pub(super) names: Arc<[Py<PyString>]>,
    pub(super) ids: Option<IdFactory>,
    pub(super) accept: Option<Accept>,
}

impl Tools {
    /// Return the same tools for another parser.
    pub(super) fn clone_for(&self, py: Python<'_>) -> Self {
        Self {
            validator: Arc::clone(&self.validator),
            core_validator: Arc::clone(&self.core_validator),
            names: Arc::clone(&self.names),
            // Not shared: the garbage collector counts the references to it.
            ids: self.ids.as_ref().map(|ids| ids.clone_ref(py)),
            accept: self.accept(py),
        }
    }

    /// Return the validator for values of the core.
    pub(crate) fn core_validator(&self) -> Arc<CallValidator<Validator>> {
        let made = self.core_validator.get_or_init(|| {
            Arc::new(self.validator.with(|compiled: &Compiled| compiled.core.clone()))
        });
        Arc::clone(made)
    }

    /// Return the same tools with another factory of ids, if given.
    pub(crate) fn with_ids(self, ids: Option<IdFactory>) -> Self {
        Self { ids: ids.or(self.ids), ..self }
    }

    /// Return the rule that accepts or refuses calls, if there is one.
    pub(crate) fn accept(&self, py: Python<'_>) -> Option<Accept> {
        self.accept.as_ref().map(|accept| accept.clone_ref(py))
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.accept.as_ref().map_or(Ok(()), |accept| accept.traverse(visit))?;
        self.ids.as_ref().map_or(Ok(()), |ids| ids.traverse(visit))
    }

    pub(crate) fn clear(&mut self) {
        self.ids = None;
        self.accept = None;
    }

    /// Return the id of the call at `index`: the given one, unless a model wrote it and another call
    /// of the reply has it.
    pub(crate) fn id<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        id: Option<CallId<&str>>,
        open: &mut OpenIds,
    ) -> PyResult<Bound<'py, PyString>> {
        match id {
            Some(CallId::Provided(id)) => return Ok(PyString::new(py, id)),
            Some(CallId::Written(id)) if open.is_free(id) => return Ok(PyString::new(py, id)),
            _ => {}
        }
        match &self.ids {
            Some(ids) => ids.id(py, index, open),
            None => Ok(PyString::new(py, &format!("call_{index}"))),
        }
    }
}

/// Size in bytes above which a payload is validated by the core, with the interpreter released.
pub(crate) const LONG_CALL_BYTES: usize = 128 << 10;

/// Arguments as Python objects, validated in place.
pub(crate) struct PythonValues<'py>(pub(crate) Python<'py>);

impl<'py> Backend for PythonValues<'py> {
    type Value = Bound<'py, PyAny>;
    type Schema = Compiled;

    fn parse(&self, json: &str) -> Result<Self::Value, String> {
        Compiled::parse(self.0, json).or_else(|reason| {
            // A number that Python does not read may belong to a member that a later one replaces.
            let value = JsonValues.parse(json).map_err(|_| reason.clone())?;
            convert(self.0, &value, &mut ()).map_err(|_| reason)
        })
    }

    fn object(&self, arguments: &[Argument<'_>]) -> Result<Self::Value, String> {
        match self.dict(arguments) {
            Ok(dict) => Ok(dict.into_any()),
            // The sentence names the place in the whole object.
            Err(_) => self.parse(&object_json(arguments)),
        }
    }

    fn accepts(&self, schema: &Compiled, value: &Self::Value) -> bool {
        schema.is_valid(value)
    }

    fn violations(&self, schema: &Compiled, value: &Self::Value) -> Vec<Violation> {
        schema.violations(value)
    }
}

impl<'py> PythonValues<'py> {
    fn dict(&self, arguments: &[Argument<'_>]) -> Result<Bound<'py, PyDict>, String> {
        let py = self.0;
        let dict = PyDict::new(py);
        for Argument { name, value } in arguments {
            let value = match value {
                ArgumentValue::Text(text) => PyString::new(py, text).into_any(),
                ArgumentValue::Json(json) => Compiled::parse(py, json)?,
            };
            dict.set_item(name, value).map_err(|err| err.to_string())?;
        }
        Ok(dict)
    }
}

/// A sink that collects the events of one or more chunks.
pub(crate) struct Collector<'a, 'py> {
    py: Python<'py>,
    tools: &'a Tools,
    open: &'a mut OpenIds,
    /// The current chunk.
    chunk: Option<&'a Bound<'py, PyString>>,
    text: &'a str,
    events: Events<'py>,
    /// The delta to join with the next ones, if deltas are to be joined.
    join: Option<Box<PendingDelta<'py>>>,
    error: Option<Box<PyErr>>,
}

/// The events of one or more chunks.
#[derive(Default)]
pub(crate) struct Events<'py> {
    /// The first event; most chunks have no second one.
    pub(super) first: Option<Bound<'py, PyAny>>,
    pub(super) rest: Vec<Bound<'py, PyAny>>,
}

impl<'py> Events<'py> {
    pub(crate) fn push(&mut self, event: Bound<'py, PyAny>) {
        if self.first.is_none() {
            self.first = Some(event);
        } else {
            self.rest.push(event);
        }
    }

    pub(crate) fn into_tuple(mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.first {
            None => Ok(PyTuple::empty(py)),
            Some(only) if self.rest.is_empty() => PyTuple::new(py, [only]),
            Some(first) => {
                self.rest.insert(0, first);
                PyTuple::new(py, self.rest)
            }
        }
    }
}

/// Adjacent deltas that are being joined.
#[derive(Debug, Default)]
struct PendingDelta<'py> {
    kind: Option<Kind>,
    /// The only piece so far, as the caller's own object.
    first: Option<Bound<'py, PyString>>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Call(usize),
}

impl<'a, 'py> Collector<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, tools: &'a Tools, open: &'a mut OpenIds) -> Self {
        Self {
            py,
            tools,
            open,
            chunk: None,
            text: "",
            events: Events::default(),
            join: None,
            error: None,
        }
    }

    /// Join adjacent deltas.
    pub(super) fn with_joined_deltas(mut self) -> Self {
        self.join = Some(Box::default());
        self
    }

    /// Set the chunk that the next frames come from.
    pub(crate) fn set_chunk(&mut self, chunk: &'a Bound<'py, PyString>, text: &'a str) {
        self.chunk = Some(chunk);
        self.text = text;
    }

    pub(crate) fn finish(mut self) -> PyResult<Events<'py>> {
        self.flush();
        match self.error {
            Some(error) => Err(*error),
            None => Ok(self.events),
        }
    }

    /// Return the span as a Python string: the caller's own object if it is the whole chunk.
    #[inline]
    fn string(&self, span: &str) -> Bound<'py, PyString> {
        match self.chunk {
            Some(chunk) if span == self.text => chunk.clone(),
            _ => PyString::new(self.py, span),
        }
    }

    fn delta(&mut self, kind: Kind, span: &str) {
        let string = |this: &Self| this.string(span);
        if self.join.is_none() {
            let string = string(self);
            self.push_delta(kind, string);
            return;
        }
        if self.join.as_ref().is_some_and(|join| join.kind != Some(kind)) {
            self.flush();
            let first = Some(string(self));
            if let Some(join) = &mut self.join {
                **join = PendingDelta { kind: Some(kind), first, text: String::new() };
            }
            return;
        }
        if let Some(join) = &mut self.join {
            if let Some(first) = join.first.take() {
                // Known to be valid UTF-8, since it is part of the reply.
                join.text.push_str(first.to_str().unwrap_or_default());
            }
            join.text.push_str(span);
        }
    }

    fn flush(&mut self) {
        let Some(join) = &mut self.join else { return };
        let PendingDelta { kind, first, text } = std::mem::take(&mut **join);
        if let Some(kind) = kind {
            let string = first.unwrap_or_else(|| PyString::new(self.py, &text));
            self.push_delta(kind, string);
        }
    }

    fn push_delta(&mut self, kind: Kind, string: Bound<'py, PyString>) {
        let string = string.unbind();
        match kind {
            Kind::Text => self.push(PyTextDelta { text: string }),
            Kind::Reasoning => self.push(PyReasoningDelta { text: string }),
            Kind::Call(index) => self.push(PyToolCallDelta { index, fragment: string }),
        }
    }

    fn push<T>(&mut self, event: T)
    where
        T: pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>,
    {
        self.push_object(object(self.py, event));
    }

    fn push_object(&mut self, event: PyResult<Bound<'py, PyAny>>) {
        match event {
            Ok(event) => self.events.push(event),
            Err(error) => self.fail(error),
        }
    }

    /// Keep the first error; reading continues, so that the state stays consistent.
    fn fail(&mut self, error: PyErr) {
        self.error.get_or_insert_with(|| Box::new(error));
    }

    fn start(&mut self, index: usize, id: Option<CallId<&str>>, name: &str, recovered: bool) {
        match self.tools.id(self.py, index, id, self.open) {
            Err(error) => self.fail(error),
            Ok(id) => {
                let name = string(self.py, name);
                self.open.insert(index, id.clone().unbind());
                self.push(PyToolCallStart { index, id: id.unbind(), name, recovered });
            }
        }
    }

    pub(super) fn end(&mut self, found: &FoundCall<'_>) -> PyResult<()> {
        let py = self.py;
        let id = match self.open.remove(found.index) {
            Some(id) => id,
            None => self.tools.id(py, found.index, None, self.open)?.unbind(),
        };
        let name = match found.tool.and_then(|tool| self.tools.names.get(tool)) {
            Some(name) => name.clone_ref(py),
            None => string(py, found.name),
        };
        let raw = self.string(found.raw).unbind();
        let (dialect, accept) = (dialect_name(py, found.dialect), self.tools.accept(py));
        let (index, recovered) = (found.index, found.recovered);
        let call_end = CallEnd { index, id, name, raw, dialect, recovered, accept };
        let event = if found.payload.len() > LONG_CALL_BYTES {
            // Other threads can use the interpreter meanwhile.
            let validator = self.tools.core_validator();
            let outcome = py.detach(|| validator.validate(&JsonValues, found));
            call_end.event_of_core(py, outcome, &mut PeriodicYield::default())
        } else {
            let outcome = self.tools.validator.validate(&PythonValues(py), found);
            call_end.event(py, outcome, &mut ())
        };
        self.push_object(event);
        Ok(())
    }
}

impl Sink for Collector<'_, '_> {
    #[inline]
    fn take(&mut self, frame: Frame<'_>) {
        match frame {
            Frame::Text(text) => return self.delta(Kind::Text, text),
            Frame::Reasoning(text) => return self.delta(Kind::Reasoning, text),
            Frame::CallDelta { index, fragment } => return self.delta(Kind::Call(index), fragment),
            _ => self.flush(),
        }
        match frame {
            Frame::CallStart { index, id, name, recovered } => {
                self.start(index, id, name, recovered);
            }
            Frame::CallEnd(found) => {
                if let Err(error) = self.end(&found) {
                    self.fail(error);
                }
            }
            Frame::Discarded { raw, reason } => {
                let raw = self.string(raw).unbind();
                let reason = PyString::intern(self.py, reason.as_str()).unbind();
                self.push(PyDiscarded { raw, reason });
            }
            Frame::Fabricated { name, raw } => {
                let raw = self.string(raw).unbind();
                self.push_object(fabricated_result(self.py, name, raw));
            }
            Frame::Text(_) | Frame::Reasoning(_) | Frame::CallDelta { .. } => {}
        }
    }
}
