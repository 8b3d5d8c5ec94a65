//! Numbers, words and strings of Python as JSON text.

use std::borrow::Cow;

use serde_json::Value;

use crate::message::{Repair, RepairKind};

/// Return the JSON text of a number or a word that stands for a value.
pub(super) fn scalar(text: &str) -> Option<Cow<'_, str>> {
    match text {
        "True" | "true" => Some("true".into()),
        "False" | "false" => Some("false".into()),
        "None" | "null" => Some("null".into()),
        _ => number(text),
    }
}

/// Return true if the word stands for a number that JSON does not have.
pub(super) fn is_not_finite(word: &str) -> bool {
    let word = word.trim_start_matches(['-', '+']);
    ["inf", "infinity", "nan"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Return a number of Python as JSON text, with all its digits.
fn number(text: &str) -> Option<Cow<'_, str>> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|ch: char| ch.is_ascii_digit() || ch == '.') {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let bytes = unsigned.as_bytes();
    let radix = match (bytes[0], bytes.get(1).map(u8::to_ascii_lowercase)) {
        (b'0', Some(b'x')) => Some(16),
        (b'0', Some(b'o')) => Some(8),
        (b'0', Some(b'b')) => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        let digits = without_underscores(unsigned.get(2..)?)?;
        let value =
            u128::from_str_radix(&digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
        return Some(format!("{sign}{value}").into());
    }
    let mut whole = without_underscores(unsigned)?.into_owned();
    if whole.starts_with('.') {
        whole.insert(0, '0');
    }
    if let Some(dot) = whole.find('.')
        && !whole[dot + 1..].starts_with(|ch: char| ch.is_ascii_digit())
    {
        whole.insert(dot + 1, '0');
    }
    if !is_json_number(&whole) || unsigned == "." {
        return None;
    }
    Some(if whole == unsigned && text.starts_with(['-']) || whole == text {
        text.into()
    } else {
        format!("{sign}{whole}").into()
    })
}

/// Remove underscores between digits; `None` if there are others.
fn without_underscores(digits: &str) -> Option<Cow<'_, str>> {
    if !digits.contains('_') {
        return Some(digits.into());
    }
    let pieces = || digits.split('_');
    let inner =
        |piece: &str| piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    pieces()
        .all(|piece| !piece.is_empty() && inner(piece))
        .then(|| pieces().collect::<String>().into())
}

/// Return true if the text is a JSON number without a sign.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 || whole > 1 && text.starts_with('0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Append a string as JSON text.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push_str(&json_string(text));
}

/// Return a string as JSON text.
pub(super) fn json_string(text: &str) -> String {
    // `Display` would need a copy of the text, and write it piece by piece. A string is always
    // written, so that it is only the way out of an error that does not happen.
    serde_json::to_string(text).unwrap_or_else(|_| Value::from(text).to_string())
}

/// Return the repair of a string without quotes.
pub(super) fn quoted(text: &str) -> Repair {
    Repair {
        path: String::new(),
        kind: RepairKind::Quotes,
        before: text.into(),
        after: Value::from(text).to_string().into(),
    }
}

/// Return the repair of a string or a bracket without an end.
pub(super) fn closed(closer: &str) -> Repair {
    Repair {
        path: String::new(),
        kind: RepairKind::MissingCloser,
        before: "".into(),
        after: closer.into(),
    }
}

/// Read the string at the start of `text`, with its prefix, and append its content to `out`.
///
/// Return its length, or `None` if it has no end.
pub(super) fn string(text: &str, out: &mut String) -> Option<usize> {
    let start = text.find(['"', '\''])?;
    let raw = text[..start].contains(['r', 'R']);
    let quote = &text[start..=start];
    let triple = quote.repeat(3);
    let delimiter = if text[start..].starts_with(&triple) { &*triple } else { quote };
    let from = start + delimiter.len();
    let mut at = from;
    loop {
        let next = at + text[at..].find(['\\', quote.as_bytes()[0] as char])?;
        if text[next..].starts_with(delimiter) {
            let body = &text[from..next];
            if raw {
                out.push_str(body);
            } else {
                unescape(body, out);
            }
            return Some(next + delimiter.len());
        }
        // A backslash also protects a quote in a raw string.
        let skipped = if text[next..].starts_with('\\') {
            1 + text[next + 1..].chars().next()?.len_utf8()
        } else {
            1
        };
        at = next + skipped;
    }
}

/// Append the text that a string with escapes stands for.
fn unescape(body: &str, out: &mut String) {
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = escape(rest, out);
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// Append the text of the escape at the start of `text`, and return its length.
fn escape(text: &str, out: &mut String) -> usize {
    let Some(letter) = text[1..].chars().next() else {
        out.push('\\');
        return 1;
    };
    let simple = match letter {
        '\\' | '\'' | '"' => Some(letter),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        _ => None,
    };
    if let Some(simple) = simple {
        out.push(simple);
        return 2;
    }
    let (digits, radix, skip) = match letter {
        '\n' => return 2,
        'x' => (2, 16, 2),
        'u' => return surrogates(text, out),
        'U' => (8, 16, 2),
        '0'..='7' => {
            let octal = text[1..].bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7'));
            (octal.count(), 8, 1)
        }
        _ => (0, 16, 0),
    };
    if let Some(code) = text.get(skip..skip + digits).and_then(|digits| code(digits, radix)) {
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return skip + digits;
    }
    // An unknown escape stands for itself.
    out.push('\\');
    out.push(letter);
    1 + letter.len_utf8()
}

/// Append the character of a `\u` escape, or of two that are surrogates.
fn surrogates(text: &str, out: &mut String) -> usize {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        code(digits, 16)
    };
    let Some(first) = unit(0) else {
        out.push_str("\\u");
        return 2;
    };
    if let (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) = (first, unit(6)) {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return 12;
    }
    out.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    6
}

fn code(digits: &str, radix: u32) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    u32::from_str_radix(digits, radix).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for (python, json) in [
            ("0", "0"),
            ("-1", "-1"),
            ("+5", "5"),
            ("1_000", "1000"),
            ("0xFF", "255"),
            ("-0b101", "-5"),
            ("1e5", "1e5"),
            ("1.50", "1.50"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("1.", "1.0"),
            ("1.e3", "1.0e3"),
            ("12345678901234567890123", "12345678901234567890123"),
        ] {
            assert_eq!(scalar(python).as_deref(), Some(json), "{python}");
        }
        for text in
            ["007", "1_", "_1", "1__0", "", ".", "-", "1j", "0x", "0x+1", "1e", "--1", "inf"]
        {
            assert_eq!(scalar(text), None, "{text}");
        }
    }

    #[test]
    fn strings_have_escapes_of_python() {
        for (python, text) in [
            (r"'a\'b'", "a'b"),
            (r#""\x41\u00e5\101\n""#, "A\u{e5}A\n"),
            (r#"r"\d+""#, r"\d+"),
            (r#""\d \N{BULLET} \x4""#, r"\d \N{BULLET} \x4"),
            ("'''a'b\nc'''", "a'b\nc"),
            ("''", ""),
            ("\"\"\"\"\"\"", ""),
            (r#""\ud83d\ude00 \ud83d""#, "\u{1f600} \u{fffd}"),
            ("\"a\\\nb\"", "ab"),
        ] {
            let mut out = String::new();
            assert_eq!(string(python, &mut out), Some(python.len()), "{python}");
            assert_eq!(out, text, "{python}");
        }
        for text in ["'a", "\"\"\"a\"\"", "'a\\'", "'"] {
            assert_eq!(string(text, &mut String::new()), None, "{text}");
        }
    }
}
