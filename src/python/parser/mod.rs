//! Python classes for [`crate::parser`] and [`crate::calls`].

mod call_end;
mod events;
mod ids;
mod options;
mod sink;
mod stream;

pub(crate) use self::{
    call_end::{CallEnd, fabricated_result, outcome_to_python},
    events::{
        PyDiscarded, PyFabricatedResult, PyInvalidToolCall, PyToolCallDelta, PyToolCallStart,
    },
    ids::{IdFactory, OpenIds},
    options::{PyLimits, dialects_named},
    sink::{Collector, Tools},
    stream::PyEventStream,
};

use std::sync::{Arc, OnceLock};

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyRuntimeError, PyTypeError},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use self::{options::Settings, sink::Events};
use crate::{
    calls::{CallValidator, Tool},
    parser::{Ending, Parser, Plain},
    python::{
        contract::extract_contracts, error::in_tool, message::PyTextDelta, validator::Compiled,
    },
};

/// A parser that splits a streamed reply into text and tool calls.
// Not frozen: PyO3 refuses a second borrow with an error, where a lock would wait for a thread that
// waits for the interpreter.
#[pyclass(name = "Parser", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyParser {
    parser: Parser,
    tools: Tools,
    open: OpenIds,
}

impl PyParser {
    fn build(tools: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let py = tools.py();
        let Settings { parser: options, repair, id_factory } = Settings::read(options)?;
        let contracts = extract_contracts(tools)?;
        let limits = options.limits;
        let names = contracts.iter().map(|contract| contract.name.as_str());
        let parser = Parser::new(names, options)?;
        let names = contracts
            .iter()
            .map(|contract| PyString::intern(py, &contract.name).unbind())
            .collect();
        let compiled = contracts
            .into_iter()
            .map(|contract| {
                let schema = match contract.parameters {
                    None => None,
                    Some(schema) => {
                        let compiled =
                            Compiled::new(&schema, &crate::validator::Resources::default())
                                .map_err(|err| in_tool(&contract.name, &err))?;
                        Some((schema, compiled))
                    }
                };
                Ok(Tool { name: contract.name, schema })
            })
            .collect::<PyResult<_>>()?;
        let validator = Arc::new(CallValidator::new(compiled, repair, limits));
        let ids = id_factory.map(|function| IdFactory::new("id_factory", function));
        let tools = Tools { validator, core_validator: Arc::new(OnceLock::new()), names, ids };
        Ok(Self { parser, tools, open: OpenIds::new() })
    }

    /// Read many chunks and join adjacent deltas, then end the reply if `ending` is given.
    fn read_all<'py>(
        &mut self,
        py: Python<'py>,
        chunks: &[Bound<'py, PyString>],
        ending: Option<Ending>,
    ) -> PyResult<Events<'py>> {
        let mut sink = Collector::new(py, &self.tools, &mut self.open).with_joined_deltas();
        for chunk in chunks {
            let text = chunk.to_str()?;
            sink.set_chunk(chunk, text);
            self.parser.push(text, &mut sink);
        }
        if let Some(ending) = ending {
            self.parser.finish(ending, &mut sink);
        }
        sink.finish()
    }

    /// Read a chunk that is not plain.
    fn read<'py>(&mut self, chunk: &Bound<'py, PyString>, text: &str) -> PyResult<Events<'py>> {
        let mut sink = Collector::new(chunk.py(), &self.tools, &mut self.open);
        sink.set_chunk(chunk, text);
        self.parser.push(text, &mut sink);
        sink.finish()
    }

    /// Return a parser without input, and the tools.
    pub(crate) fn parts(&self, py: Python<'_>) -> (Parser, Tools) {
        (self.parser.fresh(), self.tools.clone_for(py))
    }

    /// End the reply.
    fn end<'py>(&mut self, py: Python<'py>, ending: Ending) -> PyResult<Events<'py>> {
        let mut sink = Collector::new(py, &self.tools, &mut self.open);
        self.parser.finish(ending, &mut sink);
        let events = sink.finish();
        self.open.clear();
        events
    }
}

pub(crate) fn ending(truncated: bool) -> Ending {
    if truncated { Ending::Truncated } else { Ending::Complete }
}

/// Return a tuple of one event.
pub(crate) fn single_event<T>(py: Python<'_>, event: T) -> PyResult<Bound<'_, PyTuple>>
where
    T: pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>,
{
    PyTuple::new(py, [Bound::new(py, event)?])
}

/// Return the chunks of an iterable, after checking all of them.
fn strings<'py>(chunks: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    if chunks.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("chunks must be an iterable of str, got one str"));
    }
    chunks.try_iter()?.map(|chunk| string(chunk?)).collect()
}

fn string(chunk: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyString>> {
    match chunk.cast_into::<PyString>() {
        Ok(chunk) => {
            chunk.to_str()?;
            Ok(chunk)
        }
        Err(err) => {
            let given = err.into_inner();
            let given = given.get_type().name()?.to_string();
            Err(PyTypeError::new_err(format!("chunks must be str, got {given}")))
        }
    }
}

#[pymethods]
impl PyParser {
    #[new]
    #[pyo3(signature = (tools, **options))]
    #[pyo3(text_signature = "(tools, *, dialects=('natural',), repair='schema', deltas=True, \
        reasoning_tags=('think', 'thinking'), in_code='text', limits=None, id_factory=None)")]
    fn new(tools: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::build(tools, options)
    }

    /// Read the next chunk and return the events that are now certain.
    fn push<'py>(&mut self, chunk: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyTuple>> {
        let text = chunk.to_str()?;
        match self.parser.push_plain(text) {
            None => self.read(chunk, text)?.into_tuple(chunk.py()),
            Some(Plain::Nothing) => Ok(PyTuple::empty(chunk.py())),
            Some(Plain::Text) => {
                single_event(chunk.py(), PyTextDelta { text: chunk.clone().unbind() })
            }
            Some(Plain::Fragment { index }) => single_event(
                chunk.py(),
                PyToolCallDelta { index, fragment: chunk.clone().unbind() },
            ),
        }
    }

    /// Read many chunks at once and join adjacent deltas.
    fn push_many<'py>(&mut self, chunks: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.read_all(chunks.py(), &strings(chunks)?, None)?.into_tuple(chunks.py())
    }

    /// End the reply, return its remaining events and prepare for the next reply.
    #[pyo3(signature = (*, truncated=false))]
    fn finish<'py>(&mut self, py: Python<'py>, truncated: bool) -> PyResult<Bound<'py, PyTuple>> {
        self.end(py, ending(truncated))?.into_tuple(py)
    }

    /// Validate a native call, one that the provider's API transports apart from the text.
    #[pyo3(signature = (id, name, arguments, *, index=0, truncated=false))]
    fn native_call<'py>(
        &self,
        id: &Bound<'py, PyString>,
        name: &str,
        arguments: &Bound<'py, PyString>,
        index: usize,
        truncated: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = arguments.to_str()?;
        let mut open = OpenIds::new();
        open.insert(index, id.clone().unbind());
        let mut sink = Collector::new(id.py(), &self.tools, &mut open);
        sink.set_chunk(arguments, text);
        sink.end(&self.parser.native(index, name, text, ending(truncated)))?;
        let event = sink.finish()?.first;
        event.ok_or_else(|| PyRuntimeError::new_err("a call was validated without an outcome"))
    }

    /// Return a parser for the same tools and options, without any input.
    fn fresh(&self, py: Python<'_>) -> Self {
        let (parser, tools) = self.parts(py);
        Self { parser, tools, open: OpenIds::new() }
    }

    /// Discard the reply.
    fn reset(&mut self) {
        self.parser.reset();
        self.open.clear();
    }

    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.tools.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.tools.clear();
    }

    fn __repr__(&self) -> String {
        format!(
            "<Parser of {} tools, {} bytes buffered>",
            self.tools.names.len(),
            self.parser.buffered()
        )
    }
}

/// Parse a whole reply.
#[pyfunction]
#[pyo3(signature = (text, tools, *, truncated=false, **options))]
#[pyo3(
    text_signature = "(text, tools, *, truncated=False, dialects=('natural',), repair='schema', \
    deltas=True, reasoning_tags=('think', 'thinking'), in_code='text', limits=None, id_factory=None)"
)]
pub(crate) fn parse<'py>(
    text: &Bound<'py, PyString>,
    tools: &Bound<'py, PyAny>,
    truncated: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let mut parser = PyParser::build(tools, options)?;
    text.to_str()?;
    parser
        .read_all(text.py(), std::slice::from_ref(text), Some(ending(truncated)))?
        .into_tuple(text.py())
}
