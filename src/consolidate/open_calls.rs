//! Calls without results.

use std::collections::{HashMap, VecDeque};

use crate::message::{Content, Role, ToolCall};

/// The open calls of the last turn, by name.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    ids: HashMap<String, VecDeque<String>>,
    count: usize,
    /// True if another party has had a turn since the assistant.
    is_answered: bool,
}

impl OpenCalls {
    /// Record the role of a message, and the calls and results in messages that are not text.
    pub(super) fn observe(&mut self, role: Role, content: &Content) {
        match (role, content) {
            (_, Content::Usage(_) | Content::Unknown { .. }) => return,
            (Role::System, _) => *self = Self::default(),
            (Role::Assistant, _) if self.is_answered => *self = Self::default(),
            _ => {}
        }
        self.is_answered = !matches!(role, Role::System | Role::Assistant);
        for call in content.calls() {
            self.add(call);
        }
        for result in content.results() {
            self.answered(&result.name, &result.tool_call_id);
        }
    }

    pub(super) fn add(&mut self, call: &ToolCall) {
        self.ids.entry(call.name.clone()).or_default().push_back(call.id.clone());
        self.count += 1;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Close the first open call of this name, and return its id.
    pub(super) fn answer(&mut self, name: &str) -> Option<String> {
        let id = self.ids.get_mut(name)?.pop_front()?;
        self.count -= 1;
        Some(id)
    }

    /// Close the call with this id.
    pub(super) fn answered(&mut self, name: &str, id: &str) {
        if let Some(ids) = self.ids.get_mut(name)
            && let Some(at) = ids.iter().position(|open_calls| open_calls == id)
        {
            ids.remove(at);
            self.count -= 1;
        }
    }
}
