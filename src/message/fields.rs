//! Reading a JSON object field by field, with errors that say where.

use serde_json::{Map, Value};

use super::error::{MessageError, Place};

/// A JSON object that is being read. Fields are taken out of it; what nobody asked for stays.
///
/// A field that is null counts as absent.
pub(crate) struct Fields {
    pub(crate) place: Place,
    members: Map<String, Value>,
}

impl Fields {
    pub(crate) fn new(value: Value, place: Place) -> Result<Self, MessageError> {
        match value {
            Value::Object(members) => Ok(Self { place, members }),
            other => Err(MessageError::unexpected(place, "an object", &other)),
        }
    }

    /// The field, if it is there and not null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        // Not `remove`, which would move the last field into the gap. The names asked for are
        // few and fixed, so this stays linear.
        self.members.shift_remove(name).filter(|value| !value.is_null())
    }

    /// Puts back a field that cannot be understood, so that it survives.
    pub(crate) fn put_back(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.unexpected(name, "a string", &other)),
        }
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, MessageError> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn optional_list(&mut self, name: &str) -> Result<Option<Vec<Value>>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.unexpected(name, "a list", &other)),
        }
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<Value>, MessageError> {
        self.optional_list(name)?.ok_or_else(|| self.missing(name, "a list"))
    }

    pub(crate) fn optional_object(
        &mut self,
        name: &str,
    ) -> Result<Option<Map<String, Value>>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(self.unexpected(name, "an object", &other)),
        }
    }

    pub(crate) fn object(&mut self, name: &str) -> Result<Map<String, Value>, MessageError> {
        self.optional_object(name)?.ok_or_else(|| self.missing(name, "an object"))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, MessageError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.unexpected(name, "true or false", &other)),
        }
    }

    pub(crate) fn count(&mut self, name: &str) -> Result<u64, MessageError> {
        Ok(self.optional_count(name)?.unwrap_or(0))
    }

    pub(crate) fn optional_count(&mut self, name: &str) -> Result<Option<u64>, MessageError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let count = value.as_u64();
        count.map(Some).ok_or_else(|| self.unexpected(name, "a whole number from 0 up", &value))
    }

    pub(crate) fn number(&mut self, name: &str) -> Result<Option<f64>, MessageError> {
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

    pub(crate) fn missing(&self, name: &str, expected: impl Into<String>) -> MessageError {
        MessageError::Missing { place: self.at(name), expected: expected.into() }
    }

    pub(crate) fn unexpected(
        &self,
        name: &str,
        expected: impl Into<String>,
        actual: &Value,
    ) -> MessageError {
        MessageError::unexpected(self.at(name), expected, actual)
    }

    /// Whatever was not taken.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.members
    }
}
