//! Escapes of strings, character by character.

use std::mem;

/// An escape that is being read.
#[derive(Debug, Default)]
pub(super) struct Escape {
    /// The text so far, without the first backslash.
    text: String,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

/// The outcome of one character.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Escaped {
    More,
    /// The escape is complete: `content` is part of the string, and `rest` has to be read again.
    Done {
        content: String,
        rest: String,
    },
}

impl Escape {
    pub(super) fn read(&mut self, ch: char) -> Escaped {
        if self.high.is_some() {
            return self.second_half(ch);
        }
        self.text.push(ch);
        let mut chars = self.text.chars();
        let Some(letter) = chars.next() else { return Escaped::More };
        let digits = chars.as_str();
        let wanted = match letter {
            'u' => 4,
            'x' => 2,
            'U' => 8,
            '"' | '\\' | '/' | '\'' | '`' => return done(letter, ""),
            'b' => return done('\u{8}', ""),
            'f' => return done('\u{c}', ""),
            'n' => return done('\n', ""),
            'r' => return done('\r', ""),
            't' => return done('\t', ""),
            // A backslash before a control character has no meaning, before others it is one.
            _ if letter < ' ' => return done(letter, ""),
            _ => return literal(letter, ""),
        };
        if !digits.chars().all(|ch| ch.is_ascii_hexdigit()) {
            return literal(letter, digits);
        }
        if digits.len() < wanted {
            return Escaped::More;
        }
        let code = u32::from_str_radix(digits, 16).unwrap_or(u32::MAX);
        match (char::from_u32(code), code) {
            (Some(ch), _) => done(ch, ""),
            (None, 0xD800..=0xDBFF) if letter == 'u' => {
                self.high = Some(code);
                self.text.clear();
                Escaped::More
            }
            (None, _) if letter == 'u' => done(char::REPLACEMENT_CHARACTER, ""),
            (None, _) => literal(letter, digits),
        }
    }

    /// Read the second half of a surrogate pair, which begins with a backslash.
    fn second_half(&mut self, ch: char) -> Escaped {
        self.text.push(ch);
        let lone = |text: &mut String| done(char::REPLACEMENT_CHARACTER, &mem::take(text));
        let fits = match self.text.len() {
            1 => ch == '\\',
            2 => ch == 'u',
            _ => ch.is_ascii_hexdigit(),
        };
        if !fits {
            return lone(&mut self.text);
        }
        if self.text.len() < 6 {
            return Escaped::More;
        }
        let low = u32::from_str_radix(&self.text[2..], 16).unwrap_or_default();
        match (self.high, low) {
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                done(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), "")
            }
            _ => lone(&mut self.text),
        }
    }
}

fn done(content: char, rest: &str) -> Escaped {
    Escaped::Done { content: content.into(), rest: rest.to_owned() }
}

/// A backslash that escapes nothing.
fn literal(letter: char, rest: &str) -> Escaped {
    Escaped::Done { content: format!("\\{letter}"), rest: rest.to_owned() }
}
