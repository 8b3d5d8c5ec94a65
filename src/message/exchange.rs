//! A conversation that is being read from native chat messages: calls wait for their results.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Content, Envelope, Message, ToolCall, ToolResult,
    error::{MessageError, Place},
    names::Role,
};

/// Messages as they are read, with the results of calls on their way to the calls.
#[derive(Default)]
pub(super) struct Exchange {
    messages: Vec<Message>,
    /// For messages with calls, what answers each of them.
    answers: HashMap<usize, Vec<Option<ToolResult>>>,
    /// The latest call of each id: the message, and the call's position in it.
    latest: HashMap<String, (usize, usize)>,
}

impl Exchange {
    pub(super) fn say(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Adds the calls of one reply; `places` says where each of them stood.
    pub(super) fn call(
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

    /// Adds the result of a call; its tool is found by the call's id. Returns the message with
    /// the call.
    pub(super) fn answer(
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

    /// The conversation; calls of which some were answered are now aggregates.
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

/// An envelope of this role, with what only `provider` understands in its metadata.
pub(super) fn envelope(role: Role, provider: &str, own: Map<String, Value>) -> Envelope {
    let mut envelope = Envelope::new(role);
    if !own.is_empty() {
        envelope.metadata.insert(provider.to_owned(), Value::Object(own));
    }
    envelope
}

/// What only `provider` understands of a message.
pub(super) fn own<'a>(message: &'a Message, provider: &str) -> Option<&'a Map<String, Value>> {
    message.envelope.metadata.get(provider)?.as_object()
}
