//! A body that is not JSON. Only its closing tag makes it an attempt at a call.

use memchr::memchr;

use super::{Call, Phase};
use crate::parser::{
    frame::{Outcome, Sink},
    machine::{Flow, Pass},
    tag::{Match, TagMatch},
    work,
};

/// The result of a search for the closing tag.
#[derive(Clone, Copy, Debug)]
pub(super) enum CloseSearch {
    /// Found; it starts here and ends before the current position.
    Close(usize),
    /// Not found within the limit, before another call, or before the end of the reply.
    NotFound,
    /// Not decided until more input arrives.
    NeedMore,
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn prose(&mut self, mut call: Box<Call>) -> Flow {
        match self.seek_own_close(&call, call.tag_end) {
            CloseSearch::Close(start) => {
                self.confirm(&mut call);
                self.end_call(&call, start, self.machine.pos, Outcome::Prose)
            }
            CloseSearch::NotFound => self.not_a_tag(call.start),
            CloseSearch::NeedMore => {
                self.hold_text(call.start);
                self.wait(call, Phase::Prose)
            }
        }
    }

    /// Search for the closing tag of `call`, up to the limit from `since` on.
    pub(super) fn seek_own_close(&mut self, call: &Call, since: usize) -> CloseSearch {
        let stop = since.saturating_add(self.limit());
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match self.call_tag(&mut tag, call, true) {
                    Match::More => {
                        self.machine.tag = Some(tag);
                        return CloseSearch::NeedMore;
                    }
                    Match::Close => return CloseSearch::Close(tag.start),
                    Match::Open { .. } => return CloseSearch::NotFound,
                    Match::Fail => self.machine.pos = tag.start + 1,
                }
            }
            let end = self.window.end().min(stop);
            if self.machine.pos >= stop {
                return CloseSearch::NotFound;
            }
            let rest = &self.window.from(self.machine.pos)[..end - self.machine.pos];
            let found = memchr(b'<', rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            if let Some(found) = found {
                self.machine.tag = Some(TagMatch::new(self.machine.pos + found));
                self.machine.pos += found + 1;
            } else {
                self.machine.pos = end;
                if self.window.end() > stop || self.ending.is_some() {
                    return CloseSearch::NotFound;
                }
                return CloseSearch::NeedMore;
            }
        }
    }
}
