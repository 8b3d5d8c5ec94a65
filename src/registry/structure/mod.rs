//! Schemas for replies, derived from examples.
//!
//! A `returnStruc` is an example object whose values describe what belongs there. [`schema`]
//! derives a JSON Schema (draft 2020-12) from it: phrases about types, ranges and options are
//! parsed, all others describe a string.
//!
//! Only the score is required: prompts ask for the rest only if the score is high, and do not say
//! which fields a tool can do without. The object is closed, so that a handler gets no unexpected
//! parameters.
//!
//! ```
//! use serde_json::json;
//! use toolweave::registry::structure;
//!
//! let structure = json!({
//!     "score": "integer between 0 and 100",
//!     "queries": "array of search queries",
//!     "order": "one of 'price' or 'rating'",
//! });
//! assert_eq!(
//!     structure::schema(&structure),
//!     json!({
//!         "type": "object",
//!         "properties": {
//!             "score": {
//!                 "type": "integer", "minimum": 0, "maximum": 100,
//!                 "description": "integer between 0 and 100",
//!             },
//!             "queries": {
//!                 "type": "array", "items": {"type": "string"},
//!                 "description": "array of search queries",
//!             },
//!             "order": {
//!                 "type": "string", "enum": ["price", "rating"],
//!                 "description": "one of 'price' or 'rating'",
//!             },
//!         },
//!         "required": ["score"],
//!         "additionalProperties": false,
//!     })
//! );
//! ```

mod options;
mod phrase;
mod range;
#[cfg(test)]
mod tests;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::validator::Validator;

/// Maximum depth of examples; anything deeper is unconstrained.
const MAX_DEPTH: usize = 16;

/// Maximum number of item schemas in a list; the items of a list with more are unconstrained.
const MAX_ITEM_KINDS: usize = 8;

const SCORE: &str = "score";

/// Derive the JSON Schema of an example. A JSON Schema of objects, recognized by its `properties`,
/// is returned unchanged.
pub fn schema(structure: &Value) -> Value {
    if is_schema(structure) {
        return structure.clone();
    }
    let Value::Object(members) = structure else { return example(structure, 0).schema.into() };
    let score = score_key(members.keys().map(String::as_str));
    let (properties, required) = properties_of(members, score, 1);
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema["additionalProperties"] = false.into();
    schema
}

/// Derive the schemas of the members of an object, and the names of required ones: the score, and
/// those that are marked as required.
fn properties_of(
    members: &Map<String, Value>,
    score: Option<&str>,
    depth: usize,
) -> (Map<String, Value>, Vec<Value>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, value) in members {
        let is_score = Some(key.as_str()) == score;
        let read = if is_score { self::score(value).into() } else { example(value, depth) };
        if is_score || read.required {
            required.push(key.as_str().into());
        }
        properties.insert(key.clone(), read.schema.into());
    }
    (properties, required)
}

/// Derive the schema of a reply to a prompt. It includes a score even if the structure has none, or
/// is not an object.
pub fn reply_schema(structure: Option<&Value>) -> Value {
    let mut schema = match structure {
        Some(structure @ Value::Object(_)) => self::schema(structure),
        _ => json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    if let Some(members) = schema.as_object_mut()
        && score_property(members).is_none()
    {
        let properties = members.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(SCORE.to_owned(), score(&Value::Null).into());
        }
        let required = members.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            required.push(SCORE.into());
        }
    }
    schema
}

/// Return the schema of a reply without its score: the parameters of a handler.
pub fn parameter_schema(reply_schema: &Value) -> Value {
    let mut schema = reply_schema.clone();
    let Value::Object(members) = &mut schema else { return schema };
    let Some(score) = score_property(members).map(str::to_owned) else { return schema };
    if let Some(properties) = members.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(&score);
    }
    if let Some(required) = members.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str() != Some(score.as_str()));
        if required.is_empty() {
            members.shift_remove("required");
        }
    }
    schema
}

/// Return true if scores of a reply are from 0 to 1 instead of 0 to 100.
pub fn has_fractional_score(reply_schema: &Value) -> bool {
    let Value::Object(members) = reply_schema else { return false };
    let score = score_property(members).and_then(|score| members["properties"].get(score));
    score.and_then(|score| score.get("maximum")).and_then(Value::as_f64) == Some(1.0)
}

/// Return the key of the score: `score`, or the only key that differs from it just in case.
pub fn score_key<'k>(keys: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let mut others = 0;
    let mut other = None;
    for key in keys {
        if key == SCORE {
            return Some(key);
        }
        if key.eq_ignore_ascii_case(SCORE) {
            others += 1;
            other = Some(key);
        }
    }
    other.filter(|_| others == 1)
}

fn score_property(schema: &Map<String, Value>) -> Option<&str> {
    let properties = schema.get("properties")?.as_object()?;
    score_key(properties.keys().map(String::as_str))
}

fn is_schema(structure: &Value) -> bool {
    properties(structure).is_some() && Validator::new(structure).is_ok()
}

/// Return the properties of an object that has the form of a JSON Schema of objects.
pub(super) fn properties(structure: &Value) -> Option<&Map<String, Value>> {
    let properties = structure.get("properties")?.as_object()?;
    let is_one = structure["type"] == "object" && properties.values().all(Value::is_object);
    is_one.then_some(properties)
}

/// The schema of an example.
#[derive(Debug, Default, PartialEq)]
struct Example {
    schema: Map<String, Value>,
    /// True if the example is marked as required.
    required: bool,
}

impl From<Map<String, Value>> for Example {
    fn from(schema: Map<String, Value>) -> Self {
        Self { schema, required: false }
    }
}

#[expect(clippy::expect_used, reason = "a constant, which the tests use")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

fn score(value: &Value) -> Map<String, Value> {
    let parsed = match value {
        Value::String(text) => phrase::read(text).schema,
        _ => Map::new(),
    };
    let is_fractional = parsed.get("type").is_some_and(|kind| kind == "number");
    let is_fraction = parsed.get("maximum").and_then(Value::as_f64) == Some(1.0);
    let mut schema = typed(if is_fractional { "number" } else { "integer" });
    schema.insert("minimum".to_owned(), 0.into());
    schema.insert("maximum".to_owned(), if is_fraction { 1 } else { 100 }.into());
    // Not "100": some files contain an example of a score instead of a description.
    if let Some(description) = parsed.get("description")
        && description.as_str().is_some_and(|text| text.contains(char::is_alphabetic))
    {
        schema.insert("description".to_owned(), description.clone());
    }
    schema
}

fn example(value: &Value, depth: usize) -> Example {
    if depth > MAX_DEPTH {
        return Example::default();
    }
    match value {
        Value::Null => Example::default(),
        Value::Bool(_) => typed("boolean").into(),
        Value::Number(number) => {
            let is_whole = !number.as_str().contains(['.', 'e', 'E']);
            typed(if is_whole { "integer" } else { "number" }).into()
        }
        Value::String(text) => phrase::read(text),
        Value::Array(items) => array(items, depth).into(),
        Value::Object(members) => object(members, depth).into(),
    }
}

fn object(members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mut schema = typed("object");
    if members.is_empty() {
        return schema;
    }
    let (properties, required) = properties_of(members, None, depth + 1);
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// Derive the schema of a list from its example items.
fn array(items: &[Value], depth: usize) -> Map<String, Value> {
    let mut schema = typed("array");
    let mut kinds: Vec<Value> = Vec::new();
    for item in items {
        let mut kind = example(item, depth + 1).schema;
        if items.len() > 1 && kind.get("type").is_some_and(|name| name == "string") {
            // Several strings are examples, not descriptions.
            kind.shift_remove("description");
        }
        let kind = kind.into();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        if kinds.len() > MAX_ITEM_KINDS {
            return schema;
        }
    }
    let items = match kinds.len() {
        0 => return schema,
        1 => kinds.remove(0),
        _ => json!({"anyOf": kinds}),
    };
    schema.insert("items".to_owned(), items);
    schema
}
