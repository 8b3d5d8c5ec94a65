//! The part of a call between the opening tag and the payload: white space, a fence, or prose.

use super::{Call, Guard, Phase};
use crate::parser::{
    frame::Sink,
    grammar::Closer,
    machine::{Flow, Pass},
    tag::{Match, TagMatch},
};

/// The position between the opening tag and the payload, with the start of the current run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    Blank { since: usize },
    Marks { since: usize },
    Label { since: usize },
    FencedBlank { since: usize },
    ClosingMarks { since: usize },
    ClosedBlank { since: usize },
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn before(&mut self, call: Box<Call>, mut before: Before) -> Flow {
        if let Some(mut tag) = self.machine.tag.take() {
            return match self.call_tag(&mut tag, &call, false) {
                Match::More => {
                    self.machine.tag = Some(tag);
                    self.wait_before(call, before)
                }
                Match::Close => self.empty(call, self.machine.pos),
                Match::Fail | Match::Open { .. } => self.not_a_payload(call),
            };
        }
        while let Some(byte) = self.window.byte(self.machine.pos) {
            let at = self.machine.pos;
            let white = byte.is_ascii_whitespace();
            let (Before::Blank { since }
            | Before::Marks { since }
            | Before::Label { since }
            | Before::FencedBlank { since }
            | Before::ClosingMarks { since }
            | Before::ClosedBlank { since }) = before;
            if at - since >= self.limit() && (white || !matches!(byte, b'{' | b'<')) {
                return self.not_a_payload(call);
            }
            before = match before {
                Before::Blank { .. } | Before::FencedBlank { .. } | Before::Label { .. }
                    if byte == b'{' =>
                {
                    let fenced = !matches!(before, Before::Blank { .. });
                    if self.may_be_markup(&call) {
                        self.machine.pos = at + 1;
                        return self.guard(call, Guard::new(at, fenced));
                    }
                    return self.open_payload(call, at, fenced);
                }
                Before::Blank { .. } | Before::FencedBlank { .. } | Before::ClosedBlank { .. }
                    if byte == b'<' =>
                {
                    self.machine.tag = Some(TagMatch::new(at));
                    self.machine.pos += 1;
                    return self.before(call, before);
                }
                Before::Blank { .. } | Before::FencedBlank { .. } | Before::ClosedBlank { .. }
                    if white =>
                {
                    before
                }
                Before::Blank { .. } if byte == b'`' => Before::Marks { since: at },
                Before::FencedBlank { .. } if byte == b'`' => Before::ClosingMarks { since: at },
                Before::Marks { .. } | Before::ClosingMarks { .. } if byte == b'`' => before,
                Before::Marks { since } if at - since >= 3 => {
                    before = Before::Label { since };
                    continue;
                }
                Before::ClosingMarks { since } if at - since >= 3 => {
                    before = Before::ClosedBlank { since: at };
                    continue;
                }
                Before::Label { .. } if byte == b'\n' => Before::FencedBlank { since: at + 1 },
                Before::Label { .. } if byte != b'`' && byte != b'<' => before,
                _ => return self.not_a_payload(call),
            };
            self.machine.pos += 1;
        }
        if self.ending.is_some() {
            return self.not_a_tag(call.start);
        }
        self.wait_before(call, before)
    }

    fn wait_before(&mut self, call: Box<Call>, before: Before) -> Flow {
        self.hold_text(call.start);
        self.wait(call, Phase::Before(before))
    }

    /// Handle content that cannot be the payload of the opening tag.
    fn not_a_payload(&mut self, call: Box<Call>) -> Flow {
        // A tag that names its tool in an attribute is an attempt at a call, and so is a tag at the
        // start of a line with a name that only the tool has. The body may then be repaired by the
        // model or the caller.
        let deliberate = match call.closer {
            Closer::Tag(_) => call.tool.is_some(),
            _ => call.opens_line && !self.may_be_markup(&call),
        };
        if !deliberate {
            return self.not_a_tag(call.start);
        }
        self.machine.pos = call.tag_end;
        self.prose(call)
    }

    pub(super) fn open_payload(&mut self, mut call: Box<Call>, at: usize, fenced: bool) -> Flow {
        self.confirm(&mut call);
        call.fenced = fenced;
        call.payload = at;
        call.reported = at;
        self.machine.pos = at;
        // Through the loop rather than by recursion: there may be one object after another.
        self.resume(call, Phase::Payload)
    }
}
