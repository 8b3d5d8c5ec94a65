//! A scanner for one JSON object, byte by byte: it finds where the object ends, or where it stops
//! being JSON.

use super::{
    escape::{Escape, EscapeStep, Faults},
    work,
};

/// A JSON object, or an array or a string, as far as it has been read.
///
/// Every byte is read once, with one bit of state for each open bracket.
#[derive(Clone, Debug)]
pub(super) struct Json {
    state: State,
    /// One bit for each open bracket, the innermost lowest; 1 for an object.
    stack: u128,
    depth: usize,
    max_depth: usize,
    /// Defects of the escapes so far.
    faults: Faults,
    /// True if every `<` inside a string may begin a closing text.
    every_angle: bool,
    /// True if a string contains raw control characters.
    raw_controls: bool,
    /// True if the open string contains a raw newline.
    string_newline: bool,
    /// Start and end of the first closing tag inside the open string, or the string that has just
    /// ended. Reset when valid JSON follows the string.
    pub(super) passed_close: Option<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// After `{`.
    FirstKey,
    /// After a comma in an object.
    Key,
    Colon,
    /// After `[`.
    FirstItem,
    /// After a colon, or a comma in an array.
    Value,
    /// After a value: a comma or the closing bracket.
    Next,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
        escape: Escape,
    },
    Number(Number),
    Word {
        word: Word,
        length: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    True,
    False,
    Null,
}

impl Word {
    fn spelling(self) -> &'static [u8] {
        match self {
            Self::True => b"true",
            Self::False => b"false",
            Self::Null => b"null",
        }
    }
}

/// The reason why the scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// The input ended.
    More,
    /// The object ended with the byte before the position.
    End,
    /// The byte at the position is not valid JSON.
    Broken,
    /// The bracket at the position exceeds the depth limit.
    TooDeep,
    /// The `<` at the position, inside a string, may begin a closing tag.
    Angle,
}

/// The bytes of a string that stand for themselves and cannot begin a tag.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain[b'<' as usize] = false;
    plain
};

impl Json {
    /// Create a scanner for the position before the opening brace.
    pub(super) fn new(max_depth: usize) -> Self {
        Self {
            state: State::Value,
            stack: 0,
            depth: 0,
            max_depth,
            faults: Faults::default(),
            every_angle: false,
            raw_controls: false,
            string_newline: false,
            passed_close: None,
        }
    }

    /// Create a scanner that reports every `<` inside a string.
    pub(super) fn marked(max_depth: usize) -> Self {
        Self { every_angle: true, ..Self::new(max_depth) }
    }

    pub(super) fn in_string(&self) -> bool {
        matches!(self.state, State::Text { .. } | State::Escape { .. })
    }

    pub(super) fn string_has_newline(&self) -> bool {
        self.string_newline
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Advance past `bytes`, which begin at `pos`, if all of them can be reported. Otherwise return
    /// false and change nothing.
    #[inline]
    pub(super) fn try_extend(&mut self, bytes: &[u8], pos: usize) -> bool {
        // Longer chunks are rare, and scanning them twice would cost more than it saves.
        const SHORT: usize = 64;
        if self.passed_close.is_some() {
            return false;
        }
        if matches!(self.state, State::Text { .. })
            && bytes.iter().all(|&byte| PLAIN[usize::from(byte)])
        {
            return true;
        }
        if bytes.len() > SHORT {
            return false;
        }
        let before = self.clone();
        let mut at = pos;
        if self.scan(bytes, &mut at) == Scan::More && self.escape().is_none() {
            return true;
        }
        *self = before;
        false
    }

    /// Return the open escape, which a fragment must not cut.
    pub(super) fn escape(&self) -> Option<Escape> {
        match self.state {
            State::Escape { escape, .. } => Some(escape),
            _ => None,
        }
    }

    /// Return true if everything so far is strict JSON, lone surrogates aside.
    pub(super) fn strict(&self) -> bool {
        !self.raw_controls && !self.faults.unknown
    }

    pub(super) fn lone_surrogates(&self) -> bool {
        self.faults.lone_surrogate
    }

    /// Read `bytes`, which begin at `*pos`, and advance `*pos` past the bytes read.
    pub(super) fn scan(&mut self, bytes: &[u8], pos: &mut usize) -> Scan {
        let base = *pos;
        let mut at = 0;
        let result = loop {
            if matches!(self.state, State::Text { .. }) {
                while at < bytes.len() && PLAIN[usize::from(bytes[at])] {
                    at += 1;
                }
            }
            let Some(&byte) = bytes.get(at) else { break Scan::More };
            match self.step(byte, bytes.get(at + 1).copied(), base + at) {
                Step::Take => at += 1,
                Step::Again => {}
                Step::Stop(Scan::End) => {
                    at += 1;
                    break Scan::End;
                }
                Step::Stop(scan) => break scan,
            }
        };
        work::count(at + 1);
        *pos = base + at;
        result
    }

    #[inline]
    fn step(&mut self, byte: u8, next: Option<u8>, at: usize) -> Step {
        match self.state {
            State::Text { .. } if byte == b'"' && self.depth == 0 => {
                self.state = State::Next;
                Step::Stop(Scan::End)
            }
            State::Text { key } => self.text(key, byte, next, at),
            State::Escape { key, ref mut escape } => {
                match escape.take(byte, at, &mut self.faults) {
                    EscapeStep::More => Step::Take,
                    EscapeStep::Done => self.enter(State::Text { key }),
                    EscapeStep::DoneBefore => {
                        self.state = State::Text { key };
                        Step::Again
                    }
                }
            }
            State::Number(number) => self.number(number, byte),
            State::Word { word, length } => {
                let spelling = word.spelling();
                if spelling[length] != byte {
                    return Step::Stop(Scan::Broken);
                }
                let length = length + 1;
                self.enter(if length == spelling.len() {
                    State::Next
                } else {
                    State::Word { word, length }
                })
            }
            _ if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => Step::Take,
            State::FirstKey if byte == b'}' => self.close(),
            State::FirstKey | State::Key if byte == b'"' => self.open_string(true),
            State::Colon if byte == b':' => {
                self.passed_close = None;
                self.enter(State::Value)
            }
            State::FirstItem if byte == b']' => self.close(),
            State::FirstItem | State::Value => self.value(byte),
            State::Next => {
                let step = match (byte, self.stack & 1) {
                    (b',', 1) => self.enter(State::Key),
                    (b',', _) => self.enter(State::Value),
                    (b'}', 1) | (b']', 0) => self.close(),
                    _ => return Step::Stop(Scan::Broken),
                };
                self.passed_close = None;
                step
            }
            State::FirstKey | State::Key | State::Colon => Step::Stop(Scan::Broken),
        }
    }

    fn enter(&mut self, state: State) -> Step {
        self.state = state;
        Step::Take
    }

    fn open_string(&mut self, key: bool) -> Step {
        self.string_newline = false;
        self.enter(State::Text { key })
    }

    fn text(&mut self, key: bool, byte: u8, next: Option<u8>, at: usize) -> Step {
        match byte {
            b'"' => self.enter(if key { State::Colon } else { State::Next }),
            b'\\' => self.enter(State::Escape { key, escape: Escape::new(at) }),
            b'<' if self.every_angle || next.is_none_or(|next| next == b'/') => {
                Step::Stop(Scan::Angle)
            }
            b'<' => Step::Take,
            _ => {
                self.raw_controls |= byte < 0x20;
                self.string_newline |= byte == b'\n';
                Step::Take
            }
        }
    }

    fn value(&mut self, byte: u8) -> Step {
        match byte {
            b'"' => self.open_string(false),
            b'{' | b'[' => {
                if self.depth == self.max_depth {
                    return Step::Stop(Scan::TooDeep);
                }
                let object = byte == b'{';
                self.depth += 1;
                self.stack = self.stack << 1 | u128::from(object);
                self.enter(if object { State::FirstKey } else { State::FirstItem })
            }
            b'-' => self.enter(State::Number(Number::Minus)),
            b'0' => self.enter(State::Number(Number::Zero)),
            b'1'..=b'9' => self.enter(State::Number(Number::Integer)),
            b't' => self.enter(State::Word { word: Word::True, length: 1 }),
            b'f' => self.enter(State::Word { word: Word::False, length: 1 }),
            b'n' => self.enter(State::Word { word: Word::Null, length: 1 }),
            _ => Step::Stop(Scan::Broken),
        }
    }

    fn close(&mut self) -> Step {
        self.depth -= 1;
        self.stack >>= 1;
        self.state = State::Next;
        if self.depth == 0 { Step::Stop(Scan::End) } else { Step::Take }
    }

    fn number(&mut self, number: Number, byte: u8) -> Step {
        let next = match (number, byte) {
            (Number::Minus, b'0') => Number::Zero,
            (Number::Minus, b'1'..=b'9') | (Number::Integer, b'0'..=b'9') => Number::Integer,
            (Number::Zero | Number::Integer, b'.') => Number::Point,
            (Number::Zero | Number::Integer | Number::Fraction, b'e' | b'E') => Number::Exponent,
            (Number::Point | Number::Fraction, b'0'..=b'9') => Number::Fraction,
            (Number::Exponent, b'+' | b'-') => Number::ExponentSign,
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => {
                Number::ExponentDigits
            }
            (Number::Zero | Number::Integer | Number::Fraction | Number::ExponentDigits, _) => {
                self.state = State::Next;
                return Step::Again;
            }
            _ => return Step::Stop(Scan::Broken),
        };
        self.enter(State::Number(next))
    }
}

/// The effect of one byte.
enum Step {
    /// The byte was consumed.
    Take,
    /// The state changed without consuming the byte.
    Again,
    /// The scan is over; only [`Scan::End`] consumes the byte.
    Stop(Scan),
}

/// The rest of a payload that exceeds a limit; only brackets and strings are tracked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skim {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Skim {
    /// Continue where `json` stopped.
    pub(super) fn after(json: &Json) -> Self {
        Self {
            depth: json.depth(),
            in_string: json.in_string(),
            escaped: json.escape().is_some_and(Escape::is_bare),
        }
    }

    /// Scan as [`Json::scan`] does, but stop only at the end or at a `<` outside a string.
    pub(super) fn scan(&mut self, bytes: &[u8], pos: &mut usize) -> Scan {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_string {
                match byte {
                    b'"' => self.in_string = false,
                    b'\\' => self.escaped = true,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            work::count(at + 1);
                            *pos += at + 1;
                            return Scan::End;
                        }
                    }
                    b'<' => {
                        work::count(at + 1);
                        *pos += at;
                        return Scan::Angle;
                    }
                    _ => {}
                }
            }
        }
        work::count(bytes.len());
        *pos += bytes.len();
        Scan::More
    }
}
