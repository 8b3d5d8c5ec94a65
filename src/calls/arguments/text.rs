//! Arguments as a JSON object, or as the text of the only argument.

use serde_json::{Map, Value};

use super::Converted;
use crate::repair::repair_json;

pub(super) fn convert(payload: &str, schema: Option<&Value>) -> Option<Converted> {
    let text = without_fence(payload.trim());
    if text.starts_with('{') {
        let repaired = repair_json(text)?;
        return Some(Converted { arguments: repaired.text, repairs: repaired.repairs });
    }
    let no_properties = Map::new();
    let properties =
        schema.and_then(|schema| schema.get("properties")?.as_object()).unwrap_or(&no_properties);
    if properties.is_empty() {
        let says_nothing = ["", "none", "null", "n/a"].contains(&&*text.to_ascii_lowercase());
        return says_nothing.then(|| Converted { arguments: "{}".into(), repairs: Vec::new() });
    }
    let (name, property) = only_argument(properties, schema?)?;
    let value = value(text, property);
    let json = Value::Object(Map::from_iter([(name.to_owned(), value)])).to_string();
    Some(Converted { arguments: json, repairs: Vec::new() })
}

/// Return the argument that a text alone stands for: the only one, the only required one, or the
/// only string.
fn only_argument<'s>(
    properties: &'s Map<String, Value>,
    schema: &'s Value,
) -> Option<(&'s str, &'s Value)> {
    let only = |wanted: &dyn Fn(&str, &Value) -> bool| {
        let mut found = properties.iter().filter(|(name, value)| wanted(name, value));
        let first = found.next()?;
        found.next().is_none().then_some((first.0.as_str(), first.1))
    };
    let required = schema.get("required").and_then(Value::as_array);
    only(&|_, _| true)
        .or_else(|| only(&|name, _| required.is_some_and(|names| names.contains(&name.into()))))
        .or_else(|| only(&|_, property| is_string(property)))
}

fn is_string(property: &Value) -> bool {
    property.get("type").is_some_and(|kind| kind == "string")
}

fn value(text: &str, property: &Value) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::String(inner)) => Value::String(inner),
        Ok(value) if !is_string(property) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Return the content of a fence, if `text` is one.
fn without_fence(text: &str) -> &str {
    let inner = || text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n');
    inner().map_or(text, |(_, content)| content.trim())
}
