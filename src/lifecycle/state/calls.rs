//! Calls and their outcomes.

use serde_json::{Map, Value};

use super::{CallKey, EarlyOutcome, Group, State};
use crate::{
    lifecycle::{
        call::{Call, CallResult, Outcome, Whole},
        entry::EntryContent,
        event::{
            EventHead, ReportedCall, ToolResultStreamEvent, ToolStateStreamEvent,
            ToolsAggregateEvent,
        },
        snapshot::ProblemKind,
    },
    message::{
        ErrorCode, ToolCall, ToolCallUpdate,
        wire::{CALLS, RESULTS},
    },
};

impl State {
    pub(super) fn calls_message(&mut self, number: u64, head: &mut EventHead) -> usize {
        self.entry_at(Group::Calls, number, head, || EntryContent::Calls)
    }

    pub(super) fn add_fragment(
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
            self.assign_id(message, slot.position, id);
        }
        let calls = &mut self.entries[message].calls;
        let id = calls.slots.id(slot.position).map(str::to_owned);
        let call = &mut calls.list[slot.position];
        call.outcome.touch(time);
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

    pub(super) fn add_call(
        &mut self,
        message: usize,
        number: u64,
        head: &EventHead,
        position: usize,
        reported: ReportedCall,
    ) {
        let id = reported.call.id.clone();
        let call = self.whole(message, head, reported.call.index, &id);
        if call.whole.is_some() {
            self.problem(ProblemKind::DuplicateCall, number, Some(&id));
        } else {
            let unknown_repairs = unknown_repairs(&head.extra, position);
            call.whole = Some(Whole { reported, unknown_repairs });
        }
    }

    /// Return the call to which a complete one belongs.
    fn whole(&mut self, message: usize, head: &EventHead, index: usize, id: &str) -> &mut Call {
        let calls = &mut self.entries[message].calls;
        let slot = calls.slots.of_call(id, Some(index));
        if slot.is_new {
            calls.list.push(Call::default());
        }
        if slot.is_named {
            self.assign_id(message, slot.position, id);
        }
        let call = &mut self.entries[message].calls.list[slot.position];
        call.outcome.touch(head.timestamp_utc);
        call
    }

    /// Record the id of a call, and attach any outcome that arrived earlier.
    fn assign_id(&mut self, message: usize, position: usize, id: &str) {
        self.latest.insert(id.to_owned(), (message, position));
        if self.early.is_empty() {
            return;
        }
        let mut key = CallKey {
            message_id: Some(self.entries[message].id.clone()),
            tool_call_id: id.to_owned(),
        };
        let early = self.early.remove(&key).or_else(|| {
            key.message_id = None;
            self.early.remove(&key)
        });
        if let Some(mut early) = early {
            let call = &mut self.entries[message].calls.list[position];
            early.outcome.touch_from(&call.outcome);
            call.outcome = early.outcome;
        }
    }

    pub(super) fn add_aggregate(
        &mut self,
        number: u64,
        mut head: EventHead,
        event: ToolsAggregateEvent,
    ) {
        let message = self.calls_message(number, &mut head);
        self.entries[message].calls.is_aggregate = true;
        for (position, given) in event.tool_calls.into_iter().enumerate() {
            self.add_aggregated(message, &head, position, given);
        }
        for (position, given) in event.tool_results.into_iter().enumerate() {
            let foreign = leftover(&head.extra, RESULTS, position, "errorCode");
            let known = given.error_code.map(ErrorCode::as_str);
            let answer = CallResult {
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

    /// Add a call of an aggregate, which only fills in what is unknown.
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
            Some(whole) if whole.reported.call.arguments.is_null() => {
                whole.reported.call.arguments = given.arguments;
            }
            Some(_) => {}
            None => {
                let unknown_repairs = unknown_repairs(&head.extra, position);
                let reported = ReportedCall { call: given, invalid: None };
                call.whole = Some(Whole { reported, unknown_repairs });
            }
        }
    }

    pub(super) fn add_result(
        &mut self,
        number: u64,
        head: &EventHead,
        event: ToolResultStreamEvent,
    ) {
        let id = event.tool_call_id;
        let outcome = self.outcome(number, head, &id);
        if head.done != Some(true) {
            outcome.progress(event.result, head.timestamp_utc);
            return;
        }
        let answer = CallResult {
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

    pub(super) fn add_state(&mut self, number: u64, head: &EventHead, event: ToolStateStreamEvent) {
        let id = event.tool_call_id.clone();
        if !self.outcome(number, head, &id).apply_state(event, head.timestamp_utc) {
            self.problem(ProblemKind::UnknownState, number, Some(&id));
        }
    }

    /// Return the outcome of the call that an event refers to, even if the call has not arrived
    /// yet.
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
            let key = CallKey { message_id, tool_call_id: id.to_owned() };
            let early = self.early.entry(key);
            &mut early
                .or_insert_with(|| EarlyOutcome { since: number, outcome: Outcome::default() })
                .outcome
        };
        outcome.touch(head.timestamp_utc);
        outcome
    }
}

/// Return the id of the message whose call an event refers to, if it says so.
fn owner(head: &EventHead, tool_call_id: &str) -> Option<String> {
    if let Some(id) = &head.message_id {
        let suffix = format!("_result_{tool_call_id}");
        return Some(id.strip_suffix(suffix.as_str()).unwrap_or(id).to_owned());
    }
    head.generation_id.as_ref().map(|id| format!("{id}.calls"))
}

/// Return the field that remains of a list item after all known fields were taken.
fn leftover<'a>(
    extra: &'a Map<String, Value>,
    list: &str,
    position: usize,
    name: &str,
) -> Option<&'a Value> {
    extra.get(list)?.get(position)?.get(name)
}

fn unknown_repairs(extra: &Map<String, Value>, position: usize) -> Option<Vec<Value>> {
    leftover(extra, CALLS, position, "repairs")?.as_array().cloned()
}
