//! From the bytes of a body to events, without a socket.

use bytes::Bytes;

use super::{
    chunk_reader::{ChunkReader, ChunkError},
    event::{EventSink, CallParsing},
    failure::{self, Failure, FailureKind},
    peer::Peer,
    refusal::ErrorResponse,
    request::Limits,
    sse::{EventReader, Unreadable},
};

/// How a reply comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// As a stream of events.
    Events,
    /// As one JSON document.
    Document,
}

/// Reads the body of one reply.
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

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Something has been read.
    Read,
    /// There is nothing more to read in what has come.
    NeedMore,
    /// The reply is over.
    Done,
}

/// What is wrong with a body.
#[derive(Debug)]
pub(super) enum BodyError {
    /// An event is larger than it may be.
    EventTooLarge,
    /// All of it is.
    TooLarge,
    /// It is not UTF-8.
    NotUtf8,
    /// It cannot be read.
    Unreadable(serde_json::Error),
    /// There are no events in it.
    NoEvents,
    /// It is JSON, and no reply.
    NotAReply,
    /// It is an error of the server.
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

    /// Takes the next bytes, when there is nothing more to read in those before.
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

    /// Says that no more bytes come.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.events.end();
    }

    /// Reads one thing.
    pub(super) fn step(&mut self, sink: &mut impl EventSink) -> Result<Step, BodyError> {
        match self.form {
            BodyFormat::Events => match self.events.next() {
                Some(Ok(data)) => match data.trim_ascii() {
                    DONE => Ok(Step::Done),
                    // Some keep the connection alive with events that hold nothing.
                    "" => Ok(Step::Read),
                    data => {
                        self.chunk_reader.push(data, sink)?;
                        Ok(Step::Read)
                    }
                },
                Some(Err(Unreadable::TooLong)) => Err(BodyError::EventTooLarge),
                Some(Err(Unreadable::NotUtf8)) => Err(BodyError::NotUtf8),
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

    /// Ends the reply, which broke off if there is a failure. What breaks after the server has
    /// said why the reply ended is no failure: the reply is whole.
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

/// What servers send after the last chunk.
const DONE: &str = "[DONE]";

impl From<ChunkError> for BodyError {
    fn from(misfit: ChunkError) -> Self {
        match misfit {
            ChunkError::Unreadable(error) => Self::Unreadable(error),
            ChunkError::NotAReply => Self::NotAReply,
            ChunkError::Server(refusal) => Self::Server(refusal),
        }
    }
}

impl BodyError {
    /// The failure that this is.
    pub(super) fn failure(self, peer: &Peer<'_>, limits: &Limits) -> Failure {
        let large = |what: &str, limit: u64| {
            let limit = failure::Bytes(limit);
            Failure::new(FailureKind::TooLarge, format!("{peer} sent {what} larger than {limit}"))
        };
        let unreadable = |why: &str| {
            let said = format!("{peer} sent a chunk that cannot be read: {why}");
            Failure::transient(FailureKind::Chunk, said)
        };
        match self {
            Self::EventTooLarge => large("an event that is", limits.line as u64),
            Self::TooLarge => large("a reply that is", limits.body),
            Self::NotUtf8 => unreadable("it is not UTF-8"),
            Self::Unreadable(error) => unreadable(&error.to_string()),
            Self::NoEvents => {
                let said = format!("{peer} sent nothing that can be read as a reply");
                Failure::new(FailureKind::Protocol, said)
            }
            Self::NotAReply => {
                let said = format!(
                    "{peer} answered with JSON that is no reply of a model; is the base URL the \
                     right one?"
                );
                Failure::new(FailureKind::Protocol, said)
            }
            Self::Server(refusal) => refusal.failure(peer, None),
        }
    }
}

/// Reads the body of a reply that has come already, in the pieces in which it came.
///
/// `name` is whose model it is, for failures.
///
/// # Errors
/// The reply broke off, or is none.
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
    let http_errors = loop {
        match decoder.step(sink) {
            Ok(Step::Read) => {}
            Ok(Step::NeedMore) => match pieces.next() {
                Some(piece) => decoder.push(piece),
                None => decoder.end(),
            },
            Ok(Step::Done) => break None,
            Err(http_errors) => break Some(http_errors),
        }
    };
    let peer = Peer::named(name);
    let failure = http_errors.map(|http_errors| http_errors.failure(&peer, &limits));
    decoder.finish(failure, sink)
}
