//! A scanner for a payload that is no longer JSON: it finds where its brackets are closed.

use crate::parser::escape::{Escape, EscapeStep, Faults};

/// Brackets and strings of a payload, as far as they can be recognized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rough {
    /// Number of open brackets; `None` once they cannot be counted.
    depth: Option<usize>,
    quote: Option<u8>,
    escape: Option<Escape>,
    /// The last byte that is not white space.
    last: u8,
    /// Start of the closing brackets and white space before the position.
    tail: Option<usize>,
}

/// The effect of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The byte belongs to the payload.
    Inside,
    /// The payload may end after the byte.
    End,
    /// The payload may end before the byte.
    EndBefore,
}

impl Rough {
    /// Continue a payload with this many open brackets.
    pub(super) fn new(depth: usize) -> Self {
        Self { depth: Some(depth), quote: None, escape: None, last: b'{', tail: None }
    }

    /// Continue a payload whose brackets did not show its end.
    pub(super) fn uncounted() -> Self {
        Self { depth: None, ..Self::new(0) }
    }

    /// Return the start of an open escape or of what may follow the payload.
    pub(super) fn held(&self) -> Option<usize> {
        self.escape.map(|escape| escape.start).or(self.tail)
    }

    /// Return the start of the closing brackets and white space before the position.
    pub(super) fn tail(&self) -> Option<usize> {
        self.tail
    }

    /// Read the byte at `at`.
    pub(super) fn take(&mut self, byte: u8, at: usize) -> Rest {
        if let Some(escape) = &mut self.escape {
            if byte != b'<' {
                match escape.take(byte, at, &mut Faults::default()) {
                    EscapeStep::More => return Rest::Inside,
                    EscapeStep::Done => {
                        self.escape = None;
                        return Rest::Inside;
                    }
                    EscapeStep::DoneBefore => {}
                }
            }
            self.escape = None;
        }
        if byte.is_ascii_whitespace() || matches!(byte, b'}' | b']') {
            self.tail.get_or_insert(at);
        } else {
            self.tail = None;
        }
        if byte == b'\\' {
            self.escape = Some(Escape::new(at));
            return Rest::Inside;
        }
        let last = if byte.is_ascii_whitespace() { self.last } else { byte };
        let before = std::mem::replace(&mut self.last, last);
        match (byte, self.quote) {
            (_, Some(quote)) if byte == quote => {
                self.quote = None;
            }
            (b'"', None) => self.quote = Some(byte),
            // Elsewhere it is an apostrophe.
            (b'\'', None) if matches!(before, b'{' | b'[' | b',' | b':') => {
                self.quote = Some(byte);
            }
            (b'{' | b'[', None) => self.depth = self.depth.map(|depth| depth.saturating_add(1)),
            (b'}' | b']', None) => match &mut self.depth {
                None => {}
                Some(0) => return Rest::EndBefore,
                Some(depth) => {
                    *depth -= 1;
                    if *depth == 0 {
                        return Rest::End;
                    }
                }
            },
            _ => {}
        }
        Rest::Inside
    }
}
