//! What is refused before anything else looks at it: depth and numbers without measure.
//!
//! The validator crate recurses over values and spells numbers out, a million
//! zeros for `1e999999` included.

use serde_json::{Number, Value};

use super::{
    sentence::push_step,
    cost_model::{BYTES, CHEAP_FRACTION},
};

/// How deep a schema or a value may be nested.
pub const MAX_DEPTH: usize = 128;
/// Number of characters that a number may have. Python draws the same line for `int`.
const MAX_NUMBER_CHARS: usize = 4_300;
/// Number of digits that an exponent may have.
const MAX_EXPONENT_DIGITS: usize = 3;

/// What there is too much of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Excess {
    /// More than [`MAX_DEPTH`] levels.
    Depth,
    /// A number that is too large, or too long to compute with.
    Number(Number),
}

/// How much there is in a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// One for each value, and one for each [`BYTES`] of text.
    pub(super) parts: usize,
    /// True if there are numbers that take long to compute with, for all that can be seen.
    pub(super) has_long_numbers: bool,
}

/// How much there is in `value`; nothing if it is too deep or holds numbers that are too large.
pub(super) fn weigh(value: &Value) -> Option<Weight> {
    let mut weight = Weight::default();
    first_below(value, 0, None, &mut weight).is_none().then_some(weight)
}

/// Return the first thing that is too much in `value`, and its place as a JSON Pointer.
pub(crate) fn find(value: &Value) -> Option<(String, Excess)> {
    let mut path = String::new();
    let excess = first_below(value, 0, Some(&mut path), &mut Weight::default())?;
    Some((path, excess))
}

/// `path` is left at the place of what is found. The recursion ends at [`MAX_DEPTH`].
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

/// Return true if a number is a plain integer of few digits, as most are.
fn is_short_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    digits.len() < CHEAP_FRACTION && digits.iter().all(u8::is_ascii_digit)
}

/// Return true if computing with a number is cheap. An exponent spells in a few characters what is
/// written out.
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
