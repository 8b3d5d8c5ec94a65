//! The state of a message.

use serde_json::{Map, Value};

use super::{
    call::Call,
    event::{ErrorStreamEvent, EventHead, RunStatus},
    snapshot::{SnapshotCall, SnapshotMessage, SnapshotRun},
};
use crate::message::{Role, Usage, slots::Slots};

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) role: Role,
    /// The sequence number of its first event.
    pub(super) number: u64,
    /// True if an event has marked it as done.
    pub(super) done: bool,
    pub(super) run_id: Option<String>,
    pub(super) generation_id: Option<String>,
    pub(super) from_agent: Option<String>,
    pub(super) metadata: Option<Map<String, Value>>,
    pub(super) content: EntryContent,
    /// The calls, if this is a message of calls.
    pub(super) calls: Calls,
}

#[derive(Clone, Debug)]
pub(super) enum EntryContent {
    Text(String),
    Reasoning(String),
    Calls,
    Usage(Usage),
    Error(ErrorStreamEvent),
    Unknown { kind: String, fields: Map<String, Value> },
}

/// The calls of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) list: Vec<Call>,
    /// The index of the positions in `list`.
    pub(super) slots: Slots,
    /// True if the aggregate has arrived.
    pub(super) is_aggregate: bool,
}

impl Entry {
    pub(super) fn new(
        id: String,
        number: u64,
        head: &mut EventHead,
        content: EntryContent,
        done: bool,
    ) -> Self {
        Self {
            id,
            role: head.role.unwrap_or(Role::Assistant),
            number,
            done,
            run_id: head.run_id.take(),
            generation_id: head.generation_id.take(),
            from_agent: head.from_agent.take(),
            metadata: head.metadata.take(),
            content,
            calls: Calls::default(),
        }
    }

    /// Fill in missing fields from a later event.
    pub(super) fn merge(&mut self, head: &mut EventHead, done: bool) {
        self.done |= done;
        self.run_id = self.run_id.take().or_else(|| head.run_id.take());
        self.generation_id = self.generation_id.take().or_else(|| head.generation_id.take());
        self.from_agent = self.from_agent.take().or_else(|| head.from_agent.take());
        self.metadata = self.metadata.take().or_else(|| head.metadata.take());
    }

    fn kind(&self) -> &str {
        match &self.content {
            EntryContent::Text(_) => "text",
            EntryContent::Reasoning(_) => "reasoning",
            EntryContent::Calls if self.calls.is_aggregate => "tools_aggregate",
            EntryContent::Calls => "tools_call",
            EntryContent::Usage(_) => "usage",
            EntryContent::Error(_) => "error",
            EntryContent::Unknown { kind, .. } => kind,
        }
    }

    pub(super) fn snapshot(
        &self,
        run: Option<&SnapshotRun>,
        timeout: Option<(u64, u64)>,
    ) -> SnapshotMessage {
        let is_over = run.is_some_and(|run| run.status == RunStatus::Finished);
        let mut out = SnapshotMessage {
            message_id: self.id.clone(),
            kind: self.kind().to_owned(),
            role: self.role,
            sequence_number: self.number,
            done: self.done || is_over,
            run_id: self.run_id.clone(),
            generation_id: self.generation_id.clone(),
            from_agent: self.from_agent.clone(),
            metadata: self.metadata.clone(),
            text: None,
            tool_calls: None,
            input_tokens: None,
            output_tokens: None,
            cached_input_tokens: None,
            cost: None,
            message: None,
            code: None,
            tool_call_id: None,
            unknown: None,
        };
        match &self.content {
            EntryContent::Text(text) | EntryContent::Reasoning(text) => {
                out.text = Some(text.clone());
            }
            EntryContent::Calls => {
                let calls = &self.calls;
                let shown: Vec<SnapshotCall> = calls
                    .list
                    .iter()
                    .enumerate()
                    .map(|(at, call)| call.snapshot(calls.slots.known_id(at), at, run, timeout))
                    .collect();
                let all_final = shown.iter().all(|call| call.state.is_final());
                out.done = calls.is_aggregate || (is_over && all_final);
                out.tool_calls = Some(shown);
            }
            EntryContent::Usage(usage) => {
                out.input_tokens = Some(usage.input_tokens);
                out.output_tokens = Some(usage.output_tokens);
                out.cached_input_tokens = Some(usage.cached_input_tokens);
                out.cost = usage.cost;
            }
            EntryContent::Error(error) => {
                out.message = Some(error.message.clone());
                out.code.clone_from(&error.code);
                out.tool_call_id.clone_from(&error.tool_call_id);
            }
            EntryContent::Unknown { fields, .. } => out.unknown = Some(fields.clone()),
        }
        out
    }
}
