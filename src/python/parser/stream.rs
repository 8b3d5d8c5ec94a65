//! An iterator of events that pulls chunks through the parser.

use std::collections::VecDeque;

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyIterator, PyList, PyTuple},
};

use super::{PyParser, iterator, sink::Events, string};
use crate::parser::Ending;

/// The events of a reply that comes from an iterable of chunks; see `parse_stream`.
#[pyclass(name = "EventStream", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyEventStream {
    parser: PyParser,
    chunks: Option<Py<PyIterator>>,
    /// True if all chunks are available, so that they can be read in batches.
    whole: bool,
    ready: VecDeque<Py<PyAny>>,
    /// The error of the chunk after those that have been read.
    failed: Option<PyErr>,
}

/// Number of chunks that are read at once if all are available.
const BATCH_SIZE: usize = 256;

impl PyEventStream {
    /// Read a batch of chunks, up to the first invalid one.
    fn read_batch<'py>(&mut self, chunks: &mut Bound<'py, PyIterator>) -> PyResult<Events<'py>> {
        let py = chunks.py();
        let mut batch = Vec::with_capacity(BATCH_SIZE);
        let mut ending = None;
        while batch.len() < BATCH_SIZE {
            match chunks.next().map(|chunk| string(chunk?)) {
                Some(Ok(chunk)) => batch.push(chunk),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                None => {
                    self.chunks = None;
                    ending = Some(Ending::Complete);
                    break;
                }
            }
        }
        self.parser.read_all(py, &batch, ending)
    }
}

#[pymethods]
impl PyEventStream {
    #[new]
    #[pyo3(signature = (chunks, tools, **options))]
    #[pyo3(text_signature = "(chunks, tools, *, dialects='auto', repair='schema', \
        deltas=True, reasoning_tags=('think', 'thinking'), starts_in_reasoning=False, \
        in_code='text', accept=None, limits=None, id_factory=None)")]
    fn new(
        chunks: &Bound<'_, PyAny>,
        tools: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let parser = PyParser::build(tools, options)?;
        let whole = chunks.is_instance_of::<PyList>() || chunks.is_instance_of::<PyTuple>();
        let chunks = Some(iterator(chunks)?.unbind());
        Ok(Self { parser, chunks, whole, ready: VecDeque::new(), failed: None })
    }

    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.chunks)?;
        for event in &self.ready {
            visit.call(event)?;
        }
        self.parser.tools.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.chunks = None;
        self.ready.clear();
        self.parser.tools.clear();
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            let Some(chunks) = &self.chunks else { return Ok(None) };
            let mut chunks = chunks.bind(py).clone();
            let events = if self.whole {
                self.read_batch(&mut chunks)?
            } else if let Some(chunk) = chunks.next() {
                let chunk = string(chunk?)?;
                self.parser.read(&chunk, chunk.to_str()?)?
            } else {
                self.chunks = None;
                self.parser.end(py, Ending::Complete)?
            };
            self.ready.extend(events.rest.into_iter().map(Bound::unbind));
            if let Some(first) = events.first {
                return Ok(Some(first.unbind()));
            }
        }
    }
}
