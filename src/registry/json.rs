//! Parsing of the JSON of a `returnStruc`.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::limits::MAX_STRUCTURE_DEPTH;

/// The error for a text that is not a structure, with its byte offset.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JsonError {
    Syntax { at: usize, message: String },
    Depth { at: usize },
}

/// Parse JSON of limited depth.
pub(super) fn read(text: &str) -> Result<Value, JsonError> {
    if let Some(at) = too_deep(text) {
        return Err(JsonError::Depth { at });
    }
    let mut reader = Deserializer::from_str(text);
    // The depth was checked above, where its position is known.
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value)).map_err(|err| {
        let message = err.to_string();
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        JsonError::Syntax {
            at: offset(text, err.line(), err.column()),
            message: message.to_owned(),
        }
    })
}

/// Convert a line and a column in bytes, both from 1, to a byte offset.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (before + column.saturating_sub(1)).min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn too_deep(text: &str) -> Option<usize> {
    // Most structures have fewer brackets than that.
    memchr::memchr2_iter(b'[', b'{', text.as_bytes()).nth(MAX_STRUCTURE_DEPTH)?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_STRUCTURE_DEPTH {
                    return Some(at);
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
