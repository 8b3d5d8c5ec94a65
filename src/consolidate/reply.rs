//! A reply of the assistant, written in order as soon as it is final.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use super::{Form, parts::Parts};
use crate::message::{
    Envelope, FinishReason, NATURAL, ToolCall, ToolCallUpdate, ToolResult, is_blank,
    slots::{Slot, Slots},
};

/// A reply that may continue. Whatever follows an unfinished call waits for it.
#[derive(Debug)]
pub(super) struct Reply {
    /// The generation id, if the messages have one.
    generation: Option<String>,
    source: Source,
    /// Items that have not been written yet, in order.
    items: VecDeque<Item>,
    /// The kind of the last input.
    last: Last,
    /// White space after it, which becomes text only together with the text that follows.
    blank: String,
    /// All calls, by position.
    calls: Vec<Call>,
    slots: Slots,
    /// Calls that have been written, and whose results have not.
    unanswered: VecDeque<usize>,
    /// Envelopes of messages with results that have not been written yet.
    answered_by: Vec<Envelope>,
    /// Results that arrived before their calls.
    early: HashMap<String, ToolResult>,
}

/// The source of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Messages,
    /// A stream, which may still be running.
    Updates {
        is_running: bool,
    },
}

/// The kind of the last input, which determines what the next piece continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Streaming text.
    Text,
    Calls,
    /// Reasoning, a complete text, or nothing.
    Other,
}

#[derive(Debug)]
enum Item {
    /// A complete text.
    Text { envelope: Envelope, text: String },
    /// The unwritten rest of a streaming text.
    Streamed(String),
    /// Calls without text between them, with the envelope of their message.
    Calls { envelope: Option<Envelope>, positions: VecDeque<usize> },
}

#[derive(Debug)]
struct Call {
    state: State,
    result: Option<ToolResult>,
    /// True if the call has its result, or will have none.
    is_resolved: bool,
}

#[derive(Debug)]
enum State {
    /// A native call that is still streaming.
    Open {
        name: String,
        arguments: String,
    },
    /// A call that will arrive complete.
    Announced,
    Whole(ToolCall),
    /// A call that was dropped.
    Dropped,
}

// Input.

impl Reply {
    /// Create a reply that arrives as messages.
    pub(super) fn of_messages(generation: Option<String>) -> Self {
        Self::new(generation, Source::Messages)
    }

    /// Create a reply that streams.
    pub(super) fn of_updates() -> Self {
        Self::new(None, Source::Updates { is_running: true })
    }

    fn new(generation: Option<String>, source: Source) -> Self {
        Self {
            generation,
            source,
            items: VecDeque::new(),
            last: Last::Other,
            blank: String::new(),
            calls: Vec::new(),
            slots: Slots::default(),
            unanswered: VecDeque::new(),
            answered_by: Vec::new(),
            early: HashMap::new(),
        }
    }

    /// Return true if more of the reply may stream.
    pub(super) fn is_running(&self) -> bool {
        self.source == Source::Updates { is_running: true }
    }

    /// Return true if the reply belongs to this generation.
    pub(super) fn is_of(&self, generation: Option<&str>) -> bool {
        generation.is_some() && self.generation.as_deref() == generation
    }

    /// Return true if one of its calls has this id.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.slots.position(id).is_some()
    }

    /// Return true if these calls have streamed.
    pub(super) fn has_streamed(&self, calls: &[ToolCall]) -> bool {
        self.source != Source::Messages && calls.iter().any(|call| self.has_call(&call.id))
    }

    /// Add a complete text, which is written immediately if nothing is waiting.
    pub(super) fn add_text(&mut self, envelope: &Envelope, text: &str, parts: &mut Parts) {
        if self.items.is_empty() {
            return parts.add_text(envelope.clone(), text);
        }
        self.pause();
        self.items.push_back(Item::Text { envelope: envelope.clone(), text: text.to_owned() });
    }

    /// Add a piece of a text. White space between calls becomes part of the text that follows.
    pub(super) fn stream(&mut self, piece: &str) {
        match self.items.back_mut() {
            Some(Item::Streamed(text)) if self.last == Last::Text => text.push_str(piece),
            _ => {
                self.blank.push_str(piece);
                if !is_blank(piece) {
                    self.items.push_back(Item::Streamed(std::mem::take(&mut self.blank)));
                    self.last = Last::Text;
                }
            }
        }
    }

    /// End the current text: reasoning separates what comes before and after it.
    pub(super) fn pause(&mut self) {
        self.blank.clear();
        self.last = Last::Other;
    }

    /// Add the calls of a message. With `is_final`, those without a result stay pending.
    pub(super) fn call(
        &mut self,
        envelope: Envelope,
        calls: &[ToolCall],
        results: &[ToolResult],
        is_final: bool,
    ) {
        self.items.push_back(Item::Calls { envelope: Some(envelope), positions: VecDeque::new() });
        self.last = Last::Calls;
        for call in calls {
            self.whole(call.clone());
        }
        for result in results {
            self.answer(result.clone());
        }
        if is_final && let Some(Item::Calls { positions, .. }) = self.items.back() {
            for &position in positions {
                self.calls[position].is_resolved = true;
            }
        }
    }

    /// Update calls that have streamed from their message.
    pub(super) fn update_calls(&mut self, calls: &[ToolCall], results: &[ToolResult]) {
        for call in calls {
            self.whole(call.clone());
        }
        for result in results {
            self.answer_early(result.clone());
        }
    }

    /// Add a complete call. Fragments with the same id belong to it.
    pub(super) fn whole(&mut self, call: ToolCall) {
        let slot = self.slots.of_call(&call.id, None);
        self.add_if_new(slot, || State::Announced);
        let known = &mut self.calls[slot.position];
        if !matches!(known.state, State::Whole(_) | State::Dropped) {
            known.state = State::Whole(call);
        }
    }

    /// Reserve the position of a call that will arrive complete, or be dropped.
    pub(super) fn announce(&mut self, id: &str) {
        let slot = self.slots.of_call(id, None);
        self.add_if_new(slot, || State::Announced);
    }

    /// Add a fragment of a native call.
    pub(super) fn fragment(&mut self, update: ToolCallUpdate) {
        let name = update.function_name.filter(|name| !name.is_empty());
        let id = update.tool_call_id.filter(|id| !id.is_empty());
        let slot = self.slots.of_fragment(id.as_deref(), update.index, name.is_some());
        self.add_if_new(slot, || State::Open { name: String::new(), arguments: String::new() });
        if let State::Open { name: known, arguments } = &mut self.calls[slot.position].state {
            // The complete name may be repeated; a name after arguments is ignored.
            if let Some(name) = name.filter(|name| name != known && arguments.is_empty()) {
                known.push_str(&name);
            }
            arguments.push_str(&update.function_args.unwrap_or_default());
        }
    }

    fn add_if_new(&mut self, slot: Slot, state: impl FnOnce() -> State) {
        if slot.is_new {
            self.calls.push(Call { state: state(), result: None, is_resolved: false });
            if self.last != Last::Calls {
                self.blank.clear();
            }
            match self.items.back_mut() {
                Some(Item::Calls { positions, .. }) if self.last == Last::Calls => {
                    positions.push_back(slot.position);
                }
                _ => self.items.push_back(Item::Calls {
                    envelope: None,
                    positions: VecDeque::from([slot.position]),
                }),
            }
            self.last = Last::Calls;
        }
        if (slot.is_new || slot.is_named)
            && let Some(result) = self.slots.id(slot.position).and_then(|id| self.early.remove(id))
        {
            self.answer(result);
        }
    }

    /// Add the result of a call; return it if no call is waiting for it.
    pub(super) fn answer(&mut self, result: ToolResult) -> Option<ToolResult> {
        let position = self.slots.position(&result.tool_call_id);
        match position.map(|position| &mut self.calls[position]) {
            Some(call) if !call.is_resolved => {
                call.result = Some(result);
                call.is_resolved = true;
                None
            }
            _ => Some(result),
        }
    }

    /// Add a result that may have arrived before its call. A second one for a call is dropped.
    pub(super) fn answer_early(&mut self, result: ToolResult) {
        if let Some(result) = self.answer(result)
            && !self.has_call(&result.tool_call_id)
        {
            self.early.entry(result.tool_call_id.clone()).or_insert(result);
        }
    }

    /// Add the envelope of the message whose results were just added.
    pub(super) fn answered_by(&mut self, envelope: Envelope) {
        self.answered_by.push(envelope);
    }

    /// End the stream. A native call is complete if its arguments are.
    pub(super) fn stop(&mut self, reason: FinishReason) {
        self.source = Source::Updates { is_running: false };
        let last = self.calls.len().wrapping_sub(1);
        for (position, call) in self.calls.iter_mut().enumerate() {
            call.state = match std::mem::replace(&mut call.state, State::Dropped) {
                State::Open { name, arguments: text } if !name.is_empty() => {
                    let is_cut = position == last && reason.cuts_off();
                    let id = self.slots.known_id(position);
                    arguments_of(&text, is_cut).map_or(State::Dropped, |arguments| {
                        let (raw, repairs) = (text, Vec::new());
                        State::Whole(ToolCall {
                            id,
                            name,
                            arguments,
                            raw,
                            index: position,
                            repairs,
                            dialect: NATURAL,
                            recovered: false,
                        })
                    })
                }
                whole @ State::Whole(_) => whole,
                State::Open { .. } | State::Announced | State::Dropped => State::Dropped,
            };
        }
    }
}

/// Parse the arguments of a native call, empty text being `{}`. Return `None` if they are not an
/// object, or cut off.
fn arguments_of(text: &str, is_cut: bool) -> Option<Value> {
    if text.trim_ascii().is_empty() {
        return (!is_cut).then(|| Value::Object(Map::new()));
    }
    serde_json::from_str(text).ok().filter(Value::is_object)
}

// Output.

impl Reply {
    /// Return true if anything may still be inserted between the calls and their results.
    fn may_grow(&self) -> bool {
        match self.source {
            Source::Messages => self.generation.is_some(),
            Source::Updates { is_running } => is_running,
        }
    }

    /// Write everything that is final.
    pub(super) fn advance(&mut self, parts: &mut Parts) {
        self.write(parts, false);
    }

    /// Write the rest, since nothing more can arrive. Calls without a result are pending.
    pub(super) fn end(mut self, parts: &mut Parts) {
        if self.is_running() {
            self.stop(FinishReason::Missing);
        }
        self.write(parts, true);
        let void = self.calls.into_iter().filter(|call| matches!(call.state, State::Dropped));
        let mut unmatched_results: Vec<_> =
            self.early.into_values().chain(void.filter_map(|call| call.result)).collect();
        // They have no inherent order.
        unmatched_results.sort_by(|a, b| a.tool_call_id.cmp(&b.tool_call_id));
        parts.unmatched_results(None, &unmatched_results);
    }

    fn write(&mut self, parts: &mut Parts, is_over: bool) {
        let may_grow = !is_over && self.may_grow();
        while let Some(item) = self.items.pop_front() {
            let is_last = may_grow && self.items.is_empty();
            match item {
                Item::Text { envelope, text } => parts.add_text(envelope, &text),
                Item::Streamed(text) => {
                    parts.stream(&text);
                    if is_last && self.last == Last::Text {
                        self.items.push_front(Item::Streamed(String::new()));
                        break;
                    }
                    parts.pause();
                }
                Item::Calls { mut envelope, mut positions } => {
                    let is_written = match parts.form() {
                        Form::Single => {
                            self.write_pairs(&mut envelope, &mut positions, parts, is_over)
                        }
                        Form::Turn => self.write_calls(&mut envelope, &mut positions, parts),
                        // More calls may arrive, and all results follow them.
                        Form::Split if is_last && self.is_running() => false,
                        Form::Split => {
                            let is_ready =
                                |position: &usize| self.calls[*position].is_ready(is_over);
                            let is_written = positions.iter().all(is_ready)
                                && self.write_calls(&mut envelope, &mut positions, parts);
                            if is_written {
                                self.write_results(parts, true);
                            }
                            is_written
                        }
                    };
                    if !is_written {
                        self.items.push_front(Item::Calls { envelope, positions });
                        break;
                    }
                }
            }
        }
        if !may_grow && self.items.is_empty() {
            self.write_results(parts, is_over);
        }
    }

    /// Write each call with its result. Return true if all are written.
    fn write_pairs(
        &mut self,
        envelope: &mut Option<Envelope>,
        positions: &mut VecDeque<usize>,
        parts: &mut Parts,
        is_over: bool,
    ) -> bool {
        while let Some(&position) = positions.front() {
            let call = &mut self.calls[position];
            if !call.is_ready(is_over) {
                return false;
            }
            if let State::Whole(whole) = &call.state {
                if let Some(envelope) = envelope.take() {
                    parts.begin_calls(envelope);
                }
                if !self.answered_by.is_empty() {
                    parts.begin_results(self.answered_by.drain(..));
                }
                parts.pair(whole, call.result.take().as_ref());
                call.is_resolved = true;
            }
            positions.pop_front();
        }
        true
    }

    /// Write the calls alone. Return true if all are written.
    fn write_calls(
        &mut self,
        envelope: &mut Option<Envelope>,
        positions: &mut VecDeque<usize>,
        parts: &mut Parts,
    ) -> bool {
        while let Some(&position) = positions.front() {
            match &self.calls[position].state {
                State::Whole(call) => {
                    if let Some(envelope) = envelope.take() {
                        parts.begin_calls(envelope);
                    }
                    parts.call(call);
                    self.unanswered.push_back(position);
                }
                State::Dropped => {}
                State::Open { .. } | State::Announced => return false,
            }
            positions.pop_front();
        }
        true
    }

    /// Write the results of the calls that have been written, in order.
    fn write_results(&mut self, parts: &mut Parts, is_over: bool) {
        while let Some(&position) = self.unanswered.front() {
            let call = &mut self.calls[position];
            let State::Whole(whole) = &call.state else { return };
            if !call.is_ready(is_over) {
                return;
            }
            if !self.answered_by.is_empty() {
                parts.begin_results(self.answered_by.drain(..));
            }
            parts.answer(whole, call.result.take().as_ref());
            call.is_resolved = true;
            self.unanswered.pop_front();
        }
    }
}

impl Call {
    /// Return true if the call can be written with its result, or as pending at the end.
    fn is_ready(&self, is_over: bool) -> bool {
        match self.state {
            State::Whole(_) => self.is_resolved || is_over,
            State::Dropped => true,
            State::Open { .. } | State::Announced => false,
        }
    }
}
