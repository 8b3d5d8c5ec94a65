//! Python class for [`crate::reply`].

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    error::wrong_type,
    log::{Log, WARNING},
    message::{PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate},
    parser::{
        Collector, IdFactory, OpenIds, PyParser, PyToolCallDelta, Tools, ending, single_event,
    },
};
use crate::{
    parser::Plain,
    reply::{FragmentProblem, Options, Reader},
};

static LOG: Log = Log::new("natural");

/// A reader of the updates of one reply: inline calls and native calls.
///
/// Native calls are assembled from fragments with the same id or, where only the first one has an
/// id, the same index. A native call ends when another one begins, if its arguments are a JSON
/// object by then, and otherwise with the reply. Use a reader from one thread at a time.
///
/// Args:
///     parser: A parser for the tools. It is not modified.
///     inline: True to parse text for calls.
///     recovered: True if calls in text are recovered ones: the request had native tools.
///     deltas: True to report the arguments of native calls while they arrive. For inline calls,
///         the option of the parser applies.
///     call_ids: A function that returns the id of the call at an index for which the provider gave
///         none; by default that of the parser.
///
/// Raises:
///     TypeError: `call_ids` is not callable.
///
/// Attributes:
///     calls: Number of calls so far, of both kinds, valid or not.
///     buffered: Upper bound on the bytes that are buffered for incomplete calls.
///
/// Example:
///     >>> reader = UpdateReader(Parser(["GetWeather"]))
///     >>> reader.push(TextDelta("Sure. "))
///     (TextDelta(text='Sure. '),)
///     >>> fragment = ToolCallUpdate("call-7", 0, "GetWeather", '{"city": "Oslo"}')
///     >>> [type(event).__name__ for event in reader.push(fragment)]
///     ['ToolCallStart', 'ToolCallDelta']
///     >>> reader.finish(truncated=False)[0].arguments
///     {'city': 'Oslo'}
// Not frozen, for the same reason as `Parser`.
#[pyclass(name = "UpdateReader", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyUpdateReader {
    reader: Reader,
    tools: Tools,
    open: OpenIds,
    inline: bool,
}

impl PyUpdateReader {
    fn text<'py>(
        &mut self,
        update: &Bound<'py, PyAny>,
        chunk: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = update.py();
        let text = chunk.to_str()?;
        match self.reader.plain_text(text) {
            Some(Plain::Text) => PyTuple::new(py, [update]),
            Some(Plain::Fragment { index }) => {
                single_event(py, PyToolCallDelta { index, fragment: chunk.clone().unbind() })
            }
            Some(Plain::Nothing) => Ok(PyTuple::empty(py)),
            None => {
                let mut sink = Collector::new(py, &self.tools, &mut self.open);
                sink.set_chunk(chunk, text);
                self.reader.text(text, &mut sink);
                sink.finish()?.into_tuple(py)
            }
        }
    }

    fn reasoning<'py>(&mut self, update: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = update.py();
        if self.reader.buffered() == 0 {
            return PyTuple::new(py, [update]);
        }
        let mut sink = Collector::new(py, &self.tools, &mut self.open);
        self.reader.flush_text(&mut sink);
        let mut events = sink.finish()?;
        events.push(update.clone());
        events.into_tuple(py)
    }

    fn fragment<'py>(
        &mut self,
        py: Python<'py>,
        update: &PyToolCallUpdate,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let fragment = update.fragment(py)?;
        let mut sink = Collector::new(py, &self.tools, &mut self.open);
        if let (Some(chunk), Some(text)) = (&update.function_args, fragment.arguments) {
            sink.set_chunk(chunk.bind(py), text);
        }
        let problem = self.reader.fragment(fragment, &mut sink);
        let events = sink.finish();
        if let Some(problem) = problem {
            record(py, problem, &self.open);
        }
        events?.into_tuple(py)
    }
}

/// Log a defect of a fragment.
fn record(py: Python<'_>, problem: FragmentProblem<'_>, open: &OpenIds) {
    match problem {
        FragmentProblem::Late { id, .. } => {
            LOG.record(py, WARNING, "a fragment came after its call", |fields| {
                fields.set_item("tool_call_id", id)
            });
        }
        FragmentProblem::Renamed { call, id, name, other } => {
            LOG.record(py, WARNING, "a native call was renamed", |fields| {
                match open.get(call) {
                    Some(id) => fields.set_item("tool_call_id", id)?,
                    None => fields.set_item("tool_call_id", id)?,
                }
                fields.set_item("tool", name)?;
                fields.set_item("other", other)
            });
        }
    }
}

#[pymethods]
impl PyUpdateReader {
    #[new]
    #[pyo3(signature = (parser, *, inline=true, recovered=false, deltas=true, call_ids=None))]
    fn new(
        parser: &Bound<'_, PyParser>,
        inline: bool,
        recovered: bool,
        deltas: bool,
        call_ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let ids = IdFactory::from_option("call_ids", call_ids)?;
        let (core, tools) = parser.try_borrow()?.parts(parser.py());
        let reader = Reader::new(core, Options { inline, recovered, deltas });
        Ok(Self { reader, tools: tools.with_ids(ids), open: OpenIds::default(), inline })
    }

    /// Number of calls so far.
    #[getter]
    fn calls(&self) -> usize {
        self.reader.calls()
    }

    /// Upper bound on the bytes that are buffered for incomplete calls.
    #[getter]
    fn buffered(&self) -> usize {
        self.reader.buffered()
    }

    /// Read the next update and return the events that are now certain.
    ///
    /// Call `finish` in place of pushing the `FinishUpdate`. If a whole chunk is text, the delta
    /// has the same string object; reasoning and usage are returned as the same objects.
    ///
    /// Raises:
    ///     TypeError: The object is not an update of a model.
    fn push<'py>(&mut self, update: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = update.py();
        if let Ok(delta) = update.cast::<PyTextDelta>() {
            if self.inline {
                return self.text(update, delta.get().text.bind(py));
            }
            return PyTuple::new(py, [update]);
        }
        if let Ok(fragment) = update.cast::<PyToolCallUpdate>() {
            return self.fragment(py, fragment.get());
        }
        if update.is_instance_of::<PyReasoningDelta>() {
            return self.reasoning(update);
        }
        if update.is_instance_of::<PyUsageUpdate>() {
            return PyTuple::new(py, [update]);
        }
        if update.is_instance_of::<PyFinishUpdate>() {
            return Err(PyTypeError::new_err(
                "call finish() at the end of a reply instead of pushing a FinishUpdate",
            ));
        }
        Err(wrong_type(
            "expected a TextDelta, ReasoningDelta, ToolCallUpdate, UsageUpdate or FinishUpdate",
            update,
        ))
    }

    /// End the reply and return its remaining events.
    ///
    /// Args:
    ///     truncated: True if the model was cut off. Then no open call is completed, even if it
    ///         looks complete.
    #[pyo3(signature = (*, truncated))]
    fn finish<'py>(&mut self, py: Python<'py>, truncated: bool) -> PyResult<Bound<'py, PyTuple>> {
        let mut sink = Collector::new(py, &self.tools, &mut self.open);
        self.reader.finish(ending(truncated), &mut sink);
        let events = sink.finish();
        self.open.clear();
        events?.into_tuple(py)
    }

    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tools.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.tools.clear();
    }

    fn __repr__(&self) -> String {
        format!("<UpdateReader, {} calls so far>", self.reader.calls())
    }
}
