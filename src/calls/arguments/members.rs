//! The members of a JSON object while it is written.

use std::{borrow::Cow, collections::HashMap};

use super::literal::push_string;

/// Members in the order of their first occurrence; of several values of a key the last counts.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    members: Vec<(Cow<'a, str>, String)>,
    index: HashMap<String, usize>,
}

impl<'a> Members<'a> {
    /// Add a member, with its value as JSON text.
    pub(super) fn insert(&mut self, key: impl Into<Cow<'a, str>>, value: String) {
        let key = key.into();
        if let Some(&at) = self.index.get(&*key) {
            self.members[at].1 = value;
        } else {
            self.index.insert(key.to_string(), self.members.len());
            self.members.push((key, value));
        }
    }

    /// Return the object as JSON text.
    pub(super) fn into_json(self) -> String {
        let mut json = String::from("{");
        for (at, (key, value)) in self.members.iter().enumerate() {
            if at > 0 {
                json.push_str(", ");
            }
            push_string(&mut json, key);
            json.push_str(": ");
            json.push_str(value);
        }
        json.push('}');
        json
    }
}
