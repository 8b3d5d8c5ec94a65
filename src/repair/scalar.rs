//! Words and numbers of broken JSON.

use crate::message::RepairKind;

/// The interpretation of a bare word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Valid JSON.
    Json,
    /// Valid JSON after a repair.
    Repaired(RepairKind, String),
    /// Not a JSON value.
    Unknown,
}

/// Return true if `ch` may be part of a bare word.
pub(super) fn is_word_char(ch: char) -> bool {
    ch.is_alphanumeric() || matches!(ch, '_' | '$' | '-' | '+' | '.')
}

/// Interpret `word` as a value.
pub(super) fn value(word: &str) -> Word {
    let literal = match word {
        "true" | "false" | "null" => return Word::Json,
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "None" | "Null" | "NULL" | "undefined" => "null",
        _ => return number(word),
    };
    Word::Repaired(RepairKind::Literal, literal.to_owned())
}

/// Return true if `word` may be incomplete: `12` may, `true` may not.
pub(super) fn may_continue(word: &str) -> bool {
    !word.ends_with(|ch: char| ch.is_ascii_alphabetic()) || matches!(value(word), Word::Unknown)
}

fn number(word: &str) -> Word {
    if is_number(word) {
        return Word::Json;
    }
    let (sign, digits) = match word.as_bytes().first() {
        Some(b'-') => ("-", &word[1..]),
        Some(b'+') => ("", &word[1..]),
        _ => ("", word),
    };
    if !digits.starts_with(|ch: char| ch.is_ascii_digit() || ch == '.') {
        return Word::Unknown;
    }
    let Some(mut digits) = without_underscores(digits) else { return Word::Unknown };
    let radix = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    };
    if radix != 10 {
        // `from_str_radix` accepts a sign, which is not allowed here.
        let bare = digits[2..].trim_start_matches(['+', '-']);
        return match u64::from_str_radix(bare, radix) {
            Ok(value) if bare.len() == digits.len() - 2 => {
                Word::Repaired(RepairKind::Number, format!("{sign}{value}"))
            }
            _ => Word::Unknown,
        };
    }
    if digits.starts_with('.') {
        digits.insert(0, '0');
    }
    if let Some(dot) = digits.find('.')
        && !digits[dot + 1..].starts_with(|ch: char| ch.is_ascii_digit())
    {
        digits.insert(dot + 1, '0');
    }
    let repaired = format!("{sign}{digits}");
    // A lone dot is not a number.
    if is_number(&repaired) && word.contains(|ch: char| ch.is_ascii_digit()) {
        Word::Repaired(RepairKind::Number, repaired)
    } else {
        Word::Unknown
    }
}

/// Remove the underscores of `1_000`; return `None` if one is not between digits.
fn without_underscores(digits: &str) -> Option<String> {
    let bytes = digits.as_bytes();
    for (at, _) in digits.match_indices('_') {
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
        if at == 0 || !is_digit(at - 1) || !is_digit(at + 1) {
            return None;
        }
    }
    Some(digits.replace('_', ""))
}

/// Return true if `word` is a JSON number.
fn is_number(word: &str) -> bool {
    word.parse::<serde_json::Number>().is_ok()
}
