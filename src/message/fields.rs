//! Parsing of JSON objects field by field, with the location in errors.

use serde_json::{Map, Value};

use super::{
    error::{MessageError, Place, one_of},
    spelling::{is_misspelling_of, same_letters},
};

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

    pub(crate) fn optional_text(
        &mut self,
        name: &'static str,
    ) -> Result<Option<String>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.unexpected(name, "a string", &other)),
        }
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<String, MessageError> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn optional_list(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Vec<Value>>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.unexpected(name, "a list", &other)),
        }
    }

    pub(crate) fn list(&mut self, name: &'static str) -> Result<Vec<Value>, MessageError> {
        self.optional_list(name)?.ok_or_else(|| self.missing(name, "a list"))
    }

    pub(crate) fn optional_object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(self.unexpected(name, "an object", &other)),
        }
    }

    pub(crate) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Map<String, Value>, MessageError> {
        self.optional_object(name)?.ok_or_else(|| self.missing(name, "an object"))
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.unexpected(name, "true or false", &other)),
        }
    }

    pub(crate) fn count(&mut self, name: &'static str) -> Result<u64, MessageError> {
        Ok(self.optional_count(name)?.unwrap_or(0))
    }

    pub(crate) fn optional_count(
        &mut self,
        name: &'static str,
    ) -> Result<Option<u64>, MessageError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let count = value.as_u64();
        count.map(Some).ok_or_else(|| self.unexpected(name, "a whole number from 0 up", &value))
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<f64>, MessageError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.unexpected(name, "a number", &value)),
        }
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
