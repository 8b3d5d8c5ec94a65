//! Checks of a JSON Schema that need no compilation.
//!
//! The validator checks a schema in full, but long after the contract is created. Common mistakes
//! are reported here, with their location: a property that is not a schema, a list instead of a
//! map, `"type": "str"`.

use serde_json::{Map, Value};

use super::{ContractError, Part};

/// Maximum nesting depth of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 100;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A mistake in a schema, not yet attributed to a tool.
#[derive(Debug)]
pub(super) struct Fault {
    place: String,
    reason: String,
}

impl Fault {
    pub(super) fn of(self, name: &str, part: Part) -> ContractError {
        let Self { place, reason } = self;
        ContractError::Schema { name: name.to_owned(), part, place, reason }
    }
}

/// Check that `schema` can be the schema of a call's arguments, which are an object.
pub(super) fn check_parameters(schema: &Value) -> Result<(), Fault> {
    let Value::Object(members) = schema else {
        return Err(Fault {
            place: String::new(),
            reason: format!("a schema for an object is wanted, not {}", kind(schema)),
        });
    };
    let takes_object = match members.get("type") {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
        Some(name) => name == "object",
    };
    if !takes_object {
        return Err(Fault {
            place: "/type".to_owned(),
            reason: format!(
                "arguments are an object, so the type is \"object\", not {}",
                members["type"]
            ),
        });
    }
    check(schema)
}

/// Check that `returns` is prose or a schema.
pub(super) fn check_returns(returns: &Value) -> Result<(), Fault> {
    if returns.is_string() { Ok(()) } else { check(returns) }
}

/// The form of a keyword's value.
enum KeywordForm {
    Schema,
    Schemas,
    SchemaOrSchemas,
    SchemaMap,
    StringList,
    Type,
    String,
    List,
    /// A schema by name, or a list of names (`dependencies` of older drafts).
    Mixed,
}

fn form(keyword: &str) -> Option<KeywordForm> {
    Some(match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordForm::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordForm::Schemas,
        "items" => KeywordForm::SchemaOrSchemas,
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            KeywordForm::SchemaMap
        }
        "required" => KeywordForm::StringList,
        "type" => KeywordForm::Type,
        "$ref" | "description" | "format" | "pattern" | "title" => KeywordForm::String,
        "enum" => KeywordForm::List,
        "dependencies" => KeywordForm::Mixed,
        _ => return None,
    })
}

/// Check all schemas inside `schema`, without recursion.
fn check(schema: &Value) -> Result<(), Fault> {
    check_depth(schema)?;
    let mut pending = vec![(String::new(), schema)];
    while let Some((place, schema)) = pending.pop() {
        let members = match schema {
            Value::Object(members) => members,
            Value::Bool(_) => continue,
            other => {
                let reason = format!("a schema is an object, true or false, not {}", kind(other));
                return Err(Fault { place, reason });
            }
        };
        for (keyword, value) in members {
            if let Some(form) = form(keyword) {
                let place = step(&place, keyword);
                check_keyword(&form, place, value, &mut pending)?;
            }
        }
    }
    Ok(())
}

fn check_keyword<'s>(
    form: &KeywordForm,
    place: String,
    value: &'s Value,
    pending: &mut Vec<(String, &'s Value)>,
) -> Result<(), Fault> {
    let wanted = match (form, value) {
        (KeywordForm::Schemas | KeywordForm::SchemaOrSchemas, Value::Array(schemas)) => {
            let schemas = schemas.iter().enumerate();
            pending.extend(schemas.map(|(at, schema)| (step(&place, &at.to_string()), schema)));
            return Ok(());
        }
        (KeywordForm::Schema | KeywordForm::SchemaOrSchemas, _) => {
            pending.push((place, value));
            return Ok(());
        }
        (KeywordForm::SchemaMap, Value::Object(schemas)) => {
            pending.extend(named(&place, schemas));
            return Ok(());
        }
        (KeywordForm::Mixed, Value::Object(schemas)) => {
            pending.extend(named(&place, schemas).filter(|(_, schema)| !schema.is_array()));
            return Ok(());
        }
        (KeywordForm::StringList, Value::Array(names)) if names.iter().all(Value::is_string) => {
            return Ok(());
        }
        (KeywordForm::Type, Value::String(name)) if TYPES.contains(&name.as_str()) => return Ok(()),
        (KeywordForm::Type, Value::Array(names))
            if names.iter().all(|name| TYPES.iter().any(|known| name == known)) =>
        {
            return Ok(());
        }
        (KeywordForm::String, Value::String(_)) | (KeywordForm::List, Value::Array(_)) => {
            return Ok(());
        }
        (KeywordForm::StringList, Value::Bool(_)) => {
            let reason = "names the properties that are needed, in a list beside them; \
                          it is no flag on one of them";
            return Err(Fault { place, reason: reason.to_owned() });
        }
        (KeywordForm::Schemas, _) => "a list of schemas",
        (KeywordForm::SchemaMap | KeywordForm::Mixed, _) => "an object of schemas by name",
        (KeywordForm::StringList, _) => "a list of property names",
        (KeywordForm::Type, _) => {
            let reason = format!("a type is one of {}, not {value}", TYPES.join(", "));
            return Err(Fault { place, reason });
        }
        (KeywordForm::String, _) => "a string",
        (KeywordForm::List, _) => "a list",
    };
    Err(Fault { place, reason: format!("{wanted} is wanted, not {}", kind(value)) })
}

fn named<'s>(
    place: &str,
    schemas: &'s Map<String, Value>,
) -> impl Iterator<Item = (String, &'s Value)> {
    schemas.iter().map(move |(name, schema)| (step(place, name), schema))
}

fn check_depth(schema: &Value) -> Result<(), Fault> {
    let mut pending = vec![(schema, 0)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(Fault {
                place: String::new(),
                reason: format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels"),
            });
        }
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                pending.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

fn step(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Describe the type of a JSON value in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
