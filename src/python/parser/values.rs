//! Values of options, and the errors for wrong ones.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBool, PyString},
};

use crate::python::error::wrong_type;

pub(super) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true()),
        Err(_) => Err(wrong_type(format!("{name} must be a bool"), value)),
    }
}

pub(super) fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.to_owned()),
        Err(_) => Err(wrong_type(format!("{name} must be a str"), value)),
    }
}

/// Return a collection of names. A lone `str` is rejected, although it is iterable.
pub(super) fn names(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.try_iter() {
        Ok(items) if !value.is_instance_of::<PyString>() => {
            items.map(|item| text(name, &item?)).collect()
        }
        _ => Err(wrong_type(format!("{name} must be a tuple of str"), value)),
    }
}

pub(super) fn unknown<'a>(name: &str, given: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    let known: Vec<_> = known.map(|known| format!("{known:?}")).collect();
    PyValueError::new_err(format!("{name}: {given:?} is not one of {}", known.join(", ")))
}
