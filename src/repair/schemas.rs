//! Keywords of a schema that can be evaluated directly: types, options, parts and references.
//!
//! This is not a validator. It excludes alternatives that are impossible; the caller validates the
//! result.

use serde_json::{Map, Value};

use super::types::is_type;
use crate::validator::{equal, parts};

/// Maximum depth to which schemas and values are followed.
pub(super) const MAX_DEPTH: usize = 128;
/// Maximum number of visits to schemas and values for one value.
const MAX_WORK: usize = 500_000;

/// A schema with its remaining work budget.
#[derive(Debug)]
pub(super) struct Schemas<'s> {
    root: &'s Value,
    work: usize,
}

impl<'s> Schemas<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, work: MAX_WORK }
    }

    /// Spend some of the budget; return false when it is exhausted.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_sub(work);
        self.work > 0
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.work == 0
    }

    /// Return the target of a schema's `$ref` within the document.
    pub(super) fn target(&self, keywords: &Map<String, Value>) -> Option<&'s Value> {
        let pointer = keywords.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    /// Return true unless the evaluated keywords exclude `value`.
    pub(super) fn may_fit(&mut self, value: &Value, schema: &'s Value) -> bool {
        self.may_fit_at(value, schema, 0)
    }

    /// Return true if `value` has the shape that `schema` describes, whatever its parts lack: its
    /// type, its options, and the constant members that distinguish alternatives.
    pub(super) fn is_shaped(&mut self, value: &Value, schema: &'s Value) -> bool {
        self.is_shaped_at(value, schema, 0)
    }

    fn is_shaped_at(&mut self, value: &Value, schema: &'s Value, depth: usize) -> bool {
        let keywords = match schema {
            Value::Bool(accepts) => return *accepts,
            Value::Object(keywords) => keywords,
            _ => return true,
        };
        if depth > MAX_DEPTH || !self.spend(1) {
            return false;
        }
        let types = types(keywords);
        let options = options(keywords);
        let mut members = value.as_object().into_iter().flatten();
        let target = self.target(keywords);
        let all = keywords.get("allOf").and_then(Value::as_array);
        (types.is_empty() || types.iter().any(|name| is_type(value, name)))
            && (options.is_empty() || options.iter().any(|option| equal(option, value)))
            && members.all(|(key, member)| {
                let only =
                    member_schema(keywords, key).and_then(Value::as_object).map(self::options);
                !matches!(only.as_deref(), Some([only]) if !equal(only, member))
            })
            && target.is_none_or(|target| self.is_shaped_at(value, target, depth + 1))
            && all.into_iter().flatten().all(|part| self.is_shaped_at(value, part, depth + 1))
    }

    fn may_fit_at(&mut self, value: &Value, schema: &'s Value, depth: usize) -> bool {
        let keywords = match schema {
            Value::Bool(accepts) => return *accepts,
            Value::Object(keywords) => keywords,
            _ => return true,
        };
        if depth > MAX_DEPTH || !self.spend(1) {
            return true;
        }
        let types = types(keywords);
        if !types.is_empty() && !types.iter().any(|name| is_type(value, name)) {
            return false;
        }
        let options = options(keywords);
        if !options.is_empty() && !options.iter().any(|option| equal(option, value)) {
            return false;
        }
        if let Some(target) = self.target(keywords)
            && !self.may_fit_at(value, target, depth + 1)
        {
            return false;
        }
        let list = |name| keywords.get(name).and_then(Value::as_array);
        if let Some(all) = list("allOf")
            && !all.iter().all(|part| self.may_fit_at(value, part, depth + 1))
        {
            return false;
        }
        for any in [list("anyOf"), list("oneOf")].into_iter().flatten() {
            if !any.iter().any(|part| self.may_fit_at(value, part, depth + 1)) {
                return false;
            }
        }
        self.parts_may_fit(value, keywords, depth)
    }

    fn parts_may_fit(
        &mut self,
        value: &Value,
        keywords: &'s Map<String, Value>,
        depth: usize,
    ) -> bool {
        match value {
            Value::Object(members) => {
                let required = keywords.get("required").and_then(Value::as_array);
                let mut names = required.into_iter().flatten().filter_map(Value::as_str);
                let closed = keywords.get("additionalProperties") == Some(&Value::Bool(false))
                    && !keywords.contains_key("patternProperties");
                let properties = keywords.get("properties").and_then(Value::as_object);
                let known = |key: &str| properties.is_some_and(|all| all.contains_key(key));
                names.all(|name| members.contains_key(name))
                    && !(closed && members.keys().any(|key| !known(key)))
                    && members.iter().all(|(key, member)| {
                        member_schema(keywords, key)
                            .is_none_or(|schema| self.may_fit_at(member, schema, depth + 1))
                    })
            }
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                item_schema(keywords, index)
                    .is_none_or(|schema| self.may_fit_at(item, schema, depth + 1))
            }),
            _ => true,
        }
    }
}

/// Return the types that a schema declares.
pub(super) fn types(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Return the values that `const` or `enum` allows.
pub(super) fn options(keywords: &Map<String, Value>) -> Vec<&Value> {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(only), _) => vec![only],
        (None, Some(Value::Array(options))) => options.iter().collect(),
        _ => Vec::new(),
    }
}

/// Return the schema of the member `key`.
pub(super) fn member_schema<'s>(keywords: &'s Map<String, Value>, key: &str) -> Option<&'s Value> {
    if let Some(schema) = keywords.get("properties").and_then(|properties| properties.get(key)) {
        return Some(schema);
    }
    // Matching patterns is left to the validator.
    let other = !keywords.contains_key("patternProperties");
    keywords.get("additionalProperties").filter(|_| other)
}

/// Return the schema of the item at `index`.
pub(super) fn item_schema(keywords: &Map<String, Value>, index: usize) -> Option<&Value> {
    let list = |name| keywords.get(name).and_then(Value::as_array);
    let (first, rest) = match list("items") {
        Some(first) => (Some(first), "additionalItems"),
        None => (list("prefixItems"), "items"),
    };
    first.and_then(|first| first.get(index)).or_else(|| keywords.get(rest))
}

/// Return the number of values in `value`, itself included.
pub(super) fn size(value: &Value) -> usize {
    let mut pending = vec![value];
    let mut count = 0;
    while let Some(value) = pending.pop() {
        count += 1;
        pending.extend(parts(value));
    }
    count
}
