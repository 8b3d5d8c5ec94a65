//! Python classes for [`crate::message`].

use pyo3::{prelude::*, types::PyString};

use super::{class::record, convert::to_python};
use crate::message::Repair;

/// One change that made a call acceptable.
#[pyclass(name = "Repair", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyRepair {
    path: Py<PyString>,
    kind: Py<PyString>,
    before: Py<PyAny>,
    after: Py<PyAny>,
}

record!(PyRepair { path, kind, before, after }
    #[new]
    fn new(path: Py<PyString>, kind: Py<PyString>, before: Py<PyAny>, after: Py<PyAny>) -> Self {
        Self { path, kind, before, after }
    }
);

impl PyRepair {
    pub(crate) fn from_core(py: Python<'_>, repair: &Repair) -> PyResult<Self> {
        Ok(Self {
            path: PyString::new(py, &repair.path).unbind(),
            kind: PyString::intern(py, repair.kind.as_str()).unbind(),
            before: to_python(py, &repair.before)?.unbind(),
            after: to_python(py, &repair.after)?.unbind(),
        })
    }
}
