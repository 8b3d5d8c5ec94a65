//! Python functions for [`crate::repair`].

use pyo3::{prelude::*, types::PyTuple};

use super::{error::InvalidJSONError, message::PyRepair};
use crate::repair;

/// Repair text that should be one JSON object (or array); return it with the changes.
///
/// Valid JSON is returned unchanged. Otherwise everything that is valid is kept as written, and no
/// value is invented or dropped. The `before` and `after` of a repair are the beginning of the text
/// there.
///
/// Example:
///     >>> text, repairs = repair_json("{city: 'Paris',}")
///     >>> text
///     '{"city": "Paris"}'
///     >>> [repair.kind for repair in repairs]
///     ['bare_key', 'quotes', 'trailing_comma']
///
/// Raises:
///     InvalidJSONError: The text cannot be repaired without guessing.
#[pyfunction]
pub(crate) fn repair_json<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<(String, Bound<'py, PyTuple>)> {
    let Some(repaired) = repair::repair_json(text) else {
        return Err(unrepairable(text));
    };
    Ok((repaired.text, PyRepair::tuple(py, &repaired.repairs)?))
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
