//! Assignment of fragments to calls.

use std::collections::HashMap;

/// An index of the calls of one reply, by the ids and indexes of their fragments. An index refers
/// to the latest call for which it was used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// The ids, by position.
    ids: Vec<Option<String>>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<usize, usize>,
}

/// The position of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The position among the calls.
    pub(crate) position: usize,
    /// True if the call is new.
    pub(crate) is_new: bool,
    /// True if the call has just received its id.
    pub(crate) is_named: bool,
}

impl Slots {
    /// Return the id of a call, once one has arrived.
    pub(crate) fn id(&self, position: usize) -> Option<&str> {
        self.ids.get(position)?.as_deref()
    }

    /// Return the position of the call with this id.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Return the call to which a fragment belongs. `named` is true if the fragment names a tool.
    pub(crate) fn of_fragment(
        &mut self,
        id: Option<&str>,
        index: Option<usize>,
        named: bool,
    ) -> Slot {
        let position = match id {
            Some(id) => self.position(id).or_else(|| self.without_id(index)),
            None if index.is_some() => self.at(index),
            // Without id or index, the fragment continues the latest call, unless it has a name.
            None if named => None,
            None => self.ids.len().checked_sub(1),
        };
        let slot = self.take(position, id);
        if let Some(index) = index {
            self.by_index.insert(index, slot.position);
        }
        slot
    }

    /// Return the call to which a complete call belongs: the one with its id or, if an index is
    /// given, the one at that index if it has no id so far.
    pub(crate) fn of_call(&mut self, id: &str, index: Option<usize>) -> Slot {
        let position = self.position(id).or_else(|| self.without_id(index));
        self.take(position, Some(id))
    }

    /// Return the id of a call or, until it has one, a placeholder that is always the same.
    pub(crate) fn known_id(&self, position: usize) -> String {
        if let Some(id) = self.id(position) {
            return id.to_owned();
        }
        let mut id = format!("call_{position}");
        while self.by_id.contains_key(&id) {
            id.push('_');
        }
        id
    }

    fn at(&self, index: Option<usize>) -> Option<usize> {
        self.by_index.get(&index?).copied()
    }

    /// Return the call at an index, if it has no id so far. If it has one, the provider reuses the
    /// index for a new call.
    fn without_id(&self, index: Option<usize>) -> Option<usize> {
        self.at(index).filter(|&position| self.id(position).is_none())
    }

    /// Return a known call or a new one, and set its id if it has none.
    fn take(&mut self, known: Option<usize>, id: Option<&str>) -> Slot {
        let position = known.unwrap_or(self.ids.len());
        if known.is_none() {
            self.ids.push(None);
        }
        let is_named = self.ids[position].is_none() && id.is_some();
        if let (true, Some(id)) = (is_named, id) {
            self.ids[position] = Some(id.to_owned());
            self.by_id.insert(id.to_owned(), position);
        }
        Slot { position, is_new: known.is_none(), is_named }
    }
}
