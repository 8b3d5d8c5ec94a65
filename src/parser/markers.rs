//! The texts that begin something other than text, prepared for matching.

use std::{
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
};

use super::{
    block::Body,
    dialect::{Block, Dialect, Evidence, NameRule},
    grammar::{GrammarError, Options},
    reasoning::Reasoning,
};
use crate::contract;

/// The meaning of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A call to this tool.
    Tool(usize),
    /// A call to the tool that the attribute names; without the attribute, an opener of blocks.
    Call { tag: &'static str, attribute: &'static str, opener: Option<usize> },
    /// A text that opens a block of calls.
    Opener {
        /// Index of the opener.
        index: usize,
        /// True if the name is the whole rest of the text, not a tag's.
        literal: bool,
    },
    /// A text that closes a block of calls.
    Closer {
        /// The whole text.
        text: &'static str,
        /// True if the name is the whole rest of the text, not a tag's.
        literal: bool,
    },
    /// A result.
    Response { tag: &'static str },
    /// Reasoning.
    Reasoning {
        /// Index of the kind of reasoning.
        index: usize,
        /// True if the name is the whole rest of the text, not a tag's.
        literal: bool,
    },
}

/// The place where markers are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// After any `<`.
    Angle,
    /// After any `[`.
    Bracket,
    /// At the beginning of a line.
    Line,
    /// At the beginning of the reply.
    Beginning,
    /// At the beginning of a line of a reply that has the form of [`React`](Body::React).
    Thought,
}

/// Markers sorted by name, so that names with a common prefix are adjacent.
#[derive(Clone, Debug)]
pub(super) struct Markers {
    sorted: Vec<(Box<str>, Marker)>,
    /// The range of the names that begin with each byte.
    first: Box<[(usize, usize); 256]>,
    /// For each first byte, the second bytes of these names, as a set of their lowest six bits.
    second: Box<[u64; 256]>,
    /// True if some need no `>` to follow.
    pub(super) has_literals: bool,
    /// True if a name that begins with a slash opens something.
    pub(super) opens_with_slash: bool,
}

impl Markers {
    fn new(mut markers: Vec<(Box<str>, Marker)>) -> Self {
        markers.sort_by(|a, b| a.0.cmp(&b.0));
        let mut first = Box::new([(0, 0); 256]);
        let mut second = Box::new([0; 256]);
        for (at, (name, _)) in markers.iter().enumerate() {
            let Some((&byte, rest)) = name.as_bytes().split_first() else { continue };
            let range = &mut first[usize::from(byte)];
            *range = (if *range == (0, 0) { at } else { range.0 }, at + 1);
            // Any byte may follow a whole name.
            second[usize::from(byte)] |= rest.first().map_or(u64::MAX, |&next| set_of(next));
        }
        let mut made =
            Self { sorted: markers, first, second, has_literals: false, opens_with_slash: false };
        made.opens_with_slash = made.opens_with(b'/');
        made.has_literals = (0..made.sorted.len()).any(|at| made.is_literal(at));
        made
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    pub(super) fn name(&self, at: usize) -> &str {
        &self.sorted[at].0
    }

    pub(super) fn marker(&self, at: usize) -> Marker {
        self.sorted[at].1
    }

    /// Return the range of names that begin with `byte`, empty if there are none.
    pub(super) fn first(&self, byte: u8) -> (usize, usize) {
        self.first[usize::from(byte)]
    }

    /// Return true if a name begins with `byte`.
    pub(super) fn can_begin(&self, byte: u8) -> bool {
        self.first(byte) != (0, 0)
    }

    /// Return true if a name that begins with `byte` opens something.
    fn opens_with(&self, byte: u8) -> bool {
        let (low, high) = self.first(byte);
        (low..high).any(|at| !matches!(self.marker(at), Marker::Closer { .. }))
    }

    /// Return true if `bytes`, the input from here on, may begin with a name, by their first two.
    #[inline]
    pub(super) fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes {
            [] => true,
            [first] => self.can_begin(*first),
            [first, next, ..] => self.second[usize::from(*first)] & set_of(*next) != 0,
        }
    }

    /// Return true if the name is the whole marker, without a `>` to follow.
    pub(super) fn is_literal(&self, at: usize) -> bool {
        matches!(
            self.marker(at),
            Marker::Opener { literal: true, .. }
                | Marker::Closer { literal: true, .. }
                | Marker::Reasoning { literal: true, .. }
        )
    }

    pub(super) fn takes_attributes(&self, at: usize) -> bool {
        matches!(self.marker(at), Marker::Call { .. } | Marker::Response { .. })
    }

    /// Narrow the range `low..high`, whose names share their first `length` bytes, to those that
    /// continue with `byte`.
    pub(super) fn narrow(
        &self,
        byte: u8,
        low: usize,
        high: usize,
        length: usize,
    ) -> (usize, usize) {
        let range = &self.sorted[low..high];
        let next = |entry: &(Box<str>, Marker)| entry.0.as_bytes().get(length).copied();
        // Most names differ in their first letters.
        if let [only] = range {
            return if next(only) == Some(byte) { (low, high) } else { (low, low) };
        }
        let from = low + range.partition_point(|entry| next(entry) < Some(byte));
        let to = low + range.partition_point(|entry| next(entry) <= Some(byte));
        (from, to)
    }

    /// Return the marker whose name is exactly the common prefix of its range.
    pub(super) fn whole(&self, low: usize, length: usize) -> Option<usize> {
        (self.sorted[low].0.len() == length).then_some(low)
    }
}

/// Return the set with the lowest six bits of `byte` in it.
fn set_of(byte: u8) -> u64 {
    1 << (byte & 63)
}

/// A text that opens a block, and the forms that it may open.
#[derive(Clone, Debug)]
pub(super) struct Opener {
    pub(super) text: Box<str>,
    pub(super) blocks: Vec<OpenedBlock>,
}

/// A form of a block, in a dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenedBlock {
    pub(super) dialect: &'static str,
    pub(super) block: Block,
}

/// The markers of a grammar, by the place where they count.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) openers: Vec<Opener>,
    angle: Markers,
    bracket: Markers,
    line: Markers,
    beginning: Markers,
    thought: Markers,
    /// True if an opener begins with a byte before its `<`.
    pub(super) has_prefixed: bool,
}

/// The byte that may stand before the `<` of an opener and belong to it.
pub(super) const PREFIX: u8 = b']';

impl Places {
    pub(super) fn new(
        tools: &[String],
        options: &Options,
        reasoning: &[Reasoning],
    ) -> Result<Self, GrammarError> {
        let mut openers = Vec::new();
        let mut groups: BTreeMap<(u8, Box<str>), usize> = BTreeMap::new();
        for (place, text, opened) in opened_blocks(tools, options) {
            let index = *groups.entry((place as u8, text.as_str().into())).or_insert_with(|| {
                openers.push(Opener { text: text.as_str().into(), blocks: Vec::new() });
                openers.len() - 1
            });
            if let Some(Opener { blocks, .. }) = openers.get_mut(index) {
                blocks.push(opened);
            }
        }
        let texts = |lead: Lead| -> Vec<(&str, usize)> {
            let here = groups.iter().filter(|((place, _), _)| *place == lead as u8);
            here.map(|((_, text), &index)| (&**text, index)).collect()
        };
        let closers = closers(options);
        let mut bracket: Vec<(Box<str>, Marker)> = texts(Lead::Bracket)
            .into_iter()
            .map(|(text, index)| (text[1..].into(), Marker::Opener { index, literal: true }))
            .collect();
        add_closers(&mut bracket, "[", &closers);
        let angle = texts(Lead::Angle);
        let line = texts(Lead::Line);
        Ok(Self {
            angle: angle_markers(tools, options, &angle, &closers, reasoning)?,
            bracket: Markers::new(bracket),
            beginning: literals([&texts(Lead::Beginning), &line]),
            thought: literals([&texts(Lead::Thought), &line]),
            line: literals([&line, &[]]),
            has_prefixed: angle.iter().any(|(text, _)| text.starts_with(char::from(PREFIX))),
            openers,
        })
    }

    pub(super) fn at(&self, lead: Lead) -> &Markers {
        match lead {
            Lead::Angle => &self.angle,
            Lead::Bracket => &self.bracket,
            Lead::Line => &self.line,
            Lead::Beginning => &self.beginning,
            Lead::Thought => &self.thought,
        }
    }
}

/// Return markers for whole texts. Of equal texts the first counts.
fn literals(openers: [&[(&str, usize)]; 2]) -> Markers {
    let literal =
        |&(text, index): &(&str, usize)| (text.into(), Marker::Opener { index, literal: true });
    let mut markers: Vec<(Box<str>, Marker)> = openers.into_iter().flatten().map(literal).collect();
    markers.sort_by(|a, b| a.0.cmp(&b.0));
    markers.dedup_by(|b, a| a.0 == b.0);
    Markers::new(markers)
}

/// Return each text that opens a block, with the place where it counts.
fn opened_blocks(tools: &[String], options: &Options) -> Vec<(Lead, String, OpenedBlock)> {
    let mut opened = Vec::new();
    for (dialect, block) in blocks(options) {
        let auto = !options.dialects.names(dialect);
        for text in block.open.iter().flat_map(|text| with_names(text, tools)) {
            let places: &[Lead] = match block.evidence {
                Evidence::Marked => match text.as_bytes() {
                    [b'<', ..] | [PREFIX, b'<', ..] => &[Lead::Angle],
                    [b'[', ..] => &[Lead::Bracket],
                    _ => &[Lead::Line],
                },
                Evidence::Shaped if !auto => &[Lead::Line, Lead::Beginning],
                Evidence::Shaped if matches!(block.body, Body::React(_)) => {
                    &[Lead::Beginning, Lead::Thought]
                }
                Evidence::Shaped => &[Lead::Beginning],
                Evidence::Stripped if !auto => &[Lead::Beginning],
                Evidence::Stripped => &[],
            };
            let form = OpenedBlock { dialect, block };
            opened.extend(places.iter().map(|&place| (place, text.clone(), form)));
        }
    }
    opened
}

/// Return the blocks of all dialects, each with the name of its dialect, in the order in which they
/// are tried: a form of several dialects has the name of one that is named.
fn blocks(options: &Options) -> impl Iterator<Item = (&'static str, Block)> {
    let of = |dialect: &Dialect, blocks: &'static [Block]| {
        let name = dialect.name;
        blocks.iter().map(move |&block| (name, block))
    };
    let mut dialects: Vec<&Dialect> = options.dialects.as_slice().iter().collect();
    dialects.sort_by_key(|dialect| !options.dialects.names(dialect.name));
    let own = dialects.clone().into_iter().flat_map(move |dialect| of(dialect, dialect.blocks));
    own.chain(dialects.into_iter().flat_map(move |dialect| of(dialect, dialect.also())))
}

/// The place of a tool's name in an opener.
pub(super) const NAME: &str = "{name}";

/// Return the texts that `text` stands for: with [`NAME`], one for each tool.
fn with_names(text: &str, tools: &[String]) -> Vec<String> {
    if text.contains(NAME) {
        tools.iter().map(|name| text.replace(NAME, name)).collect()
    } else {
        vec![text.to_owned()]
    }
}

/// Return the texts that close blocks.
fn closers(options: &Options) -> Vec<&'static str> {
    let mut closers: Vec<&str> =
        blocks(options).flat_map(|(_, block)| block.close).copied().collect();
    closers.sort_unstable();
    closers.dedup();
    closers
}

/// Add the closers that begin with `lead`, without it, unless an opener is the same.
fn add_closers(markers: &mut Vec<(Box<str>, Marker)>, lead: &str, closers: &[&'static str]) {
    for &text in closers {
        // A byte before the `<` belongs to the closer.
        let body = if lead == "<" { text.strip_prefix(']').unwrap_or(text) } else { text };
        let Some(rest) = body.strip_prefix(lead).filter(|rest| !rest.is_empty()) else { continue };
        let tag = tag_name(body);
        let name = tag.unwrap_or(rest);
        // A longer text would never be read to its end.
        let hides = |known: &str| known == name || tag.is_none() && known.starts_with(name);
        if !markers.iter().any(|(known, _)| hides(known)) {
            markers.push((name.into(), Marker::Closer { text, literal: tag.is_none() }));
        }
    }
}

/// Return true if `name` is that of a tag with which a dialect marks calls, results or reasoning,
/// in any case.
#[must_use]
pub fn is_tag(name: &str) -> bool {
    static TAGS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let options = Options::default();
        let dialects = options.dialects.as_slice();
        let forms = dialects.iter().flat_map(|dialect| dialect.forms);
        let attributes = forms.filter_map(|form| match form.name {
            NameRule::Tag => None,
            NameRule::Attribute { tag, .. } => Some(tag),
        });
        let responses = dialects.iter().filter_map(|dialect| dialect.response);
        let texts = blocks(&options).flat_map(|(_, block)| block.open.iter().chain(block.close));
        let texts = texts.filter_map(|text| tag_name(text.trim_start_matches(char::from(PREFIX))));
        let named = attributes.chain(responses).chain(texts).map(str::to_owned);
        let reasoning = Reasoning::kinds(&options.reasoning_tags, dialects);
        let reasoning = reasoning.iter().filter_map(Reasoning::open);
        let reasoning = reasoning.filter_map(|open| tag_name(&open).map(str::to_owned));
        let tags = named.chain(reasoning);
        tags.map(|tag| tag.trim_start_matches('/').to_ascii_lowercase()).collect()
    });
    TAGS.contains(&name.to_ascii_lowercase())
}

/// Return the name of an opener or a closer that is a tag.
pub(super) fn tag_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?.strip_suffix('>')?;
    let plain = name.strip_prefix('/').unwrap_or(name);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':');
    plain.bytes().all(is_plain).then_some(name)
}

fn angle_markers(
    tools: &[String],
    options: &Options,
    openers: &[(&str, usize)],
    closers: &[&'static str],
    reasoning: &[Reasoning],
) -> Result<Markers, GrammarError> {
    let mut markers: Vec<(Box<str>, Marker)> = Vec::new();
    let opener_of = |tag: &str| {
        openers.iter().find(|(text, _)| tag_name(text) == Some(tag)).map(|&(_, index)| index)
    };
    for dialect in options.dialects.as_slice() {
        for form in dialect.forms {
            match form.name {
                NameRule::Tag => markers.extend(
                    tools
                        .iter()
                        .enumerate()
                        .map(|(index, name)| (name.as_str().into(), Marker::Tool(index))),
                ),
                NameRule::Attribute { tag, attribute } => {
                    let opener = opener_of(tag);
                    markers.push((tag.into(), Marker::Call { tag, attribute, opener }));
                }
            }
        }
        if let Some(tag) = dialect.response {
            markers.push((tag.into(), Marker::Response { tag }));
        }
    }
    for (text, index) in openers {
        let text = text.strip_prefix(char::from(PREFIX)).unwrap_or(text);
        let tag = tag_name(text);
        let name = tag.unwrap_or(&text[1..]);
        let is_known = markers.iter().any(|(known, _)| **known == *name);
        // A natural call with the same tag is told apart by its attribute. A tool that has the
        // name of the tag is called by it.
        if !is_known {
            let marker = Marker::Opener { index: *index, literal: tag.is_none() };
            markers.push((name.into(), marker));
        }
    }
    add_closers(&mut markers, "<", closers);
    for (index, kind) in reasoning.iter().enumerate() {
        let (name, literal) = match kind {
            Reasoning::Tag(name) if contract::check_name(name).is_err() => {
                return Err(GrammarError::ReasoningTag { name: name.clone() });
            }
            Reasoning::Tag(name) => (name.as_str(), false),
            Reasoning::Texts { open, .. } => match open.and_then(|open| open.strip_prefix('<')) {
                Some(name) => (name, true),
                None => continue,
            },
        };
        markers.push((name.into(), Marker::Reasoning { index, literal }));
    }
    markers.sort_by(|a, b| a.0.cmp(&b.0));
    // Several dialects may share a tag, and a tag may be listed twice.
    markers.dedup_by(|b, a| {
        a.0 == b.0
            && (a.1 == b.1
                || matches!((a.1, b.1), (Marker::Reasoning { .. }, Marker::Reasoning { .. })))
    });
    match markers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(Markers::new(markers)),
        Some(pair) => Err(GrammarError::NameConflict {
            name: pair[0].0.to_string(),
            reasoning: pair.iter().any(|(_, marker)| matches!(marker, Marker::Reasoning { .. })),
        }),
    }
}
