//! Calls with one tag for each argument, whose value is text or JSON.
//!
//! Nothing is escaped in a value, so it may hold what ends a call. Such an end counts if only white
//! space stands between it and another end, if another call begins before the value is closed, or
//! if the reply ends; a value that is closed after it goes on.

mod other;
mod tags;

pub use self::tags::{CallName, CallTags};

use memchr::memchr;

use self::tags::{Fit, Markup, OpenTag, begins_with_any, lead, markup};
use super::{
    Syntax,
    read::Read,
    step::{Input, Step},
};
use crate::parser::{dialect::Block, frame::Outcome, json::Json, machine::Ending};

/// The layout of such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The tags of calls, in the spellings that models mix.
    pub calls: &'static [CallTags],
    /// True if the text that opens the block is the beginning of the first call's tag.
    pub begun: bool,
    /// True if only calls of registered tools count.
    pub registered: bool,
    /// Other texts that may stand before, between and after the calls.
    pub skip: &'static [&'static str],
}

impl Parameters {
    /// A block without calls, to be completed.
    pub const DEFAULT: Self = Self { calls: &[], begun: false, registered: false, skip: &[] };
}

/// A reader of such calls.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    block: Block,
    body: Parameters,
    /// The first byte of all its tags.
    lead: u8,
    max_depth: usize,
    state: State,
    /// The tags of the open call.
    tags: Option<CallTags>,
    /// Steps that have been found but not returned, the last first.
    found: Vec<Step>,
    /// Number of calls that have ended.
    ended: usize,
    /// True if the input goes on after the position.
    pending: bool,
    syntax: Syntax,
    json: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first read.
    New,
    /// Before, between or after calls.
    Between { since: usize },
    /// After the tag of a call, which ends at `from`.
    Begun { from: usize },
    /// After an argument, which ends at `last`.
    Out { last: usize },
    /// In the value of an argument.
    Value { end: Option<PossibleEnd> },
    /// In the arguments of a call whose first end counts.
    Opaque,
    /// In arguments that are a JSON object.
    Json,
    /// After that object.
    AfterJson { last: usize },
    /// In text that stopped being JSON.
    Broken { outcome: Outcome },
    /// In text instead of arguments.
    Prose { from: usize },
}

/// The end of a call inside a value: the call ends here unless the value is closed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PossibleEnd {
    /// End of the payload.
    payload: usize,
    /// End of the call.
    call: usize,
    /// True if only white space has followed.
    blank: bool,
}

impl Read for Reader {
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        self.pending = false;
        loop {
            if let Some(step) = self.found.pop() {
                return step;
            }
            match self.advance(input, pos) {
                Some(Step::More) => {
                    self.pending = *pos < input.window.end();
                    return Step::More;
                }
                Some(step) => return step,
                None => {}
            }
        }
    }

    fn try_extend(&mut self, bytes: &[u8], pos: usize) -> bool {
        self.state == State::Json
            && !self.pending
            && self.found.is_empty()
            && self.json.try_extend(bytes, pos)
    }

    fn ends_at(&self) -> Option<u8> {
        let plain = matches!(self.state, State::Value { end: None } | State::Opaque);
        Some(self.lead).filter(|_| plain && !self.pending && self.found.is_empty())
    }

    fn held(&self) -> Option<usize> {
        match self.state {
            State::Out { last } => Some(last),
            State::Value { end: Some(end) } => Some(end.payload),
            State::Json => self.json.escape().map(|escape| escape.start),
            _ => None,
        }
    }

    fn syntax(&self) -> Syntax {
        self.syntax
    }

    fn lone_surrogates(&self) -> bool {
        self.syntax == Syntax::Json && self.json.lone_surrogates()
    }
}

impl Reader {
    pub(super) fn new(block: Block, body: Parameters, max_depth: usize) -> Self {
        Self {
            block,
            body,
            lead: lead(&body),
            max_depth,
            state: State::New,
            tags: None,
            found: Vec::new(),
            ended: 0,
            pending: false,
            syntax: Syntax::Parameters,
            json: Json::new(max_depth),
        }
    }

    pub(super) fn begins(block: Block, body: Parameters, bytes: &[u8]) -> Option<bool> {
        if body.begun {
            return Some(true);
        }
        let opens = body.calls.iter().map(|tags| tags.open);
        // The opener may be repeated, or belong to the body.
        let repeated = match begins_with_any(bytes, block.open.iter().copied()) {
            Fit::Yes(length) if begins_with_any(bytes, opens.clone()) == Fit::No => length,
            _ => 0,
        };
        let bytes = bytes[repeated..].trim_ascii_start();
        let texts = opens.chain(body.skip.iter().copied()).chain(block.open.iter().copied());
        match begins_with_any(bytes, texts) {
            Fit::Yes(_) => Some(true),
            Fit::No => Some(false),
            Fit::Partial => None,
        }
    }

    fn advance(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match self.state {
            State::New => {
                if self.body.begun {
                    *pos -= self.block.open.first().map_or(0, |open| open.len());
                }
                self.state = State::Between { since: *pos };
                None
            }
            State::Between { since } => self.between(input, pos, since),
            State::Begun { from } => self.begun(input, pos, from),
            State::Out { last } | State::AfterJson { last } => self.out(input, pos, last),
            State::Value { end } => self.value(input, pos, end),
            State::Json => self.object(input, pos),
            State::Opaque => self.until_end(input, pos, None),
            State::Broken { outcome } => self.until_end(input, pos, Some(outcome)),
            State::Prose { from } => self.prose(input, pos, from),
        }
    }

    fn between(&mut self, input: Input<'_>, pos: &mut usize, since: usize) -> Option<Step> {
        skip_blank(input, pos);
        let leave = if self.ended > 0 { Step::Leave(since) } else { Step::Fail };
        if *pos - since > input.grammar.limits().max_tag_bytes {
            return Some(leave);
        }
        if *pos >= input.stop {
            return Some(if input.ending.is_some() { leave } else { Step::More });
        }
        match self.call_open(input, *pos) {
            Fit::Yes(tag) => {
                let (from, to) = tag.name;
                let known = || input.grammar.resolve(input.window.slice(from, to)).is_some();
                if self.body.registered && !known() {
                    return Some(leave);
                }
                self.tags = Some(tag.tags);
                self.syntax = Syntax::Parameters;
                *pos = tag.end;
                self.state = State::Begun { from: tag.end };
                return Some(Step::Name { from, to });
            }
            Fit::Partial if input.ending.is_none() => return Some(Step::More),
            _ => {}
        }
        match self.markup(input, *pos) {
            Fit::Yes((Markup::BlockClose, length)) if self.ended > 0 => {
                *pos += length;
                Some(Step::Close(*pos))
            }
            Fit::Yes((Markup::Skip | Markup::BlockOpen, length)) => {
                *pos += length;
                None
            }
            Fit::Partial if input.ending.is_none() => Some(Step::More),
            Fit::Partial if self.ended > 0 && input.ending == Some(Ending::Truncated) => {
                *pos = input.stop;
                Some(Step::Close(*pos))
            }
            _ => Some(leave),
        }
    }

    fn begun(&mut self, input: Input<'_>, pos: &mut usize, from: usize) -> Option<Step> {
        skip_blank(input, pos);
        if *pos - from > input.grammar.limits().max_tag_bytes {
            return Some(Step::Fail);
        }
        let Some(byte) = input.byte(*pos) else {
            return Some(match input.ending {
                None => Step::More,
                Some(_) if self.body.begun => Step::Fail,
                Some(_) => self.end(pos, *pos, Outcome::Unclosed),
            });
        };
        if byte == b'{' {
            self.json = Json::new(self.max_depth);
            self.syntax = Syntax::Json;
            self.state = State::Json;
            return Some(Step::Payload(*pos));
        }
        match self.markup(input, *pos) {
            Fit::Partial if input.ending.is_none() => return Some(Step::More),
            Fit::Partial if !self.body.begun => {
                return Some(self.end(pos, input.stop, Outcome::Unclosed));
            }
            Fit::Yes((Markup::CallClose, length)) => {
                return Some(self.end(pos, *pos + length, Outcome::Empty));
            }
            Fit::Yes((Markup::BlockClose, _)) => {
                return Some(self.end(pos, *pos, Outcome::Empty));
            }
            Fit::Yes((Markup::CallOpen | Markup::BlockOpen, _)) if !self.body.begun => {
                return Some(self.end(pos, *pos, Outcome::Empty));
            }
            Fit::Yes((Markup::ParameterOpen, length)) => {
                *pos += length;
                self.state = State::Value { end: None };
                return Some(Step::Payload(from));
            }
            _ => {}
        }
        if self.tags.is_some_and(|tags| tags.parameter.is_empty()) {
            self.state = State::Opaque;
            return Some(Step::Payload(from));
        }
        if self.body.begun {
            return Some(Step::Fail);
        }
        self.state = State::Prose { from };
        None
    }

    /// Continue after an argument or all of them, which end at `last`.
    fn out(&mut self, input: Input<'_>, pos: &mut usize, last: usize) -> Option<Step> {
        skip_blank(input, pos);
        let is_json = self.state == State::AfterJson { last };
        let strict = !is_json || self.json.strict();
        let implicit = Outcome::Whole { strict, implicit_close: true };
        if *pos - last > input.grammar.limits().max_tag_bytes {
            return Some(self.end_at(pos, (last, last), implicit));
        }
        if *pos >= input.stop {
            return match input.ending {
                Some(Ending::Complete) => Some(self.end_at(pos, (last, last), implicit)),
                _ => Some(Step::More),
            };
        }
        match self.markup(input, *pos) {
            Fit::Partial if input.ending.is_none() => Some(Step::More),
            Fit::Partial if input.ending == Some(Ending::Truncated) => {
                *pos = input.stop;
                Some(Step::More)
            }
            Fit::Yes((Markup::ParameterOpen, length)) if !is_json => {
                *pos += length;
                self.state = State::Value { end: None };
                None
            }
            Fit::Yes((Markup::ParameterClose, length)) if !is_json => {
                *pos += length;
                self.state = State::Out { last: *pos };
                None
            }
            Fit::Yes((Markup::CallClose, length)) => {
                let outcome = Outcome::Whole { strict, implicit_close: false };
                let payload = if is_json { last } else { *pos };
                Some(self.end_at(pos, (payload, *pos + length), outcome))
            }
            _ => Some(self.end_at(pos, (last, last), implicit)),
        }
    }

    fn value(
        &mut self,
        input: Input<'_>,
        pos: &mut usize,
        mut end: Option<PossibleEnd>,
    ) -> Option<Step> {
        let bytes = input.from(*pos);
        let length = memchr(self.lead, bytes).unwrap_or(bytes.len());
        if let Some(end) = &mut end {
            end.blank &= bytes[..length].trim_ascii_start().is_empty();
        }
        *pos += length;
        // The payload is too large by now, and nothing of it has to be kept.
        let most = input.grammar.limits().max_argument_bytes;
        end = end.filter(|end| *pos - end.payload <= most);
        self.state = State::Value { end };
        if *pos >= input.stop {
            return self.value_at_end(input, pos, end);
        }
        let at = *pos;
        match self.markup(input, at) {
            Fit::Partial if input.ending.is_none() => return Some(Step::More),
            Fit::Partial if input.ending == Some(Ending::Truncated) => {
                *pos = input.stop;
                return self.value_at_end(input, pos, end);
            }
            Fit::Yes((Markup::ParameterClose, length)) => {
                *pos += length;
                self.state = State::Out { last: *pos };
            }
            Fit::Yes((Markup::ParameterOpen, length)) => {
                *pos += length;
                self.state = State::Value { end: None };
            }
            Fit::Yes((Markup::CallOpen | Markup::BlockOpen, _)) if end.is_some() => {
                return self.end_at_possible(pos, end);
            }
            Fit::Yes((Markup::CallClose, length)) => {
                *pos += length;
                let found = PossibleEnd { payload: at, call: *pos, blank: true };
                let end = end.map(|end| PossibleEnd { blank: false, ..end }).or(Some(found));
                self.state = State::Value { end };
            }
            Fit::Yes((Markup::BlockClose, length)) => {
                if end.is_some_and(|end| end.blank && end.call > end.payload) {
                    return self.end_at_possible(pos, end);
                }
                *pos += length;
                let found = PossibleEnd { payload: at, call: at, blank: true };
                let end = end.map(|end| PossibleEnd { blank: false, ..end }).or(Some(found));
                self.state = State::Value { end };
            }
            _ => {
                *pos += 1;
                let end = end.map(|end| PossibleEnd { blank: false, ..end });
                self.state = State::Value { end };
            }
        }
        None
    }

    /// End the input inside a value.
    fn value_at_end(
        &mut self,
        input: Input<'_>,
        pos: &mut usize,
        end: Option<PossibleEnd>,
    ) -> Option<Step> {
        let ends = match input.ending {
            None => false,
            Some(Ending::Complete) => true,
            Some(Ending::Truncated) => end.is_some_and(|end| end.blank),
        };
        match end {
            Some(_) if ends => self.end_at_possible(pos, end),
            _ => Some(Step::More),
        }
    }

    fn end_at_possible(&mut self, pos: &mut usize, end: Option<PossibleEnd>) -> Option<Step> {
        let end = end?;
        let outcome = Outcome::Whole { strict: true, implicit_close: true };
        Some(self.end_at(pos, (end.payload, end.call), outcome))
    }

    /// End the payload and the call.
    fn end_at(
        &mut self,
        pos: &mut usize,
        (payload, call): (usize, usize),
        outcome: Outcome,
    ) -> Step {
        let end = self.end(pos, call, outcome);
        self.found.push(end);
        Step::PayloadEnd(payload)
    }

    /// End the call at `at`.
    fn end(&mut self, pos: &mut usize, at: usize, outcome: Outcome) -> Step {
        *pos = at;
        self.ended += 1;
        self.state = State::Between { since: at };
        Step::CallEnd { at, outcome }
    }

    fn call_open(&self, input: Input<'_>, at: usize) -> Fit<OpenTag> {
        let mut result = Fit::No;
        for tags in self.body.calls {
            match tags.read(input, at) {
                Fit::Yes(tag) => return Fit::Yes(tag),
                Fit::Partial => result = Fit::Partial,
                Fit::No => {}
            }
        }
        result
    }

    /// Return the markup at `at` and its length, as far as it is known by its beginning.
    fn markup(&self, input: Input<'_>, at: usize) -> Fit<(Markup, usize)> {
        markup(&self.block, &self.body, self.tags.as_ref(), input.from(at))
    }
}

/// Advance `*pos` past white space.
fn skip_blank(input: Input<'_>, pos: &mut usize) {
    let bytes = input.from(*pos);
    *pos += bytes.len() - bytes.trim_ascii_start().len();
}
