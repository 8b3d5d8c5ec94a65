//! The state of a chat, to which events are applied in order.

mod calls;

use std::collections::HashMap;

use super::{
    call::Outcome,
    entry::{Entry, EntryContent},
    event::{
        ErrorStreamEvent, EventBody, EventHead, RunStreamEvent, SelectionStreamEvent, StreamEvent,
    },
    snapshot::{
        ProblemKind, SnapshotProblem, SnapshotRaw, SnapshotRun, SnapshotScene, SnapshotSelection,
    },
};
/// Maximum number of problems that are kept.
pub(super) const MAX_PROBLEMS: usize = 100;

/// The state after a sequence of events, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) chat_id: Option<String>,
    pub(super) entries: Vec<Entry>,
    /// Positions in `entries`, for kinds of which several events make one message.
    found: [HashMap<String, usize>; 4],
    /// The latest call with each id, as the positions of its message and within it.
    latest: HashMap<String, (usize, usize)>,
    early: HashMap<CallKey, EarlyOutcome>,
    pub(super) runs: Vec<SnapshotRun>,
    run_at: HashMap<String, usize>,
    pub(super) scenes: Vec<SnapshotScene>,
    pub(super) selections: Vec<SnapshotSelection>,
    pub(super) raw: Vec<SnapshotRaw>,
    raw_at: HashMap<Option<String>, usize>,
    pub(super) problems: Vec<SnapshotProblem>,
    /// The number of events applied to this state, or to the one it was copied from.
    #[cfg(test)]
    pub(super) applied: usize,
}

/// The key of a call that an event refers to: its message, if known, and its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallKey {
    message_id: Option<String>,
    tool_call_id: String,
}

/// The outcome of a call that has not arrived.
#[derive(Clone, Debug)]
struct EarlyOutcome {
    /// The first event that referred to it.
    since: u64,
    outcome: Outcome,
}

/// Kinds of messages that are built from several events.
#[derive(Clone, Copy)]
enum Group {
    Text,
    Reasoning,
    Calls,
    Usage,
}

impl State {
    /// Apply the event with this number, which is larger than all previous ones.
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
                for (position, reported) in event.tool_calls.into_iter().enumerate() {
                    self.add_call(message, number, &head, position, reported);
                }
            }
            EventBody::ToolsAggregate(event) => self.add_aggregate(number, head, event),
            EventBody::ToolResult(event) => self.add_result(number, &head, event),
            EventBody::ToolState(event) => self.add_state(number, &head, event),
            EventBody::Usage(event) => {
                let new = || EntryContent::Usage(event.clone());
                let position = self.entry_at(Group::Usage, number, &mut head, new);
                let entry = &mut self.entries[position];
                entry.content = EntryContent::Usage(event);
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
                let content = EntryContent::Unknown { kind, fields };
                self.entries.push(Entry::new(id, number, &mut head, content, done));
            }
        }
    }

    /// Return the run with this id.
    pub(super) fn run(&self, id: Option<&String>) -> Option<&SnapshotRun> {
        self.run_at.get(id?).map(|&position| &self.runs[position])
    }

    /// Return a problem for each call that events refer to but that has not arrived.
    pub(super) fn missing_calls(&self) -> Vec<SnapshotProblem> {
        let missing_calls = self.early.iter().map(|(key, early)| SnapshotProblem {
            kind: ProblemKind::NoCall,
            sequence_number: early.since,
            tool_call_id: Some(key.tool_call_id.clone()),
        });
        missing_calls.collect()
    }

    fn problem(&mut self, kind: ProblemKind, number: u64, call: Option<&str>) {
        if self.problems.len() < MAX_PROBLEMS {
            let tool_call_id = call.map(str::to_owned);
            self.problems.push(SnapshotProblem { kind, sequence_number: number, tool_call_id });
        }
    }

    /// Return the position of the message to which an event belongs, creating it if necessary.
    fn entry_at(
        &mut self,
        group: Group,
        number: u64,
        head: &mut EventHead,
        new: impl FnOnce() -> EntryContent,
    ) -> usize {
        let id = head.message_id.take().unwrap_or_default();
        let done = head.done == Some(true);
        let found = &mut self.found[group as usize];
        if let Some(&position) = found.get(&id) {
            self.entries[position].merge(head, done);
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
        let position = self.entry_at(group, number, &mut head, || match group {
            Group::Reasoning => EntryContent::Reasoning(String::new()),
            _ => EntryContent::Text(String::new()),
        });
        let content = &mut self.entries[position].content;
        if let EntryContent::Text(text) | EntryContent::Reasoning(text) = content {
            text.push_str(delta);
        }
    }

    fn add_error(&mut self, number: u64, mut head: EventHead, event: ErrorStreamEvent) {
        let id = head.message_id.take().unwrap_or_else(|| format!("error.{number}"));
        self.entries.push(Entry::new(id, number, &mut head, EntryContent::Error(event), true));
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
}
