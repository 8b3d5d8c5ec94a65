//! Assignments for arguments: `NAME key=value other="text"`.
//!
//! The call ends at its closing tag outside of quotes. An end inside of them counts if no other
//! follows, since the quote after it may be missing.

use super::{Arguments, IMPLICIT, Reader, State, Tag};
use crate::parser::{
    block::{
        Outcome,
        ahead::Ahead,
        step::{Input, Step},
    },
    dialect::names::is_name_byte,
};

/// The quotes of assignments. They count directly after an equals sign.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quoting {
    quote: Option<u8>,
    escaped: bool,
    /// True if a value may begin.
    fresh: bool,
}

impl Quoting {
    fn take(&mut self, byte: u8) {
        match self.quote {
            Some(_) if self.escaped => self.escaped = false,
            Some(_) if byte == b'\\' => self.escaped = true,
            Some(quote) if byte == quote => self.quote = None,
            Some(_) => {}
            None if self.fresh && matches!(byte, b'"' | b'\'') => self.quote = Some(byte),
            None => self.fresh = byte == b'=' || self.fresh && byte.is_ascii_whitespace(),
        }
        self.fresh &= self.quote.is_none();
    }
}

impl Reader {
    /// Read a word after the name: the key of an assignment, or the first key without its tag.
    pub(super) fn word(
        &mut self,
        input: Input<'_>,
        byte: u8,
        name: (usize, usize),
        (from, to): (Option<usize>, Option<usize>),
        pos: &mut usize,
    ) -> Option<Step> {
        let at = *pos;
        if byte.is_ascii_whitespace() {
            let to = to.or(from.map(|_| at));
            self.state = State::Word { name, from, to };
            *pos += 1;
            return None;
        }
        if is_name_byte(byte) && to.is_none() {
            let from = Some(from.unwrap_or(at));
            self.state = State::Word { name, from, to };
            *pos += 1;
            return None;
        }
        let is_known = input.grammar.resolve(input.window.slice(name.0, name.1)).is_some();
        let Some(from) = from.filter(|_| is_known) else { return Some(self.fail()) };
        match byte {
            b'=' => match input.byte(at + 1) {
                None if input.ending.is_none() => return self.stall(),
                Some(b'=') => return Some(self.fail()),
                _ => {
                    self.start_call(name.0, name.1, from);
                    self.arguments = Arguments::Assignments(Quoting::default());
                    self.state = State::Assignments;
                }
            },
            b'<' if to.is_none() => match self.tag(input, at) {
                Ahead::More => return self.stall(),
                Ahead::Found { text: Tag::KeyEnd, end } => {
                    self.start_call(name.0, name.1, from);
                    *pos = end;
                    self.state = State::Keyed;
                }
                _ => return Some(self.fail()),
            },
            _ => return Some(self.fail()),
        }
        None
    }

    /// Read assignments.
    pub(super) fn assignments(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        let Arguments::Assignments(mut quoting) = self.arguments else { return Some(self.fail()) };
        loop {
            let at = *pos;
            let Some(byte) = input.byte(at) else {
                self.arguments = Arguments::Assignments(quoting);
                return self.end_of_input(input, pos);
            };
            if byte == b'<' {
                let quoted = quoting.quote.is_some();
                match self.tag(input, at) {
                    Ahead::More => {
                        self.arguments = Arguments::Assignments(quoting);
                        return self.stall();
                    }
                    Ahead::Found { text: tag, end }
                        if self.end_assignments(tag, quoted, (at, end), pos) =>
                    {
                        return None;
                    }
                    _ => {}
                }
            }
            quoting.take(byte);
            *pos += 1;
        }
    }

    /// Act on a tag in assignments; return true if it ends them.
    fn end_assignments(
        &mut self,
        tag: Tag,
        quoted: bool,
        (at, end): (usize, usize),
        pos: &mut usize,
    ) -> bool {
        match (tag, quoted, self.fallback) {
            (Tag::CallEnd, true, None) => self.fallback = Some((at, end)),
            (Tag::Call | Tag::BlockEnd, _, Some(_)) => self.fall_back(pos),
            (Tag::CallEnd, false, _) => {
                *pos = end;
                let whole = Outcome::Whole { strict: true, implicit_close: false };
                self.end_call(at, end, whole);
            }
            (Tag::Call | Tag::BlockEnd, false, None) => self.end_call(at, at, IMPLICIT),
            _ => {}
        }
        self.state != State::Assignments
    }
}
