//! Reduction of events that arrive in any order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::{
    event::StreamEvent,
    snapshot::{ProblemKind, Snapshot, SnapshotProblem},
    state::{MAX_PROBLEMS, State},
};
use crate::message::{Message, MessageError, Place};

/// Maximum number of missing ranges that are reported.
const MAX_MISSING: usize = 100;

/// The time after which a call without events counts as timed out, in milliseconds.
const PENDING_TIMEOUT: u64 = 60_000;

/// A reducer of the events of a chat to a snapshot. Events may arrive in any order and repeatedly.
///
/// See the [module](super) for the rules.
#[derive(Clone, Debug)]
pub struct StreamReducer {
    pending_timeout: Option<u64>,
    /// The state after the events before the first gap.
    base: State,
    /// The fingerprints of these events, to detect different events with the same number.
    fingerprints: Vec<u64>,
    /// The events after the first gap.
    after_gap: BTreeMap<u64, (u64, StreamEvent)>,
    /// `base` with the events of `after_gap` up to a number; computed on demand.
    ahead: Option<(State, u64)>,
    /// The lowest numbers that different events share.
    conflicts: BTreeSet<u64>,
}

impl Default for StreamReducer {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamReducer {
    /// Create a reducer for one chat, with a pending timeout of one minute.
    pub fn new() -> Self {
        Self::with_pending_timeout(Some(PENDING_TIMEOUT))
    }

    /// Create a reducer with a pending timeout in milliseconds, or without one.
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

    /// Push an event; return false if there is one with its number already.
    ///
    /// An event without a number is an error, since its position is unknown.
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

    /// Apply the events that follow without a gap.
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

    /// Return the last number before the first gap: all events up to here have arrived.
    pub fn last_sequence_number(&self) -> u64 {
        self.fingerprints.len() as u64
    }

    /// Return the missing ranges before events that have arrived, as first and last number; at most
    /// one hundred.
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

    /// Return the snapshot of the events so far. `now` is the time in milliseconds since 1970;
    /// without it, no call times out.
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

    /// Return the messages of the events so far, of one run or of all, as a store would keep them.
    ///
    /// Texts are included even if they were cut off, calls once they are complete, with the results
    /// that have arrived. The messages of a reply are ordered: reasoning and texts, calls, usage.
    pub fn messages(&mut self, run_id: Option<&str>) -> Vec<Message> {
        super::messages::messages(self.state(), run_id)
    }

    /// Return the state after all events, ignoring gaps.
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

    /// Return the number of events applied so far, counting repeated ones.
    #[cfg(test)]
    pub(super) fn applied_count(&mut self) -> usize {
        self.state().applied
    }
}

/// Hash a value so that different values practically never have the same hash. The order of members
/// is ignored.
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
