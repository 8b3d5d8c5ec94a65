//! The ends of values and envelopes, and what stands between envelopes.

use super::{Arguments, Doubt, Envelope, Key, Kind, Peek, Reader, Rough, State, Step};
use crate::parser::{block::step::Input, frame::Outcome, machine::Ending};

impl Reader {
    /// Act on a byte outside envelopes.
    pub(super) fn between(&mut self, input: Input<'_>, byte: u8, pos: &mut usize) -> Option<Step> {
        let at = *pos;
        match self.peek(input, at, self.block.close) {
            Peek::Found(_) if self.ended == 0 => return Some(Step::Fail),
            Peek::Found(end) => return Some(Step::Close(end)),
            Peek::NeedMore => return Some(Step::More),
            Peek::None => {}
        }
        let follows = self.ended > 0;
        let rest = input.from(at);
        let begins_with_rest = |close: &&str| close.as_bytes().starts_with(rest);
        if follows && input.ending.is_some() && self.block.close.iter().any(begins_with_rest) {
            // The reply was cut off inside the closing text.
            return Some(Step::Close(at + rest.len()));
        }
        if byte == b'<' && !follows && !self.is_exact() {
            // An opener that the model has written again.
            match self.peek(input, at, self.block.open) {
                Peek::Found(end) => {
                    *pos = end;
                    return None;
                }
                Peek::NeedMore => return Some(Step::More),
                Peek::None => {}
            }
        }
        *pos += 1;
        match byte {
            b'{' => {
                self.envelope = Envelope::default();
                self.state = State::Key;
            }
            b'[' if self.body.list && !self.listed && !(follows && self.is_exact()) => {
                self.listed = true;
            }
            b']' if self.listed => {
                self.listed = false;
                self.since = at + 1;
                if follows && (self.block.close.is_empty() || self.is_exact()) {
                    return Some(Step::Close(at + 1));
                }
            }
            b',' if self.listed && follows => {}
            b'`' if !self.is_exact() && !follows && !self.fenced => self.state = State::Fence,
            b'`' if self.fenced && follows => self.since = at + 1,
            _ if follows && self.body.separators.contains(&byte) => {}
            // One bracket too many.
            b'}' | b']' if follows && !self.is_exact() => self.since = at + 1,
            _ => return Some(self.leave()),
        }
        None
    }

    /// Act on a byte in the first line of a fence.
    pub(super) fn fence(&mut self, byte: u8, pos: &mut usize) -> Option<Step> {
        self.fenced = true;
        match byte {
            b'\n' | b'{' | b'[' => self.state = State::Between,
            b'`' | b' ' | b'\r' => *pos += 1,
            _ if byte.is_ascii_alphanumeric() => *pos += 1,
            _ => return Some(Step::Fail),
        }
        None
    }

    /// Leave a block that nothing closes.
    fn leave(&self) -> Step {
        if self.ended == 0 || self.is_exact() && self.listed {
            Step::Fail
        } else {
            Step::Leave(self.since)
        }
    }

    /// Act on a byte after a value, or one that cannot begin a key.
    pub(super) fn next(&mut self, input: Input<'_>, byte: u8, pos: &mut usize) -> Option<Step> {
        let at = *pos;
        match byte {
            b',' if matches!(self.state, State::Next) => {
                *pos += 1;
                let end = self.payload_end();
                self.state = State::Key;
                end
            }
            b'}' if self.envelope.nested => {
                *pos += 1;
                let end = self.payload_end();
                self.envelope.nested = false;
                self.state = State::Next;
                end
            }
            b'}' => {
                *pos += 1;
                let end = self.payload_end();
                let call = self.end_envelope(at + 1, false);
                if end.is_none() {
                    Some(call)
                } else {
                    self.queue.push_back(call);
                    end
                }
            }
            _ => self.lost_brace(input, byte, pos),
        }
    }

    /// End an envelope whose closing brace is missing, if `byte` shows it.
    fn lost_brace(&mut self, input: Input<'_>, byte: u8, pos: &mut usize) -> Option<Step> {
        if !self.envelope.named || self.is_exact() {
            return self.unexpected(*pos);
        }
        if let Some(Doubt::Passed(..)) = self.envelope.doubt {
            return self.unexpected(*pos);
        }
        let at = *pos;
        let ends = match byte {
            b']' => self.listed || self.block.close.contains(&"]"),
            b'{' => self.envelope.arguments.is_some() && self.envelope.doubt.is_none(),
            _ => false,
        };
        match self.mark(input, byte, at) {
            Peek::NeedMore => return Some(Step::More),
            Peek::None if !ends => return self.unexpected(*pos),
            _ => {}
        }
        let end = self.payload_end();
        let call = self.end_envelope(at, true);
        self.queue.extend(end);
        self.queue.push_back(call);
        None
    }

    /// Report the end of the payload if it was in doubt.
    fn payload_end(&mut self) -> Option<Step> {
        self.envelope.doubt.take()?;
        self.envelope.arguments.map(|arguments| Step::PayloadEnd(arguments.end))
    }

    /// Act on the byte at `*pos`, which no envelope has there.
    pub(super) fn unexpected(&mut self, pos: usize) -> Option<Step> {
        let Envelope { named, arguments, doubt, .. } = self.envelope;
        if self.is_exact() || !named {
            return Some(Step::Fail);
        }
        match (doubt, arguments) {
            (Some(Doubt::Passed(start, end)), _) => self.cut((start, end)),
            (Some(Doubt::Rough), _) => {
                self.envelope.doubt = None;
                self.envelope.arguments = None;
                self.state = State::Broken(Rough::uncounted());
                None
            }
            (None, Some(Arguments { end, .. })) => {
                // What follows is text.
                let call = self.end_envelope(end, true);
                self.queue.push_back(call);
                self.queue.push_back(Step::Leave(end));
                None
            }
            (None, None) => {
                self.envelope.key = Key::Arguments;
                self.state = State::Broken(Rough::new(0));
                Some(Step::Payload(pos))
            }
        }
    }

    /// End the call at a closing text that its payload passed over or ran into.
    pub(super) fn cut(&mut self, (start, end): (usize, usize)) -> Option<Step> {
        self.envelope.doubt = None;
        self.envelope.arguments = Some(Arguments { end: start, kind: Kind::Broken });
        let call = self.end_envelope(start, true);
        self.queue.extend([call, Step::Close(end)]);
        None
    }

    /// Return the end of a payload that a mark at `at` ends: without the last of several braces,
    /// which is the envelope's.
    pub(super) fn before_braces(&self, input: Input<'_>, at: usize, rough: Rough) -> usize {
        let Some(tail) = rough.tail() else { return at };
        let closing = input.text(tail, at).trim_ascii_end();
        let item = closing.strip_suffix(']').filter(|_| self.listed);
        let closing = item.map_or(closing, str::trim_ascii_end);
        let inner = closing.strip_suffix('}').unwrap_or(closing);
        let inner = if inner.contains('}') { inner.trim_ascii_end() } else { closing };
        tail + inner.len()
    }

    /// End a payload that is not JSON at `cut`, with a mark at `at`.
    pub(super) fn end_broken(&mut self, input: Input<'_>, at: usize, cut: usize) -> Option<Step> {
        self.envelope.arguments = Some(Arguments { end: cut, kind: Kind::Broken });
        let call = self.end_envelope(at, true);
        self.queue.extend([Step::PayloadEnd(cut), call]);
        let last = match self.peek(input, at, self.block.close) {
            Peek::Found(end) => Step::Close(end),
            _ => Step::Leave(at),
        };
        self.queue.push_back(last);
        None
    }

    /// End the envelope at `at`; `implicit` if its closing brace is missing.
    pub(super) fn end_envelope(&mut self, at: usize, implicit: bool) -> Step {
        let Envelope { named, arguments, .. } = self.envelope;
        if !named || self.is_exact() && arguments.is_none() {
            return Step::Fail;
        }
        let outcome = match arguments.map(|arguments| arguments.kind) {
            None | Some(Kind::Empty) => Outcome::Empty,
            Some(Kind::Broken) => Outcome::Broken,
            Some(Kind::Json { strict }) => Outcome::Whole { strict, implicit_close: implicit },
        };
        self.state = State::Between;
        self.envelope.named = false;
        self.envelope.arguments = None;
        self.envelope.early = None;
        self.ended += 1;
        self.since = at;
        Step::CallEnd { at, outcome }
    }

    /// Act on the end of the input.
    pub(super) fn end_of_input(&mut self, input: Input<'_>, at: usize) -> Step {
        let Some(ending) = input.ending else { return Step::More };
        let Envelope { named, .. } = self.envelope;
        let found = match (self.state, ending) {
            (State::Between, _) if self.ended > 0 => return self.leave(),
            (State::Next, Ending::Complete) if named && !self.is_exact() => {
                let end = self.payload_end();
                let call = self.end_envelope(at, true);
                self.queue.extend(end);
                self.queue.push_back(call);
                None
            }
            (State::Structure { is_key: false, .. }, Ending::Complete)
                if named && self.envelope.key == Key::Arguments && self.json.in_string() =>
            {
                self.json.passed_close.and_then(|passed| self.cut(passed))
            }
            _ => None,
        };
        found.or_else(|| self.queue.pop_front()).unwrap_or(Step::More)
    }
}
