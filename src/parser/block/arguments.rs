//! The text between the parentheses of a Python call, byte by byte.

use memchr::memchr3;

use super::step::Input;
use crate::parser::{dialect::names::is_name_byte, work};

/// A scanner of the arguments of one call.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    /// True if only keyword arguments in strict Python are accepted.
    exact: bool,
    max_depth: usize,
    /// Number of open brackets, with the parenthesis of the call.
    depth: usize,
    too_deep: bool,
    part: Part,
    word: Word,
    string: Option<Str>,
    escape: Option<Escape>,
}

/// The part of an argument of the call, where only keywords are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    Key,
    Equals,
    Value { empty: bool },
}

/// The kind of a token outside strings. A quote inside a word is an apostrophe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    None,
    /// Letters that may be the prefix of a string.
    Prefix(u8),
    Text,
}

#[derive(Clone, Copy, Debug)]
struct Str {
    quote: u8,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// After one quote.
    Opening,
    /// After two quotes.
    Empty,
    Single,
    /// In three quotes, after some that may be the end.
    Triple {
        quotes: u8,
    },
}

/// An escape in a string.
#[derive(Clone, Copy, Debug)]
struct Escape {
    start: usize,
    /// Number of digits to follow; `None` before the letter.
    digits: Option<u8>,
}

/// The result of a scan. Positions are those of the byte found, which has not been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// All input has been read.
    More,
    /// At the parenthesis that ends the call.
    End,
    /// At another bracket that closes nothing.
    Unbalanced,
    /// At a `<`. The caller advances past it.
    Angle,
    /// Not the arguments of a call.
    Fail,
}

impl Arguments {
    pub(super) fn new(exact: bool, max_depth: usize) -> Self {
        Self {
            exact,
            max_depth,
            depth: 1,
            too_deep: false,
            part: Part::Start,
            word: Word::None,
            string: None,
            escape: None,
        }
    }

    pub(super) fn too_deep(&self) -> bool {
        self.too_deep
    }

    pub(super) fn in_string(&self) -> bool {
        self.string.is_some()
    }

    /// Return the start of an escape that is not complete.
    pub(super) fn escape(&self) -> Option<usize> {
        self.escape.map(|escape| escape.start)
    }

    /// Advance past `bytes` if they simply continue a string.
    pub(super) fn try_extend(&self, bytes: &[u8]) -> bool {
        match self.string {
            Some(Str { quote, form: Form::Single | Form::Triple { quotes: 0 } }) => {
                !self.exact && self.escape.is_none() && memchr3(quote, b'\\', b'<', bytes).is_none()
            }
            _ => false,
        }
    }

    /// Read from `*pos` on.
    pub(super) fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Scan {
        loop {
            self.skip(input, pos);
            let Some(byte) = input.byte(*pos) else { return Scan::More };
            let found =
                if self.string.is_some() { self.string_byte(byte, *pos) } else { self.byte(byte) };
            match found {
                Found::Read => *pos += 1,
                Found::Again => {}
                // Past the byte it is plain text, in any state.
                Found::Angle => return Scan::Angle,
                Found::End => return Scan::End,
                Found::Unbalanced => return Scan::Unbalanced,
                Found::Fail => return Scan::Fail,
            }
        }
    }

    /// Skip the plain bytes of a string.
    fn skip(&self, input: Input<'_>, pos: &mut usize) {
        if let Some(Str { quote, form: Form::Single | Form::Triple { quotes: 0 } }) = self.string
            && self.escape.is_none()
            && !self.exact
        {
            let rest = input.from(*pos);
            let plain = memchr3(quote, b'\\', b'<', rest).unwrap_or(rest.len());
            work::count(plain);
            *pos += plain;
        }
    }

    fn string_byte(&mut self, byte: u8, at: usize) -> Found {
        if let Some(escape) = self.escape {
            return self.escape_byte(escape, byte);
        }
        let Some(Str { quote, form }) = &mut self.string else { return Found::Again };
        let is_quote = byte == *quote;
        match form {
            Form::Opening => *form = if is_quote { Form::Empty } else { Form::Single },
            Form::Empty if is_quote => *form = Form::Triple { quotes: 0 },
            Form::Empty => self.end_string(),
            Form::Single | Form::Triple { quotes: 2 } if is_quote => {
                self.end_string();
                return Found::Read;
            }
            Form::Triple { quotes } if is_quote => {
                *quotes += 1;
                return Found::Read;
            }
            Form::Single | Form::Triple { .. } => {
                if let Form::Triple { quotes } = form {
                    *quotes = 0;
                } else if byte == b'\n' && self.exact {
                    return Found::Fail;
                }
                match byte {
                    b'\\' => self.escape = Some(Escape { start: at, digits: None }),
                    b'<' => return Found::Angle,
                    _ => {}
                }
                return Found::Read;
            }
        }
        if is_quote { Found::Read } else { Found::Again }
    }

    fn escape_byte(&mut self, escape: Escape, byte: u8) -> Found {
        let (left, found) = match escape.digits {
            None => match byte {
                b'x' => (2, Found::Read),
                b'u' => (4, Found::Read),
                b'U' => (8, Found::Read),
                _ => (0, Found::Read),
            },
            Some(left) if byte.is_ascii_hexdigit() => (left - 1, Found::Read),
            Some(_) => (0, Found::Again),
        };
        self.escape = (left > 0).then_some(Escape { digits: Some(left), ..escape });
        found
    }

    fn end_string(&mut self) {
        self.string = None;
        self.word = Word::None;
    }

    /// Act on a byte outside strings.
    fn byte(&mut self, byte: u8) -> Found {
        if self.depth == 1 && self.exact && !self.part(byte) {
            return Found::Fail;
        }
        match byte {
            b'"' | b'\'' if self.word != Word::Text => {
                self.string = Some(Str { quote: byte, form: Form::Opening });
            }
            b'<' => {
                self.word = Word::Text;
                return Found::Angle;
            }
            b'(' | b'[' | b'{' => {
                if byte == b'(' && self.word != Word::None && self.exact {
                    return Found::Fail;
                }
                self.depth += 1;
                self.too_deep |= self.depth > self.max_depth;
                self.word = Word::None;
            }
            b')' if self.depth == 1 => return Found::End,
            b']' | b'}' if self.depth == 1 => {
                self.word = Word::Text;
                return if self.exact { Found::Fail } else { Found::Unbalanced };
            }
            b')' | b']' | b'}' => {
                self.depth -= 1;
                self.word = Word::None;
            }
            b',' | b':' | b'=' => self.word = Word::None,
            _ if byte.is_ascii_whitespace() => {
                if let Word::Prefix(_) = self.word {
                    self.word = Word::Text;
                }
            }
            b'r' | b'R' | b'b' | b'B' | b'u' | b'U' | b'f' | b'F' => {
                self.word = match self.word {
                    Word::None => Word::Prefix(1),
                    Word::Prefix(1) => Word::Prefix(2),
                    _ => Word::Text,
                };
            }
            _ => self.word = Word::Text,
        }
        Found::Read
    }

    /// Check that the byte may continue the arguments of the call.
    fn part(&mut self, byte: u8) -> bool {
        let blank = byte.is_ascii_whitespace();
        self.part = match self.part {
            Part::Start if blank || byte == b')' => Part::Start,
            Part::Start | Part::Key if is_name_byte(byte) => Part::Key,
            Part::Key | Part::Equals if byte == b'=' => Part::Value { empty: true },
            Part::Key | Part::Equals if blank => Part::Equals,
            Part::Value { empty: false } if byte == b',' => Part::Start,
            Part::Value { empty } if blank => Part::Value { empty },
            Part::Value { empty: true } if matches!(byte, b',' | b')' | b'=') => return false,
            Part::Value { .. } => Part::Value { empty: false },
            _ => return false,
        };
        true
    }
}

/// The result for one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The byte has been read.
    Read,
    /// The state has changed; look at it again.
    Again,
    Angle,
    End,
    Unbalanced,
    Fail,
}
