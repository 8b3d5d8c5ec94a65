//! Reading a JSON object field by field, with errors that say where.

use serde_json::{Map, Value};

use super::{
    error::{MessageError, Place, one_of},
    spelling::{is_misspelling_of, same_letters},
};

/// A JSON object that is being read. Fields are taken out of it; what nobody asked for stays.
///
/// A field that is null counts as absent.
pub(crate) struct Fields {
    pub(crate) place: Place,
    members: Map<String, Value>,
    /// The names that were asked for and not found.
    absent: Vec<&'static str>,
}

impl Fields {
    pub(crate) fn new(value: Value, place: Place) -> Result<Self, MessageError> {
        match value {
            Value::Object(members) => Ok(Self { place, members, absent: Vec::new() }),
            other => Err(MessageError::unexpected(place, "an object", &other)),
        }
    }

    /// The field, if it is there and not null.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        // Not `remove`, which would move the last field into the gap. The names asked for are
        // few and fixed, so this stays linear.
        let value = self.members.shift_remove(name).filter(|value| !value.is_null());
        if value.is_none() {
            self.absent.push(name);
        }
        value
    }

    /// Puts back a field that cannot be understood, so that it survives.
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

    /// A field has to be there; if a misspelling of it is, the error names that.
    pub(crate) fn missing(&self, name: &'static str, expected: impl Into<String>) -> MessageError {
        self.misspelling_of(name).unwrap_or_else(|| MessageError::Missing {
            place: self.at(name),
            expected: expected.into(),
        })
    }

    /// None of these fields is there, and one has to be; a misspelling of one is named.
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

    /// Refuses a kind that is a known one in other letters; any other that is not known passes.
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

    /// Whatever was not taken, as fields that another version knows. One that stands where a
    /// field is absent and looks like a misspelling of it is an error, or what it says would be
    /// lost without a word.
    pub(crate) fn unknown(self) -> Result<Map<String, Value>, MessageError> {
        if !self.members.is_empty() {
            let unknown = self.absent.iter().find_map(|known| self.misspelling_of(known));
            if let Some(err) = unknown {
                return Err(err);
            }
        }
        Ok(self.members)
    }

    /// Whatever was not taken.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.members
    }
}
