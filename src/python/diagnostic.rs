//! Python class for [`crate::registry::Diagnostic`].

use pyo3::{exceptions::PyValueError, prelude::*, types::PyTuple};

use super::class::data_class;
use crate::registry;

data_class! {
    /// An error or warning about a `tools.xml`, with its location.
    "Diagnostic", PyDiagnostic(code, severity, message, line=1, column=1, *, length=1, hint=None) {
        /// The code, such as ``TW001``; see docs/explanation/registry.md.
        code: String,
        /// The severity: an error prevents loading, a warning does not.
        severity: String,
        /// A sentence that describes the problem.
        message: String,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// Number of characters of that line concerned, at least 1.
        length: usize,
        /// A sentence that suggests a solution.
        hint: Option<String>,
    }
    check: check_severity
}

fn check_severity(diagnostic: &PyDiagnostic) -> PyResult<()> {
    match &*diagnostic.severity {
        "error" | "warning" => Ok(()),
        other => Err(PyValueError::new_err(format!(
            "severity must be \"error\" or \"warning\", got {other:?}"
        ))),
    }
}

/// Convert diagnostics to a tuple of Python objects.
pub(crate) fn diagnostics<'py>(
    py: Python<'py>,
    diagnostics: &[registry::Diagnostic],
) -> PyResult<Bound<'py, PyTuple>> {
    let objects = diagnostics.iter().map(|diagnostic| PyDiagnostic {
        code: diagnostic.code.as_str().to_owned(),
        severity: diagnostic.code.severity().as_str().to_owned(),
        message: diagnostic.message.clone(),
        line: diagnostic.line,
        column: diagnostic.column,
        length: diagnostic.length,
        hint: diagnostic.hint.clone(),
    });
    PyTuple::new(py, objects)
}
