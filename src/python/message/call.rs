//! Calls, their repairs and their results.

use std::borrow::Cow;

use pyo3::{
    exceptions::{PyBaseException, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyString, PyTuple},
};
use serde_json::Value;

use super::{extract::Detail, names::parse};
use crate::{
    message::{
        ErrorCode, MessageError, NATIVE, NATURAL, Place, Repair, RepairKind, ToolCall, ToolResult,
    },
    parser::Dialect,
    python::{
        class::{data_class, record},
        convert::{object_to_python, string, to_json, to_json_object, to_python, tuple},
        error::wrong_type,
    },
};

data_class! {
    /// A change that made a call valid.
    ///
    /// Attributes:
    ///     path: Location in the arguments, as a JSON Pointer; empty for the call as a whole.
    ///     kind: The kind of change, such as ``trailing_comma`` or ``type``.
    ///     before: The text or value before the change.
    ///     after: The text or value after the change.
    "Repair", PyRepair(path, kind, before, after) {
        path: Py<PyString>,
        kind: Py<PyString>,
        before: Py<PyAny>,
        after: Py<PyAny>,
    }
}

impl PyRepair {
    pub(crate) fn from_core(py: Python<'_>, repair: &Repair) -> PyResult<Self> {
        Ok(Self {
            path: string(py, &repair.path),
            kind: PyString::intern(py, repair.kind.as_str()).unbind(),
            before: to_python(py, &repair.before)?.unbind(),
            after: to_python(py, &repair.after)?.unbind(),
        })
    }

    /// Convert repairs to a tuple of Python objects.
    pub(crate) fn tuple<'py>(py: Python<'py>, repairs: &[Repair]) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, repairs.iter().map(|repair| Self::from_core(py, repair)))
    }

    fn to_core(&self, py: Python<'_>) -> PyResult<Repair> {
        let kind = self.kind.bind(py).to_str()?;
        let Some(kind) = RepairKind::from_wire(kind) else {
            let known: Vec<_> = RepairKind::ALL.iter().map(|kind| kind.as_str()).collect();
            return Err(MessageError::Unexpected {
                place: Place { path: "/repairs".into(), ..Place::default() },
                expected: format!("a repair of a kind among {}", known.join(", ")),
                actual: format!("one of kind {kind:?}"),
            }
            .into());
        };
        Ok(Repair {
            path: self.path.bind(py).to_str()?.to_owned(),
            kind,
            before: to_json(self.before.bind(py))?,
            after: to_json(self.after.bind(py))?,
        })
    }
}

/// A request by the model to run one tool.
///
/// Raises:
///     TypeError: The arguments are not a dict of JSON values, or a repair is not a `Repair`.
#[pyclass(name = "ToolCall", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCall {
    /// The id, unique within the reply; the result refers to it.
    pub(crate) id: Py<PyString>,
    /// The name of the tool, as in its contract.
    pub(crate) name: Py<PyString>,
    /// The arguments, a JSON object. Integers of any size are exact.
    pub(crate) arguments: Py<PyAny>,
    /// Source text of the call; empty for a call that is not from a reply.
    ///
    /// The span of the reply with its tags, or the text of a native call's arguments.
    pub(crate) raw: Py<PyString>,
    /// The position among the calls of the reply.
    pub(crate) index: usize,
    /// The repairs of the arguments, in order.
    pub(crate) repairs: Py<PyTuple>,
    /// The dialect in which the model wrote the call, such as ``natural``.
    ///
    /// ``native`` for a call that the provider's API transports apart from the text.
    pub(crate) dialect: Py<PyString>,
    /// True for a call that was found in the text of a reply to a request with native tools.
    pub(crate) recovered: bool,
}

record!(PyToolCall {
        fields: [id, name, arguments, raw, index, repairs, dialect, recovered],
        shown: 3,
        implied: [dialect: "natural"],
        hashed: [id, name, raw, index, dialect, recovered],
    }
    #[new]
    #[pyo3(signature = (
        id, name, arguments, raw=None, index=0, repairs=None, dialect=None, recovered=false
    ))]
    #[pyo3(text_signature = "(id, name, arguments, raw='', index=0, repairs=(), \
                             dialect='natural', recovered=False)")]
    #[allow(clippy::too_many_arguments, reason = "one a field, as Python has it")]
    fn new(
        py: Python<'_>,
        id: Py<PyString>,
        name: Py<PyString>,
        arguments: &Bound<'_, PyAny>,
        raw: Option<Py<PyString>>,
        index: usize,
        repairs: Option<&Bound<'_, PyAny>>,
        dialect: Option<Py<PyString>>,
        recovered: bool,
    ) -> PyResult<Self> {
        // A copy, so that the validated arguments cannot change.
        let arguments = object_to_python(py, &to_json_object(arguments)?)?;
        Ok(Self {
            id,
            name,
            arguments: arguments.into_any().unbind(),
            raw: raw.unwrap_or_else(|| string(py, "")),
            index,
            repairs: match repairs {
                None => PyTuple::empty(py).unbind(),
                Some(repairs) => tuple_of::<PyRepair>(repairs, "repairs")?.unbind(),
            },
            dialect: dialect.unwrap_or_else(|| dialect_name(py, &NATURAL)),
            recovered,
        })
    }
);

impl PyToolCall {
    pub(crate) fn from_core(py: Python<'_>, call: &ToolCall) -> PyResult<Self> {
        Ok(Self {
            id: string(py, &call.id),
            name: string(py, &call.name),
            arguments: to_python(py, &call.arguments)?.unbind(),
            raw: string(py, &call.raw),
            index: call.index,
            repairs: PyRepair::tuple(py, &call.repairs)?.unbind(),
            dialect: dialect_name(py, &call.dialect),
            recovered: call.recovered,
        })
    }

    pub(super) fn to_core(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<ToolCall> {
        let (raw, repairs, dialect) = match detail {
            Detail::Full => {
                let dialect = self.dialect.bind(py).to_str()?;
                (self.raw.bind(py).to_str()?, Some(self.repairs.bind(py)), dialect_of(dialect))
            }
            Detail::Request | Detail::Provider(_) => ("", None, NATURAL),
        };
        Ok(ToolCall {
            id: self.id.bind(py).to_str()?.to_owned(),
            name: self.name.bind(py).to_str()?.to_owned(),
            arguments: Value::Object(to_json_object(self.arguments.bind(py))?),
            raw: raw.to_owned(),
            index: self.index,
            repairs: repairs
                .into_iter()
                .flatten()
                .map(|repair| repair.cast::<PyRepair>()?.get().to_core(py))
                .collect::<PyResult<_>>()?,
            dialect,
            recovered: self.recovered && matches!(detail, Detail::Full),
        })
    }
}

/// Return the name of a dialect as a Python string, which calls of one dialect share.
pub(crate) fn dialect_name(py: Python<'_>, name: &str) -> Py<PyString> {
    match dialect_of(name) {
        Cow::Borrowed(known) => PyString::intern(py, known).unbind(),
        Cow::Owned(name) => string(py, &name),
    }
}

/// Return the name of a dialect, borrowed if it is known.
fn dialect_of(name: &str) -> Cow<'static, str> {
    match Dialect::named(name) {
        Some(dialect) => Cow::Borrowed(dialect.name),
        None if name == NATIVE => NATIVE,
        None => Cow::Owned(name.to_owned()),
    }
}

/// The result of a tool call.
///
/// Two results are equal if their wire forms are: `value`, `exception` and `reference` are not
/// compared.
///
/// Raises:
///     ValueError: The error code is unknown, or the duration is not finite.
#[pyclass(name = "ToolResult", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolResult {
    /// The id of the call.
    pub(super) tool_call_id: Py<PyString>,
    /// The name of the tool.
    name: Py<PyString>,
    /// The text for the model.
    result: Py<PyString>,
    /// The return value of the function. Not on the wire.
    value: Py<PyAny>,
    /// True if the call failed; always true if there is an error code.
    is_error: bool,
    /// The reason of the failure, if the call failed.
    error_code: Option<ErrorCode>,
    /// The run time of the tool, in seconds.
    duration: Option<f64>,
    /// The exception that the tool raised. Not on the wire, not stored, and not pickled.
    exception: Option<Py<PyBaseException>>,
    /// The id of the log record of the exception; None if the tool raised a `ToolError`.
    ///
    /// On the wire it is in the message's `metadata["references"]`, by the id of the call.
    reference: Option<Py<PyString>>,
}

record!(PyToolResult {
        fields: [
            tool_call_id, name, result, value, is_error, error_code, duration, exception, reference
        ],
        shown: 3,
        hashed: [tool_call_id, name, result, is_error, error_code, duration],
        uncompared: [value, exception, reference],
        unpickled: [exception],
    }
    #[new]
    #[pyo3(signature = (
        tool_call_id, name, result, *, value=None, is_error=false, error_code=None, duration=None,
        exception=None, reference=None
    ))]
    #[allow(clippy::too_many_arguments)] // One a field, as Python has it.
    fn new(
        py: Python<'_>,
        tool_call_id: Py<PyString>,
        name: Py<PyString>,
        result: Py<PyString>,
        value: Option<Py<PyAny>>,
        is_error: bool,
        error_code: Option<&Bound<'_, PyAny>>,
        duration: Option<f64>,
        exception: Option<Py<PyBaseException>>,
        reference: Option<Py<PyString>>,
    ) -> PyResult<Self> {
        let error_code = error_code.map(|code| parse(code, "error_code")).transpose()?;
        if let Some(duration) = duration.filter(|duration| !duration.is_finite()) {
            let message = format!("duration is {duration}; expected seconds");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            tool_call_id,
            name,
            result,
            value: value.unwrap_or_else(|| py.None()),
            is_error: is_error || error_code.is_some(),
            error_code,
            duration,
            exception,
            reference,
        })
    }
);

impl PyToolResult {
    pub(crate) fn from_core(py: Python<'_>, result: &ToolResult) -> Self {
        Self {
            tool_call_id: string(py, &result.tool_call_id),
            name: string(py, &result.name),
            result: string(py, &result.result),
            value: py.None(),
            is_error: result.is_error || result.error_code.is_some(),
            error_code: result.error_code,
            duration: result.duration,
            exception: None,
            reference: None,
        }
    }

    pub(crate) fn to_core(&self, py: Python<'_>) -> PyResult<ToolResult> {
        Ok(ToolResult {
            tool_call_id: self.tool_call_id.bind(py).to_str()?.to_owned(),
            name: self.name.bind(py).to_str()?.to_owned(),
            result: self.result.bind(py).to_str()?.to_owned(),
            is_error: self.is_error,
            error_code: self.error_code,
            duration: self.duration,
        })
    }
}

/// Return the items of an iterable as a tuple; all must have one class.
pub(super) fn tuple_of<'py, T: pyo3::PyTypeInfo>(
    items: &Bound<'py, PyAny>,
    parameter: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = items.py();
    let requirement = || {
        let class = T::type_object(py);
        PyResult::Ok(format!("{parameter} must be an iterable of {}", class.name()?))
    };
    let whole = match items.cast_exact::<PyList>() {
        Ok(list) => Some(list.to_tuple()),
        Err(_) => items.cast_exact::<PyTuple>().ok().cloned(),
    };
    if let Some(tuple) = whole
        && tuple.iter_borrowed().all(|item| item.is_instance_of::<T>())
    {
        return Ok(tuple);
    }
    let is_single = items.is_instance_of::<PyString>() || items.is_instance_of::<PyDict>();
    let Some(iterator) = items.try_iter().ok().filter(|_| !is_single) else {
        return Err(wrong_type(requirement()?, items));
    };
    let checked = iterator.enumerate().map(|(position, item)| {
        let item = item?;
        if item.is_instance_of::<T>() {
            return Ok(item);
        }
        let class = item.get_type();
        let message = format!("{}; item {position} is {}", requirement()?, class.name()?);
        Err(PyTypeError::new_err(message))
    });
    tuple(py, checked)
}
