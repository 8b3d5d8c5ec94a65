//! What can be wrong with messages that come from outside.

use std::fmt;

use serde_json::Value;
use thiserror::Error;

/// Where in the input something is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The position of the message, where there is a list of them.
    pub index: Option<usize>,
    /// The way from the message to the spot, as a JSON Pointer; empty for the message itself.
    pub path: String,
    /// What the way begins at.
    pub(crate) within: Within,
}

/// What a place is a place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Within {
    #[default]
    Message,
    Event,
}

impl Place {
    /// The message at this position of a list.
    pub fn message(index: usize) -> Self {
        Self { index: Some(index), ..Self::default() }
    }

    /// The stream event that is being read.
    pub(crate) fn event() -> Self {
        Self { within: Within::Event, ..Self::default() }
    }

    /// A member of the object here.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { path: format!("{}/{name}", self.path), ..*self }
    }

    /// An item of the list here.
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

/// A message that cannot be read, or cannot be said in the form that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is no JSON.
    #[error("{place} is no JSON: {reason}")]
    Json {
        /// Where.
        place: Place,
        /// What the JSON reader says, with line and column.
        reason: String,
    },
    /// Something has to be there.
    #[error("{place} is missing; expected {expected}")]
    Missing {
        /// Where.
        place: Place,
        /// What would be right.
        expected: String,
    },
    /// Something else stands there.
    #[error("{place} is {actual}; expected {expected}")]
    Unexpected {
        /// Where.
        place: Place,
        /// What would be right.
        expected: String,
        /// What stands there, cut short where it is long.
        actual: String,
    },
    /// A field that is not known stands where one that it is a misspelling of is absent.
    #[error("{place} is an unknown field; expected {known:?}")]
    UnknownField {
        /// Where.
        place: Place,
        /// The field that was meant.
        known: &'static str,
    },
    /// Two calls of one message, or two results of one call, have the same id.
    #[error("{place} repeats the tool call id {id:?}")]
    RepeatedId {
        /// Where the second one is.
        place: Place,
        /// The id.
        id: String,
    },
    /// A call has no result, and was asked to have one.
    #[error("{place} holds the tool call {id:?}, which has no result")]
    NoResult {
        /// Where the call is.
        place: Place,
        /// The call.
        id: String,
    },
    /// A result answers no call before it.
    #[error("{place} holds a result for {id:?}, but no message before it makes that call")]
    NoCall {
        /// Where the result is.
        place: Place,
        /// The call that is missed.
        id: String,
    },
    /// The target format has no place for this.
    #[error("{place} cannot be sent to {target}: {reason}")]
    Unsupported {
        /// Where.
        place: Place,
        /// Whose format it is.
        target: &'static str,
        /// What is in the way.
        reason: String,
    },
}

impl MessageError {
    /// Where it went wrong.
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

/// The longest string that is quoted in an error, in characters.
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

/// `a, b or c`.
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
