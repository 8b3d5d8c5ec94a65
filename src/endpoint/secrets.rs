//! Texts of others, without the keys that they were sent.
//!
//! Servers repeat keys in their errors: whole or in part, in capitals, or escaped as the text
//! around them is. [`Secrets::hide`] looks for any eight characters of a key in a row, whatever
//! their case, in the text as it is and as it reads without its escapes. That takes time
//! proportional to the text.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use super::request::Request;

/// How many bytes of a key in a row are taken for a part of it; what is shorter may be any word.
const PART: usize = size_of::<u64>();

/// What stands in the place of a key.
const MARK: &str = "[key]";

/// How many times a text is read without its escapes: they are in a JSON text, and that is in
/// another one, and that is in a URL.
const MAX_LAYERS: usize = 3;

/// What no text may hold.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// The parts of keys, in lower case, their bytes as one number each.
    parts: HashSet<u64>,
    /// Keys that are shorter than a part, and values that may be no keys: as they are.
    words: Vec<String>,
}

/// How a text can be escaped. What has been done twice is undone twice, and one after the other:
/// in a text of HTML, what looks like the escape of a URL may be a part of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Escapes {
    Html,
    String,
    Url,
}

/// A byte of a text, and where that stands: escaped, it takes more room than one.
#[derive(Clone, Copy, Debug)]
struct Read {
    byte: u8,
    start: usize,
    end: usize,
}

impl Secrets {
    /// What a request tells its server in confidence.
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

    /// Adds a key.
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

    /// A text without what it may not hold.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found = self.found_words(text);
        if !self.parts.is_empty() {
            self.find_parts(&bytes(text), MAX_LAYERS, &mut found);
        }
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, found)) }
    }

    /// Where parts stand in a text, or in what it is below so many layers of escapes.
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
            // Each escape is longer than what it stands for.
            if plain.len() < read.len() {
                self.find_parts(&plain, layers, found);
            }
        }
    }

    /// Where words stand, but as parts of other words.
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

/// Whether what has this name, in a header or a query, is a key.
fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 7] = ["auth", "cookie", "key", "pass", "secret", "sig", "token"];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

/// A value without the word before it, as in `Bearer key`.
fn without_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, key)) if scheme.chars().all(|ch| ch.is_ascii_alphanumeric()) => key,
        _ => value,
    }
}

/// A text as it is.
fn bytes(text: &str) -> Vec<Read> {
    let bytes = text.bytes().enumerate();
    bytes.map(|(start, byte)| Read { byte, start, end: start + 1 }).collect()
}

/// The last eight bytes, with one more.
fn next(number: u64, byte: u8) -> u64 {
    (number << 8) | u64::from(byte)
}

/// The text with a mark in the place of each range.
fn without(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut said = String::with_capacity(text.len());
    let mut rest = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(Range { start, mut end }) = ranges.next() {
        while let Some(more) = ranges.next_if(|more| more.start <= end) {
            end = end.max(more.end);
        }
        // Half a character belongs to what is hidden.
        let start = (rest..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(rest);
        let end = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        said.push_str(&text[rest..start]);
        said.push_str(MARK);
        rest = end;
    }
    said.push_str(&text[rest..]);
    said
}

/// A text without one layer of escapes.
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

/// The number that hexadecimal digits are, at most so many, and how many they are.
fn digits(read: &[Read], least: usize, most: usize) -> Option<(u32, usize)> {
    let digit = |read: &Read| char::from(read.byte).to_digit(16);
    let (mut number, mut taken) = (0, 0);
    while let Some(digit) = read.get(taken).filter(|_| taken < most).and_then(digit) {
        number = (number << 4) | digit;
        taken += 1;
    }
    (taken >= least).then_some((number, taken))
}

/// What follows a backslash, as the character that it stands for, and how many bytes it takes.
fn after_backslash(read: &[Read]) -> Option<(u32, usize)> {
    let first = read.first()?.byte;
    // Capitals where the whole text has been put into them.
    let (least, most) = match first {
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
    let (code, taken) = digits(&read[1..], least, most)?;
    Some((code, 1 + taken))
}

/// What follows an ampersand, as the character that the entity stands for, and how many bytes it
/// takes.
fn after_ampersand(read: &[Read]) -> Option<(u32, usize)> {
    const LONGEST: usize = 10;
    let length = read.iter().take(LONGEST).position(|read| read.byte == b';')?;
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
