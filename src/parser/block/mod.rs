//! Blocks of calls in dialects with markup of their own.
//!
//! A [`Reader`] for each kind of body finds, byte by byte, where names, payloads and calls begin and
//! end. This file turns what it finds into frames, and keeps the limits. Until the first call is
//! certain, nothing of the block is reported, and it may turn out to be text.

mod ahead;
mod arguments;
mod bare_keys;
mod envelopes;
mod harmony;
mod headed;
mod marks;
mod message;
mod object;
mod open;
mod pairs;
mod parameters;
mod python;
mod react;
mod reader;
mod shaped;
mod step;

pub use self::{
    bare_keys::BareKeys,
    envelopes::Envelopes,
    harmony::Harmony,
    headed::{Headed, Header},
    marks::Mark,
    pairs::Pairs,
    parameters::{CallName, CallTags, Parameters},
    python::Python,
    react::React,
};
use self::{
    open::Decision,
    reader::Reader,
    shaped::{Exact, Tail},
    step::{Input, Step},
};

use super::{
    dialect::Evidence,
    frame::{CallId, Discard, Excess, FoundCall, Frame, Outcome, Sink, Syntax},
    grammar::Grammar,
    machine::{Ending, Flow, Pass, Plain, State},
    markers::OpenedBlock,
    tag::TagMatch,
};

/// The calls inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// See [`Envelopes`].
    Envelopes(Envelopes),
    /// See [`Headed`].
    Headed(Headed),
    /// See [`Parameters`].
    Parameters(Parameters),
    /// See [`Pairs`].
    Pairs(Pairs),
    /// See [`Python`].
    Python(Python),
    /// See [`BareKeys`].
    BareKeys(BareKeys),
    /// See [`React`].
    React(React),
    /// See [`Harmony`].
    Harmony(Harmony),
    /// An empty body: the text that opens such a block closes what a damaged call has left open. It
    /// is markup once a block of the dialect has been read, or if the dialect is named.
    Stray,
}

/// A block that has been opened.
#[derive(Clone, Debug)]
pub(super) struct OpenBlock {
    /// Index of the opener.
    opener: usize,
    /// The match of the opener.
    tag: TagMatch,
    /// Start of the block, or end of the last call in it.
    start: usize,
    /// Position from which on the body is read.
    opened: usize,
    /// Position of the first byte there that is not white space, as far as it is known.
    begins: usize,
    /// End of the input when the form was last tried.
    tried: usize,
    /// True if the block is the first on its line.
    opens_line: bool,
    /// True if one of its calls has been reported.
    confirmed: bool,
    /// The form of the block and its reader, once the first bytes have decided.
    reading: Option<(OpenedBlock, Reader)>,
    call: Option<OpenCall>,
    /// Steps of a block that is not marked, which is reported as a whole.
    steps: Vec<Step>,
    /// The text after such a block.
    tail: Option<Tail>,
}

/// A call of an open block.
#[derive(Clone, Debug)]
struct OpenCall {
    /// True if the start of the call has been reported.
    started: bool,
    index: usize,
    tool: Option<usize>,
    written: Box<str>,
    id: Option<Box<str>>,
    /// Start and end of the payload, as far as they are known.
    payload: Option<usize>,
    payload_end: Option<usize>,
    /// End of the part that has been reported.
    reported: usize,
    /// True if the payload exceeded a limit and the end of the call has been reported.
    overflow: bool,
}

impl OpenCall {
    fn new() -> Self {
        Self {
            started: false,
            index: 0,
            tool: None,
            written: Box::default(),
            id: None,
            payload: None,
            payload_end: None,
            reported: 0,
            overflow: false,
        }
    }
}

impl OpenBlock {
    /// Return the kind of `chunk`, which begins at `pos`, if it simply continues the payload.
    pub(super) fn plain(&mut self, grammar: &Grammar, pos: usize, chunk: &str) -> Option<Plain> {
        let end = pos + chunk.len();
        let call = self.call.as_mut()?;
        let (_, reader) = self.reading.as_mut()?;
        let payload = call.payload.filter(|_| call.payload_end.is_none() && call.started)?;
        if call.reported != pos
            || end - payload >= grammar.limits().max_argument_bytes
            || !reader.try_extend(chunk.as_bytes(), pos)
        {
            return None;
        }
        call.reported = end;
        let plain = Plain::Fragment { index: call.index };
        Some(if grammar.options.deltas { plain } else { Plain::Nothing })
    }

    /// Return true unless a marker shows that this is a block.
    fn is_exact(&self) -> bool {
        self.reading.as_ref().is_some_and(|(form, _)| form.block.evidence != Evidence::Marked)
    }

    /// Return true if the name of the next call has been read.
    fn is_named(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.started || !call.written.is_empty())
            || self.steps.iter().any(|step| matches!(step, Step::Name { .. }))
    }

    /// Return the texts that close the block.
    fn closers(&self) -> &'static [&'static str] {
        self.reading.as_ref().map_or(&[], |(form, _)| form.block.close)
    }
}

/// The end of what may be read, if the input goes on beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The largest payload ends here.
    Payload(usize),
    /// The end of what may be held back without being a call.
    Held(usize),
}

impl Stop {
    fn at(self) -> usize {
        match self {
            Self::Payload(at) | Self::Held(at) => at,
        }
    }
}

impl<S: Sink> Pass<'_, S> {
    /// Continue an open block.
    pub(super) fn block(&mut self, mut block: Box<OpenBlock>) -> Flow {
        if block.reading.is_none() {
            match self.decide(&mut block) {
                Decision::Form(form) => {
                    let depth = self.grammar.limits().max_depth;
                    block.reading = Some((form, Reader::new(form.block, depth)));
                    self.machine.pos = block.opened;
                }
                Decision::None => return self.not_a_block(&block),
                Decision::NeedMore => {
                    self.hold_text(block.start);
                    self.machine.state = State::Block(block);
                    return Flow::NeedMore;
                }
            }
        }
        if block.tail.is_some() {
            return self.tail(block);
        }
        loop {
            let end = self.block_stop(&block);
            let input = Input {
                grammar: self.grammar,
                window: self.window,
                stop: end.map_or(self.window.end(), Stop::at),
                ending: if end.is_some() { None } else { self.ending },
                overflow: block.call.as_ref().is_some_and(|call| call.overflow),
            };
            let Some((_, reader)) = &mut block.reading else { return Flow::Again };
            let flow = match reader.read(input, &mut self.machine.pos) {
                Step::More => match end {
                    Some(Stop::Payload(at)) => {
                        // What may still be markup has to stay.
                        let certain = reader.held().unwrap_or(at).min(self.machine.pos);
                        let at = at.min(certain);
                        self.block_overflow(&mut block, at, Excess::Bytes);
                        continue;
                    }
                    Some(Stop::Held(_)) => return self.fail_block(&mut block),
                    None => return self.wait_block(block),
                },
                Step::Fail => return self.fail_block(&mut block),
                Step::Damaged(_) | Step::Message { .. } if block.is_exact() => {
                    return self.not_a_block(&block);
                }
                step if block.is_exact() => match self.exact_step(&mut block, step) {
                    Exact::More => None,
                    Exact::Ended => return self.tail(block),
                    Exact::NotABlock => return self.not_a_block(&block),
                },
                step => self.block_step(&mut block, step),
            };
            if let Some(flow) = flow {
                return flow;
            }
        }
    }

    /// Return the position up to which the open payload, or what is held back, may grow, if the
    /// input goes on beyond it.
    fn block_stop(&self, block: &OpenBlock) -> Option<Stop> {
        let limits = self.grammar.limits();
        let payload = |call: &OpenCall| call.payload.filter(|_| call.payload_end.is_none());
        let stop = match &block.call {
            Some(call) if call.overflow => return None,
            Some(call) => match (payload(call), call.payload_end) {
                (Some(from), _) => Stop::Payload(from.saturating_add(limits.max_argument_bytes)),
                (None, Some(end)) => Stop::Held(end.saturating_add(limits.max_tag_bytes)),
                (None, None) => Stop::Held(self.held_stop(block)),
            },
            None => Stop::Held(self.held_stop(block)),
        };
        match stop {
            _ if stop.at() >= self.window.end() => None,
            Stop::Payload(at) => Some(Stop::Payload(self.window.boundary(at))),
            Stop::Held(_) => Some(stop),
        }
    }

    /// Return the position at which a call that has not been reported must be known to be one.
    fn held_stop(&self, block: &OpenBlock) -> usize {
        let limits = self.grammar.limits();
        // The arguments in an envelope may come before the name.
        let body = block.reading.as_ref().map(|(form, _)| form.block.body);
        let may_be_long =
            block.is_named() || !block.is_exact() && matches!(body, Some(Body::Envelopes(_)));
        let payload = if may_be_long { limits.max_argument_bytes } else { 0 };
        block.start.saturating_add(limits.max_tag_bytes).saturating_add(payload)
    }

    /// Wait for more input, or end the reply.
    fn wait_block(&mut self, mut block: Box<OpenBlock>) -> Flow {
        if let Some(ending) = self.ending {
            return self.last_block(&mut block, ending);
        }
        if let Some(call) = &mut block.call
            && call.started
        {
            let certain = match &block.reading {
                Some((_, reader)) => reader.held().unwrap_or(self.machine.pos),
                None => self.machine.pos,
            };
            let certain = call.payload_end.unwrap_or(certain).min(self.machine.pos);
            self.block_delta(call, certain);
        } else if !block.confirmed {
            self.hold_text(block.start);
        }
        self.machine.state = State::Block(block);
        Flow::NeedMore
    }

    /// End the reply inside a block.
    fn last_block(&mut self, block: &mut OpenBlock, ending: Ending) -> Flow {
        let end = self.window.end();
        match block.call.as_ref().filter(|call| call.started) {
            Some(call) => {
                let complete = call.payload_end.is_some() && ending == Ending::Complete;
                let outcome = if complete {
                    Outcome::Whole { strict: false, implicit_close: true }
                } else {
                    Outcome::Unclosed
                };
                self.end_block_call(block, end, outcome);
                Flow::Again
            }
            None if block.confirmed => {
                self.discard(end, Discard::BlockMarkup);
                self.machine.pos = end;
                Flow::Again
            }
            None => self.not_a_block(block),
        }
    }

    /// Act on one step; return the flow if the block is over.
    fn block_step(&mut self, block: &mut OpenBlock, step: Step) -> Option<Flow> {
        match step {
            Step::More | Step::Fail => {}
            Step::Name { from, to } => {
                let written = self.window.slice(from, to);
                let tool = self.grammar.resolve(written);
                let call = block.call.get_or_insert_with(OpenCall::new);
                call.written = written.into();
                call.tool = tool;
            }
            Step::Id { .. } if block.call.as_ref().is_some_and(|call| call.overflow) => {}
            Step::Id { from, to } => {
                let id = self.window.slice(from, to);
                let call = block.call.get_or_insert_with(OpenCall::new);
                // The start of the call has been reported with its id, or without one.
                if !call.started {
                    call.id = Some(id.into());
                }
            }
            Step::Payload(at) => {
                let call = block.call.get_or_insert_with(OpenCall::new);
                call.payload = Some(at);
                call.reported = at;
                self.start_block_call(block);
            }
            Step::PayloadEnd(at) => {
                if let Some(call) = &mut block.call {
                    call.payload_end = Some(at);
                }
            }
            Step::CallEnd { at, outcome } => {
                self.start_block_call(block);
                self.end_block_call(block, at, outcome);
            }
            Step::Result { from, to, at } => self.block_result(block, from, to, at),
            Step::Excess(at, excess) => {
                self.block_overflow(block, at, excess);
            }
            Step::Markup(at) => {
                if block.confirmed {
                    self.discard(at, Discard::BlockMarkup);
                    block.start = at;
                }
            }
            Step::Message { at, content } => return Some(self.message(block, at, content)),
            Step::Damaged(at) => {
                return Some(self.damaged(block, at));
            }
            Step::Close(at) => {
                let at = at.max(self.machine.from);
                self.discard(at, Discard::BlockMarkup);
                return Some(self.leave_block(block, at));
            }
            Step::Leave(at) => {
                let at = at.max(self.machine.from);
                let since = block.start.min(at);
                // White space before what follows is text: its lines matter.
                let at = since + self.window.slice(since, at).trim_ascii_end().len();
                self.discard(at, Discard::BlockMarkup);
                return Some(self.leave_block(block, at));
            }
        }
        None
    }

    /// Report the start of the open call, if it has not been reported.
    fn start_block_call(&mut self, block: &mut OpenBlock) {
        if block.call.as_ref().is_none_or(|call| call.started) {
            return;
        }
        self.confirm_block(block);
        let Some(call) = &mut block.call else { return };
        call.started = true;
        call.index = self.machine.calls;
        self.machine.calls += 1;
        let name = call.tool.map_or(&*call.written, |tool| self.grammar.tool(tool));
        let id = call.id.as_deref().and_then(CallId::written);
        self.sink.take(Frame::CallStart { index: call.index, id, name, recovered: false });
    }

    /// Report a result that the model wrote itself.
    fn block_result(&mut self, block: &mut OpenBlock, from: usize, to: usize, at: usize) {
        block.call = None;
        self.confirm_block(block);
        let name = Some(self.window.slice(from, to)).filter(|name| !name.is_empty());
        let raw = self.window.slice(self.machine.from, at);
        self.sink.take(Frame::Fabricated { name, raw });
        self.machine.from = at;
        block.start = at;
    }

    /// Report the text before a block, which is one.
    fn confirm_block(&mut self, block: &mut OpenBlock) {
        if !block.confirmed {
            block.confirmed = true;
            self.machine.dialect = block.reading.as_ref().map(|(form, _)| form.dialect);
            self.unwrap_fence();
            self.emit_text(block.start);
            self.machine.orphan = None;
            self.machine.left = &[];
            self.machine.beginning = false;
            self.machine.markdown.stray_fence = false;
        }
    }

    /// Report the payload up to `to`.
    fn block_delta(&mut self, call: &mut OpenCall, to: usize) {
        if call.overflow {
            self.discard(to, Discard::TooLarge);
        } else if call.payload.is_some() && to > call.reported {
            if self.grammar.options.deltas {
                let fragment = self.window.slice(call.reported, to);
                self.sink.take(Frame::CallDelta { index: call.index, fragment });
            }
            call.reported = to;
        }
    }

    /// Report the end of the open call at `end`, with a payload that ends there at the latest.
    fn end_block_call(&mut self, block: &mut OpenBlock, end: usize, outcome: Outcome) {
        let Some(mut call) = block.call.take() else { return };
        // A payload beyond the limit may have been reported further than the call goes.
        let end = end.max(self.machine.from);
        let payload_end = call.payload_end.unwrap_or(end).min(end);
        self.block_delta(&mut call, payload_end);
        if call.overflow {
            self.discard(end, Discard::TooLarge);
        } else {
            self.report_block_call(block, &call, payload_end, end, outcome);
        }
        self.machine.from = end;
        block.start = end;
    }

    fn report_block_call(
        &mut self,
        block: &OpenBlock,
        call: &OpenCall,
        payload_end: usize,
        end: usize,
        outcome: Outcome,
    ) {
        let name = call.tool.map_or(&*call.written, |tool| self.grammar.tool(tool));
        let Some((form, reader)) = &block.reading else { return };
        let found = FoundCall {
            index: call.index,
            tool: call.tool,
            name,
            written: &call.written,
            raw: self.window.slice(self.machine.from, end),
            payload: call.payload.map_or("", |from| self.window.slice(from, payload_end)),
            fenced: reader.fenced(),
            outcome,
            lone_surrogates: reader.lone_surrogates(),
            id: call.id.as_deref(),
            dialect: form.dialect,
            syntax: reader.syntax(),
            recovered: false,
        };
        self.sink.take(Frame::CallEnd(found));
    }

    /// End the call, whose payload exceeds a limit, at `stop`. The rest of it is discarded.
    fn block_overflow(&mut self, block: &mut OpenBlock, stop: usize, excess: Excess) {
        let Some(mut call) = block.call.take() else { return };
        if !call.overflow {
            self.block_delta(&mut call, stop);
            self.report_block_call(block, &call, stop, stop, Outcome::TooLarge(excess));
            self.machine.from = stop;
            block.start = stop;
            call.overflow = true;
        }
        block.call = Some(call);
    }
}
