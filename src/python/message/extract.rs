//! Extraction of messages from the forms that callers pass.

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyMapping, PyString},
};
use serde_json::Value;

use super::convert::try_to_core;
use crate::{
    message::{Content, Message, Place, Role, openai},
    python::{convert::to_json, error::wrong_type},
};

/// The parts of a message that are read from its Python object.
///
/// A long call can have a repair for each of its values, and reading those takes long.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail<'a> {
    /// The whole message.
    Full,
    /// The message without the raw text and the repairs of calls, which no model reads.
    Request,
    /// As [`Request`](Self::Request), with only this member of the metadata.
    Provider(&'a str),
}

/// Extract a conversation from a `str` (one text of the user), or from an iterable of messages,
/// strings, wire dicts (those with a `kind`), and `OpenAI`'s dicts and response objects. Errors
/// name the position.
pub(crate) fn extract(messages: &Bound<'_, PyAny>, detail: Detail<'_>) -> PyResult<Vec<Message>> {
    if let Ok(text) = messages.cast::<PyString>() {
        return Ok(vec![user_text(text)?]);
    }
    if let Some(message) = try_to_core(messages, detail)? {
        return Ok(vec![message]);
    }
    let mut all = Vec::new();
    // Dicts of OpenAI's are read together, so that results find their calls.
    let mut foreign = Vec::new();
    for (position, item) in items(messages)?.enumerate() {
        let item = item?;
        let message = if let Ok(text) = item.cast::<PyString>() {
            user_text(text)?
        } else if let Some(message) = try_to_core(&item, detail)? {
            message
        } else {
            match item_to_json(&item, position, "a message, a str or a dict")? {
                value @ Value::Object(_) if value.get("kind").is_some() => {
                    flush(&mut all, &mut foreign, position)?;
                    let mut read = Message::from_json_after(&all, value, Place::message(position))?;
                    // A dict may come from anywhere; only programs may set this mark, on message
                    // objects.
                    read.envelope.natural = false;
                    read
                }
                value => {
                    foreign.push(value);
                    continue;
                }
            }
        };
        flush(&mut all, &mut foreign, position)?;
        all.push(message);
    }
    let end = all.len() + foreign.len();
    flush(&mut all, &mut foreign, end)?;
    Ok(all)
}

fn flush(all: &mut Vec<Message>, foreign: &mut Vec<Value>, end: usize) -> PyResult<()> {
    let offset = end - foreign.len();
    all.extend(openai::from_openai_at(std::mem::take(foreign), offset)?);
    Ok(())
}

fn user_text(text: &Bound<'_, PyString>) -> PyResult<Message> {
    Ok(Message::new(Role::User, Content::Text(text.to_str()?.to_owned())))
}

/// Return an iterator over a list of messages.
pub(super) fn items<'py>(
    messages: &Bound<'py, PyAny>,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let single = messages.is_instance_of::<PyDict>()
        || messages.is_instance_of::<PyBytes>()
        || messages.is_instance_of::<PyString>()
        || messages.hasattr("model_dump")?;
    match messages.try_iter() {
        Ok(items) if !single => Ok(items),
        _ => Err(wrong_type("expected a list of messages", messages)),
    }
}

/// Convert a dict, or the dump of a client's object, to JSON.
pub(super) fn item_to_json(
    item: &Bound<'_, PyAny>,
    position: usize,
    expected: &str,
) -> PyResult<Value> {
    let dumped =
        if item.hasattr("model_dump")? { Some(item.call_method0("model_dump")?) } else { None };
    let fields = dumped.as_ref().unwrap_or(item);
    if !fields.is_instance_of::<PyMapping>() {
        return Err(wrong_type(format!("message {position} must be {expected}"), item));
    }
    to_json(fields).map_err(|err| {
        let py = item.py();
        let sentence = format!("message {position}: {}", err.value(py));
        PyErr::from_type(err.get_type(py), sentence)
    })
}
