//! Errors in messages from outside.

use std::fmt;

use serde_json::Value;
use thiserror::Error;

/// The location of an error in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The position of the message, if there is a list of messages.
    pub index: Option<usize>,
    /// The path within the message, as a JSON Pointer; empty for the message itself.
    pub path: String,
    /// The object in which the path begins.
    pub(crate) within: Within,
}

/// The object to which a location refers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Within {
    #[default]
    Message,
    Event,
}

impl Place {
    /// Return the location of the message at a position in a list.
    pub fn message(index: usize) -> Self {
        Self { index: Some(index), ..Self::default() }
    }

    /// Return the location of a stream event.
    pub(crate) fn event() -> Self {
        Self { within: Within::Event, ..Self::default() }
    }

    /// Return the location of a member of this object.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { path: format!("{}/{name}", self.path), ..*self }
    }

    /// Return the location of an item of this list.
    #[must_use]
    pub fn item(&self, position: usize) -> Self {
        Self { path: format!("{}/{position}", self.path), ..*self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.within {
            Within::Message => "message",
            Within::Event => "event",
        })?;
        if let Some(index) = self.index {
            write!(f, " {index}")?;
        }
        if !self.path.is_empty() {
            write!(f, " at {}", self.path)?;
        }
        Ok(())
    }
}

/// The error for a message that cannot be parsed, or cannot be converted to the requested format.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is not JSON.
    #[error("{place} is no JSON: {reason}")]
    Json {
        /// The location.
        place: Place,
        /// The error of the JSON parser, with line and column.
        reason: String,
    },
    /// A required value is missing.
    #[error("{place} is missing; expected {expected}")]
    Missing {
        /// The location.
        place: Place,
        /// A description of valid values.
        expected: String,
    },
    /// A value is not one of the expected ones.
    #[error("{place} is {actual}; expected {expected}")]
    Unexpected {
        /// The location.
        place: Place,
        /// A description of valid values.
        expected: String,
        /// A description of the value, truncated if it is long.
        actual: String,
    },
    /// An unknown field looks like a misspelling of an absent one.
    #[error("{place} is an unknown field; expected {known:?}")]
    UnknownField {
        /// The location.
        place: Place,
        /// The field that was most likely meant.
        known: &'static str,
    },
    /// Two calls of one message, or two results of one call, have the same id.
    #[error("{place} repeats the tool call id {id:?}")]
    RepeatedId {
        /// The location of the second one.
        place: Place,
        /// The duplicate id.
        id: String,
    },
    /// A call has no result, although results are required.
    #[error("{place} holds the tool call {id:?}, which has no result")]
    NoResult {
        /// The location of the call.
        place: Place,
        /// The id of the call.
        id: String,
    },
    /// A result belongs to no preceding call.
    #[error("{place} holds a result for {id:?}, but no message before it makes that call")]
    NoCall {
        /// The location of the result.
        place: Place,
        /// The id of the missing call.
        id: String,
    },
    /// The target format cannot represent the message.
    #[error("{place} cannot be sent to {target}: {reason}")]
    Unsupported {
        /// The location.
        place: Place,
        /// The name of the format.
        target: &'static str,
        /// The obstacle.
        reason: String,
    },
}

impl MessageError {
    /// Return the location of the error.
    pub fn place(&self) -> &Place {
        match self {
            Self::Json { place, .. }
            | Self::Missing { place, .. }
            | Self::Unexpected { place, .. }
            | Self::UnknownField { place, .. }
            | Self::RepeatedId { place, .. }
            | Self::NoResult { place, .. }
            | Self::NoCall { place, .. }
            | Self::Unsupported { place, .. } => place,
        }
    }

    pub(super) fn unexpected(place: Place, expected: impl Into<String>, actual: &Value) -> Self {
        Self::Unexpected { place, expected: expected.into(), actual: describe(actual) }
    }
}

/// Maximum length of a string quoted in an error, in characters.
const MAX_QUOTED: usize = 60;

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {}", shorten(number.as_str())),
        Value::String(text) => format!("the string {:?}", shorten(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Join names as in `"a", "b" or "c"`.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("{only:?}"),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(|name| format!("{name:?}")).collect();
            format!("{} or {last:?}", most.join(", "))
        }
    }
}
