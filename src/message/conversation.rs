//! Assembly of a conversation from native chat messages, matching results to calls.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Content, Envelope, Message, ToolCall, ToolResult,
    error::{MessageError, Place},
    names::Role,
    parts::Parts,
};

/// A conversation under construction.
#[derive(Default)]
pub(super) struct ConversationBuilder {
    messages: Vec<Message>,
    /// The results so far of each call, by the position of the message with the calls.
    answers: HashMap<usize, Vec<Option<ToolResult>>>,
    /// The latest call with each id: the positions of the message, and of the call in it.
    latest: HashMap<String, (usize, usize)>,
}

impl ConversationBuilder {
    pub(super) fn add_message(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Add a text, with data that only `provider` understands.
    pub(super) fn add_text(
        &mut self,
        role: Role,
        provider: &str,
        parts: Parts,
        mut own: Map<String, Value>,
    ) {
        own.extend(parts.kept.map(|kept| ("content".to_owned(), kept)));
        let envelope = envelope(role, provider, own);
        self.add_message(Message { envelope, content: Content::Text(parts.text) });
    }

    /// Add the calls of one reply; `places` has their locations.
    pub(super) fn add_calls(
        &mut self,
        envelope: Envelope,
        calls: Vec<ToolCall>,
        places: &[Place],
    ) -> Result<(), MessageError> {
        let message = self.messages.len();
        for (position, (call, place)) in calls.iter().zip(places).enumerate() {
            let before = self.latest.insert(call.id.clone(), (message, position));
            if before.is_some_and(|(before, _)| before == message) {
                let (place, id) = (place.clone(), call.id.clone());
                return Err(MessageError::RepeatedId { place, id });
            }
        }
        self.answers.insert(message, vec![None; calls.len()]);
        self.messages.push(Message { envelope, content: Content::ToolCalls(calls) });
        Ok(())
    }

    /// Add the result of a call, which takes its name from the call. Return the message with the
    /// call.
    pub(super) fn add_result(
        &mut self,
        id: String,
        result: String,
        is_error: bool,
        place: Place,
    ) -> Result<&mut Message, MessageError> {
        let Some(&(message, position)) = self.latest.get(&id) else {
            return Err(MessageError::NoCall { place, id });
        };
        let known = &mut self.messages[message];
        let (Content::ToolCalls(calls), Some(answers)) =
            (&known.content, self.answers.get_mut(&message))
        else {
            return Err(MessageError::NoCall { place, id });
        };
        let slot = &mut answers[position];
        if slot.is_some() {
            return Err(MessageError::RepeatedId { place, id });
        }
        *slot = Some(ToolResult {
            tool_call_id: id,
            name: calls[position].name.clone(),
            result,
            is_error,
            error_code: None,
            duration: None,
        });
        Ok(known)
    }

    /// Return the messages; calls with at least one result become aggregates.
    pub(super) fn finish(mut self) -> Vec<Message> {
        for (position, answers) in self.answers {
            let results: Vec<_> = answers.into_iter().flatten().collect();
            let content = &mut self.messages[position].content;
            if let (Content::ToolCalls(calls), false) = (&mut *content, results.is_empty()) {
                *content = Content::Aggregate { calls: std::mem::take(calls), results };
            }
        }
        self.messages
    }
}

/// Create an envelope for a role, with metadata that only `provider` understands.
pub(super) fn envelope(role: Role, provider: &str, own: Map<String, Value>) -> Envelope {
    let mut envelope = Envelope::new(role);
    if !own.is_empty() {
        envelope.metadata.insert(provider.to_owned(), Value::Object(own));
    }
    envelope
}
