//! Python classes for [`crate::parser`] and [`crate::calls`].

mod accept;
mod call_end;
mod dialect;
mod events;
mod ids;
mod options;
mod sink;
mod stream;
mod values;

pub(crate) use self::{
    call_end::{CallEnd, fabricated_result},
    dialect::PyDialect,
    events::{
        PyDiscarded, PyFabricatedResult, PyInvalidToolCall, PyToolCallDelta, PyToolCallStart,
    },
    ids::{IdFactory, OpenIds},
    options::{PyLimits, dialect_of, dialects_named, repair_mode},
    sink::{Collector, LONG_CALL_BYTES, PythonValues, Tools},
    stream::PyEventStream,
};

use std::sync::Arc;

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyRuntimeError, PyTypeError},
    prelude::*,
    types::{PyDict, PyIterator, PyString, PyTuple},
};

use self::{dialect::dialect_named, options::Settings, sink::Events};
use crate::{
    calls::{CallValidator, Tool},
    parser::{self, Ending, Parser, Plain},
    python::{
        contract::extract_contracts,
        error::{in_tool, wrong_type},
        message::PyTextDelta,
        validator::Compiled,
    },
    validator::Resources,
};

/// A parser that splits a streamed reply into text and tool calls.
///
/// Any split of the reply into chunks gives the same events once adjacent deltas are joined, and
/// every character is in exactly one of them. Use a parser from one thread at a time.
///
/// Args:
///     tools: The tools that may be called: contracts, `@tool` objects, functions, provider
///         definitions or bare names, whose arguments are not validated.
///     dialects: The dialects in which calls are recognized: ``auto`` for all of them, decided by
///         evidence, or names such as ``("natural", "hermes")``; see `Dialect`. In ``auto``, forms
///         without a marker count only at the beginning of a reply.
///     repair: The extent of repair: ``none``, ``syntax`` (invalid JSON) or ``schema`` (also values
///         of the wrong type, where the meaning is unambiguous).
///     deltas: True to report arguments while they arrive.
///     reasoning_tags: The names of tags around reasoning.
///     starts_in_reasoning: True if the prompt ends with the opening tag of reasoning, so that the
///         reply begins inside.
///     in_code: The treatment of calls inside Markdown code: ``text`` or ``call``.
///     accept: A function that returns true for a call that may be run, or the names of dialects
///         (``native`` for calls of the provider's API). Other calls are invalid, of the kind
///         ``refused``.
///     limits: Bounds on calls and markup; `Limits()` if not given.
///     id_factory: A function that returns the id of the call at an index; ``call_0``, ``call_1``,
///         ... if not given. An id that is empty, repeated in the reply or has lone surrogates is
///         replaced, with a warning. A call has the id that the model wrote before its arguments,
///         if that is unique in the reply.
///
/// Raises:
///     ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
///     SchemaError: The parameters of a tool are not a JSON Schema; nothing is fetched.
///     ValueError: An option has an invalid value.
///
/// Example:
///     >>> parser = Parser(["GetWeather"])
///     >>> parser.push("Sure. <GetW")
///     (TextDelta(text='Sure. '),)
///     >>> events = parser.push('eather>{"city": "Oslo"}</GetWeather>')
///     >>> events[-1].arguments
///     {'city': 'Oslo'}
///     >>> parser.finish()
///     ()
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
        let Settings { parser: options, repair, id_factory, accept } = Settings::read(options)?;
        let contracts = extract_contracts(tools)?;
        let limits = options.limits;
        let names = contracts.iter().map(|contract| contract.name.as_str());
        let parser = Parser::new(names, options)?;
        let names = contracts.iter();
        let names = names.map(|contract| PyString::intern(py, &contract.name).unbind()).collect();
        let compiled = contracts
            .into_iter()
            .map(|contract| {
                let compile = |schema| match Compiled::new(&schema, &Resources::default()) {
                    Ok(compiled) => Ok((schema, compiled)),
                    Err(err) => Err(in_tool(&contract.name, &err)),
                };
                let schema = contract.parameters.map(compile).transpose()?;
                Ok(Tool { name: contract.name, schema })
            })
            .collect::<PyResult<_>>()?;
        let validator = Arc::new(CallValidator::new(compiled, repair, limits));
        let core_validator = Arc::default();
        let tools = Tools { validator, core_validator, names, ids: id_factory, accept };
        Ok(Self { parser, tools, open: OpenIds::default() })
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

/// Return an iterator over chunks.
fn iterator<'py>(chunks: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    if chunks.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("chunks must be an iterable of str, got one str"));
    }
    chunks.try_iter()
}

fn string(chunk: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyString>> {
    match chunk.cast_into::<PyString>() {
        Ok(chunk) => {
            chunk.to_str()?;
            Ok(chunk)
        }
        Err(err) => Err(wrong_type("chunks must be str", &err.into_inner())),
    }
}

#[pymethods]
impl PyParser {
    #[new]
    #[pyo3(signature = (tools, **options))]
    #[pyo3(text_signature = "(tools, *, dialects='auto', repair='schema', deltas=True, \
        reasoning_tags=('think', 'thinking'), starts_in_reasoning=False, in_code='text', \
        accept=None, limits=None, id_factory=None)")]
    fn new(tools: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::build(tools, options)
    }

    /// Read the next chunk and return the events that are now certain.
    ///
    /// Text is buffered only while it may still begin a tag. If a whole chunk is text, the delta
    /// has the same string object.
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
    ///
    /// Raises:
    ///     TypeError: An item of `chunks` is not a string; then none of them has been read.
    fn push_many<'py>(&mut self, chunks: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        // All are checked before the first one is read.
        let strings: Vec<_> =
            iterator(chunks)?.map(|chunk| string(chunk?)).collect::<PyResult<_>>()?;
        self.read_all(chunks.py(), &strings, None)?.into_tuple(chunks.py())
    }

    /// End the reply, return its remaining events and prepare for the next reply.
    ///
    /// Args:
    ///     truncated: True if the model was cut off. Then no open call is completed, even if it
    ///         looks complete.
    #[pyo3(signature = (*, truncated=false))]
    fn finish<'py>(&mut self, py: Python<'py>, truncated: bool) -> PyResult<Bound<'py, PyTuple>> {
        self.end(py, ending(truncated))?.into_tuple(py)
    }

    /// Validate a native call, one that the provider's API transports apart from the text.
    ///
    /// Its arguments are repaired and validated by the same rules as those of a call in the text.
    /// The open reply, if any, is not affected.
    ///
    /// Args:
    ///     id: The provider's id for the call.
    ///     name: The name of the tool.
    ///     arguments: The whole text of the arguments; empty text counts as ``{}``.
    ///     index: The position among the calls of the reply.
    ///     truncated: True if the reply was cut off in this call. Then it is ``unclosed``, even if
    ///         the text looks complete.
    ///     dialect: The dialect of the call, if it is from text after all.
    #[pyo3(signature = (id, name, arguments, *, index=0, truncated=false, dialect="native"))]
    fn native_call<'py>(
        &self,
        id: &Bound<'py, PyString>,
        name: &str,
        arguments: &Bound<'py, PyString>,
        index: usize,
        truncated: bool,
        dialect: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = arguments.to_str()?;
        let mut open = OpenIds::default();
        open.insert(index, id.clone().unbind());
        let mut sink = Collector::new(id.py(), &self.tools, &mut open);
        sink.set_chunk(arguments, text);
        let mut found = self.parser.native(index, name, text, ending(truncated));
        if dialect != found.dialect {
            found.dialect = dialect_named("dialect", dialect)?.name;
        }
        sink.end(&found)?;
        let event = sink.finish()?.first;
        event.ok_or_else(|| PyRuntimeError::new_err("a call was validated without an outcome"))
    }

    /// Return a parser for the same tools and options, without any input.
    ///
    /// Nothing is compiled again: a server creates one parser, and a fresh one for each reply.
    fn fresh(&self, py: Python<'_>) -> Self {
        let (parser, tools) = self.parts(py);
        Self { parser, tools, open: OpenIds::default() }
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

/// Return true if HTML has an element of this name, in any case.
#[pyfunction(name = "_is_html_element")]
pub(crate) fn is_html_element(name: &str) -> bool {
    parser::is_html_element(name)
}

/// Parse a whole reply.
///
/// Args:
///     text: The reply.
///     tools: As for `Parser`.
///     truncated: True if the model was cut off.
///     **options: As for `Parser`.
///
/// Returns:
///     The events, with adjacent deltas joined.
#[pyfunction]
#[pyo3(signature = (text, tools, *, truncated=false, **options))]
#[pyo3(text_signature = "(text, tools, *, truncated=False, dialects='auto', repair='schema', \
    deltas=True, reasoning_tags=('think', 'thinking'), starts_in_reasoning=False, in_code='text', \
    accept=None, limits=None, id_factory=None)")]
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
