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
    InvalidValue {
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
    /// The score is between 0 and 1: most likely a share, where a number up to 100 was asked for.
    #[error("the score is {found}, a share of 1; it must be a number from 0 to 100")]
    Fraction {
        /// What it is.
        found: String,
    },
}

/// The score that a value spells, from 0 to 100.
///
/// 85, 85.0, "85", "85%", "85/100" and "about 85" are scores; one outside the range is brought to
/// its end. A bare number up to 1 is a share if shares were asked for (`is_fraction`), and no score if
/// they were not.
pub(super) fn score(value: &Value, is_fraction: bool) -> Result<f64, ScoreError> {
    let parsed = match value {
        Value::Number(number) => finite(number.as_str()).map(ScoreText::Bare),
        Value::String(text) => parsed(text.trim()),
        _ => None,
    };
    let number = match parsed {
        Some(ScoreText::Bare(number)) if is_fraction && (0.0..=1.0).contains(&number) => 100.0 * number,
        Some(ScoreText::Bare(number)) if number > 0.0 && number < 1.0 => {
            return Err(ScoreError::Fraction { found: describe(value) });
        }
        Some(ScoreText::Bare(number) | ScoreText::OfHundred(number)) if !number.is_nan() => number,
        _ => return Err(ScoreError::NotANumber { found: describe(value) }),
    };
    // Adding 0 makes -0 zero, which sorts as it should.
    Ok(number.clamp(0.0, 100.0) + 0.0)
}

/// A number, by whether it says of what it is a part.
enum ScoreText {
    Bare(f64),
    OfHundred(f64),
}

/// What may stand before a number that says the same without it.
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

/// The number that a text spells: alone, after a hedge, in percent or as a part of another.
fn parsed(text: &str) -> Option<ScoreText> {
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

/// The number that a text spells in digits, however large; no word for one.
fn finite(text: &str) -> Option<f64> {
    if text.bytes().all(is_numeric) { text.parse().ok() } else { None }
}

fn is_numeric(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// What a value is, in words.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Violation::quote(value),
    }
}
