//! Decoding of the bytes of a body into events, without a socket.

use bytes::Bytes;

use super::{
    chunk_reader::{ChunkError, ChunkReader},
    error_response::ErrorResponse,
    event::{CallParsing, EventSink},
    failure::{self, Failure, FailureKind},
    peer::Peer,
    request::Limits,
    sse::{EventReader, SseError},
};

/// The format of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// A stream of server-sent events.
    Events,
    /// One JSON document.
    Document,
}

/// Decoder for the body of one reply.
pub(super) struct Decoder {
    form: BodyFormat,
    limits: Limits,
    events: EventReader,
    document: Vec<u8>,
    chunk_reader: ChunkReader,
    received: u64,
    too_large: bool,
    ended: bool,
}

/// The outcome of one decoding step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Some bytes have been decoded.
    Read,
    /// More bytes are needed.
    NeedMore,
    /// The reply is complete.
    Done,
}

/// An error in the body of a reply.
#[derive(Debug)]
pub(super) enum BodyError {
    /// An event exceeds its size limit.
    EventTooLarge,
    /// The body exceeds its size limit.
    TooLarge,
    /// The body is not UTF-8.
    NotUtf8,
    /// The body, or a chunk, is not valid JSON.
    InvalidJson(serde_json::Error),
    /// The body contains no events.
    NoEvents,
    /// The body is JSON, but not a reply.
    NotAReply,
    /// The body is an error of the server.
    Server(ErrorResponse),
}

impl Decoder {
    pub(super) fn new(form: BodyFormat, limits: Limits, parsing: Option<CallParsing>) -> Self {
        Self {
            form,
            limits,
            events: EventReader::new(limits.line),
            document: Vec::new(),
            chunk_reader: ChunkReader::new(parsing),
            received: 0,
            too_large: false,
            ended: false,
        }
    }

    /// Push the next bytes, once the previous ones have been decoded.
    pub(super) fn push(&mut self, mut bytes: Bytes) {
        let room = self.limits.body - self.received;
        if bytes.len() as u64 > room {
            bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            self.too_large = true;
        }
        self.received += bytes.len() as u64;
        match self.form {
            BodyFormat::Events => self.events.push(bytes),
            BodyFormat::Document => self.document.extend_from_slice(&bytes),
        }
    }

    /// Mark the end of the body.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.events.end();
    }

    /// Decode the next item.
    pub(super) fn step(&mut self, sink: &mut impl EventSink) -> Result<Step, BodyError> {
        match self.form {
            BodyFormat::Events => match self.events.next() {
                Some(Ok(data)) => match data.trim_ascii() {
                    DONE => Ok(Step::Done),
                    // Some servers keep the connection alive with empty events.
                    "" => Ok(Step::Read),
                    data => {
                        self.chunk_reader.push(data, sink)?;
                        Ok(Step::Read)
                    }
                },
                Some(Err(SseError::TooLong)) => Err(BodyError::EventTooLarge),
                Some(Err(SseError::NotUtf8)) => Err(BodyError::NotUtf8),
                None if self.too_large => Err(BodyError::TooLarge),
                None if !self.ended => Ok(Step::NeedMore),
                None if self.events.is_not_sse() => Err(BodyError::NoEvents),
                None => Ok(Step::Done),
            },
            BodyFormat::Document if self.too_large => Err(BodyError::TooLarge),
            BodyFormat::Document if !self.ended => Ok(Step::NeedMore),
            BodyFormat::Document => {
                let json = std::str::from_utf8(&self.document).map_err(|_| BodyError::NotUtf8)?;
                self.chunk_reader.push_whole(json, sink)?;
                Ok(Step::Done)
            }
        }
    }

    /// Finish the reply, which broke off if there is a failure. A failure after the finish reason
    /// is ignored, since the reply is complete.
    pub(super) fn finish(
        &mut self,
        failure: Option<Failure>,
        sink: &mut impl EventSink,
    ) -> Result<(), Failure> {
        match failure.filter(|_| !self.chunk_reader.is_finished()) {
            None => {
                self.chunk_reader.finish(sink);
                Ok(())
            }
            Some(failure) => {
                self.chunk_reader.cut(sink);
                Err(failure.after(self.received))
            }
        }
    }
}

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

impl From<ChunkError> for BodyError {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::InvalidJson(error) => Self::InvalidJson(error),
            ChunkError::NotAReply => Self::NotAReply,
            ChunkError::Server(response) => Self::Server(response),
        }
    }
}

impl BodyError {
    /// Convert the error to a failure.
    pub(super) fn failure(self, peer: &Peer<'_>, limits: &Limits) -> Failure {
        let large = |what: &str, limit: u64| {
            let limit = failure::Bytes(limit);
            Failure::new(FailureKind::TooLarge, format!("{peer} sent {what} larger than {limit}"))
        };
        let unreadable = |why: &str| {
            let message = format!("{peer} sent a chunk that cannot be read: {why}");
            Failure::transient(FailureKind::Chunk, message)
        };
        match self {
            Self::EventTooLarge => large("an event that is", limits.line as u64),
            Self::TooLarge => large("a reply that is", limits.body),
            Self::NotUtf8 => unreadable("it is not UTF-8"),
            Self::InvalidJson(error) => unreadable(&error.to_string()),
            Self::NoEvents => {
                let message = format!("{peer} sent nothing that can be read as a reply");
                Failure::new(FailureKind::Protocol, message)
            }
            Self::NotAReply => {
                let message = format!(
                    "{peer} answered with JSON that is not a model's reply; is the base URL the \
                     right one?"
                );
                Failure::new(FailureKind::Protocol, message)
            }
            Self::Server(response) => response.failure(peer, None),
        }
    }
}

/// Decode the body of a reply that has arrived already, in the pieces in which it arrived.
///
/// `name` is the name of the model, used in failures.
///
/// # Errors
/// Fails if the reply broke off or is not a reply.
pub fn read(
    name: &str,
    form: BodyFormat,
    pieces: impl IntoIterator<Item = Bytes>,
    limits: Limits,
    parsing: Option<CallParsing>,
    sink: &mut impl EventSink,
) -> Result<(), Failure> {
    let mut decoder = Decoder::new(form, limits, parsing);
    let mut pieces = pieces.into_iter();
    let error = loop {
        match decoder.step(sink) {
            Ok(Step::Read) => {}
            Ok(Step::NeedMore) => match pieces.next() {
                Some(piece) => decoder.push(piece),
                None => decoder.end(),
            },
            Ok(Step::Done) => break None,
            Err(error) => break Some(error),
        }
    };
    let peer = Peer::named(name);
    let failure = error.map(|error| error.failure(&peer, &limits));
    decoder.finish(failure, sink)
}
