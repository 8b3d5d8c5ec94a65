//! Conversion of messages to and from the dicts of provider clients.

use pyo3::{prelude::*, types::PyList};
use serde_json::Value;

use super::{
    convert::messages_to_python,
    extract::{Detail, extract, item_to_json, items},
};
use crate::{
    message::{Dangling, anthropic, openai},
    python::convert::{to_json, to_python, to_python_yielding},
};

/// Convert messages to dicts for ``chat.completions.create`` of OpenAI's client.
///
/// Each reply becomes one message, directly followed by the results of its calls. Messages with the
/// same `generation_id` are one reply; without an id, reasoning, text and calls that follow one
/// another in this order are. Usage is omitted, and so is the error flag of results, which that API
/// does not have. Its format has one text and one list of calls for each reply, so the order of
/// text and calls is lost: texts are concatenated in order, and so are calls.
///
/// Args:
///     messages: A conversation.
///     dangling: The treatment of a call without a result, which the API rejects: ``answer`` it
///         with an error result that says so, ``omit`` it, or ``raise``. A result without a call
///         is dropped by ``omit`` and an error otherwise.
///     reasoning: True to send reasoning, as ``reasoning_content``; only some servers accept it.
///
/// Raises:
///     MessageError: A message cannot be expressed in OpenAI's format; the error names the message.
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

/// Convert dicts and response messages of OpenAI's client to messages.
///
/// Calls and their results become aggregates. Content that is a list of parts becomes its
/// concatenated texts; the list, and everything else that only that API knows, is kept in
/// ``metadata["openai"]``.
///
/// Raises:
///     MessageError: A part is missing, invalid or unknown; the error names the message and the
///         place.
#[pyfunction]
pub(crate) fn from_openai<'py>(messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    messages_to_python(messages.py(), &openai::from_openai(dicts(messages)?)?)
}

/// Convert messages for ``messages.create`` of Anthropic's client.
///
/// Conversion works as in `to_openai`, but reasoning, texts and calls of a reply keep their order,
/// and the results of its calls are one user message directly after it. All system texts become
/// part of the system prompt. Blank texts, and reasoning without a signature in its metadata, are
/// omitted, because the API rejects them. Call ids are made unique and conform to the API's format.
///
/// Args:
///     messages: A conversation.
///     dangling: The treatment of a call without a result, as in `to_openai`.
///
/// Returns:
///     The system prompt and the messages, as dicts.
///
/// Raises:
///     MessageError: A message cannot be expressed in Anthropic's format; the error names the
///         message.
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

/// Convert dicts and responses of Anthropic's client to messages.
///
/// Reasoning, texts and calls of a reply keep their order; adjacent calls share a message.
/// `generation_id` is the id of the reply; for a reply without an id that continues after its
/// calls, it is derived from the id of the first call. Everything that only that API knows is kept
/// in ``metadata["anthropic"]``.
///
/// Args:
///     messages: Messages and responses as that client has them.
///     system: The system prompt of the request, which becomes the first message.
///
/// Raises:
///     MessageError: A part is missing, invalid or unknown; the error names the message and the
///         place.
#[pyfunction]
#[pyo3(signature = (messages, *, system=None))]
pub(crate) fn from_anthropic<'py>(
    messages: &Bound<'py, PyAny>,
    system: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let system = system.map(to_json).transpose()?;
    messages_to_python(messages.py(), &anthropic::from_anthropic(dicts(messages)?, system)?)
}

fn dicts(messages: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    let expected = "a dict or a message of the client";
    let items = items(messages)?.enumerate();
    items.map(|(position, item)| item_to_json(&item?, position, expected)).collect()
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
