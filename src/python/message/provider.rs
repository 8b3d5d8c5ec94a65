//! Conversion of messages to and from the dicts of provider clients.

use pyo3::{prelude::*, types::PyList};
use serde_json::Value;

use super::{
    convert::message_to_python,
    detail::Detail,
    extract::{extract, item_to_json, items},
};
use crate::{
    message::{Dangling, Message, anthropic, openai},
    python::convert::{to_json, to_python, to_python_yielding},
};

/// Convert messages to dicts for `OpenAI`'s client.
#[pyfunction]
#[pyo3(signature = (messages, *, dangling="answer", reasoning=false))]
pub(crate) fn to_openai<'py>(
    messages: &Bound<'py, PyAny>,
    dangling: &str,
    reasoning: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    let options = openai::Options { dangling: parse_dangling(dangling)?, reasoning };
    let messages = extract(messages, Detail::Provider(openai::PROVIDER))?;
    let dicts = py.detach(|| openai::to_openai(&messages, options))?;
    to_python_yielding(py, &Value::Array(dicts))
}

/// Convert dicts or responses of `OpenAI`'s client to messages.
#[pyfunction]
pub(crate) fn from_openai<'py>(messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    list(messages.py(), &openai::from_openai(dicts(messages)?)?)
}

/// Convert messages to a system prompt and dicts for Anthropic's client.
#[pyfunction]
#[pyo3(signature = (messages, *, dangling="answer"))]
pub(crate) fn to_anthropic<'py>(
    messages: &Bound<'py, PyAny>,
    dangling: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = messages.py();
    let dangling = parse_dangling(dangling)?;
    let messages = extract(messages, Detail::Provider(anthropic::PROVIDER))?;
    let request = py.detach(|| anthropic::to_anthropic(&messages, dangling))?;
    let system = to_python(py, &request.system.unwrap_or_default())?;
    Ok((system, to_python_yielding(py, &Value::Array(request.messages))?))
}

/// Convert dicts or responses of Anthropic's client to messages.
#[pyfunction]
#[pyo3(signature = (messages, *, system=None))]
pub(crate) fn from_anthropic<'py>(
    messages: &Bound<'py, PyAny>,
    system: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let system = system.map(to_json).transpose()?;
    list(messages.py(), &anthropic::from_anthropic(dicts(messages)?, system)?)
}

fn dicts(messages: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    let expected = "a dict or a message of the client";
    let items = items(messages)?.enumerate();
    items.map(|(position, item)| item_to_json(&item?, position, expected)).collect()
}

fn list<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
    let messages: Vec<_> =
        messages.iter().map(|message| message_to_python(py, message)).collect::<PyResult<_>>()?;
    PyList::new(py, messages)
}

fn parse_dangling(name: &str) -> PyResult<Dangling> {
    Dangling::from_wire(name).ok_or_else(|| {
        let known: Vec<_> = Dangling::ALL.iter().map(|value| value.as_str()).collect();
        pyo3::exceptions::PyValueError::new_err(format!(
            "dangling is {name:?}; expected one of {}",
            known.join(", ")
        ))
    })
}
