//! The conjunction of all schemas that apply to one value, through references and branches.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::{DrawContext, Sampler};

/// Maximum number of schemas that apply to one value.
const MAX_PARTS: usize = 100;

/// A type of value, with integers as a separate type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    Integer,
    String,
}

const KINDS: [Kind; 7] = [
    Kind::String,
    Kind::Object,
    Kind::Array,
    Kind::Integer,
    Kind::Number,
    Kind::Boolean,
    Kind::Null,
];

impl Kind {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "object" => Self::Object,
            "array" => Self::Array,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "string" => Self::String,
            _ => return None,
        })
    }

    /// Return true if the type `name` includes this kind.
    fn is_a(self, name: &str) -> bool {
        Self::from_name(name) == Some(self) || (self == Self::Integer && name == "number")
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::Array,
            Value::String(_) => Self::String,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
        }
    }

    /// Return the kind to which `keyword` applies.
    fn about(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "properties"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "minProperties"
            | "maxProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedProperties" => Self::Object,
            "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems"
            | "additionalItems" | "unevaluatedItems" => Self::Array,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                Self::Number
            }
            "minLength" | "maxLength" | "pattern" | "format" => Self::String,
            _ => return None,
        })
    }
}

/// Schemas that one value must match at once.
#[derive(Clone, Debug)]
pub(super) struct Conjunction<'s> {
    pub(super) parts: Vec<&'s Map<String, Value>>,
    /// The targets of the references among them.
    pub(super) targets: Vec<&'s Value>,
    /// True if one of the references was already being followed.
    pub(super) is_recursive: bool,
    negations: Vec<&'s Map<String, Value>>,
}

/// Values from the schema itself, to try before and after generated ones.
#[derive(Debug, Default)]
pub(super) struct Suggestions<'s> {
    pub(super) before: Vec<&'s Value>,
    pub(super) after: Vec<&'s Value>,
}

impl<'s> Sampler<'s, '_> {
    /// Follow references and choose branches. Return `None` if no value can match.
    pub(super) fn expand(
        &mut self,
        schemas: &[&'s Value],
        context: &DrawContext<'s, '_>,
    ) -> Option<Conjunction<'s>> {
        let mut conjunction = Conjunction {
            parts: Vec::new(),
            targets: Vec::new(),
            is_recursive: false,
            negations: Vec::new(),
        };
        self.expand_into(&mut conjunction, schemas, context).then_some(conjunction)
    }

    /// Add `schemas` to a conjunction; return false if no value can match.
    pub(super) fn expand_into(
        &mut self,
        conjunction: &mut Conjunction<'s>,
        schemas: &[&'s Value],
        context: &DrawContext<'s, '_>,
    ) -> bool {
        let mut waiting: VecDeque<&Value> = schemas.iter().copied().collect();
        while let Some(schema) = waiting.pop_front() {
            let members = match schema {
                Value::Object(members) => members,
                Value::Bool(false) => return false,
                _ => continue,
            };
            if conjunction.parts.iter().any(|part| std::ptr::eq(*part, members)) {
                continue;
            }
            if conjunction.parts.len() == MAX_PARTS {
                return false;
            }
            conjunction.parts.push(members);
            if let Some((_, target)) = self.document.target(members) {
                conjunction.is_recursive |= context.has_followed(target);
                conjunction.targets.push(target);
                waiting.push_back(target);
            }
            let is_recursive_here = context.is_recursive || conjunction.is_recursive;
            self.branches(members, is_recursive_here, &mut waiting);
            if let Some(Value::Object(not)) = members.get("not") {
                conjunction.negations.push(not);
            }
        }
        true
    }

    fn branches(
        &mut self,
        members: &'s Map<String, Value>,
        is_recursive_here: bool,
        waiting: &mut VecDeque<&'s Value>,
    ) {
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        waiting.extend(list("allOf").into_iter().flatten());
        for keyword in ["anyOf", "oneOf"] {
            let Some(branches) = list(keyword).filter(|branches| !branches.is_empty()) else {
                continue;
            };
            let mut branches: Vec<&Value> = branches.iter().collect();
            if is_recursive_here {
                branches.sort_by_key(|branch| weight(branch));
            }
            waiting.push_back(branches[self.choose(branches.len())]);
        }
        if let Some(condition) = members.get("if") {
            let holds = [Some(condition), members.get("then")];
            let fails = [None, members.get("else")];
            let options =
                if members.contains_key("then") { [holds, fails] } else { [fails, holds] };
            waiting.extend(options[self.choose(2)].into_iter().flatten());
        }
    }
}

/// Estimate the size of matching values; choosing the smallest ends recursion.
fn weight(schema: &Value) -> usize {
    match schema.get("type").and_then(Value::as_str) {
        Some("null") => 0,
        Some("object") => 3,
        Some("array") => 2,
        Some(_) => 1,
        None if schema.get("const").is_some() || schema.get("enum").is_some() => 1,
        None if schema.get("$ref").is_some() => 4,
        None => 2,
    }
}

impl<'s> Conjunction<'s> {
    /// Return the values of `keyword` in all parts.
    pub(super) fn all(&self, keyword: &str) -> impl Iterator<Item = &'s Value> {
        self.parts.iter().filter_map(move |part| part.get(keyword))
    }

    /// Return the largest count required under `keyword`.
    pub(super) fn at_least(&self, keyword: &str) -> usize {
        self.all(keyword).filter_map(count).max().unwrap_or(0)
    }

    /// Return the smallest count allowed under `keyword`.
    pub(super) fn at_most(&self, keyword: &str) -> Option<usize> {
        self.all(keyword).filter_map(count).min()
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.all(keyword).any(|flag| flag == &Value::Bool(true))
    }

    /// Return the names that a `not` forbids.
    pub(super) fn forbidden_names(&self) -> impl Iterator<Item = &'s str> {
        self.negations.iter().filter_map(|not| match not.get("required")?.as_array()?.as_slice() {
            [Value::String(name)] if not.keys().all(|key| key == "required" || key == "type") => {
                Some(name.as_str())
            }
            _ => None,
        })
    }

    /// Return the values that satisfy `const` and `enum`; `None` if there is neither.
    pub(super) fn allowed_values(&self) -> Option<Vec<&'s Value>> {
        let mut lists = self.parts.iter().flat_map(|part| {
            let constant = part.get("const").map(std::slice::from_ref);
            let listed = part.get("enum").and_then(Value::as_array).map(Vec::as_slice);
            [constant, listed]
        });
        let first = lists.find_map(|list| list)?;
        let others: Vec<&[Value]> = lists.flatten().collect();
        let fits = |value: &&Value| {
            others.iter().all(|list| list.contains(value)) && self.has_allowed_type(value)
        };
        Some(first.iter().filter(fits).collect())
    }

    /// Return the kinds of matching values, the most likely first.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        let types: Vec<Vec<&str>> = self.all("type").map(names).collect();
        let order = match types.first() {
            Some(listed) => in_listed_order(listed),
            None => self.in_order_of_keywords(),
        };
        let allowed = |kind: &Kind| {
            types.iter().all(|listed| listed.iter().any(|name| kind.is_a(name)))
                && !self.negations.iter().any(|not| {
                    let only_type = not.keys().all(|key| key == "type");
                    let listed = not.get("type").map(names).unwrap_or_default();
                    only_type && listed.iter().any(|name| kind.is_a(name))
                })
        };
        order.into_iter().filter(allowed).collect()
    }

    /// Return all kinds, first those to which the keywords apply.
    fn in_order_of_keywords(&self) -> Vec<Kind> {
        let keywords = || self.parts.iter().flat_map(|part| part.keys());
        let mut kinds = KINDS.to_vec();
        kinds.sort_by_key(|kind| !keywords().any(|keyword| Kind::about(keyword) == Some(*kind)));
        kinds
    }

    /// Return the values in `examples` and `default` that may match. Uninformative defaults (null,
    /// empty) come after generated values, and so do defaults for objects and arrays, which would
    /// hide their structure.
    pub(super) fn suggestions(&self) -> Suggestions<'s> {
        let examples = self.all("examples").filter_map(Value::as_array).flatten().take(4);
        let mut suggestions = Suggestions {
            before: examples
                .chain(self.all("example"))
                .filter(|value| self.has_allowed_type(value))
                .collect(),
            after: Vec::new(),
        };
        for default in self.all("default").filter(|value| self.has_allowed_type(value)) {
            let is_informative = match default {
                Value::Null | Value::Array(_) | Value::Object(_) => false,
                Value::String(text) => !text.trim().is_empty(),
                Value::Bool(_) | Value::Number(_) => true,
            };
            let list =
                if is_informative { &mut suggestions.before } else { &mut suggestions.after };
            list.push(default);
        }
        suggestions
    }

    /// Return true if `value` has an allowed type; the validator checks the rest.
    fn has_allowed_type(&self, value: &Value) -> bool {
        let kind = Kind::of(value);
        self.all("type").map(names).all(|listed| listed.iter().any(|name| kind.is_a(name)))
            && !self.negations.iter().any(|not| {
                let listed = not.get("enum").and_then(Value::as_array);
                not.get("const") == Some(value) || listed.is_some_and(|list| list.contains(value))
            })
    }
}

/// Return the kinds in a list of types, null last.
fn in_listed_order(listed: &[&str]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = listed.iter().filter_map(|name| Kind::from_name(name)).collect();
    if kinds.contains(&Kind::Number) && !kinds.contains(&Kind::Integer) {
        kinds.push(Kind::Integer);
    }
    kinds.sort_by_key(|kind| *kind == Kind::Null);
    kinds
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn names(types: &Value) -> Vec<&str> {
    match types {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
