//! Patterns that are matched by stepping back, and how much text they are let loose on.
//!
//! Plain patterns take time in proportion to the text. Look-around and back-references do not:
//! each attempt is bounded, but there is one at every character, so the time grows with the
//! square of the text.

use std::{iter::Peekable, ops::ControlFlow, str::Chars};

use serde_json::Value;

use super::documents::Documents;

/// The squares of the lengths of all strings in a value, keys included, may add up to this much,
/// in bytes: one string of 10,000, or a hundred of 1,000. It takes about a second at worst.
const MAX_SQUARES: u128 = 100_000_000;

/// What such a pattern is spelled with. Also finds some that step back no further than others.
const BACKTRACKING_SYNTAX: [&str; 12] =
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "\\k", "\\K", "\\G", "++", "*+", "?+"];

/// Return true if any pattern in the schema or its resources is matched by stepping back.
pub(super) fn any_backtracks(documents: Documents<'_>) -> bool {
    documents
        .walk(|member| {
            let single = (member.key == "pattern").then(|| member.value.as_str()).flatten();
            let keys = (member.key == "patternProperties").then(|| member.value.as_object());
            let keys = keys.flatten().into_iter().flat_map(|patterns| patterns.keys());
            if keys.map(String::as_str).chain(single).any(backtracks) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .is_break()
}

fn backtracks(pattern: &str) -> bool {
    let refers = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    refers || BACKTRACKING_SYNTAX.iter().any(|sign| pattern.contains(sign))
}

/// Return true if there is more text in `value` than such a pattern may be let loose on. Its depth
/// is known to be sane.
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

/// Return the number of ways that through `pattern` may be open at once; 0 where there is about
/// one. A pattern that is tried from every character, or has a part of any length, can keep as many
/// open as it has characters, those that are repeated counted as often.
pub(super) fn max_states(pattern: &str) -> usize {
    let starts_anywhere = !pattern.starts_with('^') || pattern.contains('|');
    if starts_anywhere || pattern.contains(['*', '+']) || pattern.contains(",}") {
        length(&mut pattern.chars().peekable(), 0)
    } else {
        0
    }
}

/// Number of groups that within one another are told apart.
const MAX_GROUPS: usize = 32;

/// Return the length of what `{2,9}` and its like spell out, up to the end of the group.
fn length(rest: &mut Peekable<Chars<'_>>, depth: usize) -> usize {
    let mut total = 0_usize;
    let mut last = 0_usize;
    while let Some(ch) = rest.next() {
        let atom = match ch {
            ')' if depth > 0 => break,
            '(' if depth < MAX_GROUPS => length(rest, depth + 1),
            '[' => {
                while let Some(ch) = rest.next_if(|ch| *ch != ']') {
                    if ch == '\\' {
                        rest.next();
                    }
                }
                rest.next();
                1
            }
            '{' => {
                let counts: String =
                    std::iter::from_fn(|| rest.next_if(|ch| ch.is_ascii_digit() || *ch == ','))
                        .collect();
                let most = counts.split(',').filter_map(|count| count.parse::<usize>().ok()).max();
                last = last.saturating_mul(most.unwrap_or(1).max(1) - 1);
                total = total.saturating_add(last);
                continue;
            }
            '\\' => {
                rest.next();
                1
            }
            '*' | '+' | '?' | '|' | '^' | '$' | '}' => continue,
            _ => 1,
        };
        total = total.saturating_add(atom);
        last = atom;
    }
    total
}
