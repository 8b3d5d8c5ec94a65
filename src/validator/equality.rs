//! Equality of values: numbers by their digits, objects regardless of the order of members.

use std::collections::HashSet;

use serde_json::Value;

use super::decimal::{self, Decimal};

/// Maximum number of plain values that are compared pairwise.
const MAX_PAIRWISE: usize = 8;

/// Return true if two values are equal.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => decimal::equal(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, member)| {
                    right.get(key).is_some_and(|expected| equal(member, expected))
                })
        }
        _ => left == right,
    }
}

/// Return true if no two of `items` are equal.
pub(super) fn is_unique(items: &[Value]) -> bool {
    if items.len() <= MAX_PAIRWISE && !items.iter().any(|item| item.is_array() || item.is_object())
    {
        let mut rest = items.iter();
        while let Some(item) = rest.next() {
            if rest.clone().any(|other| equal(item, other)) {
                return false;
            }
        }
        return true;
    }
    let mut keys = Keys::default();
    for item in items {
        keys.write(item);
        keys.end();
    }
    keys.are_unique()
}

/// Byte sequences for values: equal values have equal bytes, and different values different bytes.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// End position of each key.
    ends: Vec<usize>,
}

impl Keys {
    /// End the key of one value.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Return true if all keys differ.
    pub(crate) fn are_unique(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.ends.len());
        let mut start = 0;
        self.ends.iter().all(|end| {
            let key = &self.bytes[start..*end];
            start = *end;
            seen.insert(key)
        })
    }

    pub(crate) fn null(&mut self) {
        self.bytes.push(b'n');
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.bytes.push(if value { b't' } else { b'f' });
    }

    /// Write a 64-bit integer, to the same bytes as [`Keys::number`].
    #[cfg(feature = "python")]
    pub(crate) fn integer(&mut self, value: i64) {
        self.number(&value.to_string());
    }

    /// Write the number in `text`.
    pub(crate) fn number(&mut self, text: &str) {
        self.bytes.push(b'#');
        Decimal::of(text).write_key(&mut self.bytes);
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.count(b's', text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Begin an array; its `count` items follow.
    pub(crate) fn array(&mut self, count: usize) {
        self.count(b'a', count);
    }

    /// Begin an object; its `count` members follow: each name as a string, then its value, sorted
    /// by name.
    pub(crate) fn object(&mut self, count: usize) {
        self.count(b'o', count);
    }

    fn count(&mut self, kind: u8, count: usize) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&count.to_le_bytes());
    }

    fn write(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.bool(*value),
            Value::Number(number) => self.number(number.as_str()),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.array(items.len());
                for item in items {
                    self.write(item);
                }
            }
            Value::Object(members) => {
                self.object(members.len());
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                for (key, member) in members {
                    self.string(key);
                    self.write(member);
                }
            }
        }
    }
}
