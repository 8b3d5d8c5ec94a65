//! A score, in the forms that models give it.

use serde_json::Value;
use thiserror::Error;

use crate::validator::Violation;

/// Why a reply has no score that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// Nothing came, or nothing but what the model thought.
    #[error("the reply is empty")]
    Empty,
    /// More came than is read.
    #[error("the reply is longer than the {limit} bytes that are read")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// There is no JSON object in it.
    #[error("the reply has no JSON object in it that can be read: {reason}")]
    NotJson {
        /// Why it is no JSON itself.
        reason: String,
    },
    /// It came as an object, but not one that JSON can say.
    #[error("the reply is {reason}")]
    NoValue {
        /// Where it is no JSON, and why.
        reason: String,
    },
    /// It is JSON, but no object.
    #[error("the reply is {found}, not a JSON object with a score")]
    NotAnObject {
        /// What it is.
        found: String,
    },
    /// The end of the reply came before that of the score.
    #[error("the reply ends in the middle of the score")]
    CutOff,
    /// The object has no score.
    #[error("the reply has no score")]
    Missing,
    /// The score is no number.
    #[error("the score is {found}, not a number from 0 to 100")]
    NotANumber {
        /// What it is.
        found: String,
    },
}

/// The score that a value spells, from 0 to 100.
///
/// 85, 85.0, "85", "85.5" and "85%" are scores; one outside the range is brought to its end.
pub(super) fn score(value: &Value) -> Result<f64, ScoreError> {
    let number = match value {
        Value::Number(number) => finite(number.as_str()),
        Value::String(text) => {
            let text = text.trim();
            finite(text.strip_suffix('%').map_or(text, str::trim_end))
        }
        _ => None,
    };
    // Adding 0 makes -0 zero, which sorts as it should.
    number
        .map(|number| number.clamp(0.0, 100.0) + 0.0)
        .ok_or_else(|| ScoreError::NotANumber { found: said(value) })
}

/// The number that a text spells in digits, however large; no word for one.
fn finite(text: &str) -> Option<f64> {
    let is_spelled =
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if is_spelled { text.parse().ok() } else { None }
}

/// What a value is, in words.
pub(super) fn said(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Violation::quote(value),
    }
}
