//! Python functions and class for [`crate::consolidate`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyList, PyString},
};

use super::{
    contract::extract_contracts,
    message::{extract_messages, message_to_python},
    prompt::tag,
};
use crate::{
    consolidate::{self, Consolidator, Form, Options},
    contract::FunctionContract,
    message::Message,
};

/// Writes a history as natural text: calls and results become tags in it.
#[pyfunction(name = "consolidate")]
#[pyo3(signature = (messages, *, tools=None, form="single", tag="tool_call", fenced=false))]
#[pyo3(text_signature = "(messages, *, tools=(), form='single', tag='tool_call', fenced=False)")]
pub(crate) fn consolidated<'py>(
    py: Python<'py>,
    messages: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    form: &str,
    tag: &str,
    fenced: bool,
) -> PyResult<Bound<'py, PyList>> {
    let form = Form::from_wire(form).ok_or_else(|| {
        PyValueError::new_err(format!("form is \"single\" or \"split\", not {form:?}"))
    })?;
    let options = Options { form, tag: self::tag(tag)?, fenced };
    let messages = extract_messages(messages)?;
    let tools = contracts(tools)?;
    let written = py.detach(|| consolidate::consolidate(&messages, &tools, options))?;
    listed(py, &written)
}

/// Reads back what `consolidate` wrote.
#[pyfunction]
#[pyo3(signature = (text, tools=None))]
#[pyo3(text_signature = "(text, tools=())")]
pub(crate) fn parse_history<'py>(
    text: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let tools = contracts(tools)?;
    let read: Vec<Message> = if let Ok(text) = text.cast::<PyString>() {
        consolidate::parse_text(text.to_str()?, &tools)
    } else {
        let messages = extract_messages(text)?;
        messages.iter().flat_map(|part| consolidate::parse_history(part, &tools)).collect()
    };
    listed(text.py(), &read)
}

fn contracts(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<FunctionContract>> {
    tools.map_or_else(|| Ok(Vec::new()), extract_contracts)
}

fn listed<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for message in messages {
        list.append(message_to_python(py, message)?)?;
    }
    Ok(list)
}

/// Writes a history down while it grows.
#[pyclass(name = "Consolidator", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyConsolidator(Mutex<Consolidator>);

impl PyConsolidator {
    fn lock(&self) -> MutexGuard<'_, Consolidator> {
        // Nothing in the core panics half-way; if it did, the text so far would still be right.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyConsolidator {
    #[new]
    #[pyo3(signature = (*, tools=None, tag="tool_call", fenced=false))]
    #[pyo3(text_signature = "(*, tools=(), tag='tool_call', fenced=False)")]
    fn new(tools: Option<&Bound<'_, PyAny>>, tag: &str, fenced: bool) -> PyResult<Self> {
        let consolidator = Consolidator::new(&contracts(tools)?, self::tag(tag)?, fenced);
        Ok(Self(Mutex::new(consolidator)))
    }

    fn push(&self, message: &Bound<'_, PyAny>) -> PyResult<String> {
        let messages = extract_messages(message)?;
        let [message] = messages.as_slice() else {
            return Err(PyValueError::new_err(format!(
                "push takes one message, not {}",
                messages.len()
            )));
        };
        Ok(self.lock().push(message)?)
    }

    fn finish(&self) -> String {
        self.lock().finish()
    }

    #[getter]
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let message = self.lock().message();
        message.map(|message| message_to_python(py, &message)).transpose()
    }
}
