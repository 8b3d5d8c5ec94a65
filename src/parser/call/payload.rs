//! The payload of a call, as long as it is JSON.

use memchr::memrchr;

use super::{After, Call, Phase};
use crate::parser::{
    frame::{Excess, Outcome, Sink},
    json::{Scan, Skim},
    machine::{Ending, Flow, Pass},
    tag::{Match, TagMatch},
    work,
};

impl<S: Sink> Pass<'_, S> {
    pub(super) fn payload(&mut self, mut call: Box<Call>) -> Flow {
        let limit = call.payload.saturating_add(self.grammar.limits().max_argument_bytes);
        let end = self.window.end();
        let stop = if limit < end { self.window.boundary(limit) } else { end };
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match self.call_tag(&mut tag, &call, false) {
                    Match::More => {
                        self.machine.tag = Some(tag);
                        break;
                    }
                    Match::Close => {
                        let ends = (tag.start, self.machine.pos);
                        if call.json.string_has_newline() && self.begins_line(ends.0) {
                            return self.resume(call, Phase::LineEnd { tag: ends });
                        }
                        call.json.passed_close.get_or_insert(ends);
                    }
                    // The text that was passed over may hold a newline, so it is read as part of
                    // the string.
                    Match::Fail | Match::Open { .. } => self.machine.pos = tag.start + 1,
                }
            }
            if self.machine.pos >= stop && stop < end {
                let cut = self.machine.pos;
                let rest = Phase::Excess(Skim::after(&call.json));
                return self.overflow(call, rest, cut, Excess::Bytes);
            }
            let rest = &self.window.from(self.machine.pos)[..stop.saturating_sub(self.machine.pos)];
            match call.json.scan(rest, &mut self.machine.pos) {
                Scan::More if stop < end => {}
                Scan::More => break,
                Scan::End => {
                    let at = self.machine.pos;
                    return self.after(call, After::new(at));
                }
                Scan::Broken => {
                    return match self.swallowed_close(&call) {
                        Some((start, end)) => self.end_call(&call, start, end, Outcome::Broken),
                        None => self.broken(call, None),
                    };
                }
                Scan::TooDeep => {
                    let cut = self.machine.pos;
                    let rest = Phase::Excess(Skim::after(&call.json));
                    return self.overflow(call, rest, cut, Excess::Depth);
                }
                Scan::Angle => {
                    let at = self.machine.pos;
                    self.machine.pos += 1;
                    if self.may_close(&call, at + 1) {
                        self.machine.tag = Some(TagMatch::new(at));
                    }
                }
            }
        }
        if self.ending == Some(Ending::Complete)
            && call.json.in_string()
            && let Some((start, end)) = call.json.passed_close
        {
            return self.end_call(&call, start, end, Outcome::Broken);
        }
        if self.ending.is_some() {
            return self.unclosed(&call);
        }
        let mut certain = self.machine.pos;
        if let Some(tag) = self.machine.tag {
            certain = certain.min(tag.start);
        }
        if let Some(escape) = call.json.escape() {
            certain = certain.min(escape.start);
        }
        if let Some((start, _)) = call.json.passed_close {
            certain = certain.min(start);
        }
        self.report(&mut call, certain);
        self.wait(call, Phase::Payload)
    }

    /// Return the closing tag at which the payload ended, if an unclosed string ran on into the
    /// next call.
    ///
    /// The quote that ended the string is then the first one of the next call: of its payload, with
    /// a brace before it, or of its opening tag.
    fn swallowed_close(&self, call: &Call) -> Option<(usize, usize)> {
        let (start, end) = call.json.passed_close?;
        let string = self.window.slice(end, self.machine.pos).trim_end().strip_suffix('"')?;
        let inner = string.trim_end();
        work::count(self.machine.pos - end - inner.len());
        let opens = inner.ends_with('{') || inner.ends_with('=') && self.ends_in_call_tag(inner);
        opens.then_some((start, end))
    }

    /// Return true if `text` ends inside the opening tag of a call.
    fn ends_in_call_tag(&self, text: &str) -> bool {
        let shortest = text.len().saturating_sub(self.limit());
        let Some(at) = memrchr(b'<', &text.as_bytes()[shortest..]) else { return false };
        let tag = &text[shortest + at + 1..];
        !tag.contains('>') && self.grammar.begins_call_tag(tag)
    }

    /// Return true if only white space stands between the last newline and `at`.
    fn begins_line(&self, at: usize) -> bool {
        let before = self.window.slice(self.machine.from, at);
        let line = before.trim_end_matches([' ', '\t', '\r']);
        work::count(before.len() - line.len() + 1);
        line.ends_with('\n')
    }

    pub(super) fn line_end(&mut self, mut call: Box<Call>, tag: (usize, usize)) -> Flow {
        while let Some(byte) = self.window.byte(self.machine.pos) {
            if byte == b'\n' {
                return self.end_call(&call, tag.0, tag.1, Outcome::Broken);
            }
            if !byte.is_ascii_whitespace() || self.machine.pos - tag.1 >= self.limit() {
                call.json.passed_close.get_or_insert(tag);
                self.machine.pos = tag.1;
                return self.resume(call, Phase::Payload);
            }
            self.machine.pos += 1;
        }
        match self.ending {
            Some(Ending::Complete) => self.end_call(&call, tag.0, tag.1, Outcome::Broken),
            Some(Ending::Truncated) => self.unclosed(&call),
            None => {
                let certain = call.json.passed_close.map_or(tag.0, |(start, _)| start);
                self.report(&mut call, certain);
                self.wait(call, Phase::LineEnd { tag })
            }
        }
    }
}
