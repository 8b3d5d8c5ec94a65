//! A schema and its resources as one collection, and a walk through all of it.

use std::ops::ControlFlow;

use jsonschema::uri;
use serde_json::{Map, Value};

use super::{Resources, sentence::push_step};

/// A schema and the resources of its references.
#[derive(Clone, Copy)]
pub(super) struct Documents<'a> {
    pub(super) schema: &'a Value,
    pub(super) resources: &'a Resources,
}

/// One member of an object somewhere in a schema.
pub(super) struct Member<'a, 'w> {
    /// The location as a JSON Pointer; a location in a resource begins with the URI and `#`.
    pub(super) path: &'w str,
    /// The base URI of references there.
    pub(super) base: &'w str,
    /// The object that contains it.
    pub(super) parent: &'a Value,
    pub(super) key: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Member<'a, '_> {
    /// Return the patterns that the member holds.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let single = self.value.as_str().filter(|_| self.key == "pattern");
        let keys = self.value.as_object().filter(|_| self.key == "patternProperties");
        keys.into_iter().flat_map(Map::keys).map(String::as_str).chain(single)
    }
}

/// Return the items of an array, or the values of the members of an object.
pub(crate) fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(Map::values))
}

impl<'a> Documents<'a> {
    /// Return the documents, each with its URI.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let resources = self.resources.iter().map(|(uri, resource)| (&**uri, resource));
        std::iter::once((ROOT, self.schema)).chain(resources)
    }

    /// Return the path of the root of the document with this URI.
    pub(super) fn path_of(uri: &str) -> String {
        if uri == ROOT { String::new() } else { format!("{uri}#") }
    }

    /// Call `visit` with every member of every object, until it breaks.
    pub(super) fn walk<B>(
        self,
        mut visit: impl FnMut(Member<'a, '_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (uri, document) in self.iter() {
            let mut path = Self::path_of(uri);
            walk(&mut path, uri, document, &mut visit)?;
        }
        ControlFlow::Continue(())
    }
}

/// The URI of a schema that has no URI.
const ROOT: &str = "json-schema:///";

// Recursive; `compile` has checked the depth.
fn walk<'a, B>(
    path: &mut String,
    base: &str,
    value: &'a Value,
    visit: &mut impl FnMut(Member<'a, '_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let end = path.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_step(path, &index.to_string());
                walk(path, base, item, visit)?;
                path.truncate(end);
            }
        }
        Value::Object(members) => {
            let own = ["$id", "id"].iter().find_map(|key| members.get(*key)?.as_str());
            let own = own.map(|id| resolve(base, id));
            let base = own.as_deref().unwrap_or(base);
            for (key, member) in members {
                push_step(path, key);
                visit(Member { path, base, parent: value, key, value: member })?;
                walk(path, base, member, visit)?;
                path.truncate(end);
            }
        }
        _ => {}
    }
    ControlFlow::Continue(())
}

/// Resolve `reference` against `base`; return it unchanged if it is not a URI reference.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    uri::from_str(base)
        .and_then(|base| uri::resolve_against(&base.borrow(), reference))
        .map_or_else(|_| reference.to_owned(), |uri| uri.to_string())
}
