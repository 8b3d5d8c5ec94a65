//! Repair of one string, from its opening quote of any kind.

use std::fmt::Write;

use crate::message::RepairKind;

use super::{
    frames::Shape,
    lookahead::{StringContext, closes, may_end},
};

/// A repaired string.
#[derive(Debug)]
pub(super) struct ParsedString {
    /// Position after the string.
    pub(super) end: usize,
    /// The kinds of changes, each once.
    pub(super) changes: Vec<RepairKind>,
}

/// Read the string that begins at `start` and append it to `out`, quotes included. Return `None` if
/// its content or its end would be a guess.
pub(super) fn read(
    text: &str,
    start: usize,
    context: StringContext,
    out: &mut String,
) -> Option<ParsedString> {
    let open = context.quote;
    let mut reader = StringReader { text, at: start + open.len_utf8(), out, changes: Vec::new() };
    reader.out.push('"');
    if open != '"' {
        reader.change(RepairKind::Quotes);
    }
    let mut inner_quotes = 0_usize;
    let mut passed_an_end = false;
    loop {
        reader.copy_plain(open);
        let Some(ch) = reader.text[reader.at..].chars().next() else {
            // An inner quote may have been the end; and before a bracket at the very end of the
            // text, the quote may be missing before or after the bracket.
            let bracket = reader.text.trim_end().ends_with(['}', ']']);
            if context.is_key || inner_quotes > 0 || bracket {
                return None;
            }
            reader.change(RepairKind::MissingCloser);
            break;
        };
        let after = reader.at + ch.len_utf8();
        if closes(open, ch) {
            let ends = may_end(text, after, context);
            // Before a comma and another string of a list, this may be the second of a pair of
            // inner quotes. In an object, the colon after the other string decides.
            let in_pair = inner_quotes % 2 == 1
                && open == '"'
                && context.shape != Shape::Object
                && next_is_comma(text, after);
            if ends && !in_pair {
                if passed_an_end && inner_quotes % 2 == 1 {
                    return None;
                }
                reader.at = after;
                break;
            }
            // A key contains no quotes; this is a string where a key should be.
            if context.is_key {
                return None;
            }
            passed_an_end |= ends;
            inner_quotes += 1;
            if ch == '"' {
                reader.out.push('\\');
            }
            reader.out.push(ch);
            reader.at = after;
            reader.change(RepairKind::InnerQuote);
        } else if ch == '\\' {
            reader.escape()?;
        } else if ch == '"' {
            // Inside other quotes; escaping it is part of replacing those.
            reader.out.push_str("\\\"");
            reader.at = after;
        } else {
            reader.control(ch);
        }
    }
    reader.out.push('"');
    Some(ParsedString { end: reader.at, changes: reader.changes })
}

fn next_is_comma(text: &str, at: usize) -> bool {
    text[at..].trim_start_matches([' ', '\t', '\n', '\r']).starts_with(',')
}

struct StringReader<'t, 'o> {
    text: &'t str,
    at: usize,
    out: &'o mut String,
    changes: Vec<RepairKind>,
}

impl StringReader<'_, '_> {
    fn change(&mut self, kind: RepairKind) {
        if !self.changes.contains(&kind) {
            self.changes.push(kind);
        }
    }

    /// Copy up to the next character that needs attention.
    fn copy_plain(&mut self, open: char) {
        let rest = &self.text[self.at..];
        let plain = if open == '"' {
            rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
        } else {
            rest.find(|ch| ch < ' ' || ch == '"' || ch == '\\' || closes(open, ch))
        };
        let plain = &rest[..plain.unwrap_or(rest.len())];
        self.out.push_str(plain);
        self.at += plain.len();
    }

    fn control(&mut self, ch: char) {
        push_escaped(self.out, ch);
        self.at += ch.len_utf8();
        self.change(RepairKind::ControlCharacter);
    }

    /// Read an escape; `None` if the text ends within it.
    fn escape(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let letter = rest[1..].chars().next()?;
        let mut end = 1 + letter.len_utf8();
        match letter {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => self.out.push_str(&rest[..end]),
            'u' => return self.unicode_escape(),
            '\'' | '`' => self.bad_escape(letter),
            'x' | 'U' => {
                let digits = if letter == 'x' { 2 } else { 8 };
                match hex(rest, 2, digits).map(char::from_u32) {
                    Some(Some(ch)) => {
                        end += digits;
                        self.bad_escape(ch);
                    }
                    _ if rest.len() < 2 + digits => return None,
                    _ => self.literal_backslash(letter),
                }
            }
            _ if letter < ' ' => self.bad_escape(letter),
            _ => self.literal_backslash(letter),
        }
        self.at += end;
        Some(())
    }

    /// Write `ch` for an escape that JSON does not define.
    fn bad_escape(&mut self, ch: char) {
        push_escaped(self.out, ch);
        self.change(RepairKind::Escape);
    }

    /// Write a backslash that escapes nothing, as in `\d` or `C:\data`.
    fn literal_backslash(&mut self, letter: char) {
        self.out.push_str("\\\\");
        push_escaped(self.out, letter);
        self.change(RepairKind::Escape);
    }

    fn unicode_escape(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let Some(code) = hex(rest, 2, 4) else {
            if rest.len() < 6 {
                return None;
            }
            self.literal_backslash('u');
            self.at += 2;
            return Some(());
        };
        let mut end = 6;
        let lone = match code {
            0xD800..=0xDBFF => {
                let low = rest[6..].starts_with("\\u").then(|| hex(rest, 8, 4)).flatten();
                let paired = matches!(low, Some(0xDC00..=0xDFFF));
                if paired {
                    end = 12;
                }
                !paired
            }
            0xDC00..=0xDFFF => true,
            _ => false,
        };
        if lone {
            self.out.push_str("\\uFFFD");
            self.change(RepairKind::LoneSurrogate);
        } else {
            self.out.push_str(&rest[..end]);
        }
        self.at += end;
        Some(())
    }
}

/// Append `ch` to a JSON string, escaped if necessary.
fn push_escaped(out: &mut String, ch: char) {
    match ch {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if ch < ' ' => {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(ch));
        }
        _ => out.push(ch),
    }
}

/// Parse `digits` hexadecimal digits at `at`.
fn hex(text: &str, at: usize, digits: usize) -> Option<u32> {
    let digits = text.get(at..at + digits)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}
