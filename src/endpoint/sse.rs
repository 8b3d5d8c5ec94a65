//! Decoding of bytes into server-sent events, without a socket.

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

/// Reader of the events in the bytes that are pushed.
pub(super) struct EventReader {
    stream: SseByteStream<ByteSource>,
    source: ByteSource,
    length: EventLength,
    too_long: bool,
    /// True if there has been an event.
    any: bool,
}

/// Error for bytes that are not server-sent events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SseError {
    /// An event exceeds its size limit.
    TooLong,
    /// The text is not UTF-8.
    NotUtf8,
}

impl EventReader {
    /// Create a reader with a size limit for events, in bytes.
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

    /// Return true if the bytes so far contain something other than comments, but no event.
    pub(super) fn is_not_sse(&self) -> bool {
        self.length.has_content_line && !self.any
    }

    /// Push the next bytes, once the events before them have been read.
    pub(super) fn push(&mut self, mut bytes: Bytes) {
        if let Some(end) = self.length.excess(&bytes) {
            bytes.truncate(end);
            self.too_long = true;
        }
        self.source.put(bytes);
    }

    /// Mark the end of the stream, which completes an event without an empty line after it.
    pub(super) fn end(&mut self) {
        self.source.put(Bytes::from_static(b"\n\n"));
    }

    /// Return the data of the next event.
    pub(super) fn next(&mut self) -> Option<Result<String, SseError>> {
        loop {
            let waiting = &mut Context::from_waker(Waker::noop());
            match Pin::new(&mut self.stream).poll_next(waiting) {
                Poll::Ready(Some(Ok(event))) => {
                    self.any = true;
                    if let Some(data) = event.data {
                        return Some(Ok(data));
                    }
                }
                Poll::Ready(Some(Err(_))) => return Some(Err(SseError::NotUtf8)),
                Poll::Ready(None) | Poll::Pending => {
                    return self.too_long.then_some(Err(SseError::TooLong));
                }
            }
        }
    }
}

/// The stream from which the SSE library reads the bytes that are pushed.
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

/// Counter for the length of the current event.
struct EventLength {
    limit: usize,
    /// Number of bytes so far, without line endings.
    event: usize,
    /// True if the current line has any bytes.
    line: bool,
    /// True if the last byte was a carriage return.
    after_cr: bool,
    /// True if there has been a line that is not a comment.
    has_content_line: bool,
}

impl EventLength {
    fn new(limit: usize) -> Self {
        Self { limit, event: 0, line: false, after_cr: false, has_content_line: false }
    }

    /// Return the position in the next bytes at which the event exceeds its limit, if it does.
    fn excess(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        for end in memchr2_iter(b'\n', b'\r', bytes) {
            if let Some(excess) = self.take(bytes, from, end) {
                return Some(excess);
            }
            let feed = bytes[end] == b'\n';
            if feed && self.after_cr && !self.line {
                // The line feed of a CRLF.
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

    /// Count a part of a line.
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
