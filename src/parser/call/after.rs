//! The part of a call between the payload and the closing tag, or what replaces that tag, such as
//! another object.

use super::{Call, Phase};
use crate::parser::{
    frame::{Outcome, Sink},
    machine::{Ending, Flow, Pass},
    tag::{Match, TagMatch},
};

/// The position between the payload and the closing tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct After {
    /// End of the payload.
    end: usize,
    /// End of the call if the closing tag is missing: after the payload or its fence.
    cut: usize,
    fence: FenceSeen,
    /// True if a comma came after the payload.
    comma: bool,
    /// Start of the run of white space or of fence marks.
    since: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FenceSeen {
    No,
    Marks,
    Yes,
}

impl After {
    /// Create the state right after a payload that ended at `end`.
    pub(super) fn new(end: usize) -> Self {
        Self { end, cut: end, fence: FenceSeen::No, comma: false, since: end }
    }
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn after(&mut self, mut call: Box<Call>, mut after: After) -> Flow {
        if let Some(mut tag) = self.machine.tag.take() {
            return match self.call_tag(&mut tag, &call, false) {
                Match::More => {
                    self.machine.tag = Some(tag);
                    self.report(&mut call, after.end);
                    self.wait(call, Phase::After(after))
                }
                Match::Close => self.closed(&call, after),
                Match::Fail | Match::Open { .. } => self.implicit_close(&call, after),
            };
        }
        while let Some(byte) = self.window.byte(self.machine.pos) {
            let at = self.machine.pos;
            match after.fence {
                FenceSeen::Marks if byte == b'`' => self.machine.pos += 1,
                FenceSeen::Marks => {
                    if !self.end_fence(&call, &mut after) {
                        return self.implicit_close(&call, after);
                    }
                }
                _ if byte.is_ascii_whitespace() && at - after.since < self.limit() => {
                    self.machine.pos += 1;
                }
                FenceSeen::No if byte == b'{' => return self.next_object(&call, after),
                _ if after.comma => return self.implicit_close(&call, after),
                FenceSeen::No if byte == b',' => {
                    after.comma = true;
                    after.since = at + 1;
                    self.machine.pos += 1;
                }
                FenceSeen::No if byte == b'`' => {
                    after.fence = FenceSeen::Marks;
                    after.since = at;
                    self.machine.pos += 1;
                }
                _ if byte == b'<' => {
                    self.machine.tag = Some(TagMatch::new(at));
                    self.machine.pos += 1;
                    return self.after(call, after);
                }
                _ => return self.implicit_close(&call, after),
            }
        }
        if self.ending.is_some() {
            if after.fence == FenceSeen::Marks {
                self.end_fence(&call, &mut after);
            }
            return self.implicit_close(&call, after);
        }
        self.report(&mut call, after.end);
        self.wait(call, Phase::After(after))
    }

    /// Begin another call with an object in the same tag.
    fn next_object(&mut self, call: &Call, after: After) -> Flow {
        let at = self.machine.pos;
        let outcome = Outcome::Whole { strict: call.json.strict(), implicit_close: false };
        let written = self.owned_name(call);
        self.end_call(call, after.end, after.end, outcome);
        let depth = self.grammar.limits().max_depth;
        let mut next = Call::new(call.tool, None, call.closer, (after.end, at), depth);
        next.written = written;
        next.opens_line = call.opens_line;
        self.open_payload(next, at, call.fenced)
    }

    /// End a run of marks after the payload; return false if it is not a fence.
    fn end_fence(&self, call: &Call, after: &mut After) -> bool {
        let at = self.machine.pos;
        if at - after.since < 3 {
            return false;
        }
        after.fence = FenceSeen::Yes;
        after.since = at;
        if call.fenced {
            after.cut = at;
        }
        true
    }

    fn closed(&mut self, call: &Call, after: After) -> Flow {
        if after.fence == FenceSeen::Yes && !call.fenced {
            // The fence around the call was closed inside its tag.
            self.machine.markdown.close_transparent();
        }
        let outcome = Outcome::Whole { strict: call.json.strict(), implicit_close: false };
        self.end_call(call, after.end, self.machine.pos, outcome)
    }

    fn implicit_close(&mut self, call: &Call, after: After) -> Flow {
        if self.ending == Some(Ending::Truncated) && self.machine.pos == self.window.end() {
            return self.end_call(call, after.end, self.window.end(), Outcome::Unclosed);
        }
        let outcome = Outcome::Whole { strict: call.json.strict(), implicit_close: true };
        self.end_call(call, after.end, after.cut, outcome);
        self.machine.orphan = Some(call.closer);
        self.machine.markdown.stray_fence = !call.fenced || after.cut == after.end;
        Flow::Again
    }
}
