//! The value that a text stands for, by the schema of the argument.
//!
//! Models that write arguments as text leave out their types, so they come from the schema. The rules
//! are those of the inference servers: a type is tried if the schema allows it, in the order null,
//! integer, number, boolean, object, array and string. What fits none of them stays text.

use serde_json::{Map, Value};

use super::literal::json_string;
use crate::{
    message::{Repair, RepairKind},
    repair::repair_json,
};

/// Maximum number of schemas that are followed for one argument.
const MAX_SCHEMAS: usize = 64;

/// Return the value of `text` as JSON text; `schema` is that of the argument, if it is known.
///
/// An argument without a schema is the text itself, and so is one that can only be a string, blanks
/// included; of several types the first that fits counts. See [`Described::member`] for schemas with
/// references.
pub(super) fn typed(text: &str, schema: Option<&Value>) -> String {
    Described::new(schema).types().read(text).0
}

/// The schemas that may describe a value: one of them, or parts and alternatives of one.
#[derive(Clone, Debug)]
pub(super) struct Described<'s> {
    root: Option<&'s Value>,
    /// The keywords of all schemas, references followed.
    schemas: Vec<&'s Map<String, Value>>,
}

impl<'s> Described<'s> {
    /// Describe a value by the schema of a whole document.
    pub(super) fn new(root: Option<&'s Value>) -> Self {
        Self::within(root, root.into_iter().collect())
    }

    fn within(root: Option<&'s Value>, mut pending: Vec<&'s Value>) -> Self {
        let mut schemas = Vec::new();
        while let Some(schema) = pending.pop() {
            let Some(keywords) = schema.as_object() else { continue };
            if schemas.len() == MAX_SCHEMAS {
                break;
            }
            schemas.push(keywords);
            for name in ["anyOf", "oneOf", "allOf"] {
                pending.extend(keywords.get(name).and_then(Value::as_array).into_iter().flatten());
            }
            let pointer = keywords.get("$ref").and_then(Value::as_str);
            let pointer = pointer.and_then(|pointer| pointer.strip_prefix('#'));
            pending.extend(pointer.and_then(|pointer| root?.pointer(pointer)));
        }
        Self { root, schemas }
    }

    /// Describe the member `key`.
    pub(super) fn member(&self, key: &str) -> Self {
        let schema = |keywords: &&'s Map<String, Value>| {
            let named = keywords.get("properties").and_then(|members| members.get(key));
            named.or_else(|| keywords.get("additionalProperties"))
        };
        Self::within(self.root, self.schemas.iter().filter_map(schema).collect())
    }

    /// Describe the items.
    pub(super) fn items(&self) -> Self {
        let schema = |keywords: &&'s Map<String, Value>| keywords.get("items");
        Self::within(self.root, self.schemas.iter().filter_map(schema).collect())
    }

    /// Return true if the member `key` is declared; `None` if no member is.
    pub(super) fn declares(&self, key: &str) -> Option<bool> {
        let mut members = self.schemas.iter().filter_map(|keywords| keywords.get("properties"));
        let mut any = None;
        members.any(|members| {
            let known = members.get(key).is_some();
            any = Some(known);
            known
        });
        any
    }

    /// Return the types of the value; a string if the schema has none.
    pub(super) fn types(&self) -> Types {
        let types = self.schemas.iter().fold(0, |types, keywords| types | declared(keywords));
        Types(if types == 0 { STRING } else { types })
    }
}

/// Return the types that the keywords of one schema declare.
fn declared(keywords: &Map<String, Value>) -> u8 {
    let mut types = match keywords.get("type") {
        Some(Value::String(name)) => bit(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).fold(0, |types, name| types | bit(name))
        }
        _ => 0,
    };
    if types == 0 {
        types |= if keywords.contains_key("properties") { OBJECT } else { 0 };
        types |= if keywords.contains_key("items") { ARRAY } else { 0 };
    }
    let options = keywords.get("enum").and_then(Value::as_array).into_iter().flatten();
    types = options.chain(keywords.get("const")).fold(types, |types, value| types | bit_of(value));
    match keywords.get("nullable") {
        Some(Value::Bool(true)) => types | NULL,
        _ => types,
    }
}

const NULL: u8 = 1;
const INTEGER: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;
const BOOLEAN: u8 = 1 << 3;
const OBJECT: u8 = 1 << 4;
const ARRAY: u8 = 1 << 5;
const STRING: u8 = 1 << 6;

fn bit(name: &str) -> u8 {
    match name {
        "null" => NULL,
        "integer" => INTEGER,
        "number" => NUMBER,
        "boolean" => BOOLEAN,
        "object" => OBJECT,
        "array" => ARRAY,
        "string" => STRING,
        _ => 0,
    }
}

fn bit_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) if is_whole(number.as_str()) => INTEGER,
        Value::Number(_) => NUMBER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    /// A string.
    pub(super) const STRING: Self = Self(STRING);
    /// Any type but a string.
    pub(super) const OTHER: Self = Self(!STRING);

    /// Return the type of this name; `None` if there is none.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(Self(bit(name))).filter(|types| types.0 != 0)
    }

    /// Return true if an array may be meant.
    pub(super) fn has_array(self) -> bool {
        self.0 & ARRAY != 0
    }

    /// Return true if an object may be meant.
    pub(super) fn has_object(self) -> bool {
        self.0 & OBJECT != 0
    }

    /// Return the value of `text` as JSON text, and the repairs of a structure in it.
    pub(super) fn read(self, text: &str) -> (String, Vec<Repair>) {
        self.fit(text).unwrap_or_else(|| (json_string(text), Vec::new()))
    }

    /// Return the value of a text, as [`read`](Self::read) does, unless that is a string.
    pub(super) fn fit(self, text: &str) -> Option<(String, Vec<Repair>)> {
        if self.0 == STRING {
            return None;
        }
        let text = text.trim();
        let has = |types: u8| self.0 & types != 0;
        let plain = |json: &str| Some((json.to_owned(), Vec::new()));
        match text {
            "null" | "None" | "Null" | "NULL" if has(NULL) => return plain("null"),
            "true" | "True" | "TRUE" if has(BOOLEAN) => return plain("true"),
            "false" | "False" | "FALSE" if has(BOOLEAN) => return plain("false"),
            "" if has(STRING) => return None,
            "" if has(OBJECT) => return plain("{}"),
            "" if has(ARRAY) => return plain("[]"),
            _ => {}
        }
        match text.as_bytes().first()? {
            b'-' | b'0'..=b'9' if has(INTEGER | NUMBER) => {
                text.parse::<serde_json::Number>().ok()?;
                (has(NUMBER) || is_whole(text)).then(|| plain(text))?
            }
            b'{' if has(OBJECT) => structure(text),
            b'[' if has(ARRAY) => structure(text),
            _ => None,
        }
    }
}

/// Return true if a JSON number is whole: `3`, `3.0`.
fn is_whole(number: &str) -> bool {
    let (digits, fraction) = number.split_once('.').unwrap_or((number, ""));
    !digits.contains(['e', 'E']) && fraction.bytes().all(|byte| byte == b'0')
}

/// Return an object or array as JSON; Python's spelling of it is no repair.
fn structure(text: &str) -> Option<(String, Vec<Repair>)> {
    let mut repaired = repair_json(text)?;
    if repaired.text.as_bytes().first() != text.as_bytes().first() {
        return None;
    }
    let python = [RepairKind::Quotes, RepairKind::Literal];
    repaired.repairs.retain(|repair| !python.contains(&repair.kind));
    Some((repaired.text, repaired.repairs))
}

/// Return the nesting depth of JSON text.
pub(super) fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
