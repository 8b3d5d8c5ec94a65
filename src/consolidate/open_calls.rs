//! Calls that wait for their results.

use std::collections::{HashMap, VecDeque};

use crate::message::{Content, Role, ToolCall};

/// The calls of a message that is no text.
pub(super) fn calls_of(content: &Content) -> &[ToolCall] {
    match content {
        Content::ToolCalls(calls) | Content::Aggregate { calls, .. } => calls,
        _ => &[],
    }
}

/// The calls of the last turn that wait for their results, by name.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    ids: HashMap<String, VecDeque<String>>,
    count: usize,
    /// Whether somebody has spoken since the assistant did.
    is_answered: bool,
}

impl OpenCalls {
    /// Takes note of who speaks, and of the calls and results in messages that are no text.
    pub(super) fn observe(&mut self, role: Role, content: &Content) {
        match (role, content) {
            (_, Content::Usage(_) | Content::Unknown { .. }) => return,
            (Role::System, _) => *self = Self::default(),
            (Role::Assistant, _) if self.is_answered => *self = Self::default(),
            _ => {}
        }
        self.is_answered = !matches!(role, Role::System | Role::Assistant);
        for call in calls_of(content) {
            self.add(call);
        }
        if let Content::ToolResults(results) | Content::Aggregate { results, .. } = content {
            for result in results {
                self.answered(&result.name, &result.tool_call_id);
            }
        }
    }

    pub(super) fn add(&mut self, call: &ToolCall) {
        self.ids.entry(call.name.clone()).or_default().push_back(call.id.clone());
        self.count += 1;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first call of this name, which waits no longer.
    pub(super) fn answer(&mut self, name: &str) -> Option<String> {
        let id = self.ids.get_mut(name)?.pop_front()?;
        self.count -= 1;
        Some(id)
    }

    /// The call with this id waits no longer.
    pub(super) fn answered(&mut self, name: &str, id: &str) {
        if let Some(ids) = self.ids.get_mut(name)
            && let Some(at) = ids.iter().position(|open_calls| open_calls == id)
        {
            ids.remove(at);
            self.count -= 1;
        }
    }
}
