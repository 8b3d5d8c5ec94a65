//! Conversion of the chunks of a reply into events.

#[cfg(feature = "python")]
use serde::de::Deserializer;

#[cfg(feature = "python")]
use super::{chunk::ServerError, lenient};
use super::{
    chunk::{self, Choice, Chunk, Content, Delta},
    error_response::{self, ErrorResponse},
    event::{CallParsing, Event, EventSink},
    fragments::Fragments,
};
use crate::{
    calls::{CallValidator, JsonValues},
    message::{FinishReason, UsageUpdate},
    parser::{CallId, Ending, Frame, Plain},
    reply::{self, Reader},
    validator::Validator,
};
use std::sync::Arc;

/// Reader of one reply, fed chunk by chunk.
pub(crate) struct ChunkReader {
    calls: Option<Calls>,
    fragments: Fragments,
    usage: Option<UsageUpdate>,
    /// The finish reason as the server sent it.
    pub(crate) reason: Option<String>,
}

/// Reader that finds calls in a reply, and the judge that validates them.
struct Calls {
    reader: Reader,
    validator: Arc<CallValidator<Validator>>,
}

/// Error for a chunk that is not part of a reply.
#[derive(Debug)]
pub(super) enum ChunkError {
    /// The chunk is not valid JSON.
    InvalidJson(serde_json::Error),
    /// The chunk is JSON, but not a reply.
    NotAReply,
    /// The chunk is an error of the server.
    Server(ErrorResponse),
}

impl ChunkReader {
    pub(crate) fn new(parsing: Option<CallParsing>) -> Self {
        let calls = parsing.map(|parsing| Calls {
            reader: Reader::new(
                parsing.parser.fresh(),
                reply::Options {
                    inline: parsing.inline,
                    recovered: parsing.recovered,
                    deltas: parsing.deltas,
                },
            ),
            validator: parsing.validator,
        });
        Self { calls, fragments: Fragments::default(), usage: None, reason: None }
    }

    /// Return true if the server has sent a finish reason. Failures after that are ignored.
    pub(super) fn is_finished(&self) -> bool {
        self.reason.is_some()
    }

    /// Push a chunk. It may be empty: some servers send such chunks to keep the connection alive.
    pub(super) fn push(&mut self, json: &str, sink: &mut impl EventSink) -> Result<(), ChunkError> {
        chunk::read(json, |chunk| self.chunk(chunk, false, sink))
            .map_err(ChunkError::InvalidJson)?
            .map(drop)
    }

    /// Push a complete reply that did not stream.
    pub(super) fn push_whole(
        &mut self,
        json: &str,
        sink: &mut impl EventSink,
    ) -> Result<(), ChunkError> {
        chunk::read(json, |chunk| self.chunk(chunk, true, sink))
            .map_err(ChunkError::InvalidJson)??
            .then_some(())
            .ok_or(ChunkError::NotAReply)
    }

    /// Push a chunk that has been parsed already, by a client that handles the server's errors.
    #[cfg(feature = "python")]
    pub(crate) fn push_parsed<'de, D: Deserializer<'de>>(
        &mut self,
        chunk: D,
        sink: &mut impl EventSink,
    ) -> Result<(), D::Error> {
        let chunk = Chunk { error: ServerError::default(), ..lenient::from(chunk)? };
        let _ = self.chunk(chunk, false, sink);
        Ok(())
    }

    /// Return the finish reason of the reply, with what has arrived.
    pub(crate) fn finish_reason(&self) -> FinishReason {
        match self.reason.as_deref().map_or(FinishReason::Missing, finish_reason) {
            // Some servers send `stop` even after calls.
            FinishReason::Stop if self.fragments.calls() > 0 => FinishReason::ToolCalls,
            reason => reason,
        }
    }

    /// Finish the reply with what has arrived.
    pub(super) fn finish(&mut self, sink: &mut impl EventSink) {
        let mut reason = self.finish_reason();
        if let Some(calls) = &mut self.calls {
            let ending = if reason.cuts_off() { Ending::Truncated } else { Ending::Complete };
            calls.finish(ending, sink);
            if ending == Ending::Complete && calls.reader.calls() > 0 {
                reason = FinishReason::ToolCalls;
            }
        }
        let unknown = self.reason.take().filter(|_| reason == FinishReason::Missing);
        sink.put(Event::Finish { reason, unknown });
    }

    /// Finish a reply that broke off. Calls that are still open are incomplete.
    pub(super) fn cut(&mut self, sink: &mut impl EventSink) {
        if let Some(calls) = &mut self.calls {
            calls.finish(Ending::Truncated, sink);
        }
    }

    /// Emit the events of a chunk, and return false if the chunk is not one of a reply.
    fn chunk(
        &mut self,
        chunk: Chunk<'_>,
        whole: bool,
        sink: &mut impl EventSink,
    ) -> Result<bool, ChunkError> {
        if chunk.error.is_present {
            return Err(ChunkError::Server(error_response::from_chunk(&chunk.error)));
        }
        let usage = chunk.usage.counts();
        let is_one = usage.is_some() || !chunk.choices.0.is_empty();
        for choice in chunk.choices.0 {
            self.choice(choice, whole, sink);
        }
        if let Some(counts) = usage.filter(|_| usage != self.usage) {
            self.usage = usage;
            sink.put(Event::Usage(counts));
        }
        Ok(is_one)
    }

    fn choice(&mut self, choice: Choice<'_>, whole: bool, sink: &mut impl EventSink) {
        let Delta { content, refusal, reasoning, reasoning_content, tool_calls } =
            if whole { choice.message } else { choice.delta };
        // Servers that send both of these send the same in both.
        if let Some(thought) = reasoning_content.0.or(reasoning.0) {
            self.reasoning(thought.into_owned(), sink);
        }
        for field in [content, refusal] {
            match field {
                Content::None => {}
                Content::Text(text) => self.text(text, sink),
                Content::Parts(parts) => {
                    for part in parts {
                        if let Some(text) = part.text.0 {
                            self.text(text, sink);
                        }
                        for thought in part.thinking.0.into_iter().filter_map(|part| part.text.0) {
                            self.reasoning(thought.into_owned(), sink);
                        }
                    }
                }
            }
        }
        for fragment in tool_calls.0 {
            let Some(update) = self.fragments.push(fragment) else { continue };
            match &mut self.calls {
                None => sink.put(Event::Fragment(update)),
                Some(Calls { reader, validator }) => {
                    let mut frames = |frame: Frame<'_>| sink.put(event(validator, frame));
                    reader.fragment((&update).into(), &mut frames);
                }
            }
        }
        if let Some(word) = choice.finish_reason.0 {
            self.reason = Some(word.into_owned());
        }
    }

    fn reasoning(&mut self, thought: String, sink: &mut impl EventSink) {
        if let Some(Calls { reader, validator }) = &mut self.calls {
            reader.flush_text(&mut |frame: Frame<'_>| sink.put(event(validator, frame)));
        }
        sink.put(Event::Reasoning(thought));
    }

    fn text(&mut self, text: std::borrow::Cow<'_, str>, sink: &mut impl EventSink) {
        let Some(Calls { reader, validator }) = &mut self.calls else {
            return sink.put(Event::Text(text.into_owned()));
        };
        match reader.plain_text(&text) {
            Some(Plain::Text) => sink.put(Event::Text(text.into_owned())),
            Some(Plain::Fragment { index }) => {
                sink.put(Event::Delta { index, fragment: text.into_owned() });
            }
            Some(Plain::Nothing) => {}
            None => {
                reader.text(&text, &mut |frame: Frame<'_>| sink.put(event(validator, frame)));
            }
        }
    }
}

impl Calls {
    fn finish(&mut self, ending: Ending, sink: &mut impl EventSink) {
        let validator = &self.validator;
        self.reader.finish(ending, &mut |frame: Frame<'_>| sink.put(event(validator, frame)));
    }
}

/// Convert a frame to an event.
fn event(validator: &CallValidator<Validator>, frame: Frame<'_>) -> Event {
    match frame {
        Frame::Text(text) => Event::Text(text.to_owned()),
        Frame::Reasoning(text) => Event::Reasoning(text.to_owned()),
        Frame::CallStart { index, id, name, recovered } => {
            let (id, name) = (id.map(CallId::to_owned), name.to_owned());
            Event::Start { index, id, name, recovered }
        }
        Frame::CallDelta { index, fragment } => {
            Event::Delta { index, fragment: fragment.to_owned() }
        }
        Frame::CallEnd(found) => Event::End {
            index: found.index,
            name: found.name.to_owned(),
            raw: found.raw.to_owned(),
            recovered: found.recovered,
            dialect: found.dialect,
            outcome: validator.validate(&JsonValues, &found),
        },
        Frame::Discarded { raw, reason } => Event::Discarded { raw: raw.to_owned(), reason },
        Frame::Fabricated { name, raw } => {
            Event::Fabricated { name: name.map(str::to_owned), raw: raw.to_owned() }
        }
    }
}

/// Convert the server's finish reason; unknown words become `Missing`.
fn finish_reason(word: &str) -> FinishReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "end_turn" => FinishReason::Stop,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "tool_calls" | "tool_use" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "refusal" | "safety" => FinishReason::ContentFilter,
        _ => FinishReason::Missing,
    }
}
