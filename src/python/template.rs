//! Python class for [`crate::registry::template`], and function for
//! [`crate::registry::structure`].

use std::borrow::Cow;

use pyo3::{
    exceptions::{PyKeyError, PyTypeError},
    prelude::*,
    types::{PyMapping, PyString, PyTuple},
};

use super::{
    class::record,
    convert::{to_json, to_python},
};
use crate::registry::{structure, template::Template};

/// A prompt with placeholders such as `{request.query}`.
#[pyclass(name = "PromptTemplate", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyPromptTemplate(Template);

record!(PyPromptTemplate { text }
    #[new]
    fn new(text: String) -> Self {
        Self(Template::parse(text))
    }

    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    #[getter]
    fn placeholders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        placeholders(py, &self.0)
    }

    fn render(&self, values: &Bound<'_, PyAny>) -> PyResult<String> {
        render(&self.0, values)
    }
);

/// Return the names of the placeholders of a prompt.
pub(crate) fn placeholders<'py>(
    py: Python<'py>,
    template: &Template,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, template.placeholders().collect::<Vec<_>>())
}

/// Fill a prompt with the values of a Python mapping, of which only the placeholders are looked up.
pub(crate) fn render(template: &Template, values: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(values) = values.cast::<PyMapping>() else {
        let class = values.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "values must be a mapping of names to texts, got {class}"
        )));
    };
    let mut error = None;
    let filled = template.render(|name| {
        if error.is_some() {
            return None;
        }
        value(values, name).unwrap_or_else(|err| {
            error = Some(err);
            None
        })
    });
    error.map_or(Ok(filled), Err)
}

fn value<'v>(values: &Bound<'_, PyMapping>, name: &str) -> PyResult<Option<Cow<'v, str>>> {
    let py = values.py();
    let value = match values.get_item(name) {
        Ok(value) => value,
        Err(err) if err.is_instance_of::<PyKeyError>(py) => return Ok(None),
        Err(err) => return Err(err),
    };
    let Ok(text) = value.cast::<PyString>() else {
        let class = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "the value of {name:?} must be a str, got {class}"
        )));
    };
    // A lone surrogate in a query is no reason to reject it.
    Ok(Some(text.to_string_lossy().into_owned().into()))
}

/// Return the JSON Schema of an example object.
#[pyfunction]
pub(crate) fn structure_schema<'py>(structure: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_python(structure.py(), &structure::schema(&to_json(structure)?))
}
