//! The conjunction of all schemas that apply to one value, through references and branches.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::{DrawContext, Sampler};

/// Maximum number of schemas that apply to one value.
const MAX_PARTS: usize = 100;

/// The types of a value, and keywords that apply only to them.
const KINDS: [(&str, &[&str]); 7] = [
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    ("object", &["properties", "required", "additionalProperties", "minProperties"]),
    ("array", &["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"]),
    ("integer", &[]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("boolean", &[]),
    ("null", &[]),
];

/// Schemas that one value must match at once.
#[derive(Debug)]
pub(super) struct Conjunction<'s> {
    pub(super) parts: Vec<&'s Map<String, Value>>,
}

impl<'s> Sampler<'s, '_> {
    /// Follow references and choose branches. Return `None` if no value can match.
    pub(super) fn expand(
        &mut self,
        schemas: &[&'s Value],
        context: &mut DrawContext,
    ) -> Option<Conjunction<'s>> {
        let mut parts: Vec<&Map<String, Value>> = Vec::new();
        let outer_targets = self.targets.len();
        let mut waiting: VecDeque<&Value> = schemas.iter().copied().collect();
        while let Some(schema) = waiting.pop_front() {
            let members = match schema {
                Value::Object(members) => members,
                Value::Bool(false) => return None,
                _ => continue,
            };
            if parts.iter().any(|part| std::ptr::eq(*part, members)) {
                continue;
            }
            if parts.len() == MAX_PARTS {
                return None;
            }
            parts.push(members);
            if let Some((_, target)) = self.document.target(members) {
                let mut followed = self.targets[..outer_targets].iter();
                context.is_recursive |= followed.any(|followed| std::ptr::eq(*followed, target));
                self.targets.push(target);
                waiting.push_back(target);
            }
            self.branches(members, context.is_recursive, &mut waiting);
        }
        Some(Conjunction { parts })
    }

    fn branches(
        &mut self,
        members: &'s Map<String, Value>,
        is_recursive: bool,
        waiting: &mut VecDeque<&'s Value>,
    ) {
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        waiting.extend(list("allOf").into_iter().flatten());
        for branches in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            let mut branches: Vec<&Value> = branches.iter().collect();
            if is_recursive {
                // Recursion ends with a branch that has no reference.
                branches.sort_by_key(|branch| branch.get("$ref").is_some());
            }
            waiting.extend(branches.get(self.choose(branches.len())));
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

impl<'s> Conjunction<'s> {
    /// Return the values of `keyword` in all parts.
    pub(super) fn all(&self, keyword: &str) -> impl Iterator<Item = &'s Value> {
        self.parts.iter().filter_map(move |part| part.get(keyword))
    }

    /// Return the members of the objects under `keyword`.
    pub(super) fn maps(&self, keyword: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
        self.all(keyword).filter_map(Value::as_object).flatten()
    }

    /// Return the largest count required under `keyword`.
    pub(super) fn at_least(&self, keyword: &str) -> usize {
        self.all(keyword).filter_map(count).max().unwrap_or(0)
    }

    /// Return the smallest count allowed under `keyword`.
    pub(super) fn at_most(&self, keyword: &str) -> Option<usize> {
        self.all(keyword).filter_map(count).min()
    }

    /// Return all schemas that apply to the property `name`.
    pub(super) fn schemas_of(&self, name: &str) -> Vec<&'s Value> {
        let of_part = |part: &&'s Map<String, Value>| {
            let declared = part.get("properties").and_then(|properties| properties.get(name));
            declared.or_else(|| part.get("additionalProperties"))
        };
        self.parts.iter().filter_map(of_part).collect()
    }

    /// Return the values of a `const` or `enum`, if there is one.
    pub(super) fn allowed_values(&self) -> Option<&'s [Value]> {
        let constant = self.all("const").next().map(std::slice::from_ref);
        constant.or_else(|| self.all("enum").find_map(Value::as_array).map(Vec::as_slice))
    }

    /// Return the kinds of matching values, the most likely first.
    pub(super) fn kinds(&self) -> Vec<&'s str> {
        let types: Vec<Vec<&str>> = self.all("type").map(names).collect();
        let mut kinds = types.first().cloned().unwrap_or_else(|| {
            let applies = |keyword: &&str| self.all(keyword).next().is_some();
            let mut kinds = KINDS;
            kinds.sort_by_key(|(_, keywords)| !keywords.iter().any(applies));
            kinds.map(|(kind, _)| kind).to_vec()
        });
        if kinds.contains(&"number") && !kinds.contains(&"integer") {
            kinds.push("integer");
        }
        let is_a = |kind: &str, name: &str| kind == name || (kind, name) == ("integer", "number");
        kinds.retain(|kind| types.iter().all(|names| names.iter().any(|name| is_a(kind, name))));
        kinds.sort_by_key(|kind| *kind == "null");
        kinds
    }

    /// Return the values in `examples` and `default`, without defaults that are uninformative
    /// (null, empty) or would hide the structure of objects and arrays.
    pub(super) fn suggestions(&self) -> Vec<&'s Value> {
        let examples = self.all("examples").filter_map(Value::as_array).flatten().take(4);
        let defaults = self.all("default").filter(|default| match default {
            Value::Null | Value::Array(_) | Value::Object(_) => false,
            Value::String(text) => !text.trim().is_empty(),
            Value::Bool(_) | Value::Number(_) => true,
        });
        examples.chain(self.all("example")).chain(defaults).collect()
    }
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn names(types: &Value) -> Vec<&str> {
    let names = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    names.iter().filter_map(Value::as_str).collect()
}
