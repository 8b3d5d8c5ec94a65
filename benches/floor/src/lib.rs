//! Lower bounds for the cost of a streaming parser's call from Python.
//!
//! Two classes with the interface of a parser but no parser inside. Their cost is that of the
//! boundary; the real parser's additional cost is its own work.

use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};

/// Parser that takes the chunk as `&str` and returns the shared empty tuple: floor (a).
#[pyclass(frozen)]
struct Nothing;

#[pymethods]
impl Nothing {
    #[new]
    fn new() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "a parser's `push` is a method")]
    fn push<'py>(&self, py: Python<'py>, chunk: &str) -> Bound<'py, PyTuple> {
        // The text is decoded but not read.
        std::hint::black_box(chunk);
        PyTuple::empty(py)
    }
}

/// Smallest possible event.
#[pyclass(frozen, get_all)]
struct Delta {
    text: Py<PyString>,
}

/// Parser that returns a tuple of one event around the caller's own string: floor (b).
#[pyclass(frozen)]
struct Echo;

#[pymethods]
impl Echo {
    #[new]
    fn new() -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "a parser's `push` is a method")]
    fn push<'py>(
        &self,
        py: Python<'py>,
        chunk: Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        std::hint::black_box(chunk.to_str()?);
        PyTuple::new(py, [Bound::new(py, Delta { text: chunk.unbind() })?])
    }
}

#[pymodule(name = "toolweave_floor")]
mod floor {
    #[pymodule_export]
    use super::{Delta, Echo, Nothing};
}
