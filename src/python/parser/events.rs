//! Events of the parser, as small frozen classes.
//!
//! `TextDelta`, `ReasoningDelta` and `ToolCall` are defined with the messages.

use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use crate::python::{class::data_class, error::wrong_type};

data_class! {
    /// The start of a call; a `ToolCall` or an `InvalidToolCall` of the same index follows.
    ///
    /// Attributes:
    ///     index: The position among the calls of the reply.
    ///     id: The id that the call will have.
    ///     name: The tool's name, as the model wrote it if it is unknown.
    "ToolCallStart", PyToolCallStart(index, id, name) {
        index: usize,
        id: Py<PyString>,
        name: Py<PyString>,
    }
}

data_class! {
    /// A piece of a call's arguments, byte for byte as the model writes them.
    ///
    /// Attributes:
    ///     index: The position of the call among the calls of the reply.
    ///     fragment: The text. It never ends inside an escape sequence.
    "ToolCallDelta", PyToolCallDelta(index, fragment) {
        index: usize,
        fragment: Py<PyString>,
    }
}

data_class! {
    /// Markup that is neither text nor a call.
    ///
    /// Attributes:
    ///     raw: The text.
    ///     reason: ``reasoning_tag``, ``fence`` (a line of a code fence around calls), ``orphan_close``
    ///         (a closing tag whose call had ended already), ``too_large`` (the rest of a payload or
    ///         result that exceeds a limit) or ``late_fragment`` (arguments of a native call that had
    ///         ended already).
    "Discarded", PyDiscarded(raw, reason) {
        raw: Py<PyString>,
        reason: Py<PyString>,
    }
}

data_class! {
    /// An invalid call.
    ///
    /// Attributes:
    ///     index: The position among the calls of the reply.
    ///     id: The id, unique within the reply.
    ///     name: The tool's name, as the model wrote it if it is unknown.
    ///     kind: ``unknown_tool``, ``invalid_json``, ``schema_violation``, ``unclosed`` (the reply
    ///         ended inside the call), ``too_large`` or ``too_many``.
    ///     raw: The whole span, tags and fences included.
    ///     violations: The violations, at least one. If the arguments violate the schema, those that
    ///         remain after repair.
    ///     arguments: The arguments that violate the schema, repaired as far as possible; None for
    ///         other kinds.
    "InvalidToolCall", PyInvalidToolCall(index, id, name, kind, raw, violations, arguments=None) {
        index: usize,
        id: Py<PyString>,
        name: Py<PyString>,
        kind: Py<PyString>,
        raw: Py<PyString>,
        violations: Py<PyTuple>,
        arguments: Option<Py<PyAny>>,
    }
    hashed: [index, id, name, kind, raw, violations]
    check: check_arguments
}

fn check_arguments(call: &PyInvalidToolCall) -> PyResult<()> {
    Python::attach(|py| match call.arguments.as_ref().map(|arguments| arguments.bind(py)) {
        Some(other) if !other.is_instance_of::<PyDict>() => {
            Err(wrong_type("arguments must be a dict or None", other))
        }
        _ => Ok(()),
    })
}

data_class! {
    /// A tool's result written by the model itself. It is never mixed with real results.
    ///
    /// Attributes:
    ///     name: The tool named in it, if any.
    ///     raw: The whole span, tags included.
    "FabricatedResult", PyFabricatedResult(name, raw) {
        name: Option<Py<PyString>>,
        raw: Py<PyString>,
    }
}
