//! What several messages say about themselves, as one.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::layout::{shown, unshown};
use crate::message::{Content, Envelope, ErrorCode, Message, Role, ToolCall, ToolResult};

/// The key of the calls and results in the metadata of consolidated text, in order.
const TOOL_CALLS: &str = "tool_calls";

/// The key of all generation ids in the metadata of consolidated text, in order.
const GENERATION_IDS: &str = "generation_ids";

/// Envelopes in the order of their messages, brought together.
///
/// Of the fixed fields the first that is given counts; of the metadata the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    merged: Option<Envelope>,
    count: usize,
    generation_ids: Vec<Value>,
    known_ids: HashSet<String>,
    tool_calls: Vec<Value>,
}

impl Gathered {
    pub(super) fn add(&mut self, envelope: &Envelope) {
        self.count += 1;
        if let Some(id) = &envelope.generation_id
            && self.known_ids.insert(id.clone())
        {
            self.generation_ids.push(id.clone().into());
        }
        let Some(merged) = &mut self.merged else {
            self.merged = Some(envelope.clone());
            return;
        };
        let first = |kept: &mut Option<String>, new: &Option<String>| {
            if kept.is_none() {
                kept.clone_from(new);
            }
        };
        first(&mut merged.from_agent, &envelope.from_agent);
        first(&mut merged.generation_id, &envelope.generation_id);
        first(&mut merged.run_id, &envelope.run_id);
        first(&mut merged.chat_id, &envelope.chat_id);
        merged.metadata.extend(envelope.metadata.clone());
    }

    /// Notes a call, a result, or both, as they were written under `name`.
    pub(super) fn note(
        &mut self,
        name: &str,
        call: Option<&ToolCall>,
        result: Option<&ToolResult>,
    ) {
        let mut note = Map::new();
        let id = call.map(|call| &call.id).or(result.map(|result| &result.tool_call_id));
        note.extend(id.map(|id| ("id".to_owned(), id.clone().into())));
        note.insert("name".to_owned(), name.into());
        if let Some(result) = result {
            note.extend(result.duration.map(|seconds| ("duration".to_owned(), json!(seconds))));
            note.extend(
                result.error_code.map(|code| ("error_code".to_owned(), code.as_str().into())),
            );
            // Only where the text alone would give another spelling of the same JSON.
            if unshown(&shown(&result.result)) != result.result {
                note.insert("result".to_owned(), result.result.clone().into());
            }
        }
        self.tool_calls.push(Value::Object(note));
    }

    /// The text as a message.
    pub(super) fn into_message(self, role: Role, text: String) -> Message {
        let mut envelope = self.merged.unwrap_or_else(|| Envelope::new(role));
        envelope.role = role;
        if self.count > 1 {
            // No longer the message that had this id.
            envelope.id = None;
        }
        if self.count > 1 || !self.tool_calls.is_empty() {
            // What other versions wrote was about messages of another shape.
            envelope.extra.clear();
        }
        if !self.generation_ids.is_empty() {
            envelope.metadata.insert(GENERATION_IDS.to_owned(), self.generation_ids.into());
        }
        if !self.tool_calls.is_empty() {
            envelope.metadata.insert(TOOL_CALLS.to_owned(), self.tool_calls.into());
        }
        Message { envelope, content: Content::Text(text) }
    }
}

/// What the metadata of consolidated text says about the calls in it, in order.
#[derive(Debug, Default)]
pub(super) struct Notes<'m> {
    notes: &'m [Value],
    made: usize,
}

/// What is known about one call or result beyond its text.
#[derive(Debug)]
pub(super) struct Note<'m> {
    pub(super) id: String,
    pub(super) duration: Option<f64>,
    pub(super) error_code: Option<ErrorCode>,
    result: Option<&'m str>,
}

impl<'m> Notes<'m> {
    pub(super) fn new(metadata: &'m Map<String, Value>) -> Self {
        let notes = metadata.get(TOOL_CALLS).and_then(Value::as_array);
        Self { notes: notes.map(Vec::as_slice).unwrap_or_default(), made: 0 }
    }

    /// The note on the next block, which is one of the tool `name`.
    pub(super) fn next(&mut self, name: &str) -> Note<'m> {
        let at = self.made;
        self.made += 1;
        let note = self.notes.get(at).filter(|note| note["name"] == name);
        if note.is_none() {
            // The text is not what it was when the notes were taken.
            self.notes = &[];
        }
        let text = |key: &str| note?.get(key)?.as_str();
        Note {
            id: text("id").map_or_else(|| format!("call_{at}"), str::to_owned),
            duration: note.and_then(|note| note.get("duration")?.as_f64()),
            error_code: text("error_code").and_then(ErrorCode::from_wire),
            result: text("result"),
        }
    }
}

impl Note<'_> {
    /// The result that is shown as `body`.
    pub(super) fn result(&self, body: &str) -> String {
        match self.result.filter(|result| shown(result) == body) {
            Some(result) => result.to_owned(),
            None => unshown(body),
        }
    }
}

/// The envelope of what is read from consolidated text with this one.
pub(super) fn of_part(whole: &Envelope, role: Role) -> Envelope {
    let mut part = whole.clone();
    part.role = role;
    part.id = None;
    part.metadata.shift_remove(TOOL_CALLS);
    part.metadata.shift_remove(GENERATION_IDS);
    part
}
