//! One call, from its opening tag to its end.
//!
//! The JSON of the payload says where it ends; tags are looked for only where JSON cannot
//! tell: before the payload, after it, and once it is broken. One file for each of these.

mod after;
mod before;
mod broken;
mod guard;
mod payload;
mod prose;

use self::{after::After, before::Before, guard::Guard};

use super::{
    escape::Escape,
    frame::{Discard, FoundCall, Frame, Outcome, Sink},
    grammar::{Closer, Grammar, Marker},
    json::{Json, Skim},
    machine::{Flow, Pass, Plain, State},
    tag::{Match, TagMatch, Wanted, attribute},
};

/// A call whose opening tag has been read.
#[derive(Clone, Debug)]
pub(in crate::parser) struct Call {
    tool: Option<usize>,
    /// The name as written, where that is not the tag itself.
    written: Option<Written>,
    closer: Closer,
    /// Where the opening tag stands, or the call before it in the same tag ended.
    start: usize,
    /// Where the opening tag ends.
    tag_end: usize,
    /// True if the opening tag is the first on its line.
    opens_line: bool,
    /// True if a fence was opened before the payload.
    fenced: bool,
    /// Where the payload begins.
    payload: usize,
    /// How much of it has been reported.
    reported: usize,
    /// True if it went past a limit, and its end has been reported.
    overflow: bool,
    index: usize,
    /// How the payload reads so far.
    json: Json,
    phase: Phase,
}

/// A name as written.
#[derive(Clone, Debug)]
enum Written {
    /// Between these two ends.
    At(usize, usize),
    /// In bytes that are no longer needed otherwise.
    Owned(Box<str>),
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Between the opening tag and the payload.
    Before(Before),
    /// In a body that is no JSON, waiting for the closing tag.
    Prose,
    /// In a body that may be markup of a page.
    Guard(Guard),
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

impl Call {
    /// What `chunk`, which stands at `pos`, is if it just goes on with the payload.
    #[inline]
    pub(in crate::parser) fn plain(
        &mut self,
        grammar: &Grammar,
        pos: usize,
        chunk: &str,
    ) -> Option<Plain> {
        let end = pos + chunk.len();
        if !matches!(self.phase, Phase::Payload)
            || self.reported != pos
            || end - self.payload >= grammar.limits().max_argument_bytes
            || !self.json.try_extend(chunk.as_bytes(), pos)
        {
            return None;
        }
        self.reported = end;
        let plain = Plain::Fragment { index: self.index };
        Some(if grammar.options.deltas { plain } else { Plain::Nothing })
    }

    pub(in crate::parser) fn new(
        tool: Option<usize>,
        written: Option<(usize, usize)>,
        closer: Closer,
        (start, tag_end): (usize, usize),
        max_depth: usize,
    ) -> Box<Self> {
        Box::new(Self {
            tool,
            written: written.map(|(from, to)| Written::At(from, to)),
            closer,
            start,
            tag_end,
            opens_line: false,
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
    pub(in crate::parser) fn begin(&mut self, mut call: Box<Call>, self_closing: bool) -> Flow {
        call.opens_line = self.machine.markdown.opens_line(call.start);
        if self_closing {
            return self.empty(call, self.machine.pos);
        }
        self.call(call)
    }

    /// Return true if the tag of `call` may be one of a page.
    fn may_be_markup(&self, call: &Call) -> bool {
        matches!(call.closer, Closer::Tool(tool) if self.grammar.is_html(tool))
    }

    /// Nothing stands in the tag, which ends at `end`.
    fn empty(&mut self, mut call: Box<Call>, end: usize) -> Flow {
        if self.may_be_markup(&call) && !call.opens_line {
            return self.not_a_tag(call.start);
        }
        self.confirm(&mut call);
        self.end_call(&call, call.payload, end, Outcome::Empty)
    }

    /// Read on in the call that is open.
    pub(in crate::parser) fn call(&mut self, call: Box<Call>) -> Flow {
        match call.phase {
            Phase::Before(before) => self.before(call, before),
            Phase::Prose => self.prose(call),
            Phase::Guard(guard) => self.guard(call, guard),
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

    /// Return the tag at hand, if it closes `call` or, where `open` says so, opens another.
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

    /// Return true if what stands at `at`, after a `<`, may be the closing tag of `call`.
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

    /// From here on it is a call, whatever comes.
    fn confirm(&mut self, call: &mut Call) {
        self.unwrap_fence();
        self.emit_text(call.start);
        self.machine.orphan = None;
        self.machine.markdown.stray_fence = false;
        call.index = self.machine.calls;
        self.machine.calls += 1;
        let name = self.name(call);
        self.sink.take(Frame::CallStart { index: call.index, id: None, name });
    }

    fn written<'c>(&self, call: &'c Call) -> Option<&'c str>
    where
        'a: 'c,
    {
        match call.written.as_ref()? {
            Written::At(from, to) => Some(self.window.slice(*from, *to)),
            Written::Owned(name) => Some(name),
        }
    }

    /// Return the name as written, in a form that outlives the bytes at hand.
    fn owned_name(&self, call: &Call) -> Option<Written> {
        self.written(call).map(|name| Written::Owned(name.into()))
    }

    /// Return the tool as registered, or else what the model took for one.
    fn name<'c>(&self, call: &'c Call) -> &'c str
    where
        'a: 'c,
    {
        match call.tool {
            Some(tool) => self.grammar.tool(tool),
            None => self.written(call).unwrap_or_default(),
        }
    }

    /// Report the payload up to `to`.
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
        let found = FoundCall {
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

    /// End the call at `end`, its payload at `payload_end`, and reads on as text.
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
        self.machine.markdown.after_call(call.opens_line);
        Flow::Again
    }

    /// The reply ended inside the call.
    fn unclosed(&mut self, call: &Call) -> Flow {
        let end = self.window.end();
        self.end_call(call, end, end, Outcome::Unclosed)
    }
}
