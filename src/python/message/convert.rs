//! Conversion of messages between Rust and Python.

use pyo3::{
    PyClass,
    prelude::*,
    types::{PyBytes, PyList, PyString, PyTuple},
};

use super::{
    base::{Kind, PyMessageBase},
    call::{PyToolCall, PyToolResult},
    classes::{
        PyReasoningMessage, PyTextMessage, PyToolAggregateMessage, PyToolCallMessage,
        PyToolResultMessage, PyUnknownMessage, PyUsageMessage,
    },
    extract::Detail,
};
use crate::{
    message::{Content, Envelope, Message, MessageError, Place, ToolCall, ToolResult},
    python::{
        convert::{object_to_python, string, to_json, tuple},
        error::wrong_type,
    },
};

/// Convert messages to a list of objects.
pub(crate) fn messages_to_python<'py>(
    py: Python<'py>,
    messages: &[Message],
) -> PyResult<Bound<'py, PyList>> {
    let messages = messages.iter().map(|message| message_to_python(py, message));
    PyList::new(py, messages.collect::<PyResult<Vec<_>>>()?)
}

/// Convert a message to an object of the class for its kind.
pub(crate) fn message_to_python<'py>(
    py: Python<'py>,
    message: &Message,
) -> PyResult<Bound<'py, PyAny>> {
    message_with_results(py, message, &|result| Bound::new(py, PyToolResult::from_core(py, result)))
}

/// Convert a message as [`message_to_python`] does, with the given objects for its results.
pub(super) fn message_with_results<'py>(
    py: Python<'py>,
    message: &Message,
    result: &dyn Fn(&ToolResult) -> PyResult<Bound<'py, PyToolResult>>,
) -> PyResult<Bound<'py, PyAny>> {
    let envelope = &message.envelope;
    let results = |results: &[ToolResult]| tuple(py, results.iter().map(result)).map(Bound::unbind);
    match &message.content {
        Content::Text(said) => object(
            py,
            envelope,
            PyTextMessage { text: string(py, said), natural: envelope.natural },
        ),
        Content::Reasoning(said) => {
            object(py, envelope, PyReasoningMessage { text: string(py, said) })
        }
        Content::ToolCalls(calls) => {
            object(py, envelope, PyToolCallMessage { tool_calls: calls_to_python(py, calls)? })
        }
        Content::ToolResults(all) => {
            object(py, envelope, PyToolResultMessage { tool_results: results(all)? })
        }
        Content::Aggregate { calls, results: all } => {
            let tool_calls = calls_to_python(py, calls)?;
            let tool_results = results(all)?;
            object(py, envelope, PyToolAggregateMessage { tool_calls, tool_results })
        }
        Content::Usage(usage) => {
            let usage = PyUsageMessage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_input_tokens: usage.cached_input_tokens,
                cost: usage.cost,
            };
            object(py, envelope, usage)
        }
        Content::Unknown { kind, fields } => {
            let fields = object_to_python(py, fields)?.unbind();
            object(py, envelope, PyUnknownMessage { kind: string(py, kind), fields })
        }
    }
}

fn object<'py, K: Kind>(
    py: Python<'py>,
    envelope: &Envelope,
    content: K,
) -> PyResult<Bound<'py, PyAny>> {
    let base = PyMessageBase::from_core(py, K::KIND, envelope)?;
    Ok(Bound::new(py, PyClassInitializer::from(base).add_subclass(content))?.into_any())
}

fn calls_to_python(py: Python<'_>, calls: &[ToolCall]) -> PyResult<Py<PyTuple>> {
    tuple(py, calls.iter().map(|call| PyToolCall::from_core(py, call))).map(Bound::unbind)
}

/// Convert an object of a message class; return None for other objects.
pub(super) fn try_to_core(
    object: &Bound<'_, PyAny>,
    detail: Detail<'_>,
) -> PyResult<Option<Message>> {
    fn content<K: Kind + PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync>(
        object: &Bound<'_, PyAny>,
        detail: Detail<'_>,
    ) -> Option<PyResult<Content>> {
        object.cast::<K>().ok().map(|message| message.get().content(object.py(), detail))
    }
    let Ok(base) = object.cast::<PyMessageBase>() else {
        return Ok(None);
    };
    let content = content::<PyTextMessage>(object, detail)
        .or_else(|| content::<PyReasoningMessage>(object, detail))
        .or_else(|| content::<PyToolCallMessage>(object, detail))
        .or_else(|| content::<PyToolResultMessage>(object, detail))
        .or_else(|| content::<PyToolAggregateMessage>(object, detail))
        .or_else(|| content::<PyUsageMessage>(object, detail))
        .or_else(|| content::<PyUnknownMessage>(object, detail));
    let Some(content) = content else {
        return Ok(None);
    };
    let mut envelope = base.get().to_core(object.py(), detail)?;
    envelope.natural = object.cast::<PyTextMessage>().is_ok_and(|text| text.get().natural);
    Ok(Some(Message { envelope, content: content? }))
}

/// Convert an object of a message class.
pub(super) fn to_core(object: &Bound<'_, PyAny>) -> PyResult<Message> {
    match try_to_core(object, Detail::Full)? {
        Some(message) => Ok(message),
        None => Err(wrong_type("expected a message", object)),
    }
}

/// Read a message of any kind from JSON text, nested at most 128 levels deep.
///
/// Raises:
///     MessageError: The text is not JSON or not a message.
#[pyfunction]
pub(crate) fn message_from_json<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = text.py();
    let message = if let Ok(text) = text.cast::<PyString>() {
        Message::from_json(text.to_str()?)
    } else if let Ok(bytes) = text.cast::<PyBytes>() {
        match std::str::from_utf8(bytes.as_bytes()) {
            Ok(text) => Message::from_json(text),
            Err(err) => {
                Err(MessageError::Json { place: Place::default(), reason: err.to_string() })
            }
        }
    } else {
        return Err(wrong_type("JSON text must be a str or bytes", text));
    };
    message_to_python(py, &message?)
}

/// Read a message of any kind from a dict.
///
/// Raises:
///     MessageError: The dict is not a message.
#[pyfunction]
pub(crate) fn message_from_dict<'py>(fields: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    message_to_python(fields.py(), &Message::from_json_value(to_json(fields)?)?)
}
