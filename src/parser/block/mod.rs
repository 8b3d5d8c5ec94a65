//! Blocks of calls in dialects with markup of their own.
//!
//! A [`Reader`] for each kind of body finds, byte by byte, where names, payloads and calls begin and
//! end. This file turns what it finds into frames, and keeps the limits. Until the first call is
//! certain, nothing of the block is reported, and it may turn out to be text.

mod ahead;
mod arguments;
mod bare_keys;
mod boundary;
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
mod read;
mod reader;
mod report;
mod shaped;
mod step;

pub use self::{
    bare_keys::BareKeys,
    boundary::Boundary,
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
    read::Read,
    reader::Reader,
    shaped::{Exact, Tail},
    step::{Input, Step},
};

use super::{
    dialect::Evidence,
    frame::{Discard, Excess, Outcome, Sink, Syntax},
    grammar::Grammar,
    machine::{Ending, Flow, Pass, Plain, State},
    markers::OpenedBlock,
    search::contains,
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
    /// See [`Boundary`].
    Boundary(Boundary),
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
    /// True if the opener is behind a quotation mark or the marks that close a fence, or in a block
    /// quote.
    quoted: bool,
    /// True if the block is the first on its line.
    opens_line: bool,
    /// True if one of its calls has been reported.
    confirmed: bool,
    /// The form of the block and its reader, once the first bytes have decided.
    reading: Option<(OpenedBlock, Reader)>,
    call: Option<OpenCall>,
    /// The byte at which the plain part of the payload ends, as the reader gave it when it ran out of
    /// input.
    ends_at: Option<u8>,
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
        let payload = call.payload.filter(|_| call.payload_end.is_none() && call.started)?;
        if call.reported != pos || end - payload >= grammar.limits().max_argument_bytes {
            return None;
        }
        let is_plain = match self.ends_at {
            Some(byte) => !contains(chunk.as_bytes(), byte),
            None => self.reading.as_mut()?.1.get_mut().try_extend(chunk.as_bytes(), pos),
        };
        if !is_plain {
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

    /// Return true if a call is reported when it ends, since its id may follow its arguments.
    fn has_late_ids(&self) -> bool {
        let body = self.reading.as_ref().map(|(form, _)| form.block.body);
        self.is_exact() || matches!(body, Some(Body::Envelopes(Envelopes { late_id: true, .. })))
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
                Decision::Form(OpenedBlock { block: form, .. })
                    if block.quoted && !matches!(form.body, Body::Boundary(_)) =>
                {
                    if form.close.is_empty() {
                        self.machine.markdown.quoted = true;
                    } else if !self.machine.markdown.quoted {
                        self.machine.quoted_until = form.close;
                    }
                    return self.quoted_mark(block.tag);
                }
                Decision::None if block.quoted => return self.quoted_mark(block.tag),
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
            let flow = match reader.get_mut().read(input, &mut self.machine.pos) {
                Step::More => match end {
                    Some(Stop::Payload(at)) => {
                        // What may still be markup has to stay.
                        let certain = reader.get().held().unwrap_or(at).min(self.machine.pos);
                        let at = at.min(certain);
                        self.block_overflow(&mut block, at, Excess::Bytes);
                        continue;
                    }
                    Some(Stop::Held(_)) => return self.fail_block(&mut block),
                    None => return self.wait_block(block),
                },
                Step::Fail => return self.fail_block(&mut block),
                Step::Damaged(_) | Step::Message { .. } | Step::Boundary { .. }
                    if block.is_exact() =>
                {
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
            let reader = block.reading.as_ref().map(|(_, reader)| reader.get());
            block.ends_at = reader.and_then(Read::ends_at);
            let certain = reader.and_then(Read::held).unwrap_or(self.machine.pos);
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
        self.start_if_payload(block);
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
}
