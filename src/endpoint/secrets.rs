//! Redaction of keys in texts of others.
//!
//! Servers repeat keys in their errors: whole or in part, in upper case, or escaped like the text
//! around them. [`Secrets::hide`] looks for any eight consecutive characters of a key, in any case,
//! in the text as it is and after unescaping. It takes time proportional to the text.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use super::request::Request;

/// Number of consecutive bytes of a key that count as a part of it; anything shorter may be a
/// common word.
const PART: usize = size_of::<u64>();

/// The replacement for a key.
const MARK: &str = "[key]";

/// Maximum number of layers of escapes: JSON inside JSON inside a URL.
const MAX_LAYERS: usize = 3;

/// The secrets that no text may contain.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The parts of keys, in lower case, the bytes of each packed into one number.
    parts: HashSet<u64>,
    /// Keys shorter than a part, and values that may not be keys, unchanged.
    words: Vec<String>,
}

/// A kind of escaping. Layers are undone one at a time: in HTML, what looks like an escape of a URL
/// may be part of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Escapes {
    Html,
    String,
    Url,
}

/// A byte of a text with its range there: an escaped byte takes up several.
#[derive(Clone, Copy, Debug)]
struct Read {
    byte: u8,
    start: usize,
    end: usize,
}

impl Secrets {
    /// Collect the secrets of a request.
    pub(super) fn of(request: &Request) -> Self {
        let mut secrets = Self::default();
        for (name, value) in &request.headers {
            let is_sensitive = value.is_sensitive();
            let Ok(value) = value.to_str() else { continue };
            if is_secret_name(name.as_str()) {
                secrets.add(without_scheme(value.trim()));
            } else if is_sensitive && value.trim().len() >= PART {
                secrets.words.push(value.trim().to_owned());
            }
        }
        let password = request.url.password().unwrap_or_default();
        let plain = unescaped(&bytes(password), Escapes::Url);
        let plain: Vec<u8> = plain.into_iter().map(|read| read.byte).collect();
        secrets.add(&String::from_utf8_lossy(&plain));
        for (name, value) in request.url.query_pairs() {
            if is_secret_name(&name) {
                secrets.add(&value);
            }
        }
        secrets
    }

    /// Add a key.
    pub(crate) fn add(&mut self, key: &str) {
        let key = key.trim();
        if key.len() < PART {
            self.words.extend((!key.is_empty()).then(|| key.to_owned()));
            return;
        }
        let lower = key.to_ascii_lowercase();
        let number = |part: &[u8]| part.iter().fold(0, |number, byte| next(number, *byte));
        self.parts.extend(lower.as_bytes().windows(PART).map(number));
    }

    /// Return the text with all secrets redacted.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found = self.found_words(text);
        if !self.parts.is_empty() {
            self.find_parts(&bytes(text), MAX_LAYERS, &mut found);
        }
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, found)) }
    }

    /// Find the ranges of parts in a text, and in the text under this many layers of escapes.
    fn find_parts(&self, read: &[Read], layers: usize, found: &mut Vec<Range<usize>>) {
        let mut number = 0;
        for (at, last) in read.iter().enumerate() {
            number = next(number, last.byte.to_ascii_lowercase());
            if at + 1 >= PART && self.parts.contains(&number) {
                found.push(read[at + 1 - PART].start..last.end);
            }
        }
        let Some(layers) = layers.checked_sub(1) else { return };
        for escapes in [Escapes::Html, Escapes::String, Escapes::Url] {
            let plain = unescaped(read, escapes);
            // An escape is longer than the byte it stands for.
            if plain.len() < read.len() {
                self.find_parts(&plain, layers, found);
            }
        }
    }

    /// Find the ranges of words, except within longer words.
    fn found_words(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for word in &self.words {
            for (start, _) in text.match_indices(word.as_str()) {
                let end = start + word.len();
                let before = text[..start].chars().next_back();
                let after = text[end..].chars().next();
                if ![before, after].into_iter().flatten().any(char::is_alphanumeric) {
                    found.push(start..end);
                }
            }
        }
        found
    }
}

/// Return true if a header or query parameter of this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 7] = ["auth", "cookie", "key", "pass", "secret", "sig", "token"];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// Return a value without its authentication scheme, as in `Bearer key`.
fn without_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, key)) if scheme.chars().all(|ch| ch.is_ascii_alphanumeric()) => key,
        _ => value,
    }
}

/// Return the bytes of a text with their ranges.
fn bytes(text: &str) -> Vec<Read> {
    let bytes = text.bytes().enumerate();
    bytes.map(|(start, byte)| Read { byte, start, end: start + 1 }).collect()
}

/// Shift one more byte into a number of eight bytes.
fn next(number: u64, byte: u8) -> u64 {
    (number << 8) | u64::from(byte)
}

/// Replace each range of a text by a mark.
fn replaced(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut redacted = String::with_capacity(text.len());
    let mut rest = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(Range { start, mut end }) = ranges.next() {
        while let Some(more) = ranges.next_if(|more| more.start <= end) {
            end = end.max(more.end);
        }
        // A character that is partly inside a range is redacted.
        let start = (rest..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(rest);
        let end = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        redacted.push_str(&text[rest..start]);
        redacted.push_str(MARK);
        rest = end;
    }
    redacted.push_str(&text[rest..]);
    redacted
}

/// Undo one layer of escapes.
fn unescaped(read: &[Read], escapes: Escapes) -> Vec<Read> {
    let mut plain = Vec::with_capacity(read.len());
    let mut at = 0;
    while at < read.len() {
        let rest = &read[at + 1..];
        let escape = match (read[at].byte, escapes) {
            (b'&', Escapes::Html) => after_ampersand(rest),
            (b'\\', Escapes::String) => after_backslash(rest),
            (b'%', Escapes::Url) => digits(rest, 2, 2),
            _ => None,
        };
        let Some((code, taken)) = escape else {
            plain.push(read[at]);
            at += 1;
            continue;
        };
        let (start, end) = (read[at].start, read[at + taken].end);
        match u8::try_from(code) {
            // URLs escape bytes, the others characters.
            Ok(byte) if escapes == Escapes::Url => plain.push(Read { byte, start, end }),
            _ => {
                let ch = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                let mut buffer = [0; 4];
                let bytes = ch.encode_utf8(&mut buffer).bytes();
                plain.extend(bytes.map(|byte| Read { byte, start, end }));
            }
        }
        at += 1 + taken;
    }
    plain
}

/// Parse up to `max` hexadecimal digits. Return the number and the count of digits.
fn digits(read: &[Read], min: usize, max: usize) -> Option<(u32, usize)> {
    let digit = |read: &Read| char::from(read.byte).to_digit(16);
    let (mut number, mut taken) = (0, 0);
    while let Some(digit) = read.get(taken).filter(|_| taken < max).and_then(digit) {
        number = (number << 4) | digit;
        taken += 1;
    }
    (taken >= min).then_some((number, taken))
}

/// Parse what follows a backslash. Return the code point and the number of bytes.
fn after_backslash(read: &[Read]) -> Option<(u32, usize)> {
    let first = read.first()?.byte;
    // In upper case if the whole text has been converted.
    let (min, max) = match first {
        b'x' | b'X' => (2, 2),
        b'u' if read.get(1).is_some_and(|read| read.byte == b'{') => {
            let (code, taken) = digits(&read[2..], 1, 6)?;
            let closed = read.get(2 + taken).is_some_and(|read| read.byte == b'}');
            return closed.then_some((code, taken + 3));
        }
        b'U' if digits(&read[1..], 8, 8).is_some() => (8, 8),
        b'u' | b'U' => (4, 4),
        b'n' => return Some((u32::from(b'\n'), 1)),
        b'r' => return Some((u32::from(b'\r'), 1)),
        b't' => return Some((u32::from(b'\t'), 1)),
        _ if first.is_ascii_punctuation() => return Some((u32::from(first), 1)),
        _ => return None,
    };
    let (code, taken) = digits(&read[1..], min, max)?;
    Some((code, 1 + taken))
}

/// Parse what follows an ampersand. Return the code point of the entity and the number of bytes.
fn after_ampersand(read: &[Read]) -> Option<(u32, usize)> {
    const MAX_LENGTH: usize = 10;
    let length = read.iter().take(MAX_LENGTH).position(|read| read.byte == b';')?;
    let name: String = read[..length].iter().map(|read| char::from(read.byte)).collect();
    let code = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => u32::from(match name.to_ascii_lowercase().as_str() {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => return None,
        }),
    };
    Some((code, length + 1))
}
