//! The least that a streaming parser's call from Python can cost.
//!
//! Two classes with the shape of a parser and no parser inside. What the real
//! one takes beyond them is its own work; what they take is the boundary's.

use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};

/// Takes the chunk as `&str` and answers with the shared empty tuple: floor (a).
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
        // The text has been made readable; nothing reads it.
        std::hint::black_box(chunk);
        PyTuple::empty(py)
    }
}

/// One event, as small as an event can be.
#[pyclass(frozen, get_all)]
struct Delta {
    text: Py<PyString>,
}

/// Answers with a tuple of one event around the caller's own string: floor (b).
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
