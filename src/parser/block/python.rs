//! Calls written as in Python: `[name(key="value"), other()]`, or one a line.
//!
//! The payload is the text between the parentheses. A reader of a block that is known by its shape
//! alone accepts only a list of calls with keyword arguments.

use std::collections::VecDeque;

use super::{
    Excess, Outcome, Syntax,
    ahead::{Ahead, ahead, count},
    arguments::{Arguments, Scan},
    read::Read,
    step::{Input, Step},
};
use crate::parser::{
    dialect::{
        Block, Evidence,
        names::{begins_name, is_name_byte},
    },
    machine::Ending,
};

/// The layout of such calls. The brackets of the list are optional in a marked block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Python {}

/// A reader of such calls.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    block: Block,
    max_depth: usize,
    state: State,
    /// True if the calls are in brackets.
    list: bool,
    /// Steps that have been found but not returned.
    next: VecDeque<Step>,
    arguments: Arguments,
    /// Start and end of the first closing text inside a string of the open call.
    fallback: Option<(usize, usize)>,
    /// End of the last call, if there is one.
    last_end: Option<usize>,
    /// True if the last bytes have been looked at, but not read.
    stalled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a call.
    Between,
    Name {
        from: usize,
    },
    Arguments,
    /// After a call.
    Called,
    /// After the list, which ended here.
    Listed {
        end: usize,
    },
}

impl Read for Reader {
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        self.stalled = false;
        loop {
            if let Some(step) = self.next.pop_front() {
                return step;
            }
            let step = match self.state {
                State::Arguments => self.arguments(input, pos),
                _ => self.markup(input, pos),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn try_extend(&mut self, bytes: &[u8], _pos: usize) -> bool {
        self.state == State::Arguments
            && self.fallback.is_none()
            && !self.stalled
            && self.arguments.try_extend(bytes)
    }

    fn held(&self) -> Option<usize> {
        match (self.fallback, self.state) {
            (Some((start, _)), _) => Some(start),
            (None, State::Arguments) => self.arguments.escape(),
            _ => None,
        }
    }

    fn syntax(&self) -> Syntax {
        Syntax::Python
    }
}

impl Reader {
    pub(super) fn new(block: Block, max_depth: usize) -> Self {
        Self {
            block,
            max_depth,
            state: State::Between,
            list: false,
            next: VecDeque::new(),
            arguments: Arguments::new(false, max_depth),
            fallback: None,
            last_end: None,
            stalled: false,
        }
    }

    pub(super) fn begins(block: Block, bytes: &[u8]) -> Option<bool> {
        let exact = is_exact(block);
        let blank = |bytes: &[u8]| count(bytes, |byte| byte.is_ascii_whitespace());
        let mut rest = bytes;
        match rest.first()? {
            b'[' => rest = &rest[1 + blank(&rest[1..])..],
            _ if exact => return Some(false),
            _ => {}
        }
        if !begins_name(*rest.first()?) {
            return Some(false);
        }
        rest = &rest[count(rest, is_name_byte)..];
        if *rest.first()? != b'(' {
            return Some(false);
        }
        if !exact {
            return Some(true);
        }
        rest = &rest[1 + blank(&rest[1..])..];
        if *rest.first()? == b')' {
            return Some(true);
        }
        let key = count(rest, is_name_byte);
        rest = &rest[key..];
        rest = &rest[blank(rest)..];
        Some(*rest.first()? == b'=' && key > 0)
    }

    /// Read the arguments of the open call.
    fn arguments(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match self.arguments.read(input, pos) {
            Scan::More => return self.end_of_input(input, pos),
            Scan::Fail => return Some(Step::Fail),
            Scan::End => {
                let outcome = if self.arguments.too_deep() {
                    Outcome::TooLarge(Excess::Depth)
                } else {
                    Outcome::Whole { strict: true, implicit_close: false }
                };
                self.end_call(*pos, *pos + 1, outcome);
                *pos += 1;
            }
            // The parenthesis is missing.
            Scan::Unbalanced if self.list => self.end_call(*pos, *pos, Outcome::Broken),
            Scan::Unbalanced => *pos += 1,
            Scan::Angle => match self.token(input, *pos) {
                Ahead::More => return self.stall(),
                Ahead::None => *pos += 1,
                Ahead::Found { text: token, end } => {
                    let at = *pos;
                    match (self.fallback, self.arguments.in_string(), token) {
                        (Some((start, _)), _, Token::Open) | (Some((start, _)), false, _) => {
                            self.end_call(start, start, Outcome::Broken);
                            *pos = start;
                        }
                        (None, false, _) => self.end_call(at, at, Outcome::Broken),
                        (None, true, Token::Close) => {
                            self.fallback = Some((at, end));
                            *pos = end;
                        }
                        _ => *pos = end,
                    }
                }
            },
        }
        None
    }

    /// Read outside arguments.
    fn markup(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        let Some(byte) = input.byte(*pos) else { return self.end_of_input(input, pos) };
        let at = *pos;
        let exact = is_exact(self.block);
        match self.state {
            State::Name { from } => {
                if byte == b'(' {
                    self.next.push_back(Step::Name { from, to: at });
                    self.next.push_back(Step::Payload(at + 1));
                    self.arguments = Arguments::new(exact, self.max_depth);
                    self.state = State::Arguments;
                } else if !is_name_byte(byte) {
                    return Some(self.fail());
                }
                *pos += 1;
                return None;
            }
            State::Listed { end } => return self.listed(input, byte, end, pos),
            _ => {}
        }
        let called = self.state == State::Called;
        match byte {
            _ if byte.is_ascii_whitespace() => {}
            b'[' if !self.list && self.last_end.is_none() => self.list = true,
            b',' if called => self.state = State::Between,
            b';' if called && !exact => self.state = State::Between,
            b']' if self.list && self.last_end.is_some() && exact => {
                return Some(Step::Close(at + 1));
            }
            b']' if self.list && self.last_end.is_some() => {
                self.state = State::Listed { end: at + 1 };
            }
            b'<' if self.last_end.is_some() => match self.token(input, at) {
                Ahead::More => return self.stall(),
                Ahead::Found { text: Token::Close, end } => return Some(Step::Close(end)),
                _ => return Some(self.fail()),
            },
            _ if begins_name(byte) && !(called && exact) => self.state = State::Name { from: at },
            _ => return Some(self.fail()),
        }
        *pos += 1;
        None
    }

    /// Read the byte after a list.
    fn listed(&mut self, input: Input<'_>, byte: u8, end: usize, pos: &mut usize) -> Option<Step> {
        if byte.is_ascii_whitespace() {
            *pos += 1;
            return None;
        }
        match self.token(input, *pos) {
            Ahead::More => self.stall(),
            Ahead::Found { text: Token::Close, end } => Some(Step::Close(end)),
            _ => Some(Step::Close(end)),
        }
    }

    fn end_call(&mut self, payload_end: usize, at: usize, outcome: Outcome) {
        self.next.push_back(Step::PayloadEnd(payload_end));
        self.next.push_back(Step::CallEnd { at, outcome });
        self.fallback = None;
        self.last_end = Some(at);
        self.state = State::Called;
    }

    fn fail(&self) -> Step {
        match self.last_end {
            Some(end) if !is_exact(self.block) => Step::Leave(end),
            _ => Step::Fail,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as its callers return it")]
    fn stall(&mut self) -> Option<Step> {
        self.stalled = true;
        Some(Step::More)
    }

    fn end_of_input(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match (self.state, self.fallback, input.ending) {
            (State::Listed { end }, _, Some(_)) => Some(Step::Close(end)),
            (State::Arguments, Some((start, _)), Some(Ending::Complete)) => {
                *pos = start;
                self.end_call(start, start, Outcome::Broken);
                None
            }
            _ => Some(Step::More),
        }
    }

    /// Look for a text that opens or closes a block.
    fn token(&self, input: Input<'_>, at: usize) -> Ahead<Token> {
        if is_exact(self.block) {
            return Ahead::None;
        }
        let close = self.block.close.iter().map(|text| (Token::Close, [text.as_bytes()]));
        let open = self.block.open.iter().map(|text| (Token::Open, [text.as_bytes()]));
        ahead(input, at, close.chain(open))
    }
}

/// A text around calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
}

/// Return true if the shape of the block is the evidence.
fn is_exact(block: Block) -> bool {
    block.evidence != Evidence::Marked
}
