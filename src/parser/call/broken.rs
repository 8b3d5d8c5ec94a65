//! The rest of a payload that is not JSON or exceeds a limit.

use memchr::memchr2;

use super::{After, Call, Phase};
use crate::parser::{
    escape::{Escape, EscapeStep, Faults},
    frame::{Excess, Outcome, Sink},
    json::{Scan, Skim},
    machine::{Flow, Pass},
    tag::{Match, TagMatch},
    work,
};

/// The effect of a tag that has begun on the call around it.
enum EndingTag {
    None,
    Ended(Flow),
    NeedMore,
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn broken(&mut self, mut call: Box<Call>, mut escape: Option<Escape>) -> Flow {
        let limit = call.payload.saturating_add(self.grammar.limits().max_argument_bytes);
        let end = self.window.end();
        let stop = if limit < end && !call.overflow { self.window.boundary(limit) } else { end };
        loop {
            match self.ending_tag(&call) {
                EndingTag::None => {}
                EndingTag::Ended(flow) => return flow,
                EndingTag::NeedMore => break,
            }
            if self.machine.pos >= stop && stop < end {
                let cut = self.machine.pos;
                return self.overflow(call, Phase::Broken { escape: None }, cut, Excess::Bytes);
            }
            let rest = &self.window.from(self.machine.pos)[..stop.saturating_sub(self.machine.pos)];
            if let Some(open) = &mut escape {
                match rest.first() {
                    None => break,
                    // Outside a string a backslash escapes nothing.
                    Some(b'<') => escape = None,
                    Some(&byte) => {
                        match open.take(byte, self.machine.pos, &mut Faults::default()) {
                            EscapeStep::More => self.machine.pos += 1,
                            EscapeStep::Done => {
                                self.machine.pos += 1;
                                escape = None;
                            }
                            EscapeStep::DoneBefore => escape = None,
                        }
                    }
                }
                continue;
            }
            let found = memchr2(b'<', b'\\', rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            match found {
                None => {
                    self.machine.pos += rest.len();
                    if stop == end {
                        break;
                    }
                }
                Some(found) => {
                    let at = self.machine.pos + found;
                    self.machine.pos = at + 1;
                    if rest[found] == b'\\' {
                        escape = Some(Escape::new(at));
                    } else if rest
                        .get(found + 1)
                        .is_none_or(|&next| next == b'/' || self.grammar.tags().can_begin(next))
                    {
                        self.machine.tag = Some(TagMatch::new(at));
                    }
                }
            }
        }
        if self.ending.is_some() {
            return self.unclosed(&call);
        }
        let mut certain = self.machine.pos;
        if let Some(tag) = self.machine.tag {
            certain = certain.min(tag.start);
        }
        if let Some(escape) = escape {
            certain = certain.min(escape.start);
        }
        self.report(&mut call, certain);
        self.wait(call, Phase::Broken { escape })
    }

    /// End the call at a tag that has begun, if it closes the call or opens another.
    fn ending_tag(&mut self, call: &Call) -> EndingTag {
        let Some(mut tag) = self.machine.tag.take() else { return EndingTag::None };
        let end = match self.call_tag(&mut tag, call, true) {
            Match::More => {
                self.machine.tag = Some(tag);
                return EndingTag::NeedMore;
            }
            Match::Fail => {
                self.machine.pos = tag.start + 1;
                return EndingTag::None;
            }
            Match::Close => self.machine.pos,
            Match::Open { .. } => tag.start,
        };
        EndingTag::Ended(self.end_call(call, tag.start, end, Outcome::Broken))
    }

    /// End the call at `cut`; the rest of its payload is reported in discarded pieces.
    pub(super) fn overflow(
        &mut self,
        mut call: Box<Call>,
        rest: Phase,
        cut: usize,
        excess: Excess,
    ) -> Flow {
        self.report(&mut call, cut);
        self.report_end(&call, cut, cut, Outcome::TooLarge(excess));
        // Another object may follow in the same tag.
        call.written = self.owned_name(&call);
        self.machine.from = cut;
        self.machine.pos = cut;
        call.overflow = true;
        self.resume(call, rest)
    }

    pub(super) fn excess(&mut self, mut call: Box<Call>, mut skim: Skim) -> Flow {
        loop {
            match self.ending_tag(&call) {
                EndingTag::None => {}
                EndingTag::Ended(flow) => return flow,
                EndingTag::NeedMore => break,
            }
            let rest = self.window.from(self.machine.pos);
            match skim.scan(rest, &mut self.machine.pos) {
                Scan::Angle => {
                    self.machine.tag = Some(TagMatch::new(self.machine.pos));
                    self.machine.pos += 1;
                }
                Scan::End => {
                    let at = self.machine.pos;
                    self.report(&mut call, at);
                    return self.after(call, After::new(at));
                }
                _ => break,
            }
        }
        if self.ending.is_some() {
            return self.unclosed(&call);
        }
        let certain = self.machine.tag.map_or(self.machine.pos, |tag| tag.start);
        self.report(&mut call, certain);
        self.wait(call, Phase::Excess(skim))
    }
}
