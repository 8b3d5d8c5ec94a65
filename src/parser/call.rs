//! One call, from its opening tag to its end.
//!
//! The JSON of the payload says where it ends; tags are looked for only where JSON cannot
//! tell: before the payload, after it, and once it is broken.

use memchr::{memchr, memchr2, memrchr};

use super::{
    escape::{Escape, Escaped, Faults},
    frame::{Discard, Excess, Found, Frame, Outcome, Sink},
    grammar::{Closer, Grammar, Marker},
    json::{Json, Scan, Skim},
    machine::{Ending, Flow, Pass, Plain, State},
    tag::{Match, TagMatch, Wanted, attribute},
    work,
};

/// A call whose opening tag has been read.
#[derive(Clone, Debug)]
pub(super) struct Call {
    tool: Option<usize>,
    /// The two ends of the name as written, where that is not the tag itself.
    written: Option<(usize, usize)>,
    closer: Closer,
    /// Where the opening tag stands.
    start: usize,
    /// Where it ends.
    tag_end: usize,
    /// Whether a fence was opened before the payload.
    fenced: bool,
    /// Where the payload begins.
    payload: usize,
    /// How much of it has been reported.
    reported: usize,
    /// Whether it went past a limit, and its end has been reported.
    overflow: bool,
    index: usize,
    /// How the payload reads so far.
    json: Json,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Between the opening tag and the payload.
    Before(Before),
    /// In a body that is no JSON, waiting for the closing tag.
    Prose,
    Payload,
    /// After a closing tag inside a string, to see whether it has its line to itself.
    LineEnd {
        tag: (usize, usize),
    },
    /// In a payload that stopped being JSON.
    Broken {
        escape: Option<Escape>,
    },
    /// In the rest of a payload that went past a limit.
    Excess(Skim),
    /// Between the payload and the closing tag.
    After(After),
}

/// Where between the opening tag and the payload; each with the start of its run.
#[derive(Clone, Copy, Debug)]
enum Before {
    Blank { since: usize },
    Marks { since: usize },
    Label { since: usize },
    FencedBlank { since: usize },
    ClosingMarks { since: usize },
    ClosedBlank { since: usize },
}

/// Where between the payload and the closing tag.
#[derive(Clone, Copy, Debug)]
struct After {
    /// Where the payload ends.
    end: usize,
    /// Where the call ends if the closing tag is missing: after the payload or its fence.
    cut: usize,
    fence: FenceSeen,
    /// The start of the run of white space or of marks.
    since: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FenceSeen {
    No,
    Marks,
    Yes,
}

impl Call {
    /// What `chunk`, which stands at `pos`, is if it just goes on with a string.
    #[inline]
    pub(super) fn plain(&mut self, grammar: &Grammar, pos: usize, chunk: &str) -> Option<Plain> {
        let end = pos + chunk.len();
        if !matches!(self.phase, Phase::Payload)
            || self.reported != pos
            || end - self.payload >= grammar.limits().max_argument_bytes
            || !self.json.is_plain(chunk.as_bytes())
        {
            return None;
        }
        self.reported = end;
        let plain = Plain::Fragment { index: self.index };
        Some(if grammar.options.deltas { plain } else { Plain::Nothing })
    }

    pub(super) fn new(
        tool: Option<usize>,
        written: Option<(usize, usize)>,
        closer: Closer,
        (start, tag_end): (usize, usize),
        max_depth: usize,
    ) -> Box<Self> {
        Box::new(Self {
            tool,
            written,
            closer,
            start,
            tag_end,
            fenced: false,
            payload: tag_end,
            reported: tag_end,
            overflow: false,
            index: 0,
            json: Json::new(max_depth),
            phase: Phase::Before(Before::Blank { since: tag_end }),
        })
    }
}

impl<'a, S: Sink> Pass<'a, S> {
    /// An opening tag has been read.
    pub(super) fn begin(&mut self, mut call: Box<Call>, self_closing: bool) -> Flow {
        if self_closing {
            self.confirm(&mut call);
            return self.end_call(&call, call.tag_end, call.tag_end, Outcome::Empty);
        }
        self.call(call)
    }

    /// Reads on in the call that is open.
    pub(super) fn call(&mut self, call: Box<Call>) -> Flow {
        match call.phase {
            Phase::Before(before) => self.before(call, before),
            Phase::Prose => self.prose(call),
            Phase::Payload => self.payload(call),
            Phase::LineEnd { tag } => self.line_end(call, tag),
            Phase::Broken { escape } => self.broken(call, escape),
            Phase::Excess(skim) => self.excess(call, skim),
            Phase::After(after) => self.after(call, after),
        }
    }

    fn resume(&mut self, mut call: Box<Call>, phase: Phase) -> Flow {
        call.phase = phase;
        self.machine.state = State::Call(call);
        Flow::Again
    }

    fn wait(&mut self, call: Box<Call>, phase: Phase) -> Flow {
        self.resume(call, phase);
        Flow::NeedMore
    }

    fn limit(&self) -> usize {
        self.grammar.limits().max_tag_bytes
    }

    /// The tag at hand, if it closes `call` or, where `open` says so, opens another.
    fn call_tag(&mut self, tag: &mut TagMatch, call: &Call, open: bool) -> Match {
        let wanted = Wanted {
            open: open.then_some(&self.grammar.markers),
            close: Some(self.grammar.closer(call.closer)),
            limit: self.limit(),
        };
        match tag.scan(self.window, &mut self.machine.pos, wanted) {
            Match::More if self.ending.is_some() => Match::Fail,
            Match::Open { marker, .. } if !self.calls_known_tool(tag.start, marker) => Match::Fail,
            found => found,
        }
    }

    /// Whether what stands at `at`, after a `<`, may be the closing tag of `call`.
    fn may_close(&self, call: &Call, at: usize) -> bool {
        let rest = self.window.from(at);
        let Some((&slash, rest)) = rest.split_first() else { return true };
        let closer = self.grammar.closer(call.closer).as_bytes();
        slash == b'/' && rest.iter().zip(closer).all(|(is, wanted)| is == wanted)
    }

    fn calls_known_tool(&self, start: usize, marker: usize) -> bool {
        match self.grammar.markers.marker(marker) {
            Marker::Tool(_) => true,
            Marker::Call { attribute: name, .. } => {
                let whole = self.window.slice(start, self.machine.pos);
                attribute(whole, name).is_some_and(|name| self.grammar.resolve(name).is_some())
            }
            Marker::Response { .. } | Marker::Reasoning(_) => false,
        }
    }

    // Before the payload.

    fn before(&mut self, call: Box<Call>, mut before: Before) -> Flow {
        if let Some(mut tag) = self.machine.tag.take() {
            return match self.call_tag(&mut tag, &call, false) {
                Match::More => {
                    self.machine.tag = Some(tag);
                    self.wait_before(call, before)
                }
                Match::Close => {
                    let mut call = call;
                    self.confirm(&mut call);
                    self.end_call(&call, call.payload, self.machine.pos, Outcome::Empty)
                }
                Match::Fail | Match::Open { .. } => self.misfit(call),
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
                return self.misfit(call);
            }
            before = match before {
                Before::Blank { .. } | Before::FencedBlank { .. } | Before::Label { .. }
                    if byte == b'{' =>
                {
                    let fenced = !matches!(before, Before::Blank { .. });
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
                _ => return self.misfit(call),
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

    /// What follows the opening tag cannot be its payload.
    fn misfit(&mut self, call: Box<Call>) -> Flow {
        // A tag that names its tool in an attribute is no prose: what it holds may be mended
        // by somebody who reads it.
        let deliberate = call.tool.is_some() && matches!(call.closer, Closer::Tag(_));
        if !deliberate {
            return self.not_a_tag(call.start);
        }
        self.machine.pos = call.tag_end;
        self.prose(call)
    }

    fn prose(&mut self, mut call: Box<Call>) -> Flow {
        let stop = call.tag_end.saturating_add(self.limit());
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match self.call_tag(&mut tag, &call, true) {
                    Match::More => {
                        self.machine.tag = Some(tag);
                        break;
                    }
                    Match::Close => {
                        self.confirm(&mut call);
                        return self.end_call(&call, tag.start, self.machine.pos, Outcome::Prose);
                    }
                    Match::Open { .. } => return self.not_a_tag(call.start),
                    Match::Fail => self.machine.pos = tag.start + 1,
                }
            }
            let end = self.window.end().min(stop);
            if self.machine.pos >= stop {
                return self.not_a_tag(call.start);
            }
            let rest = &self.window.from(self.machine.pos)[..end - self.machine.pos];
            let found = memchr(b'<', rest);
            work::done(found.map_or(rest.len(), |found| found + 1));
            if let Some(found) = found {
                self.machine.tag = Some(TagMatch::new(self.machine.pos + found));
                self.machine.pos += found + 1;
            } else {
                self.machine.pos = end;
                if self.window.end() > stop || self.ending.is_some() {
                    return self.not_a_tag(call.start);
                }
                break;
            }
        }
        self.hold_text(call.start);
        self.wait(call, Phase::Prose)
    }

    /// From here on it is a call, whatever comes.
    fn confirm(&mut self, call: &mut Call) {
        self.unwrap_fence();
        self.emit_text(call.start);
        self.machine.orphan = None;
        self.machine.markdown.stray_fence = false;
        call.index = self.machine.calls;
        self.machine.calls += 1;
        let name = self.name(call);
        self.sink.take(Frame::CallStart { index: call.index, name });
    }

    fn written(&self, call: &Call) -> Option<&'a str> {
        call.written.map(|(from, to)| self.window.slice(from, to))
    }

    /// The tool as registered, or else what the model took for one.
    fn name(&self, call: &Call) -> &'a str {
        match call.tool {
            Some(tool) => self.grammar.tool(tool),
            None => self.written(call).unwrap_or_default(),
        }
    }

    fn open_payload(&mut self, mut call: Box<Call>, at: usize, fenced: bool) -> Flow {
        self.confirm(&mut call);
        call.fenced = fenced;
        call.payload = at;
        call.reported = at;
        self.payload(call)
    }

    // The payload.

    fn payload(&mut self, mut call: Box<Call>) -> Flow {
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
                    // What was passed over may hold a newline, so it is read as string.
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
                    let after = After { end: at, cut: at, fence: FenceSeen::No, since: at };
                    return self.after(call, after);
                }
                Scan::Broken => {
                    return match self.swallowed(&call) {
                        Some((start, end)) => self.end_call(&call, start, end, Outcome::Broken),
                        None => self.broken(call, None),
                    };
                }
                Scan::Deep => {
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
        match self.ending {
            Some(Ending::Complete) if call.json.in_string() && call.json.passed_close.is_some() => {
                let (start, end) = call.json.passed_close.unwrap_or_default();
                self.end_call(&call, start, end, Outcome::Broken)
            }
            Some(_) => self.unclosed(&call),
            None => {
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
        }
    }

    /// The closing tag at which the payload really ended, if the string before the place where
    /// it broke was never closed and ran on into the next call.
    ///
    /// Then the quote that ended the string is the first one of that call's payload, with a brace
    /// before it, or of its opening tag.
    fn swallowed(&self, call: &Call) -> Option<(usize, usize)> {
        let (start, end) = call.json.passed_close?;
        let string = self.window.slice(end, self.machine.pos).trim_end().strip_suffix('"')?;
        let inner = string.trim_end();
        work::done(self.machine.pos - end - inner.len());
        let opens = inner.ends_with('{') || inner.ends_with('=') && self.ends_in_call_tag(inner);
        opens.then_some((start, end))
    }

    /// Whether `text` ends inside the opening tag of a call.
    fn ends_in_call_tag(&self, text: &str) -> bool {
        let shortest = text.len().saturating_sub(self.limit());
        let Some(at) = memrchr(b'<', &text.as_bytes()[shortest..]) else { return false };
        let tag = &text[shortest + at + 1..];
        !tag.contains('>') && self.grammar.begins_call_tag(tag)
    }

    /// Whether only white space stands between the last newline and `at`.
    fn begins_line(&self, at: usize) -> bool {
        let before = self.window.slice(self.machine.from, at);
        let line = before.trim_end_matches([' ', '\t', '\r']);
        work::done(before.len() - line.len() + 1);
        line.ends_with('\n')
    }

    fn line_end(&mut self, mut call: Box<Call>, tag: (usize, usize)) -> Flow {
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

    fn broken(&mut self, mut call: Box<Call>, mut escape: Option<Escape>) -> Flow {
        let limit = call.payload.saturating_add(self.grammar.limits().max_argument_bytes);
        let end = self.window.end();
        let stop = if limit < end && !call.overflow { self.window.boundary(limit) } else { end };
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match self.call_tag(&mut tag, &call, true) {
                    Match::More => {
                        self.machine.tag = Some(tag);
                        break;
                    }
                    Match::Close => {
                        return self.end_call(&call, tag.start, self.machine.pos, Outcome::Broken);
                    }
                    Match::Open { .. } => {
                        return self.end_call(&call, tag.start, tag.start, Outcome::Broken);
                    }
                    Match::Fail => self.machine.pos = tag.start + 1,
                }
            }
            if self.machine.pos >= stop && stop < end {
                let cut = self.machine.pos;
                return self.overflow(call, Phase::Broken { escape: None }, cut, Excess::Bytes);
            }
            let rest = &self.window.from(self.machine.pos)[..stop.saturating_sub(self.machine.pos)];
            if let Some(open) = &mut escape {
                match rest.first() {
                    None => break,
                    // Outside a string a backslash hides nothing.
                    Some(b'<') => escape = None,
                    Some(&byte) => {
                        match open.take(byte, self.machine.pos, &mut Faults::default()) {
                            Escaped::More => self.machine.pos += 1,
                            Escaped::Done => {
                                self.machine.pos += 1;
                                escape = None;
                            }
                            Escaped::DoneBefore => escape = None,
                        }
                    }
                }
                continue;
            }
            let found = memchr2(b'<', b'\\', rest);
            work::done(found.map_or(rest.len(), |found| found + 1));
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
                        .is_none_or(|&next| next == b'/' || self.grammar.can_follow_angle(next))
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

    // Past a limit.

    /// Ends the call at `cut`; what is left of its payload follows as discarded pieces.
    fn overflow(&mut self, mut call: Box<Call>, rest: Phase, cut: usize, excess: Excess) -> Flow {
        self.report(&mut call, cut);
        self.report_end(&call, cut, cut, Outcome::TooLarge(excess));
        self.machine.from = cut;
        self.machine.pos = cut;
        call.overflow = true;
        self.resume(call, rest)
    }

    fn excess(&mut self, mut call: Box<Call>, mut skim: Skim) -> Flow {
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match self.call_tag(&mut tag, &call, true) {
                    Match::More => {
                        self.machine.tag = Some(tag);
                        break;
                    }
                    Match::Close => {
                        let end = self.machine.pos;
                        return self.end_call(&call, tag.start, end, Outcome::Broken);
                    }
                    Match::Open { .. } => {
                        return self.end_call(&call, tag.start, tag.start, Outcome::Broken);
                    }
                    Match::Fail => self.machine.pos = tag.start + 1,
                }
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
                    let after = After { end: at, cut: at, fence: FenceSeen::No, since: at };
                    return self.after(call, after);
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

    // After the payload.

    fn after(&mut self, mut call: Box<Call>, mut after: After) -> Flow {
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

    /// A run of marks after the payload has ended. False if it is no fence.
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
            // The fence around the call was closed inside it.
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

    // Reporting.

    /// Reports the payload up to `to`.
    fn report(&mut self, call: &mut Call, to: usize) {
        if call.overflow {
            self.discard(to, Discard::TooLarge);
        } else if to > call.reported {
            if self.grammar.options.deltas {
                let fragment = self.window.slice(call.reported, to);
                self.sink.take(Frame::CallDelta { index: call.index, fragment });
            }
            call.reported = to;
        }
    }

    fn report_end(&mut self, call: &Call, payload_end: usize, end: usize, outcome: Outcome) {
        let name = self.name(call);
        let found = Found {
            index: call.index,
            tool: call.tool,
            name,
            written: self.written(call).unwrap_or(name),
            raw: self.window.slice(self.machine.from, end),
            payload: self.window.slice(call.payload, payload_end),
            fenced: call.fenced,
            outcome,
            lone_surrogates: call.json.lone_surrogates(),
        };
        self.sink.take(Frame::CallEnd(found));
    }

    /// Ends the call at `end`, its payload at `payload_end`, and reads on as text.
    fn end_call(&mut self, call: &Call, payload_end: usize, end: usize, outcome: Outcome) -> Flow {
        if call.overflow {
            self.discard(end, Discard::TooLarge);
        } else {
            if self.grammar.options.deltas && payload_end > call.reported {
                let fragment = self.window.slice(call.reported, payload_end);
                self.sink.take(Frame::CallDelta { index: call.index, fragment });
            }
            self.report_end(call, payload_end, end, outcome);
        }
        self.machine.from = end;
        self.machine.pos = end;
        self.machine.markdown.after_call();
        Flow::Again
    }

    /// The reply ended inside the call.
    fn unclosed(&mut self, call: &Call) -> Flow {
        let end = self.window.end();
        self.end_call(call, end, end, Outcome::Unclosed)
    }
}
