//! Lookahead that decides whether a quote ends its string.
//!
//! Each lookahead ends with the next string at the latest, so that every byte is read a bounded
//! number of times.

use super::{
    frames::Shape,
    scalar::{self, Word, is_word_char},
};

/// The context of a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringContext {
    /// The opening quote.
    pub(super) quote: char,
    /// True if the string is a key.
    pub(super) is_key: bool,
    /// The container of the string.
    pub(super) shape: Shape,
    /// The container of that container.
    pub(super) outer: Option<Shape>,
}

/// Return true if a string may end at `at`, just past the quote.
pub(super) fn may_end(text: &str, at: usize, context: StringContext) -> bool {
    let next = blank(text, at);
    if context.is_key {
        return byte(text, next) == Some(b':');
    }
    match byte(text, next) {
        None => true,
        Some(b',') => may_follow_comma(text, next + 1, context.shape),
        Some(b')') if context.shape != Shape::Tuple => false,
        Some(b'}' | b']' | b')') => match context.outer {
            Some(outer) => may_follow_value(text, next + 1, outer),
            None => may_follow_document(text, next + 1, context.quote),
        },
        _ => may_follow_value_unseparated(text, at, next, context.shape),
    }
}

/// Return true if a key or an item begins after a comma.
fn may_follow_comma(text: &str, at: usize, shape: Shape) -> bool {
    let next = blank(text, at);
    match byte(text, next) {
        None | Some(b'}' | b']') => true,
        Some(b')') => shape == Shape::Tuple,
        Some(_) if starts_comment(text, next) => true,
        Some(_) if shape == Shape::Object => starts_key(text, next),
        Some(b'{' | b'[' | b'(') => true,
        Some(_) => quote_at(text, next).is_some() || word_is_value(text, next),
    }
}

/// Return true if the next token may follow a complete value.
fn may_follow_value(text: &str, at: usize, shape: Shape) -> bool {
    let next = blank(text, at);
    match byte(text, next) {
        None | Some(b',' | b'}' | b']') => true,
        Some(b')') => shape == Shape::Tuple,
        _ => may_follow_value_unseparated(text, at, next, shape),
    }
}

/// Return true if a key or an item begins at `next`, with its comma missing.
fn may_follow_value_unseparated(text: &str, at: usize, next: usize, shape: Shape) -> bool {
    if starts_comment(text, next) || text[next..].starts_with("```") {
        return true;
    }
    match (shape, byte(text, next)) {
        (Shape::Object, _) => starts_key(text, next),
        (_, Some(b'{' | b'[')) => true,
        _ => next > at && (quote_at(text, next).is_some() || word_is_value(text, next)),
    }
}

/// Return true if the text after the last bracket may be text around the document.
fn may_follow_document(text: &str, at: usize, quote: char) -> bool {
    let next = blank(text, at);
    match byte(text, next) {
        // Another document cannot be part of a string in this one.
        None | Some(b'}' | b']' | b'{' | b'[') => true,
        // If the string continued, it would have a closing quote.
        _ => text[at..next].contains('\n') || !text[next..].contains(|ch| closes(quote, ch)),
    }
}

/// Return true if a key and its colon begin at `at`.
fn starts_key(text: &str, at: usize) -> bool {
    let end = match quote_at(text, at) {
        Some(quote) => match string_end(text, at + quote.len_utf8(), quote) {
            Some(end) => end,
            None => return false,
        },
        None => at + word(text, at).len(),
    };
    end > at && matches!(byte(text, blank(text, end)), Some(b':'))
}

/// Return true if a literal or a number begins at `at`, followed by a valid token.
fn word_is_value(text: &str, at: usize) -> bool {
    let is_value = |word: &str| scalar::value(word) != Word::Unknown;
    let word_at = word(text, at);
    let next = blank(text, at + word_at.len());
    is_value(word_at)
        && match byte(text, next) {
            None => true,
            Some(byte) => b",}])[{\"#/".contains(&byte) || is_value(word(text, next)),
        }
}

/// Return the position just past the quote that closes a string, considering escapes.
fn string_end(text: &str, at: usize, open: char) -> Option<usize> {
    let mut escaped = false;
    for (offset, ch) in text[at..].char_indices() {
        match ch {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if closes(open, ch) => return Some(at + offset + ch.len_utf8()),
            _ => {}
        }
    }
    None
}

/// Return the quote at `at`, if any.
pub(super) fn quote_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next().filter(|ch| is_quote(*ch))
}

pub(super) fn is_quote(ch: char) -> bool {
    matches!(ch, '"' | '\'' | '`' | '“' | '”' | '„' | '‘' | '’' | '‚')
}

/// Return true if `ch` may close a string that was opened by `open`.
pub(super) fn closes(open: char, ch: char) -> bool {
    match open {
        '“' | '”' | '„' => matches!(ch, '“' | '”' | '"'),
        '‘' | '’' | '‚' => matches!(ch, '‘' | '’' | '\''),
        _ => ch == open,
    }
}

/// Return the bare word at `at`.
pub(super) fn word(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.find(|ch| !is_word_char(ch)).unwrap_or(rest.len())]
}

pub(super) fn starts_comment(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    rest.starts_with('#') || rest.starts_with("//") || rest.starts_with("/*")
}

/// Return the end of the white space at `at`.
fn blank(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches([' ', '\t', '\n', '\r']).len()
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}
