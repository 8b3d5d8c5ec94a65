//! Python class for [`crate::meter`].

use std::sync::Mutex;

use pyo3::prelude::*;

use super::lock;
use crate::meter::JsonMeter;

/// A meter of the size of JSON text, used before the text is parsed.
///
/// Invalid text is counted as well, at least up to its first error, so that the counts bound what a
/// parser builds before it fails. Safe to share between threads.
///
/// Example:
///     >>> meter = JsonMeter()
///     >>> meter.push(b'{"rows": [[1, 20], ')
///     >>> meter.push(b'["a,b", null]]}')
///     >>> meter.values, meter.depth, meter.longest_number
///     (9, 3, 4)
#[pyclass(name = "JsonMeter", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyJsonMeter(Mutex<JsonMeter>);

#[pymethods]
impl PyJsonMeter {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Count the next chunk of the text.
    fn push(&self, py: Python<'_>, piece: &[u8]) {
        py.detach(|| lock(&self.0).push(piece));
    }

    /// Number of containers, strings, member names, numbers, booleans and nulls so far.
    #[getter]
    fn values(&self) -> usize {
        lock(&self.0).values()
    }

    /// Depth of the deepest container so far.
    #[getter]
    fn depth(&self) -> usize {
        lock(&self.0).depth()
    }

    /// Length of the longest number, or other word outside strings, in bytes.
    #[getter]
    fn longest_number(&self) -> usize {
        lock(&self.0).longest_number()
    }
}
