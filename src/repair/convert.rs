//! Conversion of a value to another type, where its meaning is unambiguous.

use serde_json::{Number, Value};

use super::types::{is_type, whole_digits};
use crate::{message::RepairKind, validator::equal};

/// Convert `value` to one of `types`, none of which it has.
pub(super) fn to_types(value: &Value, types: &[&str]) -> Option<(RepairKind, Value)> {
    let mut found: Vec<(RepairKind, Value)> = Vec::new();
    for name in types {
        let converted = match value {
            Value::String(text) => text_to_type(text, name),
            Value::Number(_) | Value::Bool(_) if *name == "string" => {
                let only = types.iter().all(|name| matches!(*name, "string" | "null"));
                only.then(|| (RepairKind::Type, Value::String(value.to_string())))
            }
            _ => None,
        };
        if let Some(converted) = converted
            && !found.iter().any(|(_, known)| *known == converted.1)
        {
            found.push(converted);
        }
    }
    match found.len() {
        0 if types.contains(&"array") && is_scalar(value) => {
            Some((RepairKind::WrapInArray, Value::Array(vec![value.clone()])))
        }
        1 => found.pop(),
        _ => None,
    }
}

/// Return the only one of `options` that `value` can mean.
pub(super) fn to_option(value: &Value, options: &[&Value]) -> Option<(RepairKind, Value)> {
    if !is_scalar(value) {
        return None;
    }
    let written = unquoted(value);
    let (kind, mut matching) = match value {
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            let same_text = |option: &&Value| {
                option.as_str().is_some_and(|option| option.trim().to_lowercase() == text)
            };
            let matching: Vec<_> = options.iter().copied().filter(same_text).collect();
            (RepairKind::EnumCase, matching)
        }
        _ => (RepairKind::Type, Vec::new()),
    };
    if matching.is_empty() {
        let same_spelling = |option: &&Value| is_scalar(option) && unquoted(option) == written;
        matching = options.iter().copied().filter(same_spelling).collect();
        return match matching.as_slice() {
            [only] => Some((RepairKind::Type, (*only).clone())),
            _ => None,
        };
    }
    match matching.as_slice() {
        [first, rest @ ..] if rest.iter().all(|other| equal(first, other)) => {
            Some((kind, (*first).clone()))
        }
        _ => None,
    }
}

/// Convert a number such as 4.0 to 4.
pub(super) fn whole(value: &Value) -> Option<Value> {
    let written = value.as_number()?.as_str();
    let digits = whole_digits(written)?;
    if digits == written {
        return None;
    }
    digits.parse().map(Value::Number).ok()
}

fn text_to_type(text: &str, name: &str) -> Option<(RepairKind, Value)> {
    let text = text.trim();
    let (kind, value) = match name {
        "number" => (RepairKind::Type, Value::Number(number(text)?)),
        "integer" => {
            let number = number(text)?;
            let digits = whole_digits(number.as_str())?;
            (RepairKind::Type, Value::Number(digits.parse().ok()?))
        }
        "boolean" => match text {
            "true" | "True" | "TRUE" => (RepairKind::Type, Value::Bool(true)),
            "false" | "False" | "FALSE" => (RepairKind::Type, Value::Bool(false)),
            _ => return None,
        },
        "null" => match text {
            "null" | "None" => (RepairKind::Type, Value::Null),
            _ => return None,
        },
        "object" | "array" => {
            if !text.starts_with(['{', '[']) {
                return None;
            }
            let value: Value = serde_json::from_str(text).ok()?;
            if !is_type(&value, name) {
                return None;
            }
            (RepairKind::JsonText, value)
        }
        _ => return None,
    };
    Some((kind, value))
}

/// Parse the number in `text`, with all its digits.
fn number(text: &str) -> Option<Number> {
    // Parsing a whole value would accept `{` first.
    text.starts_with(|ch: char| ch == '-' || ch.is_ascii_digit()).then(|| text.parse().ok())?
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number() || value.is_boolean()
}

/// Return a scalar as text without quotes.
fn unquoted(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}
