//! Parsing of JSON objects field by field, with the location in errors.

use serde_json::{Map, Value};

use super::{
    error::{MessageError, Place, one_of},
    spelling::{is_misspelling_of, same_letters},
};

/// The result of reading a field.
type Read<T> = Result<T, MessageError>;

/// A JSON object that is being parsed. Fields are removed as they are read; unknown ones remain.
///
/// A field that is null counts as absent.
pub(crate) struct Fields {
    pub(crate) place: Place,
    members: Map<String, Value>,
    /// The names of fields that were read and not found.
    absent: Vec<&'static str>,
}

impl Fields {
    pub(crate) fn new(value: Value, place: Place) -> Result<Self, MessageError> {
        match value {
            Value::Object(members) => Ok(Self { place, members, absent: Vec::new() }),
            other => Err(MessageError::unexpected(place, "an object", &other)),
        }
    }

    /// Remove and return a field, unless it is absent or null.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        // Not `swap_remove`, which would move the last field into the gap. Only a few fixed names
        // are read, so this stays linear.
        let value = self.members.shift_remove(name).filter(|value| !value.is_null());
        if value.is_none() {
            self.absent.push(name);
        }
        value
    }

    /// Put back a field that is not understood, to preserve it.
    pub(crate) fn put_back(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    /// Remove and return a field; `read` returns the value of another type as its error.
    fn optional<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Read<Option<T>> {
        let read = self.take(name).map(read).transpose();
        read.map_err(|other| self.unexpected(name, expected, &other))
    }

    pub(crate) fn optional_text(&mut self, name: &'static str) -> Read<Option<String>> {
        self.optional(name, "a string", |value| match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        })
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Read<String> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn optional_list(&mut self, name: &'static str) -> Read<Option<Vec<Value>>> {
        self.optional(name, "a list", |value| match value {
            Value::Array(items) => Ok(items),
            other => Err(other),
        })
    }

    pub(crate) fn list(&mut self, name: &'static str) -> Read<Vec<Value>> {
        self.optional_list(name)?.ok_or_else(|| self.missing(name, "a list"))
    }

    pub(crate) fn optional_object(
        &mut self,
        name: &'static str,
    ) -> Read<Option<Map<String, Value>>> {
        self.optional(name, "an object", |value| match value {
            Value::Object(members) => Ok(members),
            other => Err(other),
        })
    }

    pub(crate) fn object(&mut self, name: &'static str) -> Read<Map<String, Value>> {
        self.optional_object(name)?.ok_or_else(|| self.missing(name, "an object"))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Read<Option<bool>> {
        self.optional(name, "true or false", |value| value.as_bool().ok_or(value))
    }

    pub(crate) fn count(&mut self, name: &'static str) -> Read<u64> {
        Ok(self.optional_count(name)?.unwrap_or(0))
    }

    pub(crate) fn optional_count(&mut self, name: &'static str) -> Read<Option<u64>> {
        self.optional(name, "a whole number from 0 up", |value| value.as_u64().ok_or(value))
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Read<Option<f64>> {
        let finite = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        self.optional(name, "a number", |value| finite(&value).ok_or(value))
    }

    pub(crate) fn at(&self, name: &str) -> Place {
        self.place.member(name)
    }

    /// Create the error for a missing field, or for a misspelling of it.
    pub(crate) fn missing(&self, name: &'static str, expected: impl Into<String>) -> MessageError {
        self.misspelling_of(name).unwrap_or_else(|| MessageError::Missing {
            place: self.at(name),
            expected: expected.into(),
        })
    }

    /// Create the error for a set of fields of which one is required, or for a misspelling of one.
    pub(crate) fn missing_any_of(&self, names: &[&'static str]) -> MessageError {
        let unknown = names.iter().find_map(|name| self.misspelling_of(name));
        unknown.unwrap_or_else(|| MessageError::Missing {
            place: self.place.clone(),
            expected: one_of(names),
        })
    }

    fn misspelling_of(&self, known: &'static str) -> Option<MessageError> {
        let mut members = self.members.iter().filter(|(_, value)| !value.is_null());
        let (name, _) = members.find(|(name, _)| is_misspelling_of(name, known))?;
        Some(MessageError::UnknownField { place: self.at(name), known })
    }

    pub(crate) fn unexpected(
        &self,
        name: &str,
        expected: impl Into<String>,
        actual: &Value,
    ) -> MessageError {
        MessageError::unexpected(self.at(name), expected, actual)
    }

    /// Reject a kind that equals a known one except for case, `_` and `-`; accept any other.
    pub(crate) fn check_kind(
        &self,
        kind: &str,
        known: impl IntoIterator<Item = &'static str>,
    ) -> Result<(), MessageError> {
        match known.into_iter().find(|known| same_letters(kind, known)) {
            Some(known) => Err(self.unexpected("kind", format!("{known:?}"), &kind.into())),
            None => Ok(()),
        }
    }

    /// Return the remaining fields, which a later version may know. One that looks like a
    /// misspelling of an absent field is an error, since its value would be lost silently.
    pub(crate) fn unknown(self) -> Result<Map<String, Value>, MessageError> {
        if !self.members.is_empty() {
            let unknown = self.absent.iter().find_map(|known| self.misspelling_of(known));
            if let Some(err) = unknown {
                return Err(err);
            }
        }
        Ok(self.members)
    }

    /// Return the remaining fields.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.members
    }
}
