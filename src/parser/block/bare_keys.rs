//! Objects with bare keys and strings in quotes of their own.
//!
//! ```text
//! <|tool_call>call:NAME{city:<|"|>Oslo<|"|>,days:3}<tool_call|>
//! ```
//!
//! The payload is the object with its braces. Models also write JSON or Python inside, and
//! parentheses for braces.

use std::collections::VecDeque;

use memchr::memchr3;

use super::{
    Excess, Outcome, Syntax,
    ahead::{Ahead, ahead, count, starts},
    read::Read,
    step::{Input, Step},
};
use crate::parser::{
    dialect::{Block, Evidence, names::is_name_byte},
    machine::Ending,
    work,
};

/// The layout of such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareKeys {
    /// The text before the name.
    pub lead: &'static str,
    /// The text before and after a string.
    pub quote: &'static str,
    /// True if these are results, which only a model that makes them up writes.
    pub result: bool,
}

/// A reader of such calls.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    block: Block,
    body: BareKeys,
    max_depth: usize,
    state: State,
    /// Steps that have been found but not returned.
    next: VecDeque<Step>,
    /// The name of the open call.
    name: (usize, usize),
    /// The bracket that opened the payload.
    bracket: u8,
    depth: usize,
    too_deep: bool,
    text: Text,
    /// Start and end of the first closing text inside a string of the open call.
    fallback: Option<(usize, usize)>,
    /// True if the last bytes have been looked at, but not read.
    stalled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the text that precedes the name.
    Lead,
    /// In the name, or after it.
    Name {
        from: usize,
        to: Option<usize>,
    },
    Object,
    /// After the object, which ended here.
    After {
        end: usize,
    },
}

/// The kind of text at the current position of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// The place where a value or a key may begin.
    Fresh,
    /// After its first byte, where a quote is an apostrophe.
    Bare,
    /// In a string between the quotes of the dialect, which has no escapes.
    Literal,
    /// In a string in quotes of another language, perhaps after a backslash.
    Quoted { quote: u8, escaped: bool },
}

/// A text of the dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Quote,
    Open,
    Close,
    Lead,
}

impl Read for Reader {
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        self.stalled = false;
        loop {
            if let Some(step) = self.next.pop_front() {
                return step;
            }
            if self.state == State::Object {
                self.skip(input, pos);
            }
            let step = match input.byte(*pos) {
                None => self.end_of_input(input, pos),
                Some(byte) => match self.state {
                    State::Object => self.object(input, byte, pos),
                    State::Name { from, to } => self.name(input, byte, (from, to), pos),
                    State::Lead | State::After { .. } if byte.is_ascii_whitespace() => {
                        *pos += 1;
                        None
                    }
                    State::Lead => self.lead(input, pos),
                    State::After { end } => self.after(input, end, pos),
                },
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn try_extend(&mut self, bytes: &[u8], _pos: usize) -> bool {
        self.state == State::Object
            && self.text == Text::Literal
            && self.fallback.is_none()
            && !self.stalled
            && memchr::memchr(b'<', bytes).is_none()
    }

    fn held(&self) -> Option<usize> {
        self.fallback.map(|(start, _)| start)
    }

    fn syntax(&self) -> Syntax {
        Syntax::BareKeys
    }
}

impl Reader {
    pub(super) fn new(block: Block, body: BareKeys, max_depth: usize) -> Self {
        Self {
            block,
            body,
            max_depth,
            state: State::Lead,
            next: VecDeque::new(),
            name: (0, 0),
            bracket: b'{',
            depth: 0,
            too_deep: false,
            text: Text::Fresh,
            fallback: None,
            stalled: false,
        }
    }

    pub(super) fn begins(block: Block, body: BareKeys, bytes: &[u8]) -> Option<bool> {
        let lead = body.lead.as_bytes();
        if !starts(bytes, &[lead])? {
            return Some(false);
        }
        let rest = &bytes[lead.len()..];
        let name = count(rest, is_name_byte);
        let rest = &rest[name..];
        let rest = &rest[count(rest, |byte| byte.is_ascii_whitespace())..];
        match rest.first()? {
            _ if name == 0 => Some(false),
            b'{' | b'(' => Some(true),
            _ if body.result => Some(false),
            _ => {
                let mut more = false;
                for close in block.close {
                    match starts(rest, &[close.as_bytes()]) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => more = true,
                    }
                }
                if more { None } else { Some(false) }
            }
        }
    }

    fn lead(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match self.token(input, *pos) {
            Ahead::Found { text: Token::Lead, end } => {
                *pos = end;
                self.state = State::Name { from: end, to: None };
                None
            }
            Ahead::More => self.stall(),
            _ => Some(Step::Fail),
        }
    }

    /// Act on a byte of the name, or the first after it.
    fn name(
        &mut self,
        input: Input<'_>,
        byte: u8,
        (from, to): (usize, Option<usize>),
        pos: &mut usize,
    ) -> Option<Step> {
        let at = *pos;
        match byte {
            _ if to.is_none() && is_name_byte(byte) => *pos += 1,
            _ if byte.is_ascii_whitespace() => {
                self.state = State::Name { from, to: Some(to.unwrap_or(at)) };
                *pos += 1;
            }
            b'{' | b'(' => {
                self.name = (input.last_segment(from, to.unwrap_or(at)), to.unwrap_or(at));
                let (from, to) = self.name;
                self.next.push_back(Step::Name { from, to });
                if !self.body.result {
                    self.next.push_back(Step::Payload(at));
                }
                self.bracket = byte;
                self.depth = 0;
                self.too_deep = false;
                self.text = Text::Fresh;
                self.state = State::Object;
            }
            b'<' => match self.token(input, at) {
                Ahead::More => return self.stall(),
                Ahead::Found { text: Token::Close, end } if !self.body.result => {
                    *pos = end;
                    let to = to.unwrap_or(at);
                    let from = input.last_segment(from, to);
                    self.next.push_back(Step::Name { from, to });
                    self.next.push_back(Step::CallEnd { at: end, outcome: Outcome::Empty });
                    self.next.push_back(Step::Leave(end));
                }
                _ => return Some(Step::Leave(at)),
            },
            _ => return Some(Step::Fail),
        }
        None
    }

    /// Skip the plain bytes of a string.
    fn skip(&self, input: Input<'_>, pos: &mut usize) {
        let rest = input.from(*pos);
        let found = match self.text {
            Text::Literal => memchr::memchr(b'<', rest),
            Text::Quoted { quote, escaped: false } => memchr3(quote, b'\\', b'<', rest),
            _ => return,
        };
        let plain = found.unwrap_or(rest.len());
        work::count(plain);
        *pos += plain;
    }

    /// Act on a byte of the object.
    fn object(&mut self, input: Input<'_>, byte: u8, pos: &mut usize) -> Option<Step> {
        if byte == b'<' {
            match self.token(input, *pos) {
                Ahead::More => return self.stall(),
                Ahead::Found { text: token, end } if token != Token::Lead => {
                    self.object_token(token, (*pos, end), pos);
                    return None;
                }
                _ => {}
            }
        }
        *pos += 1;
        match self.text {
            Text::Literal => {}
            Text::Quoted { quote, escaped } => {
                self.text = match byte {
                    _ if escaped => Text::Quoted { quote, escaped: false },
                    b'\\' => Text::Quoted { quote, escaped: true },
                    _ if byte == quote => Text::Bare,
                    _ => Text::Quoted { quote, escaped: false },
                };
            }
            Text::Fresh | Text::Bare => self.outside(byte, *pos),
        }
        None
    }

    /// Act on a byte outside strings, which ends at `end`.
    fn outside(&mut self, byte: u8, end: usize) {
        let rounded = self.bracket == b'(';
        match byte {
            b'"' | b'\'' if self.text == Text::Fresh => {
                self.text = Text::Quoted { quote: byte, escaped: false };
            }
            b'(' | b')' if !rounded => self.text = Text::Bare,
            b'{' | b'[' | b'(' => {
                self.depth += 1;
                // In parentheses, an object may have braces of its own.
                self.too_deep |= self.depth > self.max_depth + usize::from(rounded);
                self.text = Text::Fresh;
            }
            b'}' | b']' | b')' => {
                self.depth = self.depth.saturating_sub(1);
                self.text = Text::Bare;
                if self.depth == 0 {
                    self.end_object(end);
                }
            }
            b',' | b':' | b'=' => self.text = Text::Fresh,
            _ if byte.is_ascii_whitespace() => {}
            _ => self.text = Text::Bare,
        }
    }

    /// Act on a text of the dialect inside the object.
    fn object_token(&mut self, token: Token, (at, end): (usize, usize), pos: &mut usize) {
        *pos = end;
        let in_string = matches!(self.text, Text::Literal | Text::Quoted { .. });
        match (token, self.fallback, in_string) {
            (Token::Quote, _, true) if self.text == Text::Literal => self.text = Text::Bare,
            (Token::Quote, _, false) if self.text == Text::Fresh => self.text = Text::Literal,
            (Token::Close, None, true) => self.fallback = Some((at, end)),
            (Token::Close | Token::Open, Some(_), false) | (Token::Open, Some(_), true) => {
                self.fall_back(pos);
            }
            (Token::Close, None, false) => self.end_call(at, end, self.broken()),
            (Token::Open, None, false) => {
                *pos = at;
                self.end_call(at, at, self.broken());
            }
            // Also a quote that has lost its partner.
            _ => {}
        }
    }

    fn end_object(&mut self, end: usize) {
        self.fallback = None;
        if !self.body.result {
            self.next.push_back(Step::PayloadEnd(end));
        }
        self.state = State::After { end };
        if self.block.evidence != Evidence::Marked && self.block.close.is_empty() {
            self.end(end, end, false);
        }
    }

    /// Act on what follows the object, which ended at `end`.
    fn after(&mut self, input: Input<'_>, end: usize, pos: &mut usize) -> Option<Step> {
        match self.token(input, *pos) {
            Ahead::More => return self.stall(),
            Ahead::Found { text: Token::Close, end: closed } => {
                *pos = closed;
                self.end(closed, closed, false);
            }
            Ahead::Found { text: Token::Lead, .. } if !self.body.result => {
                let outcome = self.whole(true);
                self.next.push_back(Step::CallEnd { at: end, outcome });
                self.state = State::Lead;
            }
            _ => {
                *pos = end;
                self.end(end, end, true);
            }
        }
        None
    }

    /// End the call or the result after its object.
    fn end(&mut self, at: usize, leave: usize, implicit_close: bool) {
        let (from, to) = self.name;
        self.next.push_back(if self.body.result {
            Step::Result { from, to, at }
        } else {
            Step::CallEnd { at, outcome: self.whole(implicit_close) }
        });
        self.next.push_back(Step::Leave(leave));
    }

    /// End the call or the result inside its object.
    fn end_call(&mut self, payload_end: usize, at: usize, outcome: Outcome) {
        self.fallback = None;
        if self.body.result {
            self.end(at, at, true);
            return;
        }
        self.next.push_back(Step::PayloadEnd(payload_end));
        self.next.push_back(Step::CallEnd { at, outcome });
        self.next.push_back(Step::Leave(at));
    }

    /// End the call at the closing text that seemed to be part of a string.
    fn fall_back(&mut self, pos: &mut usize) {
        if let Some((start, end)) = self.fallback {
            *pos = end;
            self.end_call(start, end, self.broken());
        }
    }

    fn whole(&self, implicit_close: bool) -> Outcome {
        if self.too_deep {
            Outcome::TooLarge(Excess::Depth)
        } else {
            Outcome::Whole { strict: true, implicit_close }
        }
    }

    fn broken(&self) -> Outcome {
        if self.too_deep { Outcome::TooLarge(Excess::Depth) } else { Outcome::Broken }
    }

    #[expect(clippy::unnecessary_wraps, reason = "as its callers return it")]
    fn stall(&mut self) -> Option<Step> {
        self.stalled = true;
        Some(Step::More)
    }

    fn end_of_input(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match (self.state, input.ending) {
            (State::After { end }, Some(_)) if self.block.evidence != Evidence::Marked => {
                self.end(end, end, false);
            }
            (State::Object | State::After { .. }, Some(_)) if self.body.result => {
                self.end(*pos, *pos, true);
            }
            (State::Object, Some(Ending::Complete)) if self.fallback.is_some() => {
                self.fall_back(pos);
            }
            _ => return Some(Step::More),
        }
        None
    }

    /// Look for a text of the dialect.
    fn token(&self, input: Input<'_>, at: usize) -> Ahead<Token> {
        let close = self.block.close.iter().map(|text| (Token::Close, [text.as_bytes()]));
        let open = self.block.open.iter().map(|text| (Token::Open, [text.as_bytes()]));
        // A block that its lead opens has no other opener.
        let open = open.filter(|(_, [text])| text.starts_with(b"<"));
        let quote = (Token::Quote, [self.body.quote.as_bytes()]);
        let lead = (Token::Lead, [self.body.lead.as_bytes()]);
        ahead(input, at, [quote, lead].into_iter().chain(close).chain(open))
    }
}
