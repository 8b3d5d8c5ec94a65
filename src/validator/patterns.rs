//! Patterns that need backtracking, and a limit on the text that they are matched against.
//!
//! Other patterns take linear time. Look-around and back-references do not: each attempt is
//! bounded, but there is one at every character, so the time is quadratic in the length of the
//! text.

use std::{iter::Peekable, ops::ControlFlow, str::Chars};

use serde_json::Value;

use super::documents::Documents;

/// Maximum sum of the squared lengths in bytes of all strings in a value, keys included: one string
/// of 10,000, or a hundred of 1,000. It takes about a second at worst.
const MAX_SQUARES: u128 = 100_000_000;

/// Syntax that needs backtracking. It also matches some patterns that do not.
const BACKTRACKING_SYNTAX: [&str; 12] =
    ["(?=", "(?!", "(?<=", "(?<!", "(?>", "(?(", "\\k", "\\K", "\\G", "++", "*+", "?+"];

/// Return true if any pattern in the schema or its resources needs backtracking.
pub(super) fn any_backtracks(documents: Documents<'_>) -> bool {
    documents
        .walk(|member| {
            let backtracks = member.patterns().any(backtracks);
            if backtracks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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

/// Return true if `value` has more text than such a pattern may be matched against. Its depth has
/// been checked.
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

/// Return the maximum number of simultaneous states of `pattern`; 0 if there is about one. A
/// pattern that is tried at every character, or has an unbounded part, can have as many states as
/// it has characters, repetitions included.
pub(super) fn max_states(pattern: &str) -> usize {
    let starts_anywhere = !pattern.starts_with('^') || pattern.contains('|');
    if starts_anywhere || pattern.contains(['*', '+']) || pattern.contains(",}") {
        length(&mut pattern.chars().peekable(), 0)
    } else {
        0
    }
}

/// Maximum number of nested groups that are distinguished.
const MAX_GROUPS: usize = 32;

/// Return the length of a pattern up to the end of the group, with repetitions such as `{2,9}`
/// expanded.
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
