//! Events of the parser, as small frozen classes.
//!
//! `TextDelta`, `ReasoningDelta` and `ToolCall` are defined with the messages.

use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use crate::python::class::record;

/// The start of a call.
#[pyclass(name = "ToolCallStart", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCallStart {
    pub(crate) index: usize,
    pub(crate) id: Py<PyString>,
    pub(crate) name: Py<PyString>,
}

record!(PyToolCallStart { index, id, name }
    #[new]
    fn new(index: usize, id: Py<PyString>, name: Py<PyString>) -> Self {
        Self { index, id, name }
    }
);

/// A piece of a call's arguments.
#[pyclass(name = "ToolCallDelta", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCallDelta {
    pub(crate) index: usize,
    pub(crate) fragment: Py<PyString>,
}

record!(PyToolCallDelta { index, fragment }
    #[new]
    fn new(index: usize, fragment: Py<PyString>) -> Self {
        Self { index, fragment }
    }
);

/// Markup that is neither text nor a call.
#[pyclass(name = "Discarded", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyDiscarded {
    pub(crate) raw: Py<PyString>,
    pub(crate) reason: Py<PyString>,
}

record!(PyDiscarded { raw, reason }
    #[new]
    fn new(raw: Py<PyString>, reason: Py<PyString>) -> Self {
        Self { raw, reason }
    }
);

/// An invalid call.
#[pyclass(name = "InvalidToolCall", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyInvalidToolCall {
    pub(crate) index: usize,
    pub(crate) id: Py<PyString>,
    pub(crate) name: Py<PyString>,
    pub(crate) kind: Py<PyString>,
    pub(crate) raw: Py<PyString>,
    pub(crate) violations: Py<PyTuple>,
    pub(crate) arguments: Option<Py<PyAny>>,
}

record!(PyInvalidToolCall { index, id, name, kind, raw, violations, arguments }
    unhashed: [arguments],
    #[new]
    #[pyo3(signature = (index, id, name, kind, raw, violations, arguments=None))]
    fn new(
        index: usize,
        id: Py<PyString>,
        name: Py<PyString>,
        kind: Py<PyString>,
        raw: Py<PyString>,
        violations: Py<PyTuple>,
        arguments: Option<Py<PyDict>>,
    ) -> Self {
        let arguments = arguments.map(Py::into_any);
        Self { index, id, name, kind, raw, violations, arguments }
    }
);

/// A tool's result written by the model itself.
#[pyclass(name = "FabricatedResult", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyFabricatedResult {
    pub(crate) name: Option<Py<PyString>>,
    pub(crate) raw: Py<PyString>,
}

record!(PyFabricatedResult { name, raw }
    #[new]
    fn new(name: Option<Py<PyString>>, raw: Py<PyString>) -> Self {
        Self { name, raw }
    }
);
