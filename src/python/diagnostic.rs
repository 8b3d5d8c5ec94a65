//! Python class for [`crate::registry::Diagnostic`].

use pyo3::{exceptions::PyValueError, prelude::*, types::PyTuple};

use super::{class::record, convert::tuple};
use crate::registry;

/// An error or warning about a `tools.xml`, with its location.
#[pyclass(name = "Diagnostic", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyDiagnostic {
    /// The code, such as ``TW001``; see docs/registry.md.
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

record!(PyDiagnostic { fields: [code, severity, message, line, column, length, hint] }
    #[new]
    #[pyo3(signature = (code, severity, message, line=1, column=1, *, length=1, hint=None))]
    fn new(
        code: String,
        severity: String,
        message: String,
        line: usize,
        column: usize,
        length: usize,
        hint: Option<String>,
    ) -> PyResult<Self> {
        if !matches!(&*severity, "error" | "warning") {
            let message = format!("severity must be \"error\" or \"warning\", got {severity:?}");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self { code, severity, message, line, column, length, hint })
    }
);

impl From<&registry::Diagnostic> for PyDiagnostic {
    fn from(diagnostic: &registry::Diagnostic) -> Self {
        Self {
            code: diagnostic.code.as_str().to_owned(),
            severity: diagnostic.code.severity().as_str().to_owned(),
            message: diagnostic.message.clone(),
            line: diagnostic.line,
            column: diagnostic.column,
            length: diagnostic.length,
            hint: diagnostic.hint.clone(),
        }
    }
}

/// Convert diagnostics to a tuple of Python objects.
pub(crate) fn diagnostics<'py>(
    py: Python<'py>,
    diagnostics: &[registry::Diagnostic],
) -> PyResult<Bound<'py, PyTuple>> {
    tuple(py, diagnostics.iter().map(|diagnostic| Ok(PyDiagnostic::from(diagnostic))))
}
