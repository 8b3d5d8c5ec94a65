//! Events in any order, put into theirs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::{
    event::StreamEvent,
    snapshot::{ProblemKind, Snapshot, SnapshotProblem},
    state::{MAX_PROBLEMS, State},
};
use crate::message::{Message, MessageError, Place};

/// How many missing ranges are told.
const MAX_MISSING: usize = 100;

/// How long nothing may be heard of a call before it looks as if its time was over, in
/// milliseconds.
const PENDING_TIMEOUT: u64 = 60_000;

/// Turns the events of a chat, in whatever order and how often they come, into what they come to.
///
/// See the [module](super) for the rules.
#[derive(Clone, Debug)]
pub struct StreamReducer {
    pending_timeout: Option<u64>,
    /// The gapless beginning.
    base: State,
    /// The events of the gapless beginning, to tell another one with the same number.
    fingerprints: Vec<u64>,
    /// What came after a gap.
    after_gap: BTreeMap<u64, (u64, StreamEvent)>,
    /// `base` with the events of `after_gap` up to a number. Made when somebody asks for it.
    ahead: Option<(State, u64)>,
    /// Numbers that two different events have; the lowest ones.
    conflicts: BTreeSet<u64>,
}

impl Default for StreamReducer {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamReducer {
    /// A reducer for one chat, in which a call may be silent for a minute.
    pub fn new() -> Self {
        Self::with_pending_timeout(Some(PENDING_TIMEOUT))
    }

    /// A reducer in which a call may be silent for so many milliseconds, or for ever.
    pub fn with_pending_timeout(pending_timeout: Option<u64>) -> Self {
        Self {
            pending_timeout,
            base: State::default(),
            fingerprints: Vec::new(),
            after_gap: BTreeMap::new(),
            ahead: None,
            conflicts: BTreeSet::new(),
        }
    }

    /// Takes in one event; false if one with its number is there already.
    ///
    /// An event without a number is an error: nobody can tell where it belongs.
    pub fn push(&mut self, event: StreamEvent) -> Result<bool, MessageError> {
        let Some(number) = event.head.sequence_number.filter(|number| *number > 0) else {
            let place = Place::event().member("sequenceNumber");
            return Err(MessageError::Missing { place, expected: "a number from 1 up".into() });
        };
        let fingerprint = fingerprint(&event.to_json_value());
        let end = self.last_sequence_number();
        // Numbers up to the end are positions in a list.
        let position = usize::try_from(number - 1).ok();
        let known = position.and_then(|position| self.fingerprints.get(position).copied());
        let known =
            known.or_else(|| self.after_gap.get(&number).map(|(fingerprint, _)| *fingerprint));
        if let Some(known) = known {
            if known != fingerprint {
                self.conflicts.insert(number);
                if self.conflicts.len() > MAX_PROBLEMS {
                    self.conflicts.pop_last();
                }
            }
            return Ok(false);
        }
        if number == end + 1 {
            self.base.apply(number, event);
            self.fingerprints.push(fingerprint);
            if !self.after_gap.is_empty() {
                self.close_gap();
            }
        } else {
            if self.ahead.as_ref().is_some_and(|(_, upto)| number < *upto) {
                self.ahead = None;
            }
            self.after_gap.insert(number, (fingerprint, event));
        }
        Ok(true)
    }

    /// The gap after the beginning has become smaller: what follows without one joins it.
    fn close_gap(&mut self) {
        self.ahead = None;
        while let Some(first) = self.after_gap.first_entry() {
            let number = *first.key();
            if number != self.fingerprints.len() as u64 + 1 {
                break;
            }
            let (fingerprint, event) = first.remove();
            self.base.apply(number, event);
            self.fingerprints.push(fingerprint);
        }
    }

    /// The end of the gapless beginning: everything up to here has come.
    pub fn last_sequence_number(&self) -> u64 {
        self.fingerprints.len() as u64
    }

    /// What has not come although something after it has, as first and last number; the first
    /// hundred ranges.
    pub fn missing(&self) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let mut expected = self.last_sequence_number() + 1;
        for &number in self.after_gap.keys() {
            if number > expected {
                if missing.len() == MAX_MISSING {
                    break;
                }
                missing.push((expected, number - 1));
            }
            expected = number + 1;
        }
        missing
    }

    /// What the events so far come to. `now` is the time in milliseconds since 1970; without it,
    /// no call looks as if its time was over.
    pub fn snapshot(&mut self, now: Option<u64>) -> Snapshot {
        let timeout = self.pending_timeout.zip(now);
        let missing = self.missing();
        let conflicts: Vec<_> = self
            .conflicts
            .iter()
            .map(|&sequence_number| SnapshotProblem {
                kind: ProblemKind::Conflict,
                sequence_number,
                tool_call_id: None,
            })
            .collect();
        let last_sequence_number = self.last_sequence_number();
        let state = self.state();
        let mut problems = state.problems.clone();
        problems.extend(state.missing_calls());
        problems.extend(conflicts);
        problems.sort_by_key(|problem| problem.sequence_number);
        problems.truncate(MAX_PROBLEMS);
        let entries = state.entries.iter();
        Snapshot {
            chat_id: state.chat_id.clone(),
            last_sequence_number,
            missing,
            messages: entries
                .map(|entry| entry.snapshot(state.run(entry.run_id.as_ref()), timeout))
                .collect(),
            runs: state.runs.clone(),
            scenes: state.scenes.clone(),
            selections: state.selections.clone(),
            raw: state.raw.clone(),
            problems,
        }
    }

    /// The messages that the events so far come to, of one run or of all, as a store would keep
    /// them.
    ///
    /// Texts are there even if they were cut off, calls once they are whole, with the results
    /// that have come. The messages of a reply are in the order thoughts and texts, calls, usage.
    pub fn messages(&mut self, run_id: Option<&str>) -> Vec<Message> {
        super::messages::messages(self.state(), run_id)
    }

    /// What all events come to, gaps or not.
    fn state(&mut self) -> &State {
        if self.after_gap.is_empty() {
            return &self.base;
        }
        let (state, upto) =
            self.ahead.get_or_insert_with(|| (self.base.clone(), self.fingerprints.len() as u64));
        for (&number, (_, event)) in self.after_gap.range(*upto + 1..) {
            state.apply(number, event.clone());
            *upto = number;
        }
        state
    }

    /// How many events were taken in since the beginning, over and over ones included.
    #[cfg(test)]
    pub(super) fn applied_count(&mut self) -> usize {
        self.state().applied
    }
}

/// A number that is, as good as always, another one for another value. The order of members does
/// not count.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = Xxh3::new();
    hash(value, &mut hasher);
    hasher.digest()
}

fn hash(value: &Value, hasher: &mut Xxh3) {
    let text = |tag: u8, text: &str, hasher: &mut Xxh3| {
        hasher.update(&[tag]);
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    };
    let list = |tag: u8, length: usize, hasher: &mut Xxh3| {
        hasher.update(&[tag]);
        hasher.update(&length.to_le_bytes());
    };
    match value {
        Value::Null => hasher.update(&[0]),
        Value::Bool(value) => hasher.update(&[1 + u8::from(*value)]),
        Value::Number(number) => text(3, number.as_str(), hasher),
        Value::String(value) => text(4, value, hasher),
        Value::Array(items) => {
            list(5, items.len(), hasher);
            for item in items {
                hash(item, hasher);
            }
        }
        Value::Object(members) => {
            list(6, members.len(), hasher);
            let mut names: Vec<_> = members.keys().collect();
            names.sort_unstable();
            for name in names {
                text(4, name, hasher);
                hash(&members[name], hasher);
            }
        }
    }
}
