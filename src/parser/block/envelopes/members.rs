//! Keys and values of an envelope.

use super::{Arguments, Doubt, Envelope, Json, Key, Kind, Reader, Rough, State, Step, is_word};
use crate::parser::block::step::Input;

impl Reader {
    pub(super) fn before_key(
        &mut self,
        input: Input<'_>,
        byte: u8,
        pos: &mut usize,
    ) -> Option<Step> {
        let at = *pos;
        match byte {
            b'"' => {
                self.json = Json::marked(self.max_depth);
                self.state = State::Structure { from: at, is_key: true };
                None
            }
            b'\'' if !self.is_exact() => {
                self.state = State::Quoted { from: at, is_key: true, escaped: false };
                *pos += 1;
                None
            }
            _ if is_word(byte) && !self.is_exact() => {
                self.state = State::Bare { from: at };
                None
            }
            _ => self.next(input, byte, pos),
        }
    }

    /// Act on the first byte of a value.
    pub(super) fn value(&mut self, byte: u8, pos: &mut usize) -> Option<Step> {
        let at = *pos;
        let Envelope { key, named, .. } = self.envelope;
        let is_payload = key == Key::Arguments && named;
        match byte {
            b'{' if key == Key::Nested => {
                self.envelope.nested = true;
                self.state = State::Key;
                *pos += 1;
                None
            }
            b'"' | b'{' | b'[' => {
                if self.is_exact() && !is_exact(key, byte) {
                    return Some(Step::Fail);
                }
                self.json = Json::marked(self.max_depth);
                self.state = State::Structure { from: at, is_key: false };
                is_payload.then_some(Step::Payload(at))
            }
            b'\'' if !self.is_exact() && key != Key::Arguments => {
                self.state = State::Quoted { from: at, is_key: false, escaped: false };
                *pos += 1;
                None
            }
            _ if is_word(byte) && !self.is_exact() => {
                self.state = State::Word { from: at };
                is_payload.then_some(Step::Payload(at))
            }
            _ => self.unexpected(*pos),
        }
    }

    /// Act on the end of a key, or of a value that is a string, an array or an object.
    pub(super) fn string(
        &mut self,
        input: Input<'_>,
        from: usize,
        to: usize,
        is_key: bool,
    ) -> Option<Step> {
        let inner = (from + 1, to - 1);
        if is_key {
            return self.key(input, from, inner);
        }
        self.state = State::Next;
        let is_string = input.text(from, to).starts_with(['"', '\'']);
        match self.envelope.key {
            Key::Name | Key::Nested if is_string && !self.envelope.named => Some(self.name(inner)),
            Key::Id if is_string => Some(Step::Id { from: inner.0, to: inner.1 }),
            Key::Type if self.is_exact() && input.text(inner.0, inner.1) != "function" => {
                Some(Step::Fail)
            }
            Key::Arguments => self.arguments(input, from, to, is_string),
            _ => None,
        }
    }

    /// Act on the end of a key, which began at `from`.
    pub(super) fn key(
        &mut self,
        input: Input<'_>,
        from: usize,
        text: (usize, usize),
    ) -> Option<Step> {
        self.state = State::Colon;
        if self.body.keyed {
            // Another key is another call.
            let end = self.envelope.arguments.map(|_| self.end_envelope(from, false));
            self.state = State::Colon;
            self.queue.extend(end);
            self.envelope.key = Key::Arguments;
            let name = self.name(text);
            self.queue.push_back(name);
            return None;
        }
        let written = input.text(text.0, text.1);
        let key = self.meaning(written);
        self.envelope.key = key;
        let excess = match key {
            Key::Name => self.envelope.named,
            // The definition of a tool has its parameters there.
            Key::Arguments if self.is_exact() && self.envelope.nested => {
                self.envelope.arguments.is_some() || self.body.arguments.first() != Some(&written)
            }
            Key::Arguments => self.envelope.arguments.is_some(),
            Key::Other => self.is_exact(),
            _ => false,
        };
        if excess {
            if self.is_exact() {
                return Some(Step::Fail);
            }
            self.envelope.key = Key::Other;
        }
        None
    }

    fn meaning(&self, key: &str) -> Key {
        let body = self.body;
        let keys = [
            (body.name, Key::Name),
            (body.arguments, Key::Arguments),
            (body.id, Key::Id),
            (body.nested, Key::Nested),
            (body.other, Key::Type),
        ];
        let is_one = |(names, _): &(&[&str], Key)| names.contains(&key);
        keys.into_iter().find(is_one).map_or(Key::Other, |(_, key)| key)
    }

    fn name(&mut self, (from, to): (usize, usize)) -> Step {
        self.envelope.named = true;
        if let Some((from, to)) = self.envelope.early {
            self.queue.extend([Step::Payload(from), Step::PayloadEnd(to)]);
        }
        Step::Name { from, to }
    }

    /// Act on the end of arguments that are JSON.
    fn arguments(
        &mut self,
        input: Input<'_>,
        from: usize,
        to: usize,
        is_string: bool,
    ) -> Option<Step> {
        let lone_surrogates = self.json.lone_surrogates();
        let is_object = || input.text(from + 1, to - 1).trim_ascii_start().starts_with('{');
        if self.is_exact() && (lone_surrogates || is_string && !is_object()) {
            return Some(Step::Fail);
        }
        self.envelope.lone_surrogates = lone_surrogates;
        let kind = if is_string && to - from == 2 {
            Kind::Empty
        } else {
            // The text of a string has to be decoded.
            Kind::Json { strict: !is_string && self.json.strict() }
        };
        if !self.envelope.named {
            self.envelope.early = Some((from, to));
            self.envelope.arguments = Some(Arguments { end: to, kind });
            return None;
        }
        if let Some((start, end)) = self.json.passed_close.filter(|_| is_string) {
            self.envelope.doubt = Some(Doubt::Passed(start, end));
            self.envelope.arguments = Some(Arguments { end: to, kind });
            return None;
        }
        Some(self.end_arguments(to, kind))
    }

    /// Act on the end of a number or a word.
    pub(super) fn word(&mut self, input: Input<'_>, from: usize, to: usize) -> Option<Step> {
        self.state = State::Next;
        if self.envelope.key != Key::Arguments {
            return None;
        }
        let text = input.text(from, to);
        let kind = match text {
            "null" | "None" => Kind::Empty,
            _ if serde_json::from_str::<f64>(text).is_ok() || matches!(text, "true" | "false") => {
                Kind::Json { strict: true }
            }
            _ => Kind::Broken,
        };
        if self.envelope.named && kind == Kind::Broken {
            self.state = State::Broken(Rough::new(0));
            return None;
        }
        if self.envelope.named {
            return Some(self.end_arguments(to, kind));
        }
        self.envelope.early = Some((from, to));
        self.envelope.arguments = Some(Arguments { end: to, kind });
        None
    }

    /// End the arguments at `end`.
    pub(super) fn end_arguments(&mut self, end: usize, kind: Kind) -> Step {
        self.state = State::Next;
        self.envelope.arguments = Some(Arguments { end, kind });
        Step::PayloadEnd(end)
    }
}

/// Return true if a value of exact shape may begin with `byte`.
fn is_exact(key: Key, byte: u8) -> bool {
    match key {
        Key::Arguments => matches!(byte, b'{' | b'"'),
        _ => byte == b'"',
    }
}
