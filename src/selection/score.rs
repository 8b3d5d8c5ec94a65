//! Parsing of scores, in the forms that models write.

use serde_json::Value;
use thiserror::Error;

use crate::validator::Violation;

/// The reason why a reply has no usable score.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The reply is empty, or contains only reasoning.
    #[error("the reply is empty")]
    Empty,
    /// The reply exceeds the size limit.
    #[error("the reply is longer than the {limit} bytes that are read")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The reply contains no JSON object.
    #[error("the reply has no JSON object in it that can be read: {reason}")]
    NotJson {
        /// The reason why the reply is not JSON.
        reason: String,
    },
    /// The reply is an object that JSON cannot represent.
    #[error("the reply is {reason}")]
    InvalidValue {
        /// The position and the reason.
        reason: String,
    },
    /// The reply is JSON, but not an object.
    #[error("the reply is {found}, not a JSON object with a score")]
    NotAnObject {
        /// A description of the value.
        found: String,
    },
    /// The reply ends within the score.
    #[error("the reply ends in the middle of the score")]
    CutOff,
    /// The object has no score.
    #[error("the reply has no score")]
    Missing,
    /// The score is not a number.
    #[error("the score is {found}, not a number from 0 to 100")]
    NotANumber {
        /// A description of the value.
        found: String,
    },
    /// The score is between 0 and 1: most likely a fraction, although a number up to 100 was asked
    /// for.
    #[error("the score is {found}, a share of 1; it must be a number from 0 to 100")]
    Fraction {
        /// A description of the value.
        found: String,
    },
}

/// Parse a score from 0 to 100.
///
/// 85, 85.0, "85", "85%", "85/100" and "about 85" are valid; values outside the range are clamped.
/// A bare number up to 1 is a fraction if fractions were asked for (`is_fraction`), and an error
/// otherwise.
pub(super) fn score(value: &Value, is_fraction: bool) -> Result<f64, ScoreError> {
    let number = match value {
        Value::Number(number) => finite(number.as_str()).map(ScoreText::Bare),
        Value::String(text) => parse_text(text.trim()),
        _ => None,
    };
    let number = match number {
        Some(ScoreText::Bare(number)) if is_fraction && (0.0..=1.0).contains(&number) => {
            100.0 * number
        }
        Some(ScoreText::Bare(number)) if number > 0.0 && number < 1.0 => {
            return Err(ScoreError::Fraction { found: describe(value) });
        }
        Some(ScoreText::Bare(number) | ScoreText::OfHundred(number)) if !number.is_nan() => number,
        _ => return Err(ScoreError::NotANumber { found: describe(value) }),
    };
    // Adding 0 turns -0 into 0, for sorting.
    Ok(number.clamp(0.0, 100.0) + 0.0)
}

/// A parsed number: bare, or on a scale of 100.
enum ScoreText {
    Bare(f64),
    OfHundred(f64),
}

/// Words before a number that do not change its value.
const QUALIFIERS: [&str; 12] = [
    "about",
    "around",
    "approximately",
    "approx.",
    "approx",
    "roughly",
    "circa",
    "ca.",
    "nearly",
    "almost",
    "~",
    "≈",
];

/// Parse the number in a text: bare, after a qualifier, in percent or as a part of another number.
fn parse_text(text: &str) -> Option<ScoreText> {
    let lower = text.to_lowercase();
    let text = QUALIFIERS.iter().find_map(|hedge| lower.strip_prefix(hedge)).unwrap_or(&lower);
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !is_numeric(byte)).unwrap_or(text.len());
    let number = finite(&text[..end])?;
    let unit = text[end..].trim_start();
    if unit.is_empty() {
        return Some(ScoreText::Bare(number));
    }
    if matches!(unit, "%" | "percent" | "points") {
        return Some(ScoreText::OfHundred(number));
    }
    let whole = ["/", "out of", "of"].iter().find_map(|word| unit.strip_prefix(word))?;
    let whole = finite(whole.trim()).filter(|whole| *whole > 0.0)?;
    Some(ScoreText::OfHundred(100.0 * number / whole))
}

/// Parse a number in digits, of any size.
fn finite(text: &str) -> Option<f64> {
    if text.bytes().all(is_numeric) { text.parse().ok() } else { None }
}

fn is_numeric(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Describe a value in words.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Violation::quote(value),
    }
}
