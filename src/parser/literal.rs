//! Matching of fixed texts, such as special tokens, byte by byte.

/// A text of a set that has begun.
///
/// A set has at most 32 texts, none of which begins with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// The offset of its first byte.
    pub(super) start: usize,
    /// Number of bytes read.
    length: usize,
    /// One bit for each text that begins with them.
    open: u32,
}

/// The result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralMatch {
    /// The input ended first.
    More,
    /// None of the texts.
    Fail,
    /// The text with this index in the set.
    Whole(usize),
}

impl Literal {
    /// Create a match for the byte at `start`, which may begin one of the texts.
    pub(super) fn new(start: usize) -> Self {
        Self { start, length: 0, open: u32::MAX }
    }

    /// Read `bytes`, which begin at `*pos`, and leave `*pos` after the last byte that belongs to a
    /// text of the set.
    pub(super) fn read<'t>(
        &mut self,
        texts: &(impl Iterator<Item = &'t str> + Clone),
        bytes: &[u8],
        pos: &mut usize,
    ) -> LiteralMatch {
        for &byte in bytes {
            let (mut open, mut whole) = (0, None);
            for (index, text) in texts.clone().take(32).enumerate() {
                if self.open >> index & 1 == 1 && text.as_bytes().get(self.length) == Some(&byte) {
                    open |= 1 << index;
                    if text.len() == self.length + 1 {
                        whole = Some(index);
                    }
                }
            }
            if open == 0 {
                return LiteralMatch::Fail;
            }
            *pos += 1;
            self.length += 1;
            self.open = open;
            if let Some(index) = whole {
                return LiteralMatch::Whole(index);
            }
        }
        LiteralMatch::More
    }
}
