//! Python functions for [`crate::repair`].

use pyo3::{prelude::*, types::PyTuple};

use super::{error::InvalidJSONError, message::PyRepair};
use crate::repair;

/// Repair text that should be one JSON object; return it with the changes.
#[pyfunction]
pub(crate) fn repair_json<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<(String, Bound<'py, PyTuple>)> {
    let Some(repaired) = repair::repair_json(text) else {
        return Err(unrepairable(text));
    };
    let repairs: Vec<_> = repaired
        .repairs
        .iter()
        .map(|repair| PyRepair::from_core(py, repair))
        .collect::<PyResult<_>>()?;
    Ok((repaired.text, PyTuple::new(py, repairs)?))
}

/// Return the error for text that cannot be repaired, with the position where it stops being JSON.
fn unrepairable(text: &str) -> PyErr {
    match serde_json::from_str::<serde_json::Value>(text) {
        Err(err) => {
            let message = format!("cannot be repaired without guessing; not JSON: {err}");
            InvalidJSONError::new_err((message, err.line(), err.column()))
        }
        Ok(_) => InvalidJSONError::new_err(("cannot be repaired", 1, 1)),
    }
}
