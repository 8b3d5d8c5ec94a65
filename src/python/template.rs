//! Python class for [`crate::registry::template`], and function for
//! [`crate::registry::structure`].

use std::borrow::Cow;

use pyo3::{
    exceptions::PyKeyError,
    prelude::*,
    types::{PyMapping, PyString, PyTuple},
};

use super::{
    class::record,
    convert::{to_json, to_python},
    error::wrong_type,
};
use crate::registry::{structure, template::Template};

/// A prompt with placeholders such as ``{request.query}``.
///
/// A placeholder is a name in braces, with optional spaces around it; a name is words joined by
/// dots, in ASCII letters, digits and ``_``. All other braces are text, so JSON is preserved, and
/// there is no escape for braces.
///
/// Example:
///     >>> prompt = PromptTemplate('Score {request.query} as {"score": 1}.')
///     >>> prompt.render({"request.query": "soup"})
///     'Score soup as {"score": 1}.'
#[pyclass(name = "PromptTemplate", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyPromptTemplate(Template);

record!(PyPromptTemplate { fields: [text] }
    #[new]
    fn new(text: String) -> Self {
        Self(Template::parse(text))
    }

    /// The prompt as written.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The names of the placeholders, each once, in the order of the text.
    #[getter]
    fn placeholders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        placeholders(py, &self.0)
    }

    /// Fill the placeholders in one pass; values are not searched for placeholders.
    ///
    /// A name with a dot that `values` does not have becomes empty. A single word such as
    /// ``{name}`` is kept if there is no value for it.
    ///
    /// Args:
    ///     values: Texts by the names of the placeholders; only those in the prompt are looked up.
    ///
    /// Raises:
    ///     TypeError: A value is not a ``str``.
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
        return Err(wrong_type("values must be a mapping of names to texts", values));
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
        return Err(wrong_type(format!("the value of {name:?} must be a str"), &value));
    };
    // A lone surrogate in a query is no reason to reject it.
    Ok(Some(text.to_string_lossy().into_owned().into()))
}

/// Return the JSON Schema (draft 2020-12) of a `returnStruc`, which is an example object.
///
/// Phrases about types, ranges and options are parsed (``"integer between 0 and 100"``, ``"list of
/// strings"``, ``"one of 'a' or 'b'"``, ``"(optional)"``); all others describe a string. Only the
/// score and members marked ``(required)`` are required. A JSON Schema with ``properties`` is
/// returned unchanged.
///
/// Raises:
///     TypeError: `structure` is not JSON.
#[pyfunction]
pub(crate) fn structure_schema<'py>(structure: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_python(structure.py(), &structure::schema(&to_json(structure)?))
}
