//! Which call a fragment belongs to.

use std::collections::HashMap;

/// The calls of one reply by what their fragments say of themselves: an id, or an index that
/// stands for the call that it was last seen with, or neither.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// By position.
    ids: Vec<Option<String>>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<usize, usize>,
}

/// The place of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The position among the calls.
    pub(crate) position: usize,
    /// Whether the call was not there before.
    pub(crate) is_new: bool,
    /// Whether the call has got its id just now.
    pub(crate) is_named: bool,
}

impl Slots {
    /// The id of a call, once one has come.
    pub(crate) fn id(&self, position: usize) -> Option<&str> {
        self.ids.get(position)?.as_deref()
    }

    /// The position of the call with this id.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The call that a fragment is of. `named` says whether it names a tool.
    pub(crate) fn of_fragment(
        &mut self,
        id: Option<&str>,
        index: Option<usize>,
        named: bool,
    ) -> Slot {
        let position = match id {
            Some(id) => self.position(id).or_else(|| self.without_id(index)),
            None if index.is_some() => self.at(index),
            // Neither id nor index: more of the latest call, unless a new name begins one.
            None if named => None,
            None => self.ids.len().checked_sub(1),
        };
        let slot = self.take(position, id);
        if let Some(index) = index {
            self.by_index.insert(index, slot.position);
        }
        slot
    }

    /// The call that a whole call is: the one with its id or, if an index is given, the one at
    /// that index if it has no id so far.
    pub(crate) fn of_call(&mut self, id: &str, index: Option<usize>) -> Slot {
        let position = self.position(id).or_else(|| self.without_id(index));
        self.take(position, Some(id))
    }

    /// An id for a call that came without one: the same each time it is asked for.
    pub(crate) fn placeholder_id(&self, position: usize) -> String {
        let mut id = format!("call_{position}");
        while self.by_id.contains_key(&id) {
            id.push('_');
        }
        id
    }

    fn at(&self, index: Option<usize>) -> Option<usize> {
        self.by_index.get(&index?).copied()
    }

    /// The call at an index, if it has no id so far. If it has one, the provider uses the index
    /// again for a new call.
    fn without_id(&self, index: Option<usize>) -> Option<usize> {
        self.at(index).filter(|&position| self.id(position).is_none())
    }

    /// A known call or a new one, from now on with this id if it had none.
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
