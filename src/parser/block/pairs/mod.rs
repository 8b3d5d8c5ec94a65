//! Calls with a tag for each key and one for each value.
//!
//! ```text
//! <tool_call>NAME
//! <arg_key>KEY</arg_key>
//! <arg_value>VALUE</arg_value>
//! </tool_call>
//! ```
//!
//! A value ends with the closing tag that another key or the end of the call follows, so that it may
//! contain the tags themselves. The payload runs from the first key to the last value.
//!
//! Models also write JSON after the name, or `key=value`.

mod assignments;
mod content;
mod tags;

use std::collections::VecDeque;

use self::{
    assignments::Quoting,
    tags::{TAGS, Tag, begins_body, is_suffix_byte},
};
use super::{
    Excess, Outcome, Syntax,
    ahead::{Ahead, ahead},
    read::Read,
    step::{Input, Step},
};
use crate::parser::{
    dialect::names::{begins_name, is_name_byte},
    json::Json,
    machine::Ending,
    search::contains,
};

/// The layout of such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// True if one block holds all calls, each in a tag of its own; else the block is the call.
    pub wrapped: bool,
    /// True if the opening text lacks the rest of its tag: a suffix that all tags of the block have.
    pub suffixed: bool,
}

/// A reader of such calls.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    wrapped: bool,
    state: State,
    /// The suffix of all tags.
    suffix: Box<[u8]>,
    /// Steps that have been found but not returned.
    next: VecDeque<Step>,
    /// End of the payload and of the call, if the open value turns out to have no end.
    fallback: Option<(usize, usize)>,
    /// End of the last call, if there is one.
    last_end: Option<usize>,
    /// True if blanks precede the name on its line, as in prose.
    spaced: bool,
    /// True if the last bytes have been looked at, but not read.
    stalled: bool,
    /// The form of the open call.
    arguments: Arguments,
    max_depth: usize,
}

/// The form of the arguments of a call.
#[derive(Clone, Debug)]
enum Arguments {
    /// Tags for keys and values.
    Pairs,
    /// `key=value`, each after white space.
    Assignments(Quoting),
    /// A JSON object.
    Json(Box<Json>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the suffix of the opening tag.
    Suffix {
        from: Option<usize>,
    },
    /// Between the calls of a wrapped block.
    Between,
    /// Before or in the name.
    Name {
        from: Option<usize>,
    },
    /// After the name.
    Named {
        from: usize,
        to: usize,
    },
    /// In or after a word that follows the name: a key.
    Word {
        name: (usize, usize),
        from: Option<usize>,
        to: Option<usize>,
    },
    Key,
    /// After a key.
    Keyed,
    Value,
    /// After a value with its closing tag, which ended here.
    Valued {
        end: usize,
    },
    /// In assignments.
    Assignments,
    /// In arguments that are JSON.
    Json,
    /// After arguments that are JSON.
    JsonEnd {
        end: usize,
    },
    /// In what should be JSON but is not.
    Broken(Outcome),
}

const IMPLICIT: Outcome = Outcome::Whole { strict: true, implicit_close: true };

impl Read for Reader {
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        self.stalled = false;
        loop {
            if let Some(step) = self.next.pop_front() {
                return step;
            }
            let step = match self.state {
                State::Json => self.json(input, pos),
                State::Assignments => self.assignments(input, pos),
                State::Key | State::Value | State::Broken(_) => self.content(input, pos),
                _ => self.markup(input, pos),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn try_extend(&mut self, bytes: &[u8], pos: usize) -> bool {
        match (self.state, &mut self.arguments) {
            (State::Value, _) => self.fallback.is_none() && !self.stalled && !contains(bytes, b'<'),
            (State::Json, Arguments::Json(json)) => json.try_extend(bytes, pos),
            _ => false,
        }
    }

    fn held(&self) -> Option<usize> {
        match (self.fallback, self.state, &self.arguments) {
            (Some((payload_end, _)), ..) => Some(payload_end),
            (None, State::Valued { end }, _) => Some(end),
            (None, State::Json, Arguments::Json(json)) => Some(json.escape()?.start),
            _ => None,
        }
    }

    fn syntax(&self) -> Syntax {
        match self.arguments {
            Arguments::Pairs => Syntax::Pairs,
            Arguments::Assignments(_) => Syntax::Assignments,
            Arguments::Json(_) => Syntax::Json,
        }
    }

    fn lone_surrogates(&self) -> bool {
        matches!(&self.arguments, Arguments::Json(json) if json.lone_surrogates())
    }
}

impl Reader {
    pub(super) fn new(body: Pairs, max_depth: usize) -> Self {
        let start = if body.wrapped { State::Between } else { State::Name { from: None } };
        Self {
            wrapped: body.wrapped,
            state: if body.suffixed { State::Suffix { from: None } } else { start },
            suffix: Box::default(),
            next: VecDeque::new(),
            fallback: None,
            last_end: None,
            spaced: false,
            stalled: false,
            arguments: Arguments::Pairs,
            max_depth,
        }
    }

    pub(super) fn begins(body: Pairs, bytes: &[u8]) -> Option<bool> {
        begins_body(body, bytes)
    }

    /// Read outside keys and values.
    fn markup(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        let Some(byte) = input.byte(*pos) else { return self.end_of_input(input, pos) };
        let at = *pos;
        match self.state {
            State::Suffix { from } => {
                *pos += 1;
                let from = from.unwrap_or(at);
                self.state = State::Suffix { from: Some(from) };
                if byte == b'>' {
                    self.suffix = format!(":{}", input.window.slice(from, at)).into_bytes().into();
                    self.state = self.before_call();
                    return None;
                }
                return if is_suffix_byte(byte) { None } else { Some(Step::Fail) };
            }
            State::Name { from: Some(from) } if !is_name_byte(byte) => {
                self.state = State::Named { from, to: at };
                return None;
            }
            State::Name { from } if is_name_byte(byte) => {
                self.state = State::Name { from: Some(from.unwrap_or(at)) };
                *pos += 1;
                return None;
            }
            State::Word { name, from, to } => return self.word(input, byte, name, (from, to), pos),
            _ => {}
        }
        if byte.is_ascii_whitespace() {
            if let State::Name { .. } = self.state {
                self.spaced = matches!(byte, b' ' | b'\t');
            }
            *pos += 1;
            return None;
        }
        let tag = if byte == b'<' { self.tag(input, at) } else { Ahead::None };
        match tag {
            Ahead::More => self.stall(),
            Ahead::Found { text: tag, end } => {
                *pos = end;
                self.markup_tag(input, tag, at, pos)
            }
            Ahead::None => self.no_tag(byte, at, pos),
        }
    }

    /// Act on the tag from `at` to `*pos`, outside keys and values.
    fn markup_tag(
        &mut self,
        input: Input<'_>,
        tag: Tag,
        at: usize,
        pos: &mut usize,
    ) -> Option<Step> {
        match (self.state, tag) {
            (State::Between, Tag::Call) => self.state = State::Name { from: None },
            (State::Between, Tag::CallEnd) if self.last_end.is_some() => {}
            (State::Between, Tag::BlockEnd) if self.last_end.is_some() => {
                return Some(Step::Close(*pos));
            }
            (State::Named { from, to }, Tag::Key) => {
                self.start_call(from, to, at);
                self.state = State::Key;
            }
            (State::Name { from: None }, Tag::Name)
            | (State::Named { .. }, Tag::NameEnd | Tag::Separator | Tag::ValueEnd)
            | (State::Keyed, Tag::KeyEnd)
            | (State::Valued { .. }, Tag::ValueEnd) => {}
            (State::Named { .. }, Tag::CallEnd) if self.spaced && !self.wrapped => {
                return Some(Step::Fail);
            }
            (State::Named { from, to }, Tag::CallEnd) => {
                self.next.push_back(Step::Name { from, to });
                self.end_empty(*pos);
            }
            (State::Named { from, to }, Tag::BlockEnd | Tag::Call) if self.wrapped => {
                *pos = at;
                self.next.push_back(Step::Name { from, to });
                self.end_empty(to);
            }
            // In the place of the tag of the first key.
            (State::Named { from, to }, Tag::Call) if at == to => {
                self.state = State::Word { name: (from, to), from: None, to: None };
            }
            (State::Named { from, to }, Tag::KeyEnd) if at == to => {
                // The tag between the name and the first key is missing.
                let Some(length) = input.registered_prefix(from, to) else {
                    return Some(self.fail());
                };
                self.start_call(from, from + length, from + length);
                self.state = State::Keyed;
            }
            (State::Keyed, Tag::Value) => self.state = State::Value,
            (State::Keyed, Tag::CallEnd) => self.end_call(at, *pos, Outcome::Broken),
            (State::Valued { .. }, Tag::Key) => {
                self.fallback = None;
                self.state = State::Key;
            }
            (State::Valued { end }, Tag::CallEnd) => {
                let whole = Outcome::Whole { strict: true, implicit_close: false };
                self.end_call(end, *pos, whole);
            }
            (State::Valued { end }, Tag::BlockEnd | Tag::Call) => {
                *pos = end;
                self.end_call(end, end, IMPLICIT);
            }
            (State::JsonEnd { .. }, Tag::CallEnd) => self.end_json(*pos, false),
            _ => {
                *pos = at;
                return self.no_tag(b'<', at, pos);
            }
        }
        None
    }

    /// Act on a byte that begins no tag.
    fn no_tag(&mut self, byte: u8, at: usize, pos: &mut usize) -> Option<Step> {
        match self.state {
            State::Named { from, to } if byte == b'{' => {
                self.start_call(from, to, at);
                self.arguments = Arguments::Json(Box::new(Json::new(self.max_depth)));
                self.state = State::Json;
            }
            State::Named { from, to } if begins_name(byte) => {
                self.state = State::Word { name: (from, to), from: None, to: None };
            }
            State::Keyed => self.state = State::Value,
            State::Valued { end } => {
                self.fallback.get_or_insert((end, end));
                self.state = State::Value;
            }
            State::JsonEnd { end } => {
                *pos = end;
                self.end_json(end, true);
            }
            _ => return Some(self.fail()),
        }
        None
    }

    fn start_call(&mut self, from: usize, to: usize, payload: usize) {
        self.arguments = Arguments::Pairs;
        self.next.push_back(Step::Name { from, to });
        self.next.push_back(Step::Payload(payload));
    }

    fn end_call(&mut self, payload_end: usize, at: usize, outcome: Outcome) {
        self.next.push_back(Step::PayloadEnd(payload_end));
        self.end(at, outcome);
    }

    fn end_json(&mut self, at: usize, implicit_close: bool) {
        let strict = matches!(&self.arguments, Arguments::Json(json) if json.strict());
        self.end(at, Outcome::Whole { strict, implicit_close });
    }

    fn end_empty(&mut self, at: usize) {
        self.arguments = Arguments::Pairs;
        self.end(at, Outcome::Empty);
    }

    fn end(&mut self, at: usize, outcome: Outcome) {
        self.next.push_back(Step::CallEnd { at, outcome });
        self.fallback = None;
        self.last_end = Some(at);
        self.state = self.before_call();
        if !self.wrapped {
            self.next.push_back(Step::Leave(at));
        }
    }

    /// End the call before text that seemed to belong to its last value.
    fn fall_back(&mut self, pos: &mut usize) {
        if let Some((payload_end, at)) = self.fallback {
            *pos = at;
            self.end_call(payload_end, at, IMPLICIT);
        }
    }

    fn before_call(&self) -> State {
        if self.wrapped { State::Between } else { State::Name { from: None } }
    }

    fn fail(&self) -> Step {
        self.last_end.map_or(Step::Fail, Step::Leave)
    }

    #[expect(clippy::unnecessary_wraps, reason = "as its callers return it")]
    fn stall(&mut self) -> Option<Step> {
        self.stalled = true;
        Some(Step::More)
    }

    fn end_of_input(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        if input.ending == Some(Ending::Complete) {
            match self.state {
                State::Valued { end } => {
                    self.end_call(end, *pos, IMPLICIT);
                    return None;
                }
                State::Value | State::Assignments if self.fallback.is_some() => {
                    self.fall_back(pos);
                    return None;
                }
                _ => {}
            }
        }
        Some(Step::More)
    }

    /// Look for a tag at `at`.
    fn tag(&self, input: Input<'_>, at: usize) -> Ahead<Tag> {
        let suffix = &*self.suffix;
        let texts =
            TAGS.iter().map(|&(tag, text)| (tag, [text.as_bytes(), suffix, b">".as_slice()]));
        ahead(input, at, texts)
    }
}
