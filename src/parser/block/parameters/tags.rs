//! The tags of calls with one tag for each argument.

use super::{Input, Parameters};
use crate::parser::{dialect::Block, tag::attribute};

/// The tags of one spelling of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTags {
    /// The beginning of the tag that opens the call, up to the name or the attributes.
    pub open: &'static str,
    /// The place of the name.
    pub name: CallName,
    /// The end of the tag that opens the call.
    pub end: &'static str,
    /// The tag that closes the call.
    pub close: &'static str,
    /// The beginnings of the tag that opens an argument; the end of the call inside its value may
    /// be part of the value. Without any, the first end of the call counts.
    pub parameter: &'static [&'static str],
    /// The tag that closes an argument.
    pub parameter_close: &'static str,
}

/// The place of a call's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallName {
    /// The rest of the tag.
    Rest,
    /// An attribute.
    Attribute(&'static str),
    /// A tag of its own after the tag: the texts before and after the name.
    Tag(&'static str, &'static str),
}

/// The result of comparing bytes with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit<T> {
    Yes(T),
    No,
    /// The bytes end first.
    Partial,
}

/// Compare the beginning of `bytes` with `text`; if it fits, return its length.
pub(super) fn begins_with(bytes: &[u8], text: &str) -> Fit<usize> {
    let text = text.as_bytes();
    let length = text.len().min(bytes.len());
    let (ours, theirs) = (&bytes[..length], &text[..length]);
    // Tags have the same beginning, and most of them differ in the last byte that can be compared.
    if ours.last() != theirs.last() || ours != theirs {
        Fit::No
    } else if length == text.len() {
        Fit::Yes(length)
    } else {
        Fit::Partial
    }
}

/// Compare the beginning of `bytes` with all `texts`.
pub(super) fn begins_with_any<'t>(
    bytes: &[u8],
    texts: impl IntoIterator<Item = &'t str>,
) -> Fit<usize> {
    let mut result = Fit::No;
    for text in texts {
        match begins_with(bytes, text) {
            Fit::Yes(length) => return Fit::Yes(length),
            Fit::Partial => result = Fit::Partial,
            Fit::No => {}
        }
    }
    result
}

/// A tag that opens a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenTag {
    /// The tags of the call.
    pub(super) tags: CallTags,
    /// Start, end of the name.
    pub(super) name: (usize, usize),
    /// End of the tag.
    pub(super) end: usize,
}

impl CallTags {
    /// Read the tag at `at`, if it is one that opens a call.
    pub(super) fn read(&self, input: Input<'_>, at: usize) -> Fit<OpenTag> {
        let limit = input.grammar.limits().max_tag_bytes;
        let bytes = input.from(at);
        let whole = bytes.len() >= limit;
        let bytes = &bytes[..bytes.len().min(limit)];
        match self.read_bytes(bytes) {
            Fit::Partial if whole => Fit::No,
            Fit::Partial => Fit::Partial,
            Fit::No => Fit::No,
            Fit::Yes(((from, to), end)) => {
                let name = (at + from, at + to);
                Fit::Yes(OpenTag { tags: *self, name, end: at + end })
            }
        }
    }

    /// Return the place of the name and the end of the tag that `bytes` begin with.
    fn read_bytes(&self, bytes: &[u8]) -> Fit<((usize, usize), usize)> {
        let opened = match begins_with(bytes, self.open) {
            Fit::Yes(opened) => opened,
            Fit::Partial => return Fit::Partial,
            Fit::No => return Fit::No,
        };
        if let CallName::Tag(before, after) = self.name {
            return named_by_tag(bytes, opened, before, after);
        }
        let (to, end) = match tag_end(bytes, opened, self.end) {
            Fit::Yes(found) => found,
            Fit::Partial => return Fit::Partial,
            Fit::No => return Fit::No,
        };
        let Ok(tag) = std::str::from_utf8(&bytes[..end]) else { return Fit::No };
        let name = match self.name {
            CallName::Attribute(name) => attribute(tag, name).unwrap_or_default(),
            _ => tag[opened..to].trim().trim_matches(['"', '\'']),
        };
        if name.is_empty() {
            return Fit::No;
        }
        let from = name.as_ptr() as usize - tag.as_ptr() as usize;
        Fit::Yes(((from, from + name.len()), end))
    }
}

/// Find the first `end` from `from` on, before another tag or line; return its start and end.
fn tag_end(bytes: &[u8], from: usize, end: &str) -> Fit<(usize, usize)> {
    let first = end.as_bytes().first().copied().unwrap_or(b'>');
    let stops = |byte: &u8| *byte == first || matches!(byte, b'<' | b'\n');
    let Some(to) = bytes[from..].iter().position(stops).map(|length| from + length) else {
        return Fit::Partial;
    };
    match begins_with(&bytes[to..], end) {
        Fit::Yes(length) => Fit::Yes((to, to + length)),
        Fit::Partial => Fit::Partial,
        Fit::No => Fit::No,
    }
}

/// Read the name that stands between two texts, after white space.
fn named_by_tag(
    bytes: &[u8],
    from: usize,
    before: &str,
    after: &str,
) -> Fit<((usize, usize), usize)> {
    let blank = bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let from = match begins_with(&bytes[from + blank..], before) {
        Fit::Yes(length) => from + blank + length,
        Fit::Partial => return Fit::Partial,
        Fit::No => return Fit::No,
    };
    match tag_end(bytes, from, after) {
        Fit::Yes((to, end)) if to > from => Fit::Yes(((from, to), end)),
        Fit::Partial => Fit::Partial,
        _ => Fit::No,
    }
}

/// The markup at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    CallOpen,
    CallClose,
    BlockOpen,
    BlockClose,
    ParameterOpen,
    ParameterClose,
    Skip,
}

/// Return the first byte of all markup.
pub(super) fn lead(body: &Parameters) -> u8 {
    body.calls.first().and_then(|tags| tags.open.bytes().next()).unwrap_or(b'<')
}

/// Return all markup with its text; `open` is the spelling of the open call.
fn texts<'a>(
    block: &'a Block,
    body: &'a Parameters,
    open: Option<&'a CallTags>,
) -> impl Iterator<Item = (Markup, &'static str)> + 'a {
    let parameters = open.into_iter().flat_map(|tags| {
        let opens = tags.parameter.iter().map(|&open| (Markup::ParameterOpen, open));
        opens.chain([(Markup::ParameterClose, tags.parameter_close)])
    });
    parameters
        .chain(body.calls.iter().map(|tags| (Markup::CallClose, tags.close)))
        .chain(body.calls.iter().map(|tags| (Markup::CallOpen, tags.open)))
        .chain(block.close.iter().map(|&close| (Markup::BlockClose, close)))
        .chain(body.skip.iter().map(|&text| (Markup::Skip, text)))
        .chain(block.open.iter().map(|&open| (Markup::BlockOpen, open)))
        .filter(|(_, text)| !text.is_empty())
}

/// Return the markup that `bytes` begin with and its length, as far as its beginning shows.
///
/// `open` is the spelling of the open call.
pub(super) fn markup(
    block: &Block,
    body: &Parameters,
    open: Option<&CallTags>,
    bytes: &[u8],
) -> Fit<(Markup, usize)> {
    if bytes.first() != Some(&lead(body)) {
        return Fit::No;
    }
    for (markup, text) in texts(block, body, open) {
        match begins_with(bytes, text) {
            Fit::Yes(length) => return Fit::Yes((markup, length)),
            // No later text is the beginning of this one, so that none of them can fit.
            Fit::Partial => return Fit::Partial,
            Fit::No => {}
        }
    }
    Fit::No
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{Body, Dialect};

    #[test]
    fn no_markup_is_the_beginning_of_markup_before_it() {
        let mut bodies = 0;
        for dialect in Dialect::ALL {
            for block in dialect.blocks.iter().chain(dialect.also()) {
                let Body::Parameters(body) = block.body else { continue };
                bodies += 1;
                for open in [None].into_iter().chain(body.calls.iter().map(Some)) {
                    let texts: Vec<_> = texts(block, &body, open).collect();
                    for (at, (_, later)) in texts.iter().enumerate() {
                        for (_, text) in &texts[..at] {
                            let hidden = text.starts_with(later) && text != later;
                            assert!(!hidden, "{}: {later:?} after {text:?}", dialect.name);
                        }
                    }
                }
            }
        }
        assert!(bodies > 10);
    }
}
