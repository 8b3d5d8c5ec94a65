//! What is refused before anything else looks at it: depth and numbers without measure.
//!
//! The validator crate recurses over values and spells numbers out, a million
//! zeros for `1e999999` included.

use serde_json::{Number, Value};

use super::{sentence::push_step, tariff::BYTES};

/// How deep a schema or a value may be nested.
pub const MAX_DEPTH: usize = 128;
/// How many characters a number may have. Python draws the same line for `int`.
const MAX_NUMBER_CHARS: usize = 4_300;
/// How many digits an exponent may have.
const MAX_EXPONENT_DIGITS: usize = 3;

/// What there is too much of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Excess {
    /// More than [`MAX_DEPTH`] levels.
    Depth,
    /// A number that is too large, or too long to compute with.
    Number(Number),
}

/// How much there is in `value`: one for each value, and one for each [`BYTES`] of text. Nothing
/// if it is too deep or holds numbers that are too large.
pub(super) fn weigh(value: &Value) -> Option<usize> {
    let mut weight = 0;
    first_below(value, 0, None, &mut weight).is_none().then_some(weight)
}

/// The first thing that is too much in `value`, and its place as a JSON Pointer.
pub(crate) fn find(value: &Value) -> Option<(String, Excess)> {
    let mut path = String::new();
    let excess = first_below(value, 0, Some(&mut path), &mut 0)?;
    Some((path, excess))
}

/// `path` is left at the place of what is found. The recursion ends at [`MAX_DEPTH`].
fn first_below(
    value: &Value,
    depth: usize,
    mut path: Option<&mut String>,
    weight: &mut usize,
) -> Option<Excess> {
    if depth > MAX_DEPTH {
        return Some(Excess::Depth);
    }
    *weight += 1;
    let end = path.as_ref().map_or(0, |path| path.len());
    match value {
        Value::String(text) => *weight += text.len() / BYTES,
        Value::Number(number) => {
            *weight += number.as_str().len() / BYTES;
            return (!is_sane_number(number)).then(|| Excess::Number(number.clone()));
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
                *weight += key.len() / BYTES;
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

fn is_sane_number(number: &Number) -> bool {
    if number.as_i64().is_some() {
        return true;
    }
    let spelled = number.as_str();
    if spelled.len() > MAX_NUMBER_CHARS {
        return false;
    }
    let Some(mark) = spelled.find(['.', 'e', 'E']) else { return true };
    let exponent = spelled[mark..].find(['e', 'E']).map_or("", |at| &spelled[mark + at + 1..]);
    exponent.trim_start_matches(['+', '-', '0']).len() <= MAX_EXPONENT_DIGITS
        && spelled.parse().is_ok_and(f64::is_finite)
}
