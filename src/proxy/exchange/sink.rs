//! The receiver of the upstream's events: passes on what is certain, keeps what is invalid.

use std::{collections::HashSet, fmt::Write as _, mem::take, sync::Arc};

use serde_json::Value;

use super::{
    correction::{self, Correction, InvalidCall},
    ids::CallIds,
    open::{OpenCall, OpenCalls, Passing},
    raw::RawReply,
};
use crate::{
    calls::{CallOutcome, InvalidKind},
    endpoint::{Event, EventSink},
    message::{FinishReason, NATIVE, UsageUpdate},
    parser::{CallId, Discard},
    proxy::{
        error::ApiError,
        output::Output,
        part::{Call, Notice, Part, ReplyWriter},
        request::{ChatRequest, Choice},
    },
};

/// The receiver of all replies to one request of a client.
pub(super) struct ReplySink {
    writer: Box<dyn ReplyWriter>,
    output: Arc<Output>,
    ids: CallIds,
    open: OpenCalls,
    /// The tools whose arguments are streamed as they are written.
    streamed: HashSet<String>,
    /// Calls that may be repetitions of one that is streamed.
    waiting: Vec<EndedCall>,
    choice: Choice,
    parallel: bool,
    /// True if the reply answers a correction: only its calls are of interest.
    corrects: bool,
    /// The reply as the model wrote it, without reasoning.
    reply: String,
    /// Calls that are to be corrected.
    invalid: Vec<InvalidCall>,
    /// Markup since the last text or call, to be shown with an invalid call. None directly behind
    /// one, where markup is that call's.
    markup: Option<String>,
    /// The number of invalid calls that were streamed.
    broken: usize,
    /// True if the reply ended within a call that was streamed.
    is_cut: bool,
    /// Valid calls, by name and arguments, with the way in which each was found.
    found: Vec<(String, Value, bool)>,
    /// The number of valid calls of all replies.
    pub(super) calls: usize,
    /// The number of calls that were recovered from the text.
    pub(super) recovered: usize,
    /// The dialect of the first of them.
    recovered_dialect: Option<&'static str>,
    /// The number of invalid calls in the text.
    unread: usize,
    /// The finish reason of the first reply.
    finish: Option<FinishReason>,
    /// The usage of the replies before, and of this one.
    usage: (Option<UsageUpdate>, Option<UsageUpdate>),
    notices: Vec<Notice>,
    /// The reply as it was sent, if it is recorded.
    pub(super) raw: Option<RawReply>,
}

/// A call that has ended.
struct EndedCall {
    id: Option<CallId<String>>,
    name: String,
    raw: String,
    recovered: bool,
    outcome: CallOutcome<Value>,
}

impl ReplySink {
    pub(super) fn new(
        request: &ChatRequest,
        writer: Box<dyn ReplyWriter>,
        output: Arc<Output>,
        stream_arguments: bool,
    ) -> Self {
        let tools = request.contracts.iter().map(|tool| tool.name.clone());
        let streamed = tools.filter(|_| stream_arguments && request.stream).collect();
        Self {
            writer,
            output,
            ids: CallIds::new(request.call_ids()),
            open: OpenCalls::default(),
            streamed,
            waiting: Vec::new(),
            choice: request.choice,
            parallel: request.parallel,
            corrects: false,
            reply: String::new(),
            invalid: Vec::new(),
            markup: Some(String::new()),
            broken: 0,
            is_cut: false,
            found: Vec::new(),
            calls: 0,
            recovered: 0,
            recovered_dialect: None,
            unread: 0,
            finish: None,
            usage: (None, None),
            notices: Vec::new(),
            raw: None,
        }
    }

    /// Return true if the reply, or a part of it, has been passed on.
    pub(super) fn has_begun(&self) -> bool {
        self.output.has_begun()
    }

    /// The tokens that all replies took.
    pub(super) fn usage(&self) -> Option<UsageUpdate> {
        match self.usage {
            (Some(before), Some(last)) => Some(UsageUpdate {
                input_tokens: before.input_tokens.saturating_add(last.input_tokens),
                output_tokens: before.output_tokens.saturating_add(last.output_tokens),
                cached_input_tokens: before
                    .cached_input_tokens
                    .saturating_add(last.cached_input_tokens),
                reasoning_tokens: before.reasoning_tokens.saturating_add(last.reasoning_tokens),
            }),
            (before, last) => before.or(last),
        }
    }

    /// Return the number of calls that are invalid still, or were when they were streamed.
    pub(super) fn invalid(&self) -> usize {
        self.invalid.len() + self.broken
    }

    /// Return the dialect of the first call that was recovered from the text.
    pub(super) fn recovered_dialect(&self) -> Option<&'static str> {
        self.recovered_dialect
    }

    /// Return true if the text has calls, all of which are invalid.
    pub(super) fn has_unread_calls(&self) -> bool {
        self.unread > 0 && self.calls == 0
    }

    /// Return true if the reply has no call, although it must have one and was not cut off.
    pub(super) fn lacks_call(&self) -> bool {
        let ended = matches!(self.finish, Some(FinishReason::Stop | FinishReason::ToolCalls));
        self.choice == Choice::Required && self.calls == 0 && self.invalid.is_empty() && ended
    }

    /// Return the turns that ask for a correction of the reply, if one is needed and possible.
    pub(super) fn correction(&mut self, tools: &[&str]) -> Option<Correction> {
        let answer = if self.invalid.iter().any(InvalidCall::is_correctable) {
            let invalid: Vec<_> =
                self.invalid.iter().filter(|call| call.is_correctable()).cloned().collect();
            correction::answer(&invalid)
        } else if self.lacks_call() {
            correction::call_is_missing(tools)
        } else {
            return None;
        };
        self.usage = (self.usage(), None);
        self.corrects = true;
        self.markup = Some(String::new());
        self.open.clear();
        Some(Correction { reply: take(&mut self.reply), answer })
    }

    /// End the reply: invalid calls become text, with a notice for each.
    pub(super) fn finish(&mut self) {
        for call in take(&mut self.invalid) {
            self.write(Part::Text(&call.raw));
            self.notices.push(call.notice());
        }
        if self.choice == Choice::Required && self.calls == 0 {
            let message = "the request requires a call, and the model made none".to_owned();
            self.notices.push(Notice::MissingToolCall { message });
        }
        for notice in take(&mut self.notices) {
            self.write(Part::Notice(&notice));
        }
        let reason = match self.finish.unwrap_or(FinishReason::Missing) {
            reason if self.is_cut && reason.cuts_off() => reason,
            // A call is complete even if what follows it was cut off.
            _ if self.calls > 0 => FinishReason::ToolCalls,
            FinishReason::ToolCalls => FinishReason::Stop,
            reason => reason,
        };
        let usage = self.usage();
        self.write(Part::Finish { reason, usage });
    }

    /// End a reply that broke off.
    pub(super) fn fail(&mut self, error: &ApiError) {
        let Self { writer, output, .. } = self;
        output.write(|out| writer.fail(error, out));
    }

    fn write(&mut self, part: Part<'_>) {
        let Self { writer, output, .. } = self;
        output.write(|out| writer.write(part, out));
    }

    fn call(&mut self, id: Option<CallId<String>>, name: &str, arguments: &Value) {
        if self.calls > 0 && !self.parallel {
            self.notices.push(Notice::OmittedToolCall { name: name.to_owned() });
            return;
        }
        if self.corrects {
            // In place of the call of this name, or else of the first one.
            let position = self.invalid.iter().position(|call| call.name == name);
            let position = position.or((!self.invalid.is_empty()).then_some(0));
            match position {
                Some(position) => drop(self.invalid.remove(position)),
                // A repetition of a call that was valid.
                None if self.calls > 0 => {
                    self.notices.push(Notice::OmittedToolCall { name: name.to_owned() });
                    return;
                }
                None => {}
            }
        }
        let id = self.ids.assign(id);
        let arguments = arguments.to_string();
        let index = self.calls;
        self.calls += 1;
        self.write(Part::Call(Call { index, id: &id, name, arguments: &arguments }));
    }

    /// Write a fragment of a call that is streamed.
    fn delta(&mut self, index: usize, fragment: &str) {
        let Some(call) = self.open.get_mut(index) else { return };
        if let Passing::Streamed { position, .. } = call.passing {
            return self.write(Part::CallDelta { index: position, fragment });
        }
        let Some(begun) = call.begun(fragment) else { return };
        call.passing = Passing::Whole;
        let (id, name, recovered) = (call.id.take(), call.name.clone(), call.recovered);
        let has_counterpart = self.open.streams_counterpart(&name, recovered)
            || self.found.iter().any(|(other, _, kind)| *other == name && *kind != recovered);
        if has_counterpart || (self.calls > 0 && !self.parallel) {
            if let Some(call) = self.open.get_mut(index) {
                call.id = id;
            }
            return;
        }
        let (id, position) = (self.ids.assign(id), self.calls);
        self.calls += 1;
        self.write(Part::CallStart { index: position, id: &id, name: &name });
        self.write(Part::CallDelta { index: position, fragment: &begun });
        if let Some(call) = self.open.get_mut(index) {
            call.passing = Passing::Streamed { position, id };
        }
    }

    /// End a call that was streamed.
    fn end_streamed(&mut self, position: usize, id: String, call: EndedCall) {
        let EndedCall { name, raw, recovered, outcome, .. } = call;
        let mut is_complete = true;
        match outcome {
            CallOutcome::Call { arguments, repairs } => {
                self.recovered += usize::from(recovered);
                self.found.push((name.clone(), arguments.clone(), recovered));
                if !repairs.is_empty() {
                    self.notices.push(Notice::UnrepairedToolCall { id, name, arguments });
                }
            }
            CallOutcome::Invalid { kind, violations, .. } => {
                self.broken += 1;
                is_complete = !matches!(kind, InvalidKind::Unclosed | InvalidKind::TooLarge);
                self.is_cut |= !is_complete;
                self.notices.push(InvalidCall { name, kind, raw, violations }.notice());
            }
        }
        self.write(Part::CallEnd { index: position, is_complete });
    }

    /// End a call that is passed on whole, unless one that is streamed may be the same.
    fn end_or_wait(&mut self, call: EndedCall) {
        if self.open.streams_counterpart(&call.name, call.recovered) {
            self.waiting.push(call);
        } else {
            self.end(call);
        }
    }

    /// End a call that is passed on whole.
    fn end(&mut self, call: EndedCall) {
        let EndedCall { id, name, raw, recovered, outcome } = call;
        match outcome {
            CallOutcome::Call { arguments, .. } => {
                if self.is_duplicate(&name, &arguments, recovered) {
                    return;
                }
                self.recovered += usize::from(recovered);
                self.call(id, &name, &arguments);
            }
            // Of a correction, nothing is shown but valid calls.
            CallOutcome::Invalid { .. } if self.corrects => {}
            CallOutcome::Invalid { kind, violations, .. } => {
                self.invalid.push(InvalidCall { name, kind, raw, violations });
            }
        }
    }

    /// Return true if the reply has the call twice: natively and in the text, where some servers
    /// leave calls that they have recognized. Two equal calls of the same kind are two calls.
    fn is_duplicate(&mut self, name: &str, arguments: &Value, recovered: bool) -> bool {
        let is_same = |(other, its_arguments, kind): &(String, Value, bool)| {
            other == name && its_arguments == arguments && *kind != recovered
        };
        if let Some(position) = self.found.iter().position(is_same) {
            self.found.swap_remove(position);
            return true;
        }
        self.found.push((name.to_owned(), arguments.clone(), recovered));
        false
    }

    /// Append a call to the reply, as text.
    fn keep(&mut self, name: &str, raw: &str, dialect: &str) {
        if dialect == NATIVE {
            // The arguments alone.
            let _ = write!(self.reply, "\n{name}({raw})");
        } else {
            self.reply.push_str(raw);
        }
    }
}

impl EventSink for ReplySink {
    fn put(&mut self, event: Event) {
        if let Some(raw) = &mut self.raw {
            raw.add(&event);
        }
        match event {
            Event::Text(text) => {
                self.reply.push_str(&text);
                if !text.trim_ascii().is_empty() {
                    self.markup = Some(String::new());
                }
                if !self.corrects {
                    self.write(Part::Text(&text));
                }
            }
            Event::Reasoning(text) if !self.corrects => self.write(Part::Reasoning(&text)),
            Event::Start { index, id, name, recovered } => {
                let is_streamed = self.streamed.contains(&name) && !self.corrects;
                let passing =
                    if is_streamed { Passing::Undecided(String::new()) } else { Passing::Whole };
                self.open.insert(index, OpenCall { id, name, recovered, passing });
            }
            Event::Delta { index, fragment } => self.delta(index, &fragment),
            Event::End { index, name, raw, recovered, dialect, outcome } => {
                self.keep(&name, &raw, dialect);
                if recovered && matches!(outcome, CallOutcome::Call { .. }) {
                    self.recovered_dialect = self.recovered_dialect.or(Some(dialect));
                }
                let is_unread = recovered && matches!(outcome, CallOutcome::Invalid { .. });
                self.unread += usize::from(is_unread);
                let (id, passing) = match self.open.remove(index) {
                    Some(call) => (call.id, call.passing),
                    None => (None, Passing::Whole),
                };
                let mut call = EndedCall { id, name, raw, recovered, outcome };
                if let (CallOutcome::Invalid { .. }, Some(markup)) = (&call.outcome, &self.markup) {
                    call.raw.insert_str(0, markup);
                }
                let invalid = self.invalid.len();
                if let Passing::Streamed { position, id } = passing {
                    self.end_streamed(position, id, call);
                    for call in take(&mut self.waiting) {
                        self.end_or_wait(call);
                    }
                } else {
                    self.end_or_wait(call);
                }
                self.markup = (self.invalid.len() == invalid).then(String::new);
            }
            Event::Discarded {
                raw,
                reason: Discard::BlockMarkup | Discard::Fence | Discard::OrphanClose,
            } => {
                match (&mut self.markup, self.invalid.last_mut()) {
                    (None, Some(call)) => {
                        let blank = &self.reply[self.reply.trim_ascii_end().len()..];
                        if !call.raw.ends_with(blank) {
                            call.raw.push_str(blank);
                        }
                        call.raw.push_str(&raw);
                    }
                    (markup, _) => markup.get_or_insert_default().push_str(&raw),
                }
                self.reply.push_str(&raw);
            }
            Event::Fabricated { name, .. } if !self.corrects => {
                self.notices.push(Notice::FabricatedResult { name });
            }
            Event::Usage(usage) => self.usage.1 = Some(usage),
            Event::Finish { reason, .. } if !self.corrects => self.finish = Some(reason),
            _ => {}
        }
    }

    async fn room(&mut self) {
        self.output.room().await;
    }
}
