//! Python class for [`crate::lifecycle`].

use std::sync::Mutex;

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    convert::{to_json, to_python},
    lock,
    message::messages_to_python,
};
use crate::lifecycle::{StreamEvent, StreamReducer};

/// A reducer that turns the stream events of a chat into a snapshot.
///
/// Events are identified by their ``sequenceNumber``, and a snapshot depends only on the set of
/// events, not on their order or repetition. Events in order have a constant cost. Safe to share
/// between threads.
///
/// Args:
///     pending_timeout: Seconds without events after which a call shows as ``timeout``; never if
///         None.
///
/// Raises:
///     ValueError: `pending_timeout` is negative or not a number.
///
/// Example:
///     >>> reducer = StreamReducer()
///     >>> event = {"kind": "text", "messageId": "m", "sequenceNumber": 2, "delta": "lo"}
///     >>> reducer.push(event), reducer.push(event)
///     (True, False)
///     >>> reducer.missing
///     [(1, 1)]
///     >>> reducer.push({**event, "sequenceNumber": 1, "delta": "Hel"})
///     True
///     >>> reducer.snapshot()["messages"][0]["text"]
///     'Hello'
#[pyclass(name = "StreamReducer", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyStreamReducer(Mutex<StreamReducer>);

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

    /// Add one event, as a dict or as JSON text.
    ///
    /// Returns:
    ///     True if the event is new; False if one with its number was added before and is kept.
    ///
    /// Raises:
    ///     MessageError: The event is invalid, or has no ``sequenceNumber``; the error names the
    ///         place.
    ///     TypeError: The event contains a value that is not JSON.
    fn push(&self, event: &Bound<'_, PyAny>) -> PyResult<bool> {
        let event = read(event)?;
        Ok(lock(&self.0).push(event)?)
    }

    /// Return the current state, as described by ``schemas/snapshot.json``.
    ///
    /// Args:
    ///     now: Seconds since 1970, for finding calls that have timed out. Without it, no call
    ///         times out.
    ///
    /// Raises:
    ///     ValueError: `now` is negative or not a number.
    #[pyo3(signature = (now=None))]
    fn snapshot<'py>(&self, py: Python<'py>, now: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let now = now.map(|seconds| milliseconds(seconds, "now")).transpose()?;
        let snapshot = lock(&self.0).snapshot(now);
        to_python(py, &snapshot.to_json_value())
    }

    /// Return the messages of the events so far, of one run or of all.
    ///
    /// Texts and reasoning are included even if they were cut off, calls once they are complete,
    /// with the results so far. The messages of a reply are in the order in which a run emits them:
    /// reasoning and texts, calls, usage.
    #[pyo3(signature = (run_id=None))]
    fn messages<'py>(
        &self,
        py: Python<'py>,
        run_id: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let messages = lock(&self.0).messages(run_id);
        Ok(messages_to_python(py, &messages)?.to_tuple())
    }

    /// The last number before the first gap: all events up to it have arrived. 0 if none has.
    #[getter]
    fn last_sequence_number(&self) -> u64 {
        lock(&self.0).last_sequence_number()
    }

    /// The gaps before events that have arrived, each as its first and last number.
    ///
    /// At most 100 gaps are listed.
    #[getter]
    fn missing(&self) -> Vec<(u64, u64)> {
        lock(&self.0).missing()
    }
}

/// Raise if this is not a stream event. It need not have a ``sequenceNumber`` yet.
///
/// Unknown kinds and fields are accepted, and a field that is None counts as absent.
///
/// Raises:
///     MessageError: A field is missing or invalid; the error names the place.
///     TypeError: The event contains a value that is not JSON.
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
