//! Conversion of the reduced state to messages.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    entry::{Entry, EntryContent},
    state::State,
};
use crate::message::{Content, Envelope, Message, ToolCall, is_blank};

pub(super) fn messages(state: &State, run_id: Option<&str>) -> Vec<Message> {
    // The messages of a reply are placed at the first of them, in the order in which they began;
    // usage comes last.
    let mut reply_at: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for (position, entry) in state.entries.iter().enumerate() {
        if run_id.is_some() && entry.run_id.as_deref() != run_id {
            continue;
        }
        let Some(content) = content(entry) else { continue };
        let is_usage = matches!(content, Content::Usage(_));
        let position = match &entry.generation_id {
            Some(id) => *reply_at.entry(id).or_insert(position),
            None => position,
        };
        let envelope = Envelope {
            id: Some(entry.id.clone()),
            from_agent: entry.from_agent.clone(),
            generation_id: entry.generation_id.clone(),
            run_id: entry.run_id.clone(),
            chat_id: state.chat_id.clone(),
            metadata: entry.metadata.clone().unwrap_or_default(),
            ..Envelope::new(entry.role)
        };
        found.push(((position, is_usage), Message { envelope, content }));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, message)| message).collect()
}

/// Return the content of a message.
fn content(entry: &Entry) -> Option<Content> {
    match &entry.content {
        EntryContent::Text(text) if is_blank(text) => None,
        EntryContent::Text(text) => Some(Content::Text(text.clone())),
        EntryContent::Reasoning(text) if text.is_empty() => None,
        EntryContent::Reasoning(text) => Some(Content::Reasoning(text.clone())),
        EntryContent::Calls => calls(entry),
        EntryContent::Usage(usage) => Some(Content::Usage(usage.clone())),
        EntryContent::Error(_) | EntryContent::Unknown { .. } => None,
    }
}

/// Return the complete calls, with their results.
fn calls(entry: &Entry) -> Option<Content> {
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for call in &entry.calls.list {
        let Some(whole) = &call.whole else { continue };
        let given = &whole.reported.call;
        let arguments = match &given.arguments {
            Value::Null => Value::Object(Map::new()),
            arguments => arguments.clone(),
        };
        results.extend(call.result(&given.id));
        calls.push(ToolCall { arguments, ..given.clone() });
    }
    match (calls.is_empty(), results.is_empty()) {
        (true, _) => None,
        (false, true) => Some(Content::ToolCalls(calls)),
        (false, false) => Some(Content::Aggregate { calls, results }),
    }
}
