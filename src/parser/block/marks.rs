//! The texts around the calls of a block: special tokens and the like.

/// The meaning of such a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The beginning of a call, or of a message.
    Begin,
    /// The beginning of an id.
    Id,
    /// The end of a header, or of the first part of it.
    Arguments,
    /// The end of a call, or of a message.
    End,
    /// The end of a block.
    Close,
    /// The beginning of a channel's name.
    Channel,
    /// The beginning of the name of a format.
    Format,
}

impl Mark {
    /// Return true if a call cannot continue beyond this mark.
    pub(super) fn ends_call(self) -> bool {
        matches!(self, Self::Begin | Self::End | Self::Close | Self::Channel)
    }
}

/// The marks of a block, all of which begin with the same byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) inner: &'static [(&'static str, Mark)],
    pub(super) close: &'static [&'static str],
}

impl Marks {
    /// Return the first byte of all marks.
    pub(super) fn lead(self) -> Option<u8> {
        self.texts().next()?.bytes().next()
    }

    pub(super) fn texts(self) -> impl Iterator<Item = &'static str> + Clone {
        self.inner.iter().map(|&(text, _)| text).chain(self.close.iter().copied())
    }

    pub(super) fn mark(self, index: usize) -> Mark {
        self.inner.get(index).map_or(Mark::Close, |&(_, mark)| mark)
    }

    /// Return true if a call has a mark at its end.
    pub(super) fn has_end(self) -> bool {
        self.inner.iter().any(|&(_, mark)| mark == Mark::End)
    }
}
