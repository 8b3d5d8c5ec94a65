//! The buffered part of the reply, addressed by offsets into the whole reply.
//!
//! Offsets count bytes from the start of the reply, so that they remain valid when text is dropped.

use super::work;

/// The part of the reply from the first byte still needed to the last one received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    text: &'a str,
    base: usize,
}

impl<'a> Window<'a> {
    pub(super) fn new(text: &'a str, base: usize) -> Self {
        Self { text, base }
    }

    /// Return the offset of the first byte.
    pub(super) fn start(self) -> usize {
        self.base
    }

    /// Return the offset just past the last byte.
    pub(super) fn end(self) -> usize {
        self.base + self.text.len()
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        work::count(1);
        self.text.as_bytes().get(at - self.base).copied()
    }

    /// Return the bytes from `at` on.
    pub(super) fn from(self, at: usize) -> &'a [u8] {
        &self.text.as_bytes()[at - self.base..]
    }

    pub(super) fn slice(self, from: usize, to: usize) -> &'a str {
        &self.text[from - self.base..to - self.base]
    }

    /// Return the bytes before `at`, as far as they are here.
    pub(super) fn before(self, at: usize) -> &'a str {
        &self.text[..at - self.base]
    }

    /// Return the last character boundary at or before `at`.
    pub(super) fn boundary(self, mut at: usize) -> usize {
        while !self.text.is_char_boundary(at - self.base) {
            at -= 1;
        }
        at
    }
}
