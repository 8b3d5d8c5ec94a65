//! Bounds on how often a schema evaluates one value.
//!
//! References make a schema a graph, and a small graph can have a great many paths: thirty
//! definitions that each reference the next one twice evaluate the same value a billion times. The
//! validator remembers its result where a reference leads back to its origin, so only paths without
//! cycles count.

use std::{collections::HashMap, ops::ControlFlow};

use serde_json::{Map, Value};

use super::{
    documents::{Documents, parts, resolve},
    error::SchemaError,
};

/// Maximum number of evaluations of a value at one place.
const MAX_EVALUATIONS: usize = 10_000;
/// Maximum nesting of references and combinations that evaluate the same value: each level takes
/// stack frames for every level of the value.
const MAX_IN_PLACE: usize = 64;
/// Maximum number of steps from schema to schema.
const MAX_STEPS: usize = 512;

/// Reject a schema that could take unbounded time.
pub(super) fn check(documents: Documents<'_>) -> Result<(), SchemaError> {
    let mut graph = Graph { targets: targets(documents), known: HashMap::new(), too_far: false };
    for (uri, document) in documents.iter() {
        let cost = graph.cost(document, uri, 0);
        let (what, limit) = if graph.too_far {
            ("references that lead on and on", MAX_STEPS)
        } else if cost.evaluations > MAX_EVALUATIONS {
            ("references by which the same value is judged again and again", MAX_EVALUATIONS)
        } else if cost.in_place > MAX_IN_PLACE {
            ("references and combinations nested too deep", MAX_IN_PLACE)
        } else {
            continue;
        };
        return Err(SchemaError::TooLarge {
            path: Documents::path_of(uri),
            what: what.to_owned(),
            limit,
        });
    }
    Ok(())
}

/// Return all schemas that can be referenced, by absolute URI.
fn targets(documents: Documents<'_>) -> HashMap<String, &Value> {
    let mut targets: HashMap<_, _> = documents
        .iter()
        .map(|(uri, document)| (uri.trim_end_matches('#').to_owned(), document))
        .collect();
    let _ = documents.walk::<()>(|member| {
        let document = member.base.split('#').next().unwrap_or_default();
        let name = match (member.key, member.value.as_str()) {
            ("$id" | "id", Some(id)) if id.starts_with('#') => format!("{document}{id}"),
            ("$id" | "id", Some(_)) => document.to_owned(),
            ("$anchor" | "$dynamicAnchor", Some(anchor)) => format!("{document}#{anchor}"),
            _ => return ControlFlow::Continue(()),
        };
        targets.entry(name).or_insert(member.parent);
        ControlFlow::Continue(())
    });
    targets
}

#[derive(Clone, Copy)]
struct Cost {
    /// Number of evaluations of a value, and of a value at each place within it.
    evaluations: usize,
    /// Nesting depth of schemas that evaluate the same value.
    in_place: usize,
}

/// A schema without parts.
const SINGLE: Cost = Cost { evaluations: 1, in_place: 1 };

struct Graph<'a> {
    targets: HashMap<String, &'a Value>,
    /// The cost of schemas seen, by address; [`SINGLE`] while it is being computed.
    known: HashMap<usize, Cost>,
    too_far: bool,
}

impl<'a> Graph<'a> {
    fn cost(&mut self, schema: &'a Value, base: &str, steps: usize) -> Cost {
        let Value::Object(members) = schema else { return SINGLE };
        let address = std::ptr::from_ref(schema) as usize;
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        if steps > MAX_STEPS {
            self.too_far = true;
            return SINGLE;
        }
        self.known.insert(address, SINGLE);
        let cost = self.sum(members, base, steps + 1);
        self.known.insert(address, cost);
        cost
    }

    fn sum(&mut self, members: &'a Map<String, Value>, base: &str, steps: usize) -> Cost {
        let own = ["$id", "id"].iter().find_map(|key| members.get(*key)?.as_str());
        let own = own.map(|id| resolve(base, id));
        let base = own.as_deref().unwrap_or(base);
        let mut total = SINGLE;
        for (key, value) in members {
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    if let Some((target, base)) = value.as_str().and_then(|to| self.find(to, base))
                    {
                        total.same_value(self.cost(target, &base, steps));
                    }
                }
                "allOf" | "anyOf" | "oneOf" | "dependentSchemas" | "dependencies" => {
                    for part in parts(value) {
                        total.same_value(self.cost(part, base, steps));
                    }
                }
                "not" | "if" | "then" | "else" => total.same_value(self.cost(value, base, steps)),
                // A member has one name and an item one position, so only one of these evaluates it.
                "properties" | "prefixItems" | "items"
                    if key == "properties" || value.is_array() =>
                {
                    let costs = parts(value).map(|part| self.cost(part, base, steps).evaluations);
                    total.part(costs.max().unwrap_or(0));
                }
                "patternProperties" => {
                    for part in parts(value) {
                        total.part(self.cost(part, base, steps).evaluations);
                    }
                }
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => {
                    total.part(self.cost(value, base, steps).evaluations);
                }
                _ => {}
            }
        }
        total
    }

    /// Return the target of `reference`, and the base URI there.
    fn find(&self, reference: &str, base: &str) -> Option<(&'a Value, String)> {
        let absolute = resolve(base, reference);
        let (document, fragment) = absolute.split_once('#').unwrap_or((&absolute, ""));
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            self.targets.get(document)?.pointer(&percent_decoded(fragment))?
        } else {
            self.targets.get(&absolute)?
        };
        Some((found, document.to_owned()))
    }
}

/// Decode the `%XX` sequences of `text`.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let code = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(b'%'));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Cost {
    /// Add a schema that evaluates the same value.
    fn same_value(&mut self, other: Self) {
        self.part(other.evaluations);
        self.in_place = self.in_place.max(other.in_place.saturating_add(1));
    }

    /// Add a schema that evaluates a part of the value.
    fn part(&mut self, evaluations: usize) {
        self.evaluations = self.evaluations.saturating_add(evaluations);
    }
}
