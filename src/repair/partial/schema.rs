//! The part of a schema that decides what is certain about a value that is incomplete.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::repair::{
    coerce::coerce_part,
    convert,
    schemas::{options, types},
};
use crate::validator::equal;

/// The index of a schema.
pub(super) type Id = usize;

/// Maximum number of rounds in which the properties of schemas that refer to each other are found.
const MAX_ROUNDS: usize = 256;

/// A schema, prepared for values that are still being written.
///
/// Coercion changes a value according to the schema of its place alone, except where alternatives
/// (`anyOf`, `oneOf`) make it depend on the whole. So a part can be shown once it is complete and
/// all alternatives that are left agree on it.
#[derive(Debug)]
pub struct PartialSchema {
    root: Value,
    pub(super) nodes: Vec<Node>,
    /// The schemas of the whole value; `None` if nothing is certain before the end.
    pub(super) start: Option<Vec<Id>>,
}

/// One schema of the document.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The location in the document, as a JSON Pointer.
    pointer: String,
    /// The values of `enum` or `const`.
    options: Vec<Value>,
    pub(super) members: HashMap<String, Id>,
    /// The schema of members that are not declared.
    pub(super) others: Option<Id>,
    /// True if only declared members are allowed.
    pub(super) closed: bool,
    /// The schemas of the first items, and of those after them.
    pub(super) first: Vec<Id>,
    pub(super) rest: Option<Id>,
    /// Schemas that apply as well: the target of `$ref`, and those of `allOf`.
    pub(super) parts: Vec<Id>,
    /// Alternatives: one of each list applies.
    pub(super) unions: Vec<Vec<Id>>,
    /// The values that remain as they are written.
    pub(super) keeps: Keeps,
}

/// The kinds of values that a schema allows and coercion does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Keeps {
    pub(super) text: bool,
    pub(super) object: bool,
    pub(super) array: bool,
}

impl Keeps {
    const ALL: Self = Self { text: true, object: true, array: true };

    fn and(self, other: Self) -> Self {
        Self {
            text: self.text && other.text,
            object: self.object && other.object,
            array: self.array && other.array,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            text: self.text || other.text,
            object: self.object || other.object,
            array: self.array || other.array,
        }
    }
}

impl PartialSchema {
    /// Prepare a schema. Parts that cannot be understood locally make values appear later.
    pub fn new(schema: Value) -> Self {
        let mut builder = Builder::new(&schema);
        let clear = builder.build() && builder.find_kept();
        let nodes = builder.nodes;
        Self { root: schema, nodes, start: clear.then(|| vec![0]) }
    }

    /// Prepare for any value.
    pub fn any() -> Self {
        Self { root: Value::Bool(true), nodes: Vec::new(), start: Some(Vec::new()) }
    }

    /// Return the final value of a complete scalar with these schemas, if it is certain.
    pub(super) fn coerced(&self, ids: &[Id], value: &Value) -> Option<Value> {
        if ids.is_empty() {
            return Some(value.clone());
        }
        let parts: Option<Vec<_>> =
            ids.iter().map(|id| self.root.pointer(&self.nodes[*id].pointer)).collect();
        coerce_part(value, &parts?, &self.root)
    }

    /// Return true if a schema can accept the scalar `value` neither as it is nor converted,
    /// because of its options.
    pub(super) fn excludes(&self, id: Id, value: &Value) -> bool {
        let mut pending = vec![id];
        let mut seen = Vec::new();
        while let Some(id) = pending.pop() {
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let node = &self.nodes[id];
            let options: Vec<_> = node.options.iter().collect();
            if !options.is_empty()
                && !options.iter().any(|option| equal(option, value))
                && convert::to_option(value, &options).is_none()
            {
                return true;
            }
            pending.extend(&node.parts);
        }
        false
    }
}

/// The construction of the nodes, without recursion.
struct Builder<'s> {
    root: &'s Value,
    /// True if the draft is older than 2019-09.
    legacy: bool,
    nodes: Vec<Node>,
    ids: HashMap<String, Id>,
}

impl<'s> Builder<'s> {
    fn new(root: &'s Value) -> Self {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        Self { root, legacy: draft.contains("draft-0"), nodes: Vec::new(), ids: HashMap::new() }
    }

    /// Return the node of the schema at `pointer`.
    fn id(&mut self, pointer: String) -> Id {
        if let Some(id) = self.ids.get(&pointer) {
            return *id;
        }
        let id = self.nodes.len();
        self.ids.insert(pointer.clone(), id);
        self.nodes.push(Node { pointer, keeps: Keeps::ALL, ..Node::default() });
        id
    }

    /// Build all nodes; return false if the meaning of a schema depends on more than its keywords.
    fn build(&mut self) -> bool {
        let mut at = self.id(String::new());
        while at < self.nodes.len() {
            let pointer = self.nodes[at].pointer.clone();
            match self.root.pointer(&pointer) {
                Some(Value::Object(keywords)) => {
                    if !self.is_clear(&pointer, keywords) {
                        return false;
                    }
                    self.fill(at, &pointer, keywords);
                }
                Some(Value::Bool(false)) => self.nodes[at].keeps = Keeps::default(),
                _ => {}
            }
            at += 1;
        }
        true
    }

    fn is_clear(&self, pointer: &str, keywords: &Map<String, Value>) -> bool {
        const APPLIED: [&str; 10] = [
            "type",
            "enum",
            "const",
            "properties",
            "additionalProperties",
            "items",
            "prefixItems",
            "allOf",
            "anyOf",
            "oneOf",
        ];
        let has = |name: &str| keywords.contains_key(name);
        // References below another base are resolved elsewhere.
        let is_base = !pointer.is_empty()
            && ["$id", "id"].iter().any(|name| keywords.get(*name).is_some_and(Value::is_string));
        let items_are_list = keywords.get("items").is_some_and(Value::is_array);
        // Before 2019-09, `$ref` hides its neighbours.
        let is_hidden = self.legacy && has("$ref") && APPLIED.iter().any(|name| has(name));
        let is_foreign = if self.legacy { has("prefixItems") } else { items_are_list };
        !is_base && !is_hidden && !is_foreign
    }

    fn fill(&mut self, at: Id, pointer: &str, keywords: &Map<String, Value>) {
        let names = types(keywords);
        let options: Vec<Value> = options(keywords).into_iter().cloned().collect();
        let allows = |name| options.is_empty() && (names.is_empty() || names.contains(&name));
        let keeps =
            Keeps { text: allows("string"), object: allows("object"), array: allows("array") };
        let mut node = Node { pointer: pointer.to_owned(), keeps, options, ..Node::default() };

        let declared = keywords.get("properties").and_then(Value::as_object);
        for key in declared.into_iter().flat_map(Map::keys) {
            let id = self.id(format!("{pointer}/properties/{}", escaped(key)));
            node.members.insert(key.clone(), id);
        }
        // Matching patterns is left to the validator.
        if let Some(others) = keywords.get("additionalProperties")
            && !keywords.contains_key("patternProperties")
        {
            node.closed = *others == Value::Bool(false);
            node.others = Some(self.id(format!("{pointer}/additionalProperties")));
        }
        let list = |name| keywords.get(name).and_then(Value::as_array);
        let (first, rest) = match list("items") {
            Some(first) => (Some(("items", first)), "additionalItems"),
            None => (list("prefixItems").map(|first| ("prefixItems", first)), "items"),
        };
        if let Some((name, schemas)) = first {
            node.first =
                (0..schemas.len()).map(|at| self.id(format!("{pointer}/{name}/{at}"))).collect();
        }
        if keywords.contains_key(rest) {
            node.rest = Some(self.id(format!("{pointer}/{rest}")));
        }
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str)
            && let Some(target) = target.strip_prefix('#')
            && self.root.pointer(target).is_some()
        {
            node.parts.push(self.id(target.to_owned()));
        }
        let listed = |this: &mut Self, name: &str| -> Option<Vec<Id>> {
            let schemas = keywords.get(name)?.as_array()?;
            Some((0..schemas.len()).map(|at| this.id(format!("{pointer}/{name}/{at}"))).collect())
        };
        node.parts.extend(listed(self, "allOf").into_iter().flatten());
        for name in ["anyOf", "oneOf"] {
            node.unions.extend(listed(self, name));
        }
        self.nodes[at] = node;
    }

    /// Find what each schema keeps, with those that apply as well; return false if that takes too
    /// long.
    fn find_kept(&mut self) -> bool {
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            // Most schemas refer to later ones.
            for at in (0..self.nodes.len()).rev() {
                let node = &self.nodes[at];
                let kept = |id: &Id| self.nodes[*id].keeps;
                let parts = node.parts.iter().map(kept);
                let unions = node
                    .unions
                    .iter()
                    .map(|ids| ids.iter().map(kept).fold(Keeps::default(), Keeps::or));
                let keeps = parts.chain(unions).fold(node.keeps, Keeps::and);
                changed |= keeps != node.keeps;
                self.nodes[at].keeps = keeps;
            }
            if !changed {
                return true;
            }
        }
        false
    }
}

/// Return a key as a step of a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
