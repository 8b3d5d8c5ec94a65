//! What the events so far come to, taking in one after the other.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    call::{Answer, Call, Outcome, Whole},
    entry::{Entry, Said},
    event::{
        ErrorStreamEvent, EventBody, EventHead, RunStreamEvent, SelectionStreamEvent, StreamEvent,
        ToldCall, ToolResultStreamEvent, ToolStateStreamEvent, ToolsAggregateEvent,
    },
    snapshot::{
        ProblemKind, SnapshotProblem, SnapshotRaw, SnapshotRun, SnapshotScene, SnapshotSelection,
    },
};
use crate::message::{
    ErrorCode, ToolCall, ToolCallUpdate,
    wire::{CALLS, RESULTS},
};

/// How many problems are kept.
pub(super) const MAX_PROBLEMS: usize = 100;

/// All that a run of events in the order of their numbers has said.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) chat_id: Option<String>,
    pub(super) entries: Vec<Entry>,
    /// Positions in `entries`, for kinds of which several events make one message.
    found: [HashMap<String, usize>; 4],
    /// The latest call with an id, as positions of its message and in it.
    latest: HashMap<String, (usize, usize)>,
    waiting: HashMap<Awaited, Waiting>,
    pub(super) runs: Vec<SnapshotRun>,
    run_at: HashMap<String, usize>,
    pub(super) scenes: Vec<SnapshotScene>,
    pub(super) selections: Vec<SnapshotSelection>,
    pub(super) raw: Vec<SnapshotRaw>,
    raw_at: HashMap<Option<String>, usize>,
    pub(super) problems: Vec<SnapshotProblem>,
    /// How many events were taken in, this state or what it was copied from.
    #[cfg(test)]
    pub(super) applied: usize,
}

/// Which call something is heard of: its message, if that is known, and its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Awaited {
    message_id: Option<String>,
    tool_call_id: String,
}

/// What was heard of a call that has not come.
#[derive(Clone, Debug)]
struct Waiting {
    /// The first event that spoke of it.
    since: u64,
    outcome: Outcome,
}

/// Kinds of messages that are put together from several events.
#[derive(Clone, Copy)]
enum Group {
    Text,
    Reasoning,
    Calls,
    Usage,
}

impl State {
    /// Takes in the event with this number, which is larger than all before it.
    pub(super) fn apply(&mut self, number: u64, event: StreamEvent) {
        #[cfg(test)]
        {
            self.applied += 1;
        }
        let StreamEvent { mut head, body } = event;
        if let Some(chat_id) = head.chat_id.take()
            && *self.chat_id.get_or_insert_with(|| chat_id.clone()) != chat_id
        {
            self.problem(ProblemKind::OtherChat, number, None);
            return;
        }
        match body {
            EventBody::Text(event) => {
                self.add_text(Group::Text, number, head, &event.delta);
            }
            EventBody::Reasoning(event) => {
                self.add_text(Group::Reasoning, number, head, &event.delta);
            }
            EventBody::ToolsCallUpdate(event) => {
                let time = head.timestamp_utc;
                let message = self.calls_message(number, &mut head);
                for update in event.tool_call_updates {
                    self.add_fragment(message, number, time, update);
                }
            }
            EventBody::ToolsCall(event) => {
                let message = self.calls_message(number, &mut head);
                for (position, told) in event.tool_calls.into_iter().enumerate() {
                    self.add_call(message, number, &head, position, told);
                }
            }
            EventBody::ToolsAggregate(event) => self.add_aggregate(number, head, event),
            EventBody::ToolResult(event) => self.add_result(number, &head, event),
            EventBody::ToolState(event) => self.add_state(number, &head, event),
            EventBody::Usage(event) => {
                let new = || Said::Usage(event.clone());
                let entry = self.entry(Group::Usage, number, &mut head, new);
                entry.said = Said::Usage(event);
                entry.done = true;
            }
            EventBody::Error(event) => self.add_error(number, head, event),
            EventBody::Run(event) => self.add_run(head, event),
            EventBody::Scene(event) => self.scenes.push(SnapshotScene {
                sequence_number: number,
                timestamp_utc: head.timestamp_utc,
                run_id: head.run_id,
                generation_id: head.generation_id,
                step: event.step,
            }),
            EventBody::Selection(event) => self.add_selection(number, head, event),
            EventBody::Raw(event) => {
                let position = *self.raw_at.entry(head.generation_id).or_insert_with_key(|id| {
                    self.raw.push(SnapshotRaw { generation_id: id.clone(), text: String::new() });
                    self.raw.len() - 1
                });
                self.raw[position].text.push_str(&event.delta);
            }
            EventBody::Unknown { kind, fields } => {
                let id = head.message_id.take().unwrap_or_else(|| format!("{kind}.{number}"));
                let done = head.done == Some(true);
                let said = Said::Unknown { kind, fields };
                self.entries.push(Entry::new(id, number, &mut head, said, done));
            }
        }
    }

    /// The run with this id.
    pub(super) fn run(&self, id: Option<&String>) -> Option<&SnapshotRun> {
        self.run_at.get(id?).map(|&position| &self.runs[position])
    }

    /// The calls that were heard of and have not come.
    pub(super) fn missed(&self) -> Vec<SnapshotProblem> {
        let missed = self.waiting.iter().map(|(awaited, waiting)| SnapshotProblem {
            kind: ProblemKind::NoCall,
            sequence_number: waiting.since,
            tool_call_id: Some(awaited.tool_call_id.clone()),
        });
        missed.collect()
    }

    fn problem(&mut self, kind: ProblemKind, number: u64, call: Option<&str>) {
        if self.problems.len() < MAX_PROBLEMS {
            let tool_call_id = call.map(str::to_owned);
            self.problems.push(SnapshotProblem { kind, sequence_number: number, tool_call_id });
        }
    }

    /// The message that an event adds to, which is made if there is none.
    fn entry(
        &mut self,
        group: Group,
        number: u64,
        head: &mut EventHead,
        new: impl FnOnce() -> Said,
    ) -> &mut Entry {
        let position = self.entry_at(group, number, head, new);
        &mut self.entries[position]
    }

    fn entry_at(
        &mut self,
        group: Group,
        number: u64,
        head: &mut EventHead,
        new: impl FnOnce() -> Said,
    ) -> usize {
        let id = head.message_id.take().unwrap_or_default();
        let done = head.done == Some(true);
        let found = &mut self.found[group as usize];
        if let Some(&position) = found.get(&id) {
            self.entries[position].join(head, done);
            return position;
        }
        found.insert(id.clone(), self.entries.len());
        self.entries.push(Entry::new(id, number, head, new(), done));
        self.entries.len() - 1
    }

    fn add_text(&mut self, group: Group, number: u64, mut head: EventHead, delta: &str) {
        let known = head.message_id.as_ref().and_then(|id| self.found[group as usize].get(id));
        if !delta.is_empty() && known.is_some_and(|&position| self.entries[position].done) {
            self.problem(ProblemKind::AfterDone, number, None);
        }
        let entry = self.entry(group, number, &mut head, || match group {
            Group::Reasoning => Said::Reasoning(String::new()),
            _ => Said::Text(String::new()),
        });
        if let Said::Text(text) | Said::Reasoning(text) = &mut entry.said {
            text.push_str(delta);
        }
    }

    fn add_error(&mut self, number: u64, mut head: EventHead, event: ErrorStreamEvent) {
        let id = head.message_id.take().unwrap_or_else(|| format!("error.{number}"));
        self.entries.push(Entry::new(id, number, &mut head, Said::Error(event), true));
    }

    fn add_run(&mut self, head: EventHead, event: RunStreamEvent) {
        let position =
            *self.run_at.entry(head.run_id.unwrap_or_default()).or_insert_with_key(|id| {
                self.runs.push(SnapshotRun {
                    run_id: id.clone(),
                    status: event.status,
                    stop_reason: None,
                    error: None,
                });
                self.runs.len() - 1
            });
        let run = &mut self.runs[position];
        run.status = event.status;
        run.stop_reason = event.stop_reason;
        run.error = event.error;
    }

    fn add_selection(&mut self, number: u64, head: EventHead, event: SelectionStreamEvent) {
        self.selections.push(SnapshotSelection {
            sequence_number: number,
            timestamp_utc: head.timestamp_utc,
            run_id: head.run_id,
            generation_id: head.generation_id,
            tool: event.tool,
            score: event.score,
            fallback: event.fallback,
            calls: event.calls,
            duration: event.duration,
            ranking: event.ranking,
        });
    }

    // Calls.

    fn calls_message(&mut self, number: u64, head: &mut EventHead) -> usize {
        self.entry_at(Group::Calls, number, head, || Said::Calls)
    }

    fn add_fragment(
        &mut self,
        message: usize,
        number: u64,
        time: Option<u64>,
        update: ToolCallUpdate,
    ) {
        let id = update.tool_call_id.filter(|id| !id.is_empty());
        let name = update.function_name.filter(|name| !name.is_empty());
        let delta = update.function_args.unwrap_or_default();
        let calls = &mut self.entries[message].calls;
        let slot = calls.slots.of_fragment(id.as_deref(), update.index, name.is_some());
        if slot.is_new {
            calls.list.push(Call::default());
        }
        if let (true, Some(id)) = (slot.is_named, &id) {
            self.arrive(message, slot.position, id);
        }
        let calls = &mut self.entries[message].calls;
        let id = calls.slots.id(slot.position).map(str::to_owned);
        let call = &mut calls.list[slot.position];
        call.outcome.hear(time);
        call.index = call.index.or(update.index);
        if call.whole.is_some() {
            if !delta.is_empty() {
                self.problem(ProblemKind::LateFragment, number, id.as_deref());
            }
            return;
        }
        let mut renamed = false;
        if let Some(name) = name.filter(|name| *name != call.name) {
            if call.text.is_empty() {
                call.name.push_str(&name);
            } else {
                renamed = true;
            }
        }
        call.text.push_str(&delta);
        if renamed {
            self.problem(ProblemKind::Renamed, number, id.as_deref());
        }
    }

    fn add_call(
        &mut self,
        message: usize,
        number: u64,
        head: &EventHead,
        position: usize,
        told: ToldCall,
    ) {
        let id = told.call.id.clone();
        let call = self.whole(message, head, told.call.index, &id);
        if call.whole.is_some() {
            self.problem(ProblemKind::DuplicateCall, number, Some(&id));
        } else {
            let foreign_repairs = foreign_repairs(&head.extra, position);
            call.whole = Some(Whole { told, foreign_repairs });
        }
    }

    /// The call that a whole one is.
    fn whole(&mut self, message: usize, head: &EventHead, index: usize, id: &str) -> &mut Call {
        let calls = &mut self.entries[message].calls;
        let slot = calls.slots.of_call(id, Some(index));
        if slot.is_new {
            calls.list.push(Call::default());
        }
        if slot.is_named {
            self.arrive(message, slot.position, id);
        }
        let call = &mut self.entries[message].calls.list[slot.position];
        call.outcome.hear(head.timestamp_utc);
        call
    }

    /// A call has its id: what was heard of it meets it.
    fn arrive(&mut self, message: usize, position: usize, id: &str) {
        self.latest.insert(id.to_owned(), (message, position));
        if self.waiting.is_empty() {
            return;
        }
        let mut awaited = Awaited {
            message_id: Some(self.entries[message].id.clone()),
            tool_call_id: id.to_owned(),
        };
        let waiting = self.waiting.remove(&awaited).or_else(|| {
            awaited.message_id = None;
            self.waiting.remove(&awaited)
        });
        if let Some(mut waiting) = waiting {
            let call = &mut self.entries[message].calls.list[position];
            waiting.outcome.hear_of(&call.outcome);
            call.outcome = waiting.outcome;
        }
    }

    fn add_aggregate(&mut self, number: u64, mut head: EventHead, event: ToolsAggregateEvent) {
        let message = self.calls_message(number, &mut head);
        self.entries[message].calls.is_aggregate = true;
        for (position, given) in event.tool_calls.into_iter().enumerate() {
            self.add_aggregated(message, &head, position, given);
        }
        for (position, given) in event.tool_results.into_iter().enumerate() {
            let foreign = leftover(&head.extra, RESULTS, position, "errorCode");
            let known = given.error_code.map(ErrorCode::as_str);
            let answer = Answer {
                name: Some(given.name),
                result: given.result,
                is_error: given.is_error,
                error_code: known.or(foreign.and_then(Value::as_str)).map(str::to_owned),
                duration: given.duration,
            };
            let calls = &mut self.entries[message].calls;
            if let Some(position) = calls.slots.position(&given.tool_call_id) {
                calls.list[position].outcome.answer(answer, None);
            }
        }
    }

    /// A call of an aggregate: only what is not known is taken from it.
    fn add_aggregated(
        &mut self,
        message: usize,
        head: &EventHead,
        position: usize,
        given: ToolCall,
    ) {
        let id = given.id.clone();
        let call = self.whole(message, head, given.index, &id);
        match &mut call.whole {
            Some(whole) if whole.told.call.arguments.is_null() => {
                whole.told.call.arguments = given.arguments;
            }
            Some(_) => {}
            None => {
                let foreign_repairs = foreign_repairs(&head.extra, position);
                let told = ToldCall { call: given, invalid: None };
                call.whole = Some(Whole { told, foreign_repairs });
            }
        }
    }

    fn add_result(&mut self, number: u64, head: &EventHead, event: ToolResultStreamEvent) {
        let id = event.tool_call_id;
        let outcome = self.outcome(number, head, &id);
        if head.done != Some(true) {
            outcome.progress(event.result, head.timestamp_utc);
            return;
        }
        let answer = Answer {
            name: event.name,
            result: event.result,
            is_error: event.is_error,
            error_code: event.error_code,
            duration: event.duration,
        };
        if !outcome.answer(answer, head.timestamp_utc) {
            self.problem(ProblemKind::DuplicateResult, number, Some(&id));
        }
    }

    fn add_state(&mut self, number: u64, head: &EventHead, event: ToolStateStreamEvent) {
        let id = event.tool_call_id.clone();
        if !self.outcome(number, head, &id).tell(event, head.timestamp_utc) {
            self.problem(ProblemKind::UnknownState, number, Some(&id));
        }
    }

    /// What has become of the call that an event speaks of, which may still have to come.
    fn outcome(&mut self, number: u64, head: &EventHead, id: &str) -> &mut Outcome {
        let message_id = owner(head, id);
        let at = match &message_id {
            None => self.latest.get(id).copied(),
            Some(message_id) => {
                let message = self.found[Group::Calls as usize].get(message_id).copied();
                message.and_then(|message| {
                    Some((message, self.entries[message].calls.slots.position(id)?))
                })
            }
        };
        let outcome = if let Some((message, position)) = at {
            &mut self.entries[message].calls.list[position].outcome
        } else {
            let awaited = Awaited { message_id, tool_call_id: id.to_owned() };
            let waiting = self.waiting.entry(awaited);
            &mut waiting
                .or_insert_with(|| Waiting { since: number, outcome: Outcome::default() })
                .outcome
        };
        outcome.hear(head.timestamp_utc);
        outcome
    }
}

/// The message whose call an event speaks of, if it says so.
fn owner(head: &EventHead, tool_call_id: &str) -> Option<String> {
    if let Some(id) = &head.message_id {
        let suffix = format!("_result_{tool_call_id}");
        return Some(id.strip_suffix(suffix.as_str()).unwrap_or(id).to_owned());
    }
    head.generation_id.as_ref().map(|id| format!("{id}.calls"))
}

/// What is left of an item of a list after all was taken that this version knows.
fn leftover<'a>(
    extra: &'a Map<String, Value>,
    list: &str,
    position: usize,
    name: &str,
) -> Option<&'a Value> {
    extra.get(list)?.get(position)?.get(name)
}

fn foreign_repairs(extra: &Map<String, Value>, position: usize) -> Option<Vec<Value>> {
    leftover(extra, CALLS, position, "repairs")?.as_array().cloned()
}
