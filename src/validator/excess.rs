//! Limits on depth and on numbers, checked before all else.
//!
//! The validator crate recurses over values and expands numbers, up to the million zeros of
//! `1e999999`.

use serde_json::{Number, Value};

use super::{
    cost_model::{BYTES, CHEAP_FRACTION},
    sentence::push_step,
};

/// Maximum nesting depth of a schema or a value.
pub const MAX_DEPTH: usize = 128;
/// Maximum length of a number, in characters. Python has the same limit for `int`.
const MAX_NUMBER_CHARS: usize = 4_300;
/// Maximum number of digits of an exponent.
const MAX_EXPONENT_DIGITS: usize = 3;

/// A limit that is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Excess {
    /// The nesting depth exceeds [`MAX_DEPTH`].
    Depth,
    /// A number is too large, or too long to compute with.
    Number(Number),
}

/// The size of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// Number of values, plus one for each [`BYTES`] of text.
    pub(super) parts: usize,
    /// True if some numbers may take long to compute with.
    pub(super) has_long_numbers: bool,
}

/// Return the weight of `value`, or `None` if it is too deep or contains numbers that are too
/// large.
pub(super) fn weigh(value: &Value) -> Option<Weight> {
    let mut weight = Weight::default();
    first_below(value, 0, None, &mut weight).is_none().then_some(weight)
}

/// Return the first limit that `value` exceeds, and the location as a JSON Pointer.
pub(crate) fn find(value: &Value) -> Option<(String, Excess)> {
    // The location costs more than the look, and few values need one.
    if weigh(value).is_some() {
        return None;
    }
    let mut path = String::new();
    let excess = first_below(value, 0, Some(&mut path), &mut Weight::default())?;
    Some((path, excess))
}

/// Return the first limit exceeded below `value`, and leave `path` at its location. The recursion
/// ends at [`MAX_DEPTH`].
fn first_below(
    value: &Value,
    depth: usize,
    mut path: Option<&mut String>,
    weight: &mut Weight,
) -> Option<Excess> {
    if depth > MAX_DEPTH {
        return Some(Excess::Depth);
    }
    weight.parts += 1;
    let end = path.as_ref().map_or(0, |path| path.len());
    match value {
        Value::String(text) => weight.parts += text.len() / BYTES,
        Value::Number(number) => {
            let text = number.as_str();
            weight.parts += text.len() / BYTES;
            if is_short_integer(text) {
                return None;
            }
            weight.has_long_numbers |= !is_short(text);
            return (!is_supported_number(number)).then(|| Excess::Number(number.clone()));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(path) = &mut path {
                    path.truncate(end);
                    push_step(path, &index.to_string());
                }
                if let Some(found) = first_below(item, depth + 1, path.as_deref_mut(), weight) {
                    return Some(found);
                }
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                weight.parts += key.len() / BYTES;
                if let Some(path) = &mut path {
                    path.truncate(end);
                    push_step(path, key);
                }
                if let Some(found) = first_below(member, depth + 1, path.as_deref_mut(), weight) {
                    return Some(found);
                }
            }
        }
        _ => {}
    }
    if let Some(path) = path {
        path.truncate(end);
    }
    None
}

/// Return true if a number is an integer of few digits without an exponent, as most are.
fn is_short_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    digits.len() < CHEAP_FRACTION && digits.iter().all(u8::is_ascii_digit)
}

/// Return true if computing with a number is cheap. An exponent takes few characters but is
/// expanded.
fn is_short(text: &str) -> bool {
    text.len() <= CHEAP_FRACTION && !text.as_bytes().iter().any(|byte| matches!(byte, b'e' | b'E'))
}

fn is_supported_number(number: &Number) -> bool {
    if number.as_i64().is_some() {
        return true;
    }
    let text = number.as_str();
    if text.len() > MAX_NUMBER_CHARS {
        return false;
    }
    let Some(mark) = text.find(['.', 'e', 'E']) else { return true };
    let exponent = text[mark..].find(['e', 'E']).map_or("", |at| &text[mark + at + 1..]);
    exponent.trim_start_matches(['+', '-', '0']).len() <= MAX_EXPONENT_DIGITS
        && text.parse().is_ok_and(f64::is_finite)
}
