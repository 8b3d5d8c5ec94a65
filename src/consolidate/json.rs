//! JSON text, split into tokens that keep their spelling.

use memchr::{memchr2, memmem};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{parser::Limits, validator::parts};

/// Maximum nesting depth of JSON that is reformatted or read back: the same as the parser's.
pub(super) const MAX_DEPTH: usize = Limits::DEPTH_CEILING;

/// A token of JSON text; commas and colons are implied.
#[derive(Clone, Copy)]
enum Token<'t> {
    Open(char),
    Close(char),
    Key(&'t str),
    Scalar(&'t str),
}

/// The token that may come next.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    ItemOrClose,
    KeyOrClose,
    Key,
    CommaOrClose,
}

/// Call `visit` for every token of `text`, as long as it returns `Some`. Return `None` if the text
/// is not JSON or nested too deeply; `visit` must validate strings.
fn scan<'t>(text: &'t str, mut visit: impl FnMut(Token<'t>) -> Option<()>) -> Option<()> {
    let mut open: Vec<char> = Vec::new();
    let mut expect = Expect::Value;
    let mut rest = text.trim_start_matches(SPACE);
    loop {
        let next = rest.chars().next()?;
        let closes = open.last() == Some(&next) && !matches!(expect, Expect::Value | Expect::Key);
        if closes {
            open.pop();
            visit(Token::Close(next))?;
            rest = &rest[1..];
            expect = Expect::CommaOrClose;
        } else {
            match expect {
                Expect::CommaOrClose => {
                    rest = rest.strip_prefix(',')?;
                    expect = if open.last()? == &'}' { Expect::Key } else { Expect::Value };
                }
                Expect::Key | Expect::KeyOrClose => {
                    let (key, after) = string(rest)?;
                    visit(Token::Key(key))?;
                    rest = after.trim_start_matches(SPACE).strip_prefix(':')?;
                    expect = Expect::Value;
                }
                Expect::Value | Expect::ItemOrClose if matches!(next, '{' | '[') => {
                    open.push(if next == '{' { '}' } else { ']' });
                    if open.len() > MAX_DEPTH {
                        return None;
                    }
                    visit(Token::Open(next))?;
                    rest = &rest[1..];
                    expect = if next == '{' { Expect::KeyOrClose } else { Expect::ItemOrClose };
                }
                Expect::Value | Expect::ItemOrClose => {
                    let (scalar, after) = if next == '"' { string(rest)? } else { word(rest)? };
                    visit(Token::Scalar(scalar))?;
                    rest = after;
                    expect = Expect::CommaOrClose;
                }
            }
        }
        rest = rest.trim_start_matches(SPACE);
        if open.is_empty() && expect == Expect::CommaOrClose {
            return rest.is_empty().then_some(());
        }
    }
}

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Split off the string at the start of `text`, with its quotes and escapes.
fn string(text: &str) -> Option<(&str, &str)> {
    let mut at = 1;
    if !text.starts_with('"') {
        return None;
    }
    loop {
        at += memchr2(b'"', b'\\', &text.as_bytes()[at..])?;
        if text.as_bytes()[at] == b'"' {
            return Some(text.split_at(at + 1));
        }
        // The first byte of an escaped character is not the closing quote.
        at += 2;
        if at >= text.len() {
            return None;
        }
    }
}

/// Split off the number or literal at the start of `text`.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|ch: char| SPACE.contains(&ch) || matches!(ch, ',' | ']' | '}'));
    let (word, after) = text.split_at(end.unwrap_or(text.len()));
    serde_json::from_str::<IgnoredAny>(word).ok().map(|_| (word, after))
}

/// Format JSON text of an object or array on several lines, with two spaces per level, in UTF-8.
/// Return `None` for anything else, and if the text would grow out of proportion.
pub(super) fn indented(text: &str) -> Option<String> {
    laid_out(text, true)
}

/// Format JSON text of an object or array on one line, spaced like Python's `json.dumps`.
pub(super) fn on_one_line(text: &str) -> Option<String> {
    laid_out(text, false)
}

/// Maximum growth of JSON text when it is formatted: a factor and a constant.
///
/// A model may write a long array at a great depth, where the indentation would be a hundred times
/// the text.
const GROWTH: usize = 4;
const SLACK: usize = 256;

/// Return the length of JSON text, counting control characters as if they were not escaped.
fn unescaped(text: &str) -> usize {
    text.len() - 5 * memmem::find_iter(text.as_bytes(), "\\u00").count()
}

fn laid_out(text: &str, indent: bool) -> Option<String> {
    if !text.trim_start_matches(SPACE).starts_with(['{', '[']) {
        return None;
    }
    let limit = GROWTH * unescaped(text) + SLACK;
    let mut writer = Writer {
        text: String::with_capacity(text.len()),
        depth: 0,
        indent,
        limit,
        last: Last::Nothing,
    };
    scan(text, |token| writer.take(token))?;
    Some(writer.text)
}

/// The item that was written last.
#[derive(PartialEq)]
enum Last {
    Nothing,
    Open,
    Key,
    Value,
}

struct Writer {
    text: String,
    depth: usize,
    indent: bool,
    limit: usize,
    last: Last,
}

impl Writer {
    fn take(&mut self, token: Token<'_>) -> Option<()> {
        match token {
            Token::Close(bracket) => {
                self.depth -= 1;
                if self.last != Last::Open {
                    self.break_line("");
                }
                self.text.push(bracket);
                self.last = Last::Value;
            }
            Token::Open(bracket) => {
                self.separate();
                self.text.push(bracket);
                self.depth += 1;
                self.last = Last::Open;
            }
            Token::Key(key) => {
                self.separate();
                self.string(key)?;
                self.text.push_str(": ");
                self.last = Last::Key;
            }
            Token::Scalar(scalar) => {
                self.separate();
                if scalar.starts_with('"') {
                    self.string(scalar)?;
                } else {
                    self.text.push_str(scalar);
                }
                self.last = Last::Value;
            }
        }
        (self.text.len() <= self.limit).then_some(())
    }

    fn separate(&mut self) {
        match self.last {
            Last::Nothing | Last::Key => {}
            Last::Open => self.break_line(""),
            Last::Value => {
                self.text.push(',');
                self.break_line(" ");
            }
        }
    }

    fn break_line(&mut self, otherwise: &str) {
        if self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n("  ", self.depth));
        } else {
            self.text.push_str(otherwise);
        }
    }

    /// Write a string, with only the escapes that UTF-8 needs.
    fn string(&mut self, literal: &str) -> Option<()> {
        let text: String = serde_json::from_str(literal).ok()?;
        self.text.push_str(&serde_json::to_string(&text).ok()?);
        Some(())
    }
}

/// Return true if `value` is not nested too deeply to be read back.
pub(super) fn is_shallow(value: &Value) -> bool {
    let mut waiting = vec![(value, 0)];
    while let Some((value, depth)) = waiting.pop() {
        if depth == MAX_DEPTH && (value.is_array() || value.is_object()) {
            return false;
        }
        waiting.extend(parts(value).map(|part| (part, depth + 1)));
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_their_spelling() {
        assert_eq!(on_one_line("[1E5,-0.0,1.50]").unwrap(), "[1E5, -0.0, 1.50]");
    }

    #[test]
    fn layout_changes_nothing_but_layout() {
        let text = "{\"b\":[],\"a\":{\"x\":[1,{\"y\":\"z\\u00fc\\n\"}],\"a\":{}},\"b\":null}";
        let wanted = "{\n  \"b\": [],\n  \"a\": {\n    \"x\": [\n      1,\n      {\n        \"y\": \"zü\\n\"\n      }\n    ],\n    \"a\": {}\n  },\n  \"b\": null\n}";
        assert_eq!(indented(text).unwrap(), wanted);
        assert_eq!(
            on_one_line(wanted).unwrap(),
            "{\"b\": [], \"a\": {\"x\": [1, {\"y\": \"zü\\n\"}], \"a\": {}}, \"b\": null}"
        );
    }

    #[test]
    fn text_that_is_not_a_json_structure_is_rejected() {
        let deep = "[".repeat(300) + &"]".repeat(300);
        for text in [
            "",
            "1",
            "\"a\"",
            "null",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "[01]",
            "[1.]",
            "[.5]",
            "[+1]",
            "[NaN]",
            "[]]",
            "[] x",
            "{\"a\":\"\\x\"}",
            "[\"\\ud800\"]",
            "[\"a\nb\"]",
            "[\"a]",
            "[\"\\\"]",
            "{]",
            "[}",
            "[,]",
            "{,}",
            "[tru]",
            &deep,
        ] {
            assert_eq!(indented(text), None, "{text:?}");
        }
        assert_eq!(
            indented(&format!("{}{}{}", "[".repeat(199), "1,".repeat(9000) + "1", "]".repeat(199))),
            None
        );
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde(text in "[\\[\\]{}\",:0-9a\\\\ .eE+tru-]{0,12}") {
            let is_formatted = indented(&text).is_some();
            let is_structure = serde_json::from_str::<Value>(&text)
                .is_ok_and(|value| value.is_object() || value.is_array());
            prop_assert_eq!(is_formatted, is_structure);
        }
    }
}
