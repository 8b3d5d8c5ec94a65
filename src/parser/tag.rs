//! Matching of one tag or another marker, byte by byte.

use super::{
    markers::{Lead, Markers},
    window::Window,
    work,
};

/// A `<`, or another beginning of a marker, and what has been read after it.
///
/// In a tag another `<` always ends the match, so that no byte is read by two matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagMatch {
    /// The offset of the `<`, or of the first byte of another marker.
    pub(super) start: usize,
    pub(super) lead: Lead,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// At the first byte after the `<`.
    First,
    /// Part of a name: the markers in `low..high` begin with it.
    Name { low: usize, high: usize, length: usize },
    /// A whole name and a slash, which may close the tag or belong to a longer name.
    Slash { whole: usize, low: usize, high: usize, length: usize },
    /// A whole name and white space.
    Space { marker: usize },
    /// A slash that must be followed by `>`.
    SelfClose { marker: usize },
    /// Between the name and the `>` of a tag that takes attributes.
    Attributes { marker: usize, quote: Option<u8>, last: u8 },
    /// Part of the closing tag.
    Close { length: usize },
    /// The closing tag but for its `>`.
    CloseSpace,
}

/// The result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The input ended first.
    More,
    /// Not a tag.
    Fail,
    /// The expected closing tag.
    Close,
    /// An opening tag.
    Open {
        /// Index of the marker.
        marker: usize,
        /// True if it ended in `/>`.
        self_closing: bool,
    },
}

/// The tags to match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Opening tags, if any.
    pub(super) open: Option<&'a Markers>,
    /// The name in the expected closing tag, if any.
    pub(super) close: Option<&'a str>,
    /// Maximum length of a tag, in bytes.
    pub(super) limit: usize,
}

impl TagMatch {
    /// Create a match for the position after the `<` at `start`.
    pub(super) fn new(start: usize) -> Self {
        Self::at(start, Lead::Angle)
    }

    /// Create a match for a marker at `start`. The `<` or `[` that leads it has been read.
    pub(super) fn at(start: usize, lead: Lead) -> Self {
        Self { start, lead, phase: Phase::First }
    }

    /// Read the bytes from `pos` on, and leave `pos` after the last one that was consumed.
    pub(super) fn scan(
        &mut self,
        window: Window<'_>,
        pos: &mut usize,
        wanted: Wanted<'_>,
    ) -> Match {
        let ahead = window.from(*pos);
        let left = wanted.limit.saturating_sub(*pos - self.start).min(ahead.len());
        let mut at = 0;
        let found = loop {
            at += self.skip(&ahead[at..left], wanted);
            if let Some(marker) = self.literal(wanted) {
                break Match::Open { marker, self_closing: false };
            }
            let Some(&byte) = ahead[..left].get(at) else {
                break if left < ahead.len() { Match::Fail } else { Match::More };
            };
            match self.step(byte, wanted) {
                Match::More => at += 1,
                Match::Fail => break Match::Fail,
                found => {
                    at += 1;
                    break found;
                }
            }
        };
        work::count(at + 1);
        *pos += at;
        found
    }

    /// Return the marker that has been read in full, if nothing has to follow it.
    fn literal(&self, wanted: Wanted<'_>) -> Option<usize> {
        let markers = wanted.open.filter(|markers| markers.has_literals)?;
        let Phase::Name { low, length, .. } = self.phase else { return None };
        markers.whole(low, length).filter(|&marker| markers.is_literal(marker))
    }

    /// Consume the bytes that continue the only possible name; return their number.
    fn skip(&mut self, bytes: &[u8], wanted: Wanted<'_>) -> usize {
        let (name, length) = match (&mut self.phase, wanted) {
            (Phase::Name { low, high, length }, Wanted { open: Some(markers), .. })
                if *high == *low + 1 =>
            {
                (markers.name(*low), length)
            }
            (Phase::Close { length }, Wanted { close: Some(name), .. }) => (name, length),
            _ => return 0,
        };
        let rest = &name.as_bytes()[*length..];
        let same = rest.iter().zip(bytes).take_while(|(expected, byte)| expected == byte).count();
        *length += same;
        same
    }

    fn step(&mut self, byte: u8, wanted: Wanted<'_>) -> Match {
        match self.phase {
            Phase::First if byte == b'/' && wanted.close.is_some() => {
                self.enter(Phase::Close { length: 0 })
            }
            Phase::First => match wanted.open {
                Some(markers) => self.narrow_to(markers.first(byte), 1),
                None => Match::Fail,
            },
            Phase::Name { low, high, length } => {
                let Some(markers) = wanted.open else { return Match::Fail };
                let whole = markers.whole(low, length);
                match (byte, whole) {
                    (b'>', Some(marker)) => Match::Open { marker, self_closing: false },
                    (b'/', Some(whole)) => {
                        let (low, high) = markers.narrow(byte, low, high, length);
                        self.enter(Phase::Slash { whole, low, high, length: length + 1 })
                    }
                    (_, Some(marker)) if byte.is_ascii_whitespace() => {
                        self.enter(if markers.takes_attributes(marker) {
                            Phase::Attributes { marker, quote: None, last: byte }
                        } else {
                            Phase::Space { marker }
                        })
                    }
                    _ => self.narrow(byte, markers, low, high, length),
                }
            }
            Phase::Slash { whole, .. } if byte == b'>' => {
                Match::Open { marker: whole, self_closing: true }
            }
            Phase::Slash { low, high, length, .. } => match wanted.open {
                Some(markers) => self.narrow(byte, markers, low, high, length),
                None => Match::Fail,
            },
            Phase::Space { marker } => match byte {
                b'>' => Match::Open { marker, self_closing: false },
                b'/' => self.enter(Phase::SelfClose { marker }),
                _ if byte.is_ascii_whitespace() => Match::More,
                _ => Match::Fail,
            },
            Phase::SelfClose { marker } if byte == b'>' => {
                Match::Open { marker, self_closing: true }
            }
            Phase::Attributes { marker, quote, last } => {
                let quote = match (byte, quote) {
                    (b'<', _) => return Match::Fail,
                    (_, Some(open)) if byte == open => None,
                    (_, Some(_)) => quote,
                    (b'>', None) => {
                        return Match::Open { marker, self_closing: last == b'/' };
                    }
                    // Only a value can be quoted: the apostrophe in `name=it's` is a letter.
                    (b'"' | b'\'', None) if last == b'=' => Some(byte),
                    (_, None) => None,
                };
                let last = if byte.is_ascii_whitespace() && last == b'=' { last } else { byte };
                self.enter(Phase::Attributes { marker, quote, last })
            }
            Phase::Close { length } => {
                let Some(name) = wanted.close.map(str::as_bytes) else { return Match::Fail };
                match name.get(length) {
                    Some(&expected) if expected == byte => {
                        self.enter(Phase::Close { length: length + 1 })
                    }
                    None if byte == b'>' => Match::Close,
                    None if byte.is_ascii_whitespace() => self.enter(Phase::CloseSpace),
                    _ => Match::Fail,
                }
            }
            Phase::CloseSpace if byte == b'>' => Match::Close,
            Phase::CloseSpace if byte.is_ascii_whitespace() => Match::More,
            Phase::SelfClose { .. } | Phase::CloseSpace => Match::Fail,
        }
    }

    fn narrow(
        &mut self,
        byte: u8,
        markers: &Markers,
        low: usize,
        high: usize,
        length: usize,
    ) -> Match {
        self.narrow_to(markers.narrow(byte, low, high, length), length + 1)
    }

    fn narrow_to(&mut self, (low, high): (usize, usize), length: usize) -> Match {
        if low == high { Match::Fail } else { self.enter(Phase::Name { low, high, length }) }
    }

    fn enter(&mut self, phase: Phase) -> Match {
        self.phase = phase;
        Match::More
    }
}

/// Return the opening tag at the start of `text`, which may have attributes, up to its `>`.
pub(crate) fn opening_tag(text: &str) -> Option<&str> {
    let name = text.find(|ch: char| ch.is_ascii_whitespace() || ch == '>')?;
    let mut end = name + 1;
    if text.as_bytes()[name] != b'>' {
        let phase = Phase::Attributes { marker: 0, quote: None, last: text.as_bytes()[name] };
        let wanted = Wanted { open: None, close: None, limit: usize::MAX };
        let found = TagMatch { start: 0, lead: Lead::Angle, phase }.scan(
            Window::new(text, 0),
            &mut end,
            wanted,
        );
        if !matches!(found, Match::Open { .. }) {
            return None;
        }
    }
    Some(&text[..end])
}

/// Return the value of an attribute in a tag, without quotes.
///
/// `tag` is a whole tag as [`TagMatch`] finds it: short, and without a second `<`. If the attribute
/// is repeated, the first one counts.
pub(crate) fn attribute<'a>(tag: &'a str, wanted: &str) -> Option<&'a str> {
    let inner = tag.strip_suffix('>')?;
    let mut rest = &inner[find(inner, u8::is_ascii_whitespace)?..];
    loop {
        rest = &rest[find(rest, |byte| !byte.is_ascii_whitespace() && *byte != b'/')?..];
        let name_end = find(rest, |byte| byte.is_ascii_whitespace() || *byte == b'=');
        let (name, after) = rest.split_at(name_end.unwrap_or(rest.len()));
        rest = after.trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            // An attribute without a value; a stray `=` would have been consumed above.
            continue;
        };
        let after = after.trim_start();
        let (value, left) = if let Some(quote @ (b'"' | b'\'')) = after.bytes().next() {
            after[1..].split_once(char::from(quote))?
        } else {
            let end = find(after, u8::is_ascii_whitespace).unwrap_or(after.len());
            let value = &after[..end];
            let value = if end == after.len() { value.trim_end_matches('/') } else { value };
            (value, &after[end..])
        };
        if name == wanted {
            return Some(value.trim());
        }
        rest = left;
    }
}

/// Return the offset of the first byte that fits: an ASCII character, or the first byte of another.
#[inline]
fn find(text: &str, fits: impl Fn(&u8) -> bool) -> Option<usize> {
    text.as_bytes().iter().position(fits)
}
