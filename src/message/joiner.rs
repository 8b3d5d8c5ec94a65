//! Assembly of messages from a stream of updates.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Content, Envelope, Message, Usage,
    call::{NATURAL, ToolCall, ToolResult},
    names::{FinishReason, Role},
    problem::Problem,
    slots::{Slot, Slots},
    update::{ToolCallUpdate, Update},
};

/// A builder of messages from the updates of one reply and the results of its calls.
///
/// Results may arrive before their calls, late or repeatedly, and ids with any fragment of a call.
/// The messages depend neither on that nor on how the input was split. They are in the order of
/// writing, where a call is at the position of its first fragment. Calls share a message unless
/// text or reasoning is between them; white space between two calls is moved to the beginning of
/// the text after them.
#[derive(Clone, Debug)]
pub struct Joiner {
    envelope: Envelope,
    blocks: Vec<Block>,
    /// True if the last block is a text of only white space so far.
    blank: bool,
    calls: Vec<Call>,
    /// The index of the positions in `calls`.
    slots: Slots,
    results: Vec<ToolResult>,
    /// Positions in `results`, by the id of the call.
    result_of: HashMap<String, usize>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    problems: Vec<Problem>,
}

/// A message under construction.
#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Reasoning(String),
    /// The next calls in order: their number.
    Calls(usize),
}

#[derive(Clone, Debug)]
enum Call {
    /// A native call that is still streaming.
    Open {
        name: String,
        arguments: String,
    },
    Whole(ToolCall),
}

/// The output of a [`Joiner`].
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedReply {
    /// The messages of the reply, in order, followed by unmatched results and usage.
    pub messages: Vec<Message>,
    /// The reason why the reply ended.
    pub finish_reason: FinishReason,
    /// The ids of the calls in `messages` that have no result yet, in order.
    pub missing: Vec<String>,
    /// The problems found in the stream.
    pub problems: Vec<Problem>,
}

impl Default for Joiner {
    fn default() -> Self {
        Self::new()
    }
}

impl Joiner {
    /// Create a joiner for one reply.
    pub fn new() -> Self {
        Self::with_envelope(Envelope::new(Role::Assistant))
    }

    /// Create a joiner whose messages have this envelope.
    pub fn with_envelope(envelope: Envelope) -> Self {
        Self {
            envelope,
            blocks: Vec::new(),
            blank: false,
            calls: Vec::new(),
            slots: Slots::default(),
            results: Vec::new(),
            result_of: HashMap::new(),
            usage: None,
            finish: None,
            problems: Vec::new(),
        }
    }

    /// Push an update.
    pub fn push(&mut self, update: Update) {
        if self.finish.is_some() {
            self.check_after_finish(&update);
        }
        match update {
            Update::Text(delta) => match self.blocks.last_mut() {
                Some(Block::Text(text)) => {
                    self.blank = self.blank && is_blank(&delta);
                    text.push_str(&delta);
                }
                _ if delta.is_empty() => {}
                _ => {
                    self.blank = is_blank(&delta);
                    self.blocks.push(Block::Text(delta));
                }
            },
            Update::Reasoning(delta) => match self.blocks.last_mut() {
                Some(Block::Reasoning(text)) => text.push_str(&delta),
                _ if delta.is_empty() => {}
                _ => self.blocks.push(Block::Reasoning(delta)),
            },
            Update::ToolCallUpdate(update) => self.push_fragment(update),
            Update::ToolCall(call) => self.push_call(call),
            Update::ToolResult(result) => self.push_result(result),
            Update::Usage(update) => {
                // Updates are totals, and providers report input and output separately.
                let usage = self.usage.get_or_insert_default();
                usage.input_tokens = usage.input_tokens.max(update.input_tokens);
                usage.output_tokens = usage.output_tokens.max(update.output_tokens);
                usage.cached_input_tokens =
                    usage.cached_input_tokens.max(update.cached_input_tokens);
            }
            Update::Finish(reason) => {
                self.finish.get_or_insert(reason);
            }
        }
    }

    fn check_after_finish(&mut self, update: &Update) {
        let what = match update {
            Update::Text(_) => "text",
            Update::Reasoning(_) => "reasoning",
            Update::ToolCallUpdate(_) => "a fragment of a tool call",
            Update::ToolCall(_) => "a tool call",
            Update::Usage(_) => "usage",
            Update::ToolResult(_) => return,
            Update::Finish(reason) => {
                self.problems.push(Problem::SecondFinish { reason: *reason });
                return;
            }
        };
        self.problems.push(Problem::AfterFinish { what });
    }

    fn push_fragment(&mut self, update: ToolCallUpdate) {
        let name = update.function_name.filter(|name| !name.is_empty());
        let id = update.tool_call_id.filter(|id| !id.is_empty());
        let slot = self.slots.of_fragment(id.as_deref(), update.index, name.is_some());
        let open = || Call::Open { name: String::new(), arguments: String::new() };
        self.add_if_new(slot, open);
        let delta = update.function_args.unwrap_or_default();
        match &mut self.calls[slot.position] {
            Call::Open { name: known, arguments } => {
                if let Some(name) = name.filter(|name| name != known) {
                    if arguments.is_empty() {
                        known.push_str(&name);
                    } else {
                        self.problems.push(Problem::Renamed {
                            id: self.slots.id(slot.position).unwrap_or_default().to_owned(),
                            name: known.clone(),
                            other: name,
                        });
                    }
                }
                arguments.push_str(&delta);
            }
            Call::Whole(call) => {
                self.problems.push(Problem::LateFragment { id: call.id.clone(), text: delta });
            }
        }
    }

    fn add_if_new(&mut self, slot: Slot, call: impl FnOnce() -> Call) {
        if !slot.is_new {
            return;
        }
        match self.open_group() {
            Some(count) => *count += 1,
            None => self.blocks.push(Block::Calls(1)),
        }
        self.calls.push(call());
    }

    /// Return the size of the group of calls that a new call joins, if only white space has
    /// followed it.
    fn open_group(&mut self) -> Option<&mut usize> {
        let mut latest = self.blocks.iter_mut().rev();
        match latest.next()? {
            Block::Calls(count) => Some(count),
            Block::Text(_) if self.blank => match latest.next()? {
                Block::Calls(count) => Some(count),
                _ => None,
            },
            _ => None,
        }
    }

    fn push_call(&mut self, call: ToolCall) {
        let slot = self.slots.of_call(&call.id, None);
        if slot.is_new {
            self.add_if_new(slot, || Call::Whole(call));
            return;
        }
        match &mut self.calls[slot.position] {
            // The fragments belonged to this call.
            open @ Call::Open { .. } => *open = Call::Whole(call),
            Call::Whole(_) => {
                self.problems.push(Problem::DuplicateCall { call: Box::new(call) });
            }
        }
    }

    fn push_result(&mut self, result: ToolResult) {
        if self.result_of.contains_key(&result.tool_call_id) {
            self.problems.push(Problem::DuplicateResult { result });
        } else {
            self.result_of.insert(result.tool_call_id.clone(), self.results.len());
            self.results.push(result);
        }
    }

    /// Return the messages so far. More updates, such as late results, may be pushed afterwards,
    /// and this called again.
    pub fn finish(&self) -> JoinedReply {
        let finish_reason = self.finish.unwrap_or(FinishReason::Missing);
        let mut problems = self.problems.clone();
        let mut answered = vec![false; self.results.len()];
        let mut missing = Vec::new();
        let mut messages = Vec::new();
        let mut written = self.calls.iter().enumerate();
        for block in &self.blocks {
            messages.push(self.message(match block {
                Block::Text(text) => Content::Text(text.clone()),
                Block::Reasoning(text) => Content::Reasoning(text.clone()),
                Block::Calls(count) => {
                    let mut calls = Vec::new();
                    let mut results = Vec::new();
                    for (position, call) in written.by_ref().take(*count) {
                        let call = match self.close(position, call, finish_reason) {
                            Ok(call) => call,
                            Err(problem) => {
                                problems.push(problem);
                                continue;
                            }
                        };
                        match self.result_of.get(&call.id) {
                            None => missing.push(call.id.clone()),
                            Some(&result) => {
                                answered[result] = true;
                                results.push(self.results[result].clone());
                            }
                        }
                        calls.push(call);
                    }
                    match (calls.is_empty(), results.is_empty()) {
                        (true, _) => continue,
                        (_, true) => Content::ToolCalls(calls),
                        (_, false) => Content::Aggregate { calls, results },
                    }
                }
            }));
        }
        let mut unmatched: Vec<_> = self
            .results
            .iter()
            .zip(answered)
            .filter_map(|(result, answered)| (!answered).then_some(result.clone()))
            .collect();
        if !unmatched.is_empty() {
            // Incomplete calls are reported separately.
            let known = |id: &String| self.slots.position(id).is_none();
            problems.extend(
                unmatched
                    .iter()
                    .map(|stray| stray.tool_call_id.clone())
                    .filter(known)
                    .map(|id| Problem::NoCall { id }),
            );
            // A deterministic order, independent of the order of arrival.
            unmatched.sort_by(|a, b| a.tool_call_id.cmp(&b.tool_call_id));
            let mut message = self.message(Content::ToolResults(unmatched));
            message.envelope.role = Role::Tool;
            messages.push(message);
        }
        if let Some(usage) = &self.usage {
            messages.push(self.message(Content::Usage(usage.clone())));
        }
        JoinedReply { messages, finish_reason, missing, problems }
    }

    fn message(&self, content: Content) -> Message {
        Message { envelope: self.envelope.clone(), content }
    }

    fn close(
        &self,
        position: usize,
        call: &Call,
        finish_reason: FinishReason,
    ) -> Result<ToolCall, Problem> {
        let (name, text) = match call {
            Call::Whole(call) => return Ok(call.clone()),
            Call::Open { name, arguments } => (name, arguments),
        };
        let id = self.slots.known_id(position);
        let last = position + 1 == self.calls.len();
        if name.is_empty() {
            return Err(Problem::Unnamed { id, text: text.clone() });
        }
        let name = name.clone();
        let whole = |id, name, arguments| ToolCall {
            id,
            name,
            arguments,
            raw: text.clone(),
            index: position,
            repairs: Vec::new(),
            dialect: NATURAL,
            recovered: false,
        };
        let blank = text.trim_ascii().is_empty();
        // Providers send nothing if there are no arguments; a call that was cut off before its
        // arguments looks the same.
        if blank && !(last && finish_reason.cuts_off()) {
            return Ok(whole(id, name, Value::Object(Map::new())));
        }
        let reason = match serde_json::from_str(text) {
            // No object is a prefix of another, so this one is complete whatever follows.
            Ok(arguments @ Value::Object(_)) => return Ok(whole(id, name, arguments)),
            Ok(_) => "it has another type".to_owned(),
            Err(err) if err.is_eof() && finish_reason.cuts_off() => {
                return Err(Problem::Unclosed { id, name, text: text.clone() });
            }
            Err(err) => err.to_string(),
        };
        Err(Problem::InvalidArguments { id, name, text: text.clone(), reason })
    }
}

/// Return true if a text consists only of characters that Unicode or ASCII defines as separators of
/// words, lines or records.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|ch| ch.is_whitespace() || matches!(ch, '\u{1c}'..='\u{1f}'))
}
