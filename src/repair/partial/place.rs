//! The schemas that apply at a place of a value that is incomplete.

use serde_json::Value;

use super::{
    Container,
    schema::{Id, PartialSchema},
};

/// Maximum number of alternatives that are followed; with more, the value is not shown.
const MAX_ALTERNATIVES: usize = 16;

/// Maximum number of schemas that apply to one value; with more, it is not shown.
const MAX_SCHEMAS: usize = 128;

/// The schemas of one place: a list for each alternative that is left. No alternative means that
/// nothing is certain there before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(Vec<Vec<Id>>);

impl Place {
    /// The place of the whole value.
    pub(super) fn start(schema: &PartialSchema) -> Self {
        Self(schema.start.iter().cloned().collect())
    }

    /// A place of which nothing is certain.
    pub(super) fn unknown() -> Self {
        Self(Vec::new())
    }

    /// Return true if nothing is certain here.
    pub(super) fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// Return the final value of a complete scalar, if it is certain.
    pub(super) fn scalar(&self, schema: &PartialSchema, value: &Value) -> Option<Value> {
        match self.0.as_slice() {
            [] => None,
            [only] => schema.coerced(only, value),
            // Which one applies is decided by the rest: all must leave the value as it is.
            several => several
                .iter()
                .all(|ids| schema.coerced(ids, value).as_ref() == Some(value))
                .then(|| value.clone()),
        }
    }

    /// Return true if a string here is final in every prefix.
    pub(super) fn keeps_text(&self, schema: &PartialSchema) -> bool {
        !self.0.is_empty() && self.0.iter().flatten().all(|id| schema.nodes[*id].keeps.text)
    }

    /// Return the place inside of a container that opens here: the schemas whose keywords apply to
    /// its parts.
    pub(super) fn inside(&self, schema: &PartialSchema, container: Container) -> Self {
        let mut inside = Vec::new();
        for ids in &self.0 {
            let allowed = |id: &Id| keeps(schema, *id, container);
            // A container is never converted, so this alternative does not apply.
            if !ids.iter().all(allowed) {
                continue;
            }
            let mut found = vec![Vec::new()];
            for id in ids {
                match expand(schema, *id, container, found) {
                    Some(expanded) => found = expanded,
                    None => return Self::unknown(),
                }
            }
            inside.append(&mut found);
            if inside.len() > MAX_ALTERNATIVES {
                return Self::unknown();
            }
        }
        Self(inside).without_repeats()
    }

    /// Return the place of the member `key` of the object that this place is inside of.
    pub(super) fn member(&self, schema: &PartialSchema, key: &str) -> Self {
        self.parts(|id| {
            let node = &schema.nodes[id];
            node.members.get(key).copied().or(node.others)
        })
    }

    /// Return the place of the item at `index` of the array that this place is inside of.
    pub(super) fn item(&self, schema: &PartialSchema, index: usize) -> Self {
        self.parts(|id| {
            let node = &schema.nodes[id];
            node.first.get(index).copied().or(node.rest)
        })
    }

    fn parts(&self, part: impl Fn(Id) -> Option<Id>) -> Self {
        let parts = |ids: &Vec<Id>| ids.iter().filter_map(|id| part(*id)).collect();
        Self(self.0.iter().map(parts).collect()).without_repeats()
    }

    /// Drop the alternatives that do not allow a member `key`.
    pub(super) fn narrow_by_key(&mut self, schema: &PartialSchema, key: &str) {
        self.0.retain(|ids| {
            let allows = |id: &Id| {
                let node = &schema.nodes[*id];
                !node.closed || node.members.contains_key(key)
            };
            ids.iter().all(allows)
        });
    }

    /// Drop the alternatives whose member `key` cannot be the scalar `value`.
    pub(super) fn narrow_by_value(&mut self, schema: &PartialSchema, key: &str, value: &Value) {
        if self.0.len() < 2 {
            return;
        }
        self.0.retain(|ids| {
            let mut members = ids.iter().filter_map(|id| schema.nodes[*id].members.get(key));
            !members.any(|id| schema.excludes(*id, value))
        });
    }

    fn without_repeats(mut self) -> Self {
        let mut known: Vec<Vec<Id>> = Vec::new();
        for ids in self.0.drain(..) {
            if !known.contains(&ids) {
                known.push(ids);
            }
        }
        Self(known)
    }
}

fn keeps(schema: &PartialSchema, id: Id, container: Container) -> bool {
    let keeps = schema.nodes[id].keeps;
    match container {
        Container::Object => keeps.object,
        Container::Array => keeps.array,
    }
}

/// Append a schema, and those that apply with it, to each of `alternatives`. Return `None` if there
/// are too many.
fn expand(
    schema: &PartialSchema,
    id: Id,
    container: Container,
    mut alternatives: Vec<Vec<Id>>,
) -> Option<Vec<Vec<Id>>> {
    let mut expanded = Vec::new();
    while let Some(mut ids) = alternatives.pop() {
        let mut pending = vec![id];
        let mut several: Option<&Vec<Id>> = None;
        while let Some(id) = pending.pop() {
            if ids.contains(&id) {
                continue;
            }
            if ids.len() == MAX_SCHEMAS {
                return None;
            }
            ids.push(id);
            let node = &schema.nodes[id];
            // In the order in which coercion applies them.
            for branches in node.unions.iter().rev() {
                let mut possible = branches.iter().filter(|id| keeps(schema, **id, container));
                match (possible.next(), possible.next()) {
                    (None, _) => return None,
                    (Some(only), None) => pending.push(*only),
                    // One choice at a time; more of them are rare, and wait for the end.
                    (Some(_), Some(_)) if several.is_some() => return None,
                    (Some(_), Some(_)) => several = Some(branches),
                }
            }
            pending.extend(node.parts.iter().rev());
        }
        let Some(branches) = several else {
            expanded.push(ids);
            continue;
        };
        for branch in branches.iter().filter(|id| keeps(schema, **id, container)) {
            expanded.extend(expand(schema, *branch, container, vec![ids.clone()])?);
            if expanded.len() > MAX_ALTERNATIVES {
                return None;
            }
        }
    }
    Some(expanded)
}
