//! Content that is a list of parts: its text for all formats, the list for its own provider.

use serde_json::{Map, Value};

use super::{
    Message,
    error::{MessageError, Place, one_of},
    fields::Fields,
};

/// A text, and the list of parts if it contains more than the text.
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) kept: Option<Value>,
}

/// Parse content: a string, or a list of parts of the given types.
pub(super) fn read(
    content: Value,
    place: &Place,
    types: &[&str],
    separator: &str,
) -> Result<Parts, MessageError> {
    let items = match content {
        Value::String(text) => return Ok(Parts { text, kept: None }),
        Value::Array(items) => items,
        other => {
            let expected = "a string or a list of parts";
            return Err(MessageError::unexpected(place.clone(), expected, &other));
        }
    };
    for (position, item) in items.iter().enumerate() {
        let mut part = Fields::new(item.clone(), place.item(position))?;
        let kind = part.text("type")?;
        if !types.contains(&kind.as_str()) {
            return Err(part.unexpected("type", one_of(types), &kind.into()));
        }
        if kind == "text" {
            part.text("text")?;
        }
    }
    let items: Vec<_> = items.into_iter().map(without_nulls).collect();
    let text = text_of(&items, separator);
    let plain = matches!(&items[..], [only] if is_plain_text(only));
    Ok(Parts { text, kept: (!plain).then_some(Value::Array(items)) })
}

fn without_nulls(part: Value) -> Value {
    match part {
        Value::Object(members) => {
            members.into_iter().filter(|(_, value)| !value.is_null()).collect()
        }
        other => other,
    }
}

fn is_text(part: &Value) -> bool {
    part["type"] == "text"
}

fn is_plain_text(part: &Value) -> bool {
    is_text(part) && part.as_object().is_some_and(|part| part.len() == 2)
}

fn text_of(parts: &[Value], separator: &str) -> String {
    let texts: Vec<_> = parts
        .iter()
        .filter(|part| is_text(part))
        .filter_map(|part| part["text"].as_str())
        .collect();
    texts.join(separator)
}

/// Return the original list of parts, if the text is unchanged.
pub(super) fn restore<'a>(
    own: Option<&'a Map<String, Value>>,
    text: &str,
    separator: &str,
) -> Option<&'a Vec<Value>> {
    let kept = own?.get("content")?.as_array()?;
    (text_of(kept, separator) == text).then_some(kept)
}

/// Reject a message with parts that only another provider understands.
pub(super) fn check_foreign(
    message: &Message,
    place: &Place,
    other: &str,
    target: &'static str,
) -> Result<(), MessageError> {
    let kept = own(message, other).and_then(|own| own.get("content")).and_then(Value::as_array);
    let Some(part) = kept.and_then(|parts| parts.iter().find(|part| !is_text(part))) else {
        return Ok(());
    };
    let kind = part["type"].as_str().unwrap_or_default();
    Err(MessageError::Unsupported {
        place: place.clone(),
        target,
        reason: format!("it holds a part of type {kind:?} in the form of another provider"),
    })
}

/// Return the metadata that only `provider` understands.
pub(super) fn own<'a>(message: &'a Message, provider: &str) -> Option<&'a Map<String, Value>> {
    message.envelope.metadata.get(provider)?.as_object()
}
