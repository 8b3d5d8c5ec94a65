//! Calls, their repairs and their results.

use pyo3::{
    exceptions::{PyBaseException, PyTypeError},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};
use serde_json::Value;

use super::{
    detail::Detail,
    entity::entity,
    names::{member, parse},
};
use crate::{
    message::{ErrorCode, MessageError, Place, Repair, RepairKind, ToolCall, ToolResult},
    python::{
        class::record,
        convert::{object_to_python, to_json, to_json_object, to_python},
    },
};

/// A change that made a call valid.
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
#[pyclass(name = "ToolCall", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCall {
    pub(super) id: Py<PyString>,
    name: Py<PyString>,
    arguments: Py<PyAny>,
    raw: Py<PyString>,
    index: usize,
    repairs: Py<PyTuple>,
}

entity!(PyToolCall {
        fields: ["id", "name", "arguments", "raw", "index", "repairs"],
        shown: 3,
        hashed: ["id", "name", "raw", "index"],
    }
    #[new]
    #[pyo3(signature = (id, name, arguments, raw=None, index=0, repairs=None))]
    #[pyo3(text_signature = "(id, name, arguments, raw='', index=0, repairs=())")]
    fn new(
        py: Python<'_>,
        id: Py<PyString>,
        name: Py<PyString>,
        arguments: &Bound<'_, PyAny>,
        raw: Option<Py<PyString>>,
        index: usize,
        repairs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        // A copy, so that the validated arguments cannot change.
        let arguments = object_to_python(py, &to_json_object(arguments)?)?;
        Ok(Self {
            id,
            name,
            arguments: arguments.into_any().unbind(),
            raw: raw.unwrap_or_else(|| PyString::new(py, "").unbind()),
            index,
            repairs: match repairs {
                None => PyTuple::empty(py).unbind(),
                Some(repairs) => tuple_of::<PyRepair>(repairs, "repairs")?.unbind(),
            },
        })
    }
);

impl PyToolCall {
    /// Create a call from validated parts; `arguments` is a `dict`.
    pub(crate) fn from_parts(
        id: Py<PyString>,
        name: Py<PyString>,
        arguments: Py<PyAny>,
        raw: Py<PyString>,
        index: usize,
        repairs: Py<PyTuple>,
    ) -> Self {
        Self { id, name, arguments, raw, index, repairs }
    }

    pub(crate) fn from_core(py: Python<'_>, call: &ToolCall) -> PyResult<Self> {
        let repairs: Vec<_> = call
            .repairs
            .iter()
            .map(|repair| PyRepair::from_core(py, repair)?.into_pyobject(py))
            .collect::<PyResult<_>>()?;
        Ok(Self {
            id: PyString::new(py, &call.id).unbind(),
            name: PyString::new(py, &call.name).unbind(),
            arguments: to_python(py, &call.arguments)?.unbind(),
            raw: PyString::new(py, &call.raw).unbind(),
            index: call.index,
            repairs: PyTuple::new(py, repairs)?.unbind(),
        })
    }

    pub(crate) fn to_core(&self, py: Python<'_>) -> PyResult<ToolCall> {
        self.to_core_with(py, Detail::Full)
    }

    pub(super) fn to_core_with(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<ToolCall> {
        let (raw, repairs) = match detail {
            Detail::Full => (self.raw.bind(py).to_str()?, Some(self.repairs.bind(py))),
            Detail::Request | Detail::Provider(_) => ("", None),
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
        })
    }
}

/// The result of a tool call.
#[pyclass(name = "ToolResult", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyToolResult {
    #[pyo3(get)]
    pub(super) tool_call_id: Py<PyString>,
    #[pyo3(get)]
    name: Py<PyString>,
    #[pyo3(get)]
    result: Py<PyString>,
    #[pyo3(get)]
    value: Py<PyAny>,
    #[pyo3(get)]
    is_error: bool,
    error_code: Option<ErrorCode>,
    #[pyo3(get)]
    duration: Option<f64>,
    #[pyo3(get)]
    exception: Option<Py<PyBaseException>>,
    #[pyo3(get)]
    reference: Option<Py<PyString>>,
}

entity!(PyToolResult {
        fields: [
            "tool_call_id", "name", "result", "value", "is_error", "error_code", "duration",
            "exception", "reference"
        ],
        shown: 3,
        silent: ["value", "exception", "reference"],
        unpickled: "exception",
        hashed: ["tool_call_id", "name", "result", "is_error", "error_code", "duration"],
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
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "duration is {duration}; expected seconds"
            )));
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

    #[getter]
    fn error_code<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.error_code.map(|code| member(py, code)).transpose()
    }
);

impl PyToolResult {
    pub(crate) fn from_core(py: Python<'_>, result: &ToolResult) -> Self {
        Self {
            tool_call_id: PyString::new(py, &result.tool_call_id).unbind(),
            name: PyString::new(py, &result.name).unbind(),
            result: PyString::new(py, &result.result).unbind(),
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
    let wrong = |actual: &Bound<'py, PyAny>, what: &str| {
        let wanted = T::type_object(py);
        let (wanted, actual) = (wanted.name()?, actual.get_type());
        let actual = actual.name()?;
        PyResult::Ok(PyTypeError::new_err(format!(
            "{parameter} must be an iterable of {wanted}{what} {actual}"
        )))
    };
    if items.is_instance_of::<PyString>() || items.is_instance_of::<PyDict>() {
        return Err(wrong(items, ", got")?);
    }
    let Ok(iterator) = items.try_iter() else {
        return Err(wrong(items, ", got")?);
    };
    if let Ok(tuple) = items.cast_exact::<PyTuple>()
        && tuple.iter_borrowed().all(|item| item.is_instance_of::<T>())
    {
        return Ok(tuple.clone());
    }
    let mut all = Vec::new();
    for item in iterator {
        let item = item?;
        if !item.is_instance_of::<T>() {
            return Err(wrong(&item, &format!("; item {} is", all.len()))?);
        }
        all.push(item);
    }
    PyTuple::new(py, all)
}
