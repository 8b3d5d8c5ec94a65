//! Ids of calls, unique in their conversation.

use std::collections::HashSet;

use crate::parser::CallId;

/// The ids of a conversation.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    taken: HashSet<String>,
}

const LENGTH: usize = 24;

impl CallIds {
    pub(super) fn new<'a>(ids: impl Iterator<Item = &'a str>) -> Self {
        Self { taken: ids.map(str::to_owned).collect() }
    }

    /// Return the id of a call: its own, or a new one if it has none or the conversation has it.
    pub(super) fn assign(&mut self, own: Option<CallId<String>>) -> String {
        let own = own.map(|id| match id {
            CallId::Provided(id) | CallId::Written(id) => id,
        });
        let mut id = own.filter(|id| !id.is_empty()).unwrap_or_else(new_id);
        while !self.taken.insert(id.clone()) {
            id = new_id();
        }
        id
    }
}

/// Return a new id, in the form of `OpenAI`'s.
fn new_id() -> String {
    let random = std::iter::repeat_with(fastrand::alphanumeric);
    "call_".chars().chain(random.take(LENGTH)).collect()
}
