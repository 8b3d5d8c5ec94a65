//! Static bounds on the visits to each part of a value, where the keywords of a schema imply them.
//!
//! Most schemas are trees of a few keywords that visit each part of a value a few times, so a small
//! value cannot exceed the budget. Its validation needs no meter.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::excess::MAX_DEPTH;

/// Visits of a keyword that examines the value itself, in addition to the cost of reading it.
const KEYWORD_VISITS: usize = 4;
/// Keywords that examine the value itself.
const VALUE_KEYWORDS: [&str; 15] = [
    "type",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "const",
];
/// Keywords that examine nothing.
const ANNOTATIONS: [&str; 11] = [
    "$schema",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Return the maximum number of visits by `schema` for each unit of a value's weight. Return `None`
/// if it is unknown: because the schema refers to itself or elsewhere, or has keywords of unknown
/// cost.
///
/// `reading` is the maximum number of visits for reading a text or a number, for each unit of its
/// weight.
pub(super) fn visits(schema: &Value, reading: usize) -> Option<usize> {
    Bounds { root: schema, reading, known: HashMap::new(), depth: 0 }.of(schema)
}

struct Bounds<'a> {
    root: &'a Value,
    reading: usize,
    /// The bounds of schemas seen, by address; `None` while they are being computed.
    known: HashMap<usize, Option<usize>>,
    /// Number of schemas being computed. References may follow each other without end.
    depth: usize,
}

impl<'a> Bounds<'a> {
    fn of(&mut self, schema: &'a Value) -> Option<usize> {
        let Value::Object(members) = schema else { return Some(KEYWORD_VISITS) };
        let address = std::ptr::from_ref(schema) as usize;
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.known.insert(address, None);
        self.depth += 1;
        let mut total = KEYWORD_VISITS;
        for (key, value) in members {
            // An identifier of the whole schema does not affect references within it.
            if key == "$id" && address == std::ptr::from_ref(self.root) as usize {
                continue;
            }
            total = total.checked_add(self.keyword(key, value)?)?;
        }
        self.depth -= 1;
        self.known.insert(address, Some(total));
        Some(total)
    }

    fn keyword(&mut self, key: &str, value: &'a Value) -> Option<usize> {
        let itself = KEYWORD_VISITS.checked_add(self.reading)?;
        match (key, value) {
            // Comparing arrays and objects walks through the value once for each.
            ("const", Value::Array(_) | Value::Object(_)) => None,
            (key, _) if VALUE_KEYWORDS.contains(&key) => Some(itself),
            (key, _) if ANNOTATIONS.contains(&key) => Some(0),
            ("enum", Value::Array(listed)) => {
                let scalars = !listed.iter().any(|one| one.is_array() || one.is_object());
                scalars.then(|| itself.checked_mul(1 + listed.len())).flatten()
            }
            ("required", Value::Array(names)) => Some(KEYWORD_VISITS + names.len()),
            ("properties", Value::Object(parts)) => {
                self.sum(parts)?.checked_add(KEYWORD_VISITS * (1 + parts.len()))
            }
            ("additionalProperties" | "items", Value::Object(_) | Value::Bool(_)) => {
                self.of(value)?.checked_add(2 * KEYWORD_VISITS)
            }
            ("items" | "prefixItems", Value::Array(parts)) => self.all(parts),
            // The first valid alternative is searched for, and then another one.
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => self.all(parts)?.checked_mul(2),
            ("not" | "if" | "then" | "else", _) => self.of(value)?.checked_mul(2),
            ("uniqueItems", Value::Bool(unique)) => {
                // Each array around a value walks through it.
                Some(if *unique { KEYWORD_VISITS * (MAX_DEPTH + 1) } else { 0 })
            }
            ("$ref", Value::String(reference)) => {
                let target = self.definition(reference)?;
                self.of(target)
            }
            _ => None,
        }
    }

    fn sum(&mut self, parts: &'a Map<String, Value>) -> Option<usize> {
        parts.values().try_fold(0_usize, |sum, part| sum.checked_add(self.of(part)?))
    }

    fn all(&mut self, parts: &'a [Value]) -> Option<usize> {
        parts.iter().try_fold(KEYWORD_VISITS, |sum, part| sum.checked_add(self.of(part)?))
    }

    /// Return the target of a reference, if it is a definition at the root.
    fn definition(&self, reference: &str) -> Option<&'a Value> {
        let (holder, name) = reference.strip_prefix("#/")?.split_once('/')?;
        let is_plain = matches!(holder, "$defs" | "definitions") && !name.contains(['/', '~', '%']);
        is_plain.then(|| self.root.get(holder)?.get(name)).flatten()
    }
}
