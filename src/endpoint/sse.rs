//! From bytes to the data of server-sent events, without a socket.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::Stream;
use memchr::memchr2_iter;
use sse_stream::SseByteStream;

/// Reads the events in what is pushed.
pub(super) struct EventReader {
    stream: SseByteStream<ByteSource>,
    source: ByteSource,
    length: EventLength,
    too_long: bool,
    /// Whether there has been an event.
    any: bool,
}

/// Bytes that are no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// An event is longer than it may be.
    TooLong,
    /// The text is not UTF-8.
    NotUtf8,
}

impl EventReader {
    /// A reader that lets events have so many bytes.
    pub(super) fn new(limit: usize) -> Self {
        let source = ByteSource::default();
        Self {
            stream: SseByteStream::new(source.clone()),
            source,
            length: EventLength::new(limit),
            too_long: false,
            any: false,
        }
    }

    /// Whether there was something in what has been read, and no event: then it is something else.
    /// Comments may stand alone.
    pub(super) fn is_not_sse(&self) -> bool {
        self.length.has_content_line && !self.any
    }

    /// Takes the next bytes; the events before them have been read.
    pub(super) fn push(&mut self, mut bytes: Bytes) {
        if let Some(end) = self.length.excess(&bytes) {
            bytes.truncate(end);
            self.too_long = true;
        }
        self.source.put(bytes);
    }

    /// Says that no more bytes come, which ends an event that has no empty line after it.
    pub(super) fn end(&mut self) {
        self.source.put(Bytes::from_static(b"\n\n"));
    }

    /// The data of the next event in what has been pushed.
    pub(super) fn next(&mut self) -> Option<Result<String, Unreadable>> {
        loop {
            let waiting = &mut Context::from_waker(Waker::noop());
            match Pin::new(&mut self.stream).poll_next(waiting) {
                Poll::Ready(Some(Ok(event))) => {
                    self.any = true;
                    if let Some(data) = event.data {
                        return Some(Ok(data));
                    }
                }
                Poll::Ready(Some(Err(_))) => return Some(Err(Unreadable::NotUtf8)),
                Poll::Ready(None) | Poll::Pending => {
                    return self.too_long.then_some(Err(Unreadable::TooLong));
                }
            }
        }
    }
}

/// Where the crate that reads events finds what has been pushed.
#[derive(Clone, Default)]
struct ByteSource(Arc<Mutex<Option<Bytes>>>);

impl ByteSource {
    fn put(&self, bytes: Bytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    }
}

impl Stream for ByteSource {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None => Poll::Pending,
        }
    }
}

/// How long the event is that has begun.
struct EventLength {
    limit: usize,
    /// Its bytes so far, without the ends of lines.
    event: usize,
    /// Whether the line that has begun has any bytes.
    line: bool,
    /// Whether the last byte was a carriage return.
    after_cr: bool,
    /// Whether there has been a line that is no comment.
    has_content_line: bool,
}

impl EventLength {
    fn new(limit: usize) -> Self {
        Self { limit, event: 0, line: false, after_cr: false, has_content_line: false }
    }

    /// Where in the next bytes the event becomes too long, if it does.
    fn excess(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        for end in memchr2_iter(b'\n', b'\r', bytes) {
            if let Some(excess) = self.take(bytes, from, end) {
                return Some(excess);
            }
            let feed = bytes[end] == b'\n';
            if feed && self.after_cr && !self.line {
                // The second half of the end of a line.
                self.after_cr = false;
            } else {
                if !self.line {
                    self.event = 0;
                }
                self.line = false;
                self.after_cr = !feed;
            }
            from = end + 1;
        }
        self.take(bytes, from, bytes.len())
    }

    /// Counts a piece of a line.
    fn take(&mut self, bytes: &[u8], from: usize, end: usize) -> Option<usize> {
        let room = self.limit - self.event;
        if end > from {
            self.has_content_line |= !self.line && bytes[from] != b':';
            self.line = true;
        }
        if end - from > room {
            self.event = self.limit;
            return Some(from + room);
        }
        self.event += end - from;
        None
    }
}
