//! Resolution of references within a schema document.

use serde_json::{Map, Value};

use crate::validator::{parts, percent_decoded};

/// Maximum number of schemas that are merged for one value.
const MAX_PARTS: usize = 64;

/// Maximum number of values visited in the search for an anchor.
const MAX_SEARCH: usize = 10_000;

/// A schema document in which references are resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'s> {
    pub(super) root: &'s Value,
}

impl<'s> Document<'s> {
    /// Return the schema that a `$ref` points to, if it is in this document.
    pub(super) fn resolve(self, reference: &str) -> Option<&'s Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self.root.get("$id").and_then(Value::as_str).unwrap_or_default();
        if !base.is_empty() && base != own.trim_end_matches('#') {
            return None;
        }
        let fragment = percent_decoded(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchor(&fragment)
        }
    }

    fn anchor(self, name: &str) -> Option<&'s Value> {
        let mut waiting = vec![self.root];
        let mut visited = 0;
        while let Some(value) = waiting.pop() {
            visited += 1;
            if visited > MAX_SEARCH {
                return None;
            }
            let is_named = |key| value.get(key).is_some_and(|anchor| anchor == name);
            if is_named("$anchor") || is_named("$dynamicAnchor") {
                return Some(value);
            }
            waiting.extend(parts(value));
        }
        None
    }

    /// Return the reference in a schema and its target.
    pub(super) fn target(self, members: &'s Map<String, Value>) -> Option<(&'s str, &'s Value)> {
        let keyword = ["$ref", "$dynamicRef", "$recursiveRef"];
        let reference = keyword.iter().find_map(|keyword| members.get(*keyword)?.as_str())?;
        Some((reference, self.resolve(reference)?))
    }

    /// Return `schema` and all schemas included by `$ref` and `allOf`, which apply at once.
    pub(super) fn parts(self, schema: &'s Value) -> Vec<&'s Map<String, Value>> {
        let mut parts: Vec<&Map<String, Value>> = Vec::new();
        let mut waiting = vec![schema];
        while let Some(schema) = waiting.pop() {
            let Value::Object(members) = schema else { continue };
            let known = parts.iter().any(|part| std::ptr::eq(*part, members));
            if known || parts.len() == MAX_PARTS {
                continue;
            }
            parts.push(members);
            if let Some(Value::Array(schemas)) = members.get("allOf") {
                waiting.extend(schemas.iter().rev());
            }
            waiting.extend(self.target(members).map(|(_, target)| target));
        }
        parts
    }
}
