//! Python class for [`crate::meter`].

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::meter::JsonMeter;

/// A meter of the size of JSON text, used before the text is parsed.
#[pyclass(name = "JsonMeter", module = "toolweave._core", frozen)]
#[derive(Debug)]
pub(crate) struct PyJsonMeter(Mutex<JsonMeter>);

#[pymethods]
impl PyJsonMeter {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    fn push(&self, py: Python<'_>, piece: &[u8]) {
        py.detach(|| self.with(|meter| meter.push(piece)));
    }

    #[getter]
    fn values(&self) -> usize {
        self.with(|meter| meter.values())
    }

    #[getter]
    fn depth(&self) -> usize {
        self.with(|meter| meter.depth())
    }

    #[getter]
    fn longest_number(&self) -> usize {
        self.with(|meter| meter.longest_number())
    }
}

impl PyJsonMeter {
    fn with<T>(&self, work: impl FnOnce(&mut JsonMeter) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
