//! Schemas and values from bytes.
//!
//! Mutated text is rarely JSON, and JSON rarely a schema. Bytes are therefore interpreted as
//! choices: of keywords, their values, and values that mostly match the schema.

use arbitrary::Unstructured;
use serde_json::{Map, Value, json};

/// Maximum depth of schemas and values; greater depth is tested by text seeds.
const DEPTH: usize = 4;

const KEYS: &[&str] = &["a", "b", "c", "", "a/b", "~", "é", "A"];

const STRINGS: &[&str] = &[
    "",
    "a",
    "A",
    "b",
    "celsius",
    "Celsius",
    "4",
    "-1.5",
    "1e5",
    "0x1F",
    "true",
    "False",
    "null",
    "None",
    "{}",
    "{\"a\": 1}",
    "[1, 2]",
    "[",
    "2024-02-30",
    "2024-02-29T12:00:00Z",
    "a@b.c",
    "::1",
    "http://x/y",
    "é",
    "😀",
    "\u{0}",
    "\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    " 7 ",
    "7,5",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "100",
    "0.1",
    "0.5",
    "1.0",
    "-0.0",
    "1e5",
    "1E-7",
    "0.30",
    "1.5",
    "9007199254740993",
    "12345678901234567890123",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e309",
    "1e999999999",
    "1e-400",
    "0.1e1",
    "10e-1",
];

const PATTERNS: &[&str] = &[
    "^a",
    "b$",
    "",
    ".",
    "^(a+)+$",
    "(a|aa)+\\1$",
    "(?=.*a)b",
    "\\d+",
    "\\p{L}",
    "[",
    "(?<!a)b",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^.{0,1000}$",
    "\\w{1000}{1000}",
];

const FORMATS: &[&str] = &[
    "date",
    "date-time",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
    "nope",
];

const REFERENCES: &[&str] = &[
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/$defs/nope",
    "#x",
    "#/properties/a",
    "urn:a",
    "urn:a#/$defs/b",
    "http://example.com/x",
    "file:///etc/passwd",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
    "#/%24defs/a",
    "::",
    "#/$defs/a/properties/a",
];

const DRAFTS: &[&str] = &[
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
];

const TYPES: &[&str] = &["object", "array", "string", "integer", "number", "boolean", "null"];

/// The kind of value of a keyword.
#[derive(Clone, Copy)]
enum Holds {
    Schema,
    Schemas,
    SchemaMap,
    PatternMap,
    Names,
    NamesMap,
    Type,
    Count,
    Number,
    Value,
    Values,
    Bool,
    One(&'static [&'static str]),
}

const KEYWORDS: &[(&str, Holds)] = &[
    ("type", Holds::Type),
    ("properties", Holds::SchemaMap),
    ("required", Holds::Names),
    ("items", Holds::Schema),
    ("enum", Holds::Values),
    ("additionalProperties", Holds::Schema),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("allOf", Holds::Schemas),
    ("not", Holds::Schema),
    ("if", Holds::Schema),
    ("then", Holds::Schema),
    ("else", Holds::Schema),
    ("$ref", Holds::One(REFERENCES)),
    ("const", Holds::Value),
    ("minimum", Holds::Number),
    ("maximum", Holds::Number),
    ("exclusiveMinimum", Holds::Number),
    ("exclusiveMaximum", Holds::Number),
    ("multipleOf", Holds::Number),
    ("minLength", Holds::Count),
    ("maxLength", Holds::Count),
    ("pattern", Holds::One(PATTERNS)),
    ("format", Holds::One(FORMATS)),
    ("minItems", Holds::Count),
    ("maxItems", Holds::Count),
    ("uniqueItems", Holds::Bool),
    ("contains", Holds::Schema),
    ("minContains", Holds::Count),
    ("maxContains", Holds::Count),
    ("prefixItems", Holds::Schemas),
    ("items", Holds::Schemas),
    ("additionalItems", Holds::Schema),
    ("unevaluatedItems", Holds::Schema),
    ("minProperties", Holds::Count),
    ("maxProperties", Holds::Count),
    ("patternProperties", Holds::PatternMap),
    ("propertyNames", Holds::Schema),
    ("dependentRequired", Holds::NamesMap),
    ("dependentSchemas", Holds::SchemaMap),
    ("dependencies", Holds::SchemaMap),
    ("unevaluatedProperties", Holds::Schema),
    ("$dynamicRef", Holds::One(REFERENCES)),
    ("$recursiveRef", Holds::One(REFERENCES)),
    ("$anchor", Holds::One(&["x", "y"])),
    ("$dynamicAnchor", Holds::One(&["x", "y"])),
    ("$recursiveAnchor", Holds::Bool),
    ("$id", Holds::One(&["urn:a", "urn:b", "x", "#x", "http://example.com/x"])),
    ("$defs", Holds::SchemaMap),
    ("nullable", Holds::Bool),
    ("default", Holds::Value),
    ("contentEncoding", Holds::One(&["base64"])),
    ("contentMediaType", Holds::One(&["application/json"])),
];

/// Return a schema and a value for it.
///
/// Input that begins with a brace is text: the schema on its first line, the value below. Return
/// `None` if that is not JSON.
pub fn pair(data: &[u8]) -> Option<(Value, Value)> {
    if data.first() == Some(&b'{') {
        let (schema, value) = std::str::from_utf8(data).ok()?.split_once('\n')?;
        return Some((serde_json::from_str(schema).ok()?, serde_json::from_str(value).ok()?));
    }
    let mut bytes = Unstructured::new(data);
    let schema = schema(&mut bytes);
    let value = matching(&mut bytes, &schema, DEPTH);
    Some((schema, value))
}

/// Return a schema for any value.
fn schema(bytes: &mut Unstructured<'_>) -> Value {
    let mut schema = subschema(bytes, DEPTH);
    if let Value::Object(members) = &mut schema {
        if flip(bytes, 4) {
            members.insert("$schema".to_owned(), pick(bytes, DRAFTS).into());
        }
        if flip(bytes, 2) {
            let defs = json!({"a": subschema(bytes, DEPTH - 1), "b": subschema(bytes, DEPTH - 1)});
            members.insert("$defs".to_owned(), defs);
        }
    }
    schema
}

fn choose(bytes: &mut Unstructured<'_>, count: usize) -> usize {
    usize::from(bytes.arbitrary::<u8>().unwrap_or(0)) % count
}

/// Return true once in `of` times.
fn flip(bytes: &mut Unstructured<'_>, of: usize) -> bool {
    choose(bytes, of) == of - 1
}

fn pick<T: Copy>(bytes: &mut Unstructured<'_>, from: &[T]) -> T {
    from[choose(bytes, from.len())]
}

fn number(bytes: &mut Unstructured<'_>) -> Value {
    serde_json::from_str(pick(bytes, NUMBERS)).expect("the table holds numbers")
}

fn key(bytes: &mut Unstructured<'_>) -> String {
    pick(bytes, KEYS).to_owned()
}

fn several<T>(
    bytes: &mut Unstructured<'_>,
    mut make: impl FnMut(&mut Unstructured<'_>) -> T,
) -> Vec<T> {
    let count = choose(bytes, 4);
    (0..count).map(|_| make(bytes)).collect()
}

fn subschema(bytes: &mut Unstructured<'_>, depth: usize) -> Value {
    if depth == 0 || bytes.is_empty() || flip(bytes, 16) {
        return pick(bytes, &[true, true, false]).into();
    }
    let members = several(bytes, |bytes| {
        let (keyword, holds) = pick(bytes, KEYWORDS);
        let held = if flip(bytes, 32) { value(bytes, 1) } else { held(bytes, holds, depth - 1) };
        (keyword.to_owned(), held)
    });
    Value::Object(members.into_iter().collect())
}

fn held(bytes: &mut Unstructured<'_>, holds: Holds, depth: usize) -> Value {
    match holds {
        Holds::Schema => subschema(bytes, depth),
        Holds::Schemas => several(bytes, |bytes| subschema(bytes, depth)).into(),
        Holds::SchemaMap => several(bytes, |bytes| (key(bytes), subschema(bytes, depth)))
            .into_iter()
            .collect::<Map<_, _>>()
            .into(),
        Holds::PatternMap => {
            several(bytes, |bytes| (pick(bytes, PATTERNS).to_owned(), subschema(bytes, depth)))
                .into_iter()
                .collect::<Map<_, _>>()
                .into()
        }
        Holds::Names => several(bytes, key).into(),
        Holds::NamesMap => {
            let names = several(bytes, |bytes| (key(bytes), several(bytes, key).into()));
            names.into_iter().collect::<Map<_, _>>().into()
        }
        Holds::Type if flip(bytes, 4) => several(bytes, |bytes| pick(bytes, TYPES)).into(),
        Holds::Type => pick(bytes, TYPES).into(),
        Holds::Count => choose(bytes, 5).into(),
        Holds::Number => number(bytes),
        Holds::Value => value(bytes, depth),
        Holds::Values => several(bytes, |bytes| value(bytes, depth)).into(),
        Holds::Bool => flip(bytes, 2).into(),
        Holds::One(table) => pick(bytes, table).into(),
    }
}

fn value(bytes: &mut Unstructured<'_>, depth: usize) -> Value {
    match choose(bytes, if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => flip(bytes, 2).into(),
        2 | 3 => number(bytes),
        4 => pick(bytes, STRINGS).into(),
        5 | 6 => several(bytes, |bytes| (key(bytes), value(bytes, depth - 1)))
            .into_iter()
            .collect::<Map<_, _>>()
            .into(),
        _ => several(bytes, |bytes| value(bytes, depth - 1)).into(),
    }
}

/// Return a value that `schema` may accept: it mostly does.
fn matching(bytes: &mut Unstructured<'_>, schema: &Value, depth: usize) -> Value {
    let Some(members) = schema.as_object().filter(|_| depth > 0 && !flip(bytes, 8)) else {
        return value(bytes, depth);
    };
    if let Some(only) = members.get("const") {
        return only.clone();
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array).filter(|v| !v.is_empty()) {
        return values[choose(bytes, values.len())].clone();
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(parts) =
            members.get(keyword).and_then(Value::as_array).filter(|p| !p.is_empty())
        {
            let part = &parts[choose(bytes, parts.len())];
            return matching(bytes, part, depth - 1);
        }
    }
    let of_type = match members.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) if !names.is_empty() => {
            names[choose(bytes, names.len())].as_str().unwrap_or_default()
        }
        _ if members.contains_key("properties") => "object",
        _ if members.contains_key("items") => "array",
        _ => return value(bytes, depth),
    };
    match of_type {
        "object" => {
            let mut object = Map::new();
            for (name, part) in
                members.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                if !flip(bytes, 4) {
                    object.insert(name.clone(), matching(bytes, part, depth - 1));
                }
            }
            for name in members.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str().filter(|name| !object.contains_key(*name)) {
                    object.insert(name.to_owned(), value(bytes, depth - 1));
                }
            }
            object.into()
        }
        "array" => {
            let items = members.get("items").unwrap_or(&Value::Null);
            several(bytes, |bytes| matching(bytes, items, depth - 1)).into()
        }
        "string" => pick(bytes, STRINGS).into(),
        "integer" | "number" => number(bytes),
        "boolean" => flip(bytes, 2).into(),
        "null" => Value::Null,
        _ => value(bytes, depth),
    }
}
