//! The option `accept`: calls that the application refuses.

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyString},
};

use super::values::{names, unknown};
use crate::{
    message::NATIVE,
    parser::Dialect,
    python::{error::wrong_type, message::PyToolCall},
    validator::Violation,
};

/// A rule that accepts or refuses valid calls.
#[derive(Debug)]
pub(crate) enum Accept {
    /// Calls in these dialects.
    Dialects(Vec<String>),
    /// Calls for which this function returns a true value.
    Function(Py<PyAny>),
}

impl Accept {
    /// Create a rule from the value of the option, if it is given.
    pub(super) fn from_option(given: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        if given.is_none() {
            return Ok(None);
        }
        if given.is_callable() {
            return Ok(Some(Self::Function(given.clone().unbind())));
        }
        if given.is_instance_of::<PyString>()
            || given.is_instance_of::<PyDict>()
            || given.try_iter().is_err()
        {
            let requirement = "accept must be a function of the call, names of dialects, or None";
            return Err(wrong_type(requirement, given));
        }
        let names = names("accept", given)?;
        let is_known = |name: &String| *name == *NATIVE || Dialect::named(name).is_some();
        match names.iter().find(|name| !is_known(name)) {
            Some(name) => Err(unknown(
                "accept",
                name,
                Dialect::ALL.iter().map(|each| each.name).chain(["native"]),
            )),
            None => Ok(Some(Self::Dialects(names))),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Dialects(names) => Self::Dialects(names.clone()),
            Self::Function(function) => Self::Function(function.clone_ref(py)),
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Dialects(_) => Ok(()),
            Self::Function(function) => visit.call(function),
        }
    }

    /// Return the reason why the call is refused, if it is.
    pub(super) fn refusal(&self, call: &Bound<'_, PyToolCall>) -> PyResult<Option<Violation>> {
        let py = call.py();
        let message = match self {
            Self::Function(function) => {
                if function.bind(py).call1((call,))?.is_truthy()? {
                    return Ok(None);
                }
                format!("this call of {} is not accepted", call.get().name.bind(py).repr()?)
            }
            Self::Dialects(names) => {
                let dialect = call.get().dialect.bind(py).to_str()?;
                if names.iter().any(|name| name == dialect) {
                    return Ok(None);
                }
                let accepted = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                format!("calls in the dialect {dialect} are not accepted; accepted: {accepted}")
            }
        };
        Ok(Some(Violation {
            path: String::new(),
            keyword: "refused".to_owned(),
            message,
            expected: serde_json::Value::Null,
            actual: serde_json::Value::Null,
        }))
    }
}
