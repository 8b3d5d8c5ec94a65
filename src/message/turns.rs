//! Division of a conversation into the turns of native chat protocols.
//!
//! These require one message per reply, directly followed by the results of its calls, whatever
//! came in between.

use std::collections::HashMap;

use super::{
    Content, Message, ToolCall, ToolResult,
    error::{MessageError, Place},
    names::{Role, wire_names},
};

wire_names! {
    /// The treatment of calls without results, and results without calls, which providers reject in
    /// a history.
    Dangling {
        /// A call gets an error result that says so. A result without a call is an error.
        Answer = "answer",
        /// Both are omitted.
        Omit = "omit",
        /// Both are errors.
        Refuse = "raise",
    }
}

/// The text of the result for a call without one.
pub(super) const NO_RESULT: &str = "No result: the call did not finish.";

/// A turn of the conversation.
pub(super) enum Turn<'a> {
    /// A text of the system or the user.
    Input { place: Place, message: &'a Message, text: &'a str },
    /// A reply of the model, with the results of its calls.
    Reply(Reply<'a>),
}

/// A reply of the model.
#[derive(Default)]
pub(super) struct Reply<'a> {
    pub(super) place: Place,
    /// The parts, in order.
    pub(super) parts: Vec<Part<'a>>,
    generation: Option<&'a str>,
    phase: Phase,
}

/// A part of a reply.
pub(super) enum Part<'a> {
    Thought(&'a Message, &'a str),
    Text(&'a Message, &'a str),
    Call(AnsweredCall<'a>),
}

/// A call with its result, if there is one.
pub(super) struct AnsweredCall<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) message: &'a Message,
    pub(super) answer: Option<&'a ToolResult>,
}

/// The phase of a reply, which only moves forward.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
enum Phase {
    #[default]
    Thoughts,
    Text,
    Calls,
}

/// Divide a conversation into turns. `target` is the name of the format, for errors.
pub(super) fn turns<'a>(
    messages: &'a [Message],
    dangling: Dangling,
    target: &'static str,
) -> Result<Vec<Turn<'a>>, MessageError> {
    let mut answers = CallResults::of(messages, dangling)?;
    let mut turns = Vec::new();
    let mut reply: Option<Reply<'a>> = None;
    for (position, message) in messages.iter().enumerate() {
        let place = Place::message(position);
        let phase = match &message.content {
            Content::ToolResults(_) | Content::Usage(_) => continue,
            Content::Text(text) => match message.envelope.role {
                Role::Assistant => Phase::Text,
                Role::System | Role::User => {
                    turns.extend(reply.take().map(Turn::Reply));
                    turns.push(Turn::Input { place, message, text });
                    continue;
                }
                Role::Tool => {
                    let reason = "a text of role \"tool\" answers no call".to_owned();
                    return Err(MessageError::Unsupported { place, target, reason });
                }
            },
            Content::Reasoning(_) => Phase::Thoughts,
            Content::ToolCalls(_) | Content::Aggregate { .. } => Phase::Calls,
            Content::Unknown { kind, .. } => {
                let reason = format!("messages of kind {kind:?} are not known here");
                return Err(MessageError::Unsupported { place, target, reason });
            }
        };
        let generation = message.envelope.generation_id.as_deref();
        if !reply.as_ref().is_some_and(|reply| reply.continues_with(generation, phase)) {
            turns.extend(reply.take().map(Turn::Reply));
        }
        let reply = reply.get_or_insert_with(|| Reply { place, generation, ..Reply::default() });
        reply.phase = phase;
        match &message.content {
            Content::Reasoning(text) => reply.parts.push(Part::Thought(message, text)),
            Content::Text(text) => reply.parts.push(Part::Text(message, text)),
            content => {
                for call in content.calls() {
                    let answer = answers.next();
                    if answer.is_some() || dangling == Dangling::Answer {
                        reply.parts.push(Part::Call(AnsweredCall { call, message, answer }));
                    }
                }
            }
        }
    }
    turns.extend(reply.map(Turn::Reply));
    Ok(turns)
}

impl<'a> Reply<'a> {
    /// Return the reasoning.
    pub(super) fn thoughts(&self) -> impl Iterator<Item = &'a str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Thought(_, text) => Some(*text),
            _ => None,
        })
    }

    /// Return the texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'a Message, &'a str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(message, text) => Some((*message, *text)),
            _ => None,
        })
    }

    /// Return the calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &AnsweredCall<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(answered) => Some(answered),
            _ => None,
        })
    }

    /// Return true if a message belongs to this reply. With a generation id, the id decides: the
    /// parts of a reply may be in any order, since the model had no results before its end. Without
    /// one, the order decides: a text after calls was written after their results.
    fn continues_with(&self, generation: Option<&str>, phase: Phase) -> bool {
        match (self.generation, generation) {
            (Some(own), Some(other)) => own == other,
            (None, None) => self.phase < phase || phase == Phase::Thoughts && self.phase == phase,
            _ => false,
        }
    }
}

/// The results of all calls of a conversation, in the order of the calls.
struct CallResults<'a> {
    slots: std::vec::IntoIter<Option<&'a ToolResult>>,
}

impl<'a> CallResults<'a> {
    fn of(messages: &'a [Message], dangling: Dangling) -> Result<Self, MessageError> {
        let mut slots: Vec<Option<&ToolResult>> = Vec::new();
        let mut places = Vec::new();
        // The latest call with each id: models restart their counters in each reply.
        let mut latest: HashMap<&str, usize> = HashMap::new();
        // The reply of the previous calls, and the position of its first call.
        let mut reply = None;
        let mut first = 0;
        for (position, message) in messages.iter().enumerate() {
            let place = Place::message(position);
            let calls = message.content.calls();
            let generation = message.envelope.generation_id.as_deref();
            if !calls.is_empty() && (generation.is_none() || generation != reply) {
                (reply, first) = (generation, slots.len());
            }
            for (number, call) in calls.iter().enumerate() {
                let place = place.member("toolCalls").item(number);
                let before = latest.insert(&call.id, slots.len());
                if before.is_some_and(|before| before >= first) {
                    return Err(MessageError::RepeatedId { place, id: call.id.clone() });
                }
                slots.push(None);
                places.push((place, call));
            }
            for (number, result) in message.content.results().iter().enumerate() {
                let place = place.member("toolResults").item(number);
                let id = result.tool_call_id.clone();
                match latest.get(id.as_str()) {
                    Some(&slot) if slots[slot].is_none() => slots[slot] = Some(result),
                    Some(_) => return Err(MessageError::RepeatedId { place, id }),
                    None if dangling == Dangling::Omit => {}
                    None => return Err(MessageError::NoCall { place, id }),
                }
            }
        }
        if dangling == Dangling::Refuse {
            let open = slots.iter().zip(&places).find(|(slot, _)| slot.is_none());
            if let Some((_, (place, call))) = open {
                return Err(MessageError::NoResult { place: place.clone(), id: call.id.clone() });
            }
        }
        Ok(Self { slots: slots.into_iter() })
    }

    /// Return the result of the next call.
    fn next(&mut self) -> Option<&'a ToolResult> {
        self.slots.next().flatten()
    }
}
