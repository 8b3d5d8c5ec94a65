//! Patterns that are matched by stepping back, and how much text they are let loose on.
//!
//! Plain patterns take time in proportion to the text. Look-around and back-references do not:
//! each attempt is bounded, but there is one at every character, so the time grows with the
//! square of the text.

use std::ops::ControlFlow;

use serde_json::Value;

use super::documents::Documents;

/// The squares of the lengths of all strings in a value, keys included, may add up to this much,
/// in bytes: one string of 10,000, or a hundred of 1,000. It takes about a second at worst.
const MAX_SQUARES: u128 = 100_000_000;

/// What such a pattern is spelled with. Also finds some that step back no further than others.
const SIGNS: [&str; 12] =
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "\\k", "\\K", "\\G", "++", "*+", "?+"];

/// Whether any pattern in the schema or its resources is matched by stepping back.
pub(super) fn step_back(documents: Documents<'_>) -> bool {
    documents
        .walk(|member| {
            let single = (member.key == "pattern").then(|| member.value.as_str()).flatten();
            let keys = (member.key == "patternProperties").then(|| member.value.as_object());
            let keys = keys.flatten().into_iter().flat_map(|patterns| patterns.keys());
            if keys.map(String::as_str).chain(single).any(steps_back) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .is_break()
}

fn steps_back(pattern: &str) -> bool {
    let refers = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    refers || SIGNS.iter().any(|sign| pattern.contains(sign))
}

/// Whether there is more text in `value` than such a pattern may be let loose on. Its depth is
/// known to be sane.
pub(super) fn too_much_text(value: &Value) -> bool {
    squares(value) > MAX_SQUARES
}

fn squares(value: &Value) -> u128 {
    let square = |text: &str| (text.len() as u128).pow(2);
    match value {
        Value::String(text) => square(text),
        Value::Array(items) => items.iter().map(squares).sum(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| square(key) + squares(member)).sum()
        }
        _ => 0,
    }
}
