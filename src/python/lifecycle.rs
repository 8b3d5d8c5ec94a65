//! Python class for [`crate::lifecycle`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    convert::{to_json, to_python},
    message::message_to_python,
};
use crate::lifecycle::{StreamEvent, StreamReducer};

/// A reducer that turns the stream events of a chat into a snapshot.
#[pyclass(name = "StreamReducer", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyStreamReducer(Mutex<StreamReducer>);

impl PyStreamReducer {
    fn lock(&self) -> MutexGuard<'_, StreamReducer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyStreamReducer {
    #[new]
    #[pyo3(
        signature = (*, pending_timeout=Some(60.0)),
        text_signature = "(*, pending_timeout=60.0)"
    )]
    fn new(pending_timeout: Option<f64>) -> PyResult<Self> {
        let timeout = pending_timeout.map(|seconds| milliseconds(seconds, "pending_timeout"));
        Ok(Self(Mutex::new(StreamReducer::with_pending_timeout(timeout.transpose()?))))
    }

    fn push(&self, event: &Bound<'_, PyAny>) -> PyResult<bool> {
        let event = read(event)?;
        Ok(self.lock().push(event)?)
    }

    #[pyo3(signature = (now=None))]
    fn snapshot<'py>(&self, py: Python<'py>, now: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let now = now.map(|seconds| milliseconds(seconds, "now")).transpose()?;
        let snapshot = self.lock().snapshot(now);
        to_python(py, &snapshot.to_json_value())
    }

    #[pyo3(signature = (run_id=None))]
    fn messages<'py>(
        &self,
        py: Python<'py>,
        run_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let messages = self.lock().messages(run_id);
        let messages: Vec<_> = messages
            .iter()
            .map(|message| message_to_python(py, message))
            .collect::<PyResult<_>>()?;
        PyTuple::new(py, messages)
    }

    #[getter]
    fn last_sequence_number(&self) -> u64 {
        self.lock().last_sequence_number()
    }

    #[getter]
    fn missing(&self) -> Vec<(u64, u64)> {
        self.lock().missing()
    }
}

/// Raise if `event` is not a stream event.
#[pyfunction]
pub(crate) fn check_stream_event(event: &Bound<'_, PyAny>) -> PyResult<()> {
    read(event).map(drop)
}

/// Parse an event from a mapping or from JSON text.
fn read(event: &Bound<'_, PyAny>) -> PyResult<StreamEvent> {
    if let Ok(text) = event.cast::<PyString>() {
        return Ok(StreamEvent::from_json(text.to_str()?)?);
    }
    Ok(StreamEvent::from_json_value(to_json(event)?)?)
}

/// Convert seconds to whole milliseconds.
fn milliseconds(seconds: f64, name: &str) -> PyResult<u64> {
    let milliseconds = (seconds * 1000.0).round();
    // Larger times are not exact, and lie in the far future.
    if !(0.0..=9_007_199_254_740_991.0).contains(&milliseconds) {
        let message = format!("{name} must be a non-negative number of seconds, got {seconds}");
        return Err(PyValueError::new_err(message));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked above
    Ok(milliseconds as u64)
}
