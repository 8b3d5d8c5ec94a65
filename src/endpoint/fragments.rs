//! Assignment of fragments to calls, tolerant of the ways in which servers number them.

use std::{borrow::Cow, collections::HashMap};

use super::chunk::Fragment;
use crate::message::ToolCallUpdate;

/// The native calls of one reply, as far as needed to assign fragments to them.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    calls: Vec<Call>,
    by_index: HashMap<i128, usize>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
struct Call {
    id: Option<String>,
    index: Option<i128>,
    name: String,
    /// True if everything known about the call has been emitted.
    emitted: bool,
    has_arguments: bool,
}

impl Fragments {
    /// Return the number of calls that have begun.
    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Return the fragment with its corrected index, or `None` if it adds nothing.
    pub(super) fn push(&mut self, fragment: Fragment<'_>) -> Option<ToolCallUpdate> {
        let (id, index) = (fragment.id.0, fragment.index.0);
        let mut name = fragment.function.name.0;
        let arguments = fragment.function.arguments.0.0;
        let number = match self.find(id.as_deref(), index, name.as_deref()) {
            None => self.begin(id, index),
            Some(number) => {
                self.set_id(number, id);
                number
            }
        };
        let call = &mut self.calls[number];
        if name.as_deref() == Some(&call.name) {
            name = None; // Some servers repeat it in each fragment.
        }
        if name.is_none() && arguments.is_none() && call.emitted {
            return None;
        }
        call.name.push_str(name.as_deref().unwrap_or_default());
        call.has_arguments |= arguments.is_some();
        call.emitted = true;
        Some(ToolCallUpdate {
            tool_call_id: call.id.clone(),
            index: Some(number),
            function_name: name.map(Cow::into_owned),
            function_args: arguments.map(Cow::into_owned),
        })
    }

    /// Return the call that a fragment belongs to, or `None` if it begins a new one.
    fn find(&self, id: Option<&str>, index: Option<i128>, name: Option<&str>) -> Option<usize> {
        let by_index = index.and_then(|index| self.by_index.get(&index).copied());
        if let Some(&known) = id.and_then(|id| self.by_id.get(id)) {
            // Ids may repeat, but not at one index.
            let begins = name.is_some() && index.is_some() && index != self.calls[known].index;
            return if begins { by_index } else { Some(known) };
        }
        if let Some(number) = by_index {
            let call = &self.calls[number];
            // The index is reused for a new call: with another id and a name or, without ids, with
            // another name after arguments have begun.
            let begins = if id.is_some() && call.id.is_some() {
                name.is_some()
            } else {
                call.has_arguments && name.is_some_and(|name| name != call.name)
            };
            return (!begins).then_some(number);
        }
        if index.is_none() && name.is_none() { self.calls.len().checked_sub(1) } else { None }
    }

    fn begin(&mut self, id: Option<Cow<'_, str>>, index: Option<i128>) -> usize {
        let number = self.calls.len();
        let mut id = id.map(Cow::into_owned);
        if let Some(id) = id.as_mut().filter(|id| self.by_id.contains_key(*id)) {
            *id = format!("{id}#{}", number + 1);
        }
        if let Some(index) = index {
            self.by_index.insert(index, number);
        }
        if let Some(id) = &id {
            self.by_id.insert(id.clone(), number);
        }
        self.calls.push(Call {
            id,
            index,
            name: String::new(),
            emitted: false,
            has_arguments: false,
        });
        number
    }

    /// Set the id of a call that has none.
    fn set_id(&mut self, number: usize, id: Option<Cow<'_, str>>) {
        let call = &mut self.calls[number];
        if let (None, Some(id)) = (&call.id, id) {
            self.by_id.insert(id.to_string(), number);
            call.id = Some(id.into_owned());
            call.emitted = false;
        }
    }
}
