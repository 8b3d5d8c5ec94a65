//! Calls and the results that answer them, brought together from the messages they are in.

use std::collections::{HashMap, HashSet};

use super::{ConsolidateError, json::is_shallow};
use crate::message::{Content, Envelope, Message, ToolCall, ToolResult};

/// A call with its result; without one it is pending.
pub(super) type Pair = (ToolCall, Option<ToolResult>);

/// Something to be written.
pub(super) enum Entry {
    Text {
        envelope: Envelope,
        text: String,
    },
    Exchange {
        pairs: Vec<Pair>,
        /// The message of the calls.
        calls_by: Envelope,
        /// The messages of the results.
        answered_by: Vec<Envelope>,
    },
    /// Results whose calls were written before, or never.
    Answers {
        envelope: Envelope,
        results: Vec<ToolResult>,
    },
}

/// Takes messages in order. Calls that have no results yet wait for those that follow.
#[derive(Debug, Default)]
pub(super) struct Turns {
    taken: usize,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    pairs: Vec<Pair>,
    calls_by: Envelope,
    answered_by: Vec<Envelope>,
}

impl Waiting {
    fn is_answered(&self) -> bool {
        self.pairs.iter().all(|(_, result)| result.is_some())
    }

    fn into_entry(self) -> Entry {
        let Self { pairs, calls_by, answered_by } = self;
        Entry::Exchange { pairs, calls_by, answered_by }
    }
}

impl Turns {
    /// How many messages were taken: the index of the next one.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// What can be written once `message` is known. A message that cannot be taken changes
    /// nothing.
    pub(super) fn push(&mut self, message: &Message) -> Result<Vec<Entry>, ConsolidateError> {
        let index = self.taken;
        let envelope = message.envelope.clone();
        let mut entries = Vec::new();
        match &message.content {
            Content::Text(text) => {
                entries.extend(self.finish());
                entries.push(Entry::Text { envelope, text: text.clone() });
            }
            Content::ToolCalls(calls) => {
                check_calls(index, calls)?;
                entries.extend(self.finish());
                let pairs = calls.iter().map(|call| (call.clone(), None)).collect();
                let answered_by = Vec::new();
                self.waiting = Some(Waiting { pairs, calls_by: envelope, answered_by });
            }
            Content::Aggregate { calls, results } => {
                check_calls(index, calls)?;
                check_results(index, results)?;
                let (pairs, strangers) =
                    answer(calls.iter().map(|call| (call.clone(), None)), results);
                if let Some(stranger) = strangers.first() {
                    let id = stranger.tool_call_id.clone();
                    return Err(ConsolidateError::UnknownCall { index, id });
                }
                entries.extend(self.finish());
                let answered_by = vec![envelope.clone()];
                entries.push(Entry::Exchange { pairs, calls_by: envelope, answered_by });
            }
            Content::ToolResults(results) => {
                check_results(index, results)?;
                entries.extend(self.take_results(envelope, results));
            }
            Content::Reasoning(_) | Content::Usage(_) | Content::Unknown { .. } => {}
        }
        self.taken += 1;
        Ok(entries)
    }

    /// The calls that still wait, as they are.
    pub(super) fn finish(&mut self) -> Option<Entry> {
        self.waiting.take().map(Waiting::into_entry)
    }

    fn take_results(&mut self, envelope: Envelope, results: &[ToolResult]) -> Vec<Entry> {
        let mut strangers = results.to_vec();
        if let Some(mut waiting) = self.waiting.take() {
            (waiting.pairs, strangers) = answer(waiting.pairs.into_iter(), results);
            if strangers.len() < results.len() {
                waiting.answered_by.push(envelope.clone());
            }
            self.waiting = Some(waiting);
        }
        let mut entries = Vec::new();
        let is_done = self.waiting.as_ref().is_some_and(Waiting::is_answered);
        if is_done || !strangers.is_empty() {
            entries.extend(self.finish());
        }
        if !strangers.is_empty() {
            entries.push(Entry::Answers { envelope, results: strangers });
        }
        entries
    }
}

/// Gives each call its result. Returns the results that are left.
fn answer(
    pairs: impl Iterator<Item = Pair>,
    results: &[ToolResult],
) -> (Vec<Pair>, Vec<ToolResult>) {
    let mut by_id: HashMap<&str, &ToolResult> =
        results.iter().map(|result| (result.tool_call_id.as_str(), result)).collect();
    let pairs = pairs
        .map(|(call, known)| {
            let result = known.or_else(|| by_id.remove(call.id.as_str()).cloned());
            (call, result)
        })
        .collect();
    let left = results.iter().filter(|result| by_id.contains_key(result.tool_call_id.as_str()));
    (pairs, left.cloned().collect())
}

fn check_calls(index: usize, calls: &[ToolCall]) -> Result<(), ConsolidateError> {
    let mut ids = HashSet::new();
    for ToolCall { id, name, arguments, .. } in calls {
        let (id, name) = (id.clone(), name.clone());
        if !arguments.is_object() {
            return Err(ConsolidateError::Arguments { index, id, name });
        }
        if !is_shallow(arguments) {
            return Err(ConsolidateError::TooDeep { index, id, name });
        }
        if !ids.insert(id.clone()) {
            return Err(ConsolidateError::DuplicateCall { index, id });
        }
    }
    Ok(())
}

fn check_results(index: usize, results: &[ToolResult]) -> Result<(), ConsolidateError> {
    let mut ids = HashSet::new();
    match results.iter().find(|result| !ids.insert(result.tool_call_id.as_str())) {
        Some(ToolResult { tool_call_id, .. }) => {
            Err(ConsolidateError::DuplicateResult { index, id: tool_call_id.clone() })
        }
        None => Ok(()),
    }
}
