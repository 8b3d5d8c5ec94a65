//! The grammar of one parser: tools, dialects and options, prepared once.

use std::collections::HashMap;

use thiserror::Error;

use super::{
    Limits,
    dialect::{Dialect, NameRule},
    html,
    limits::LimitError,
};
use crate::contract::{self, ContractError};

/// The default names of tags around reasoning.
pub const REASONING_TAGS: [&str; 2] = ["think", "thinking"];

/// The options of a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The dialects in which calls are recognized.
    pub dialects: Vec<Dialect>,
    /// True if the payload of a call is reported while it arrives.
    pub deltas: bool,
    /// The names of tags around reasoning.
    pub reasoning_tags: Vec<String>,
    /// The treatment of calls inside Markdown code.
    pub in_code: InCode,
    /// Bounds on calls and markup.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dialects: vec![Dialect::NATURAL],
            deltas: true,
            reasoning_tags: REASONING_TAGS.map(str::to_owned).to_vec(),
            in_code: InCode::Text,
            limits: Limits::default(),
        }
    }
}

/// The treatment of calls inside Markdown code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InCode {
    /// As examples, which are text.
    Text,
    /// As calls; Markdown is ignored.
    Call,
}

/// Invalid tools or options.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// A tool's name cannot be used in a tag.
    #[error(transparent)]
    Name(#[from] ContractError),
    /// Two tools share a name.
    #[error("tool {name:?} is given twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A tool has the name of another tag.
    #[error(
        "tool {name:?} has the name of a tag that means something else; rename it{}",
        if *.reasoning { " or pass other reasoning_tags" } else { "" }
    )]
    NameConflict {
        /// The name.
        name: String,
        /// True if the other tag is a reasoning tag.
        reasoning: bool,
    },
    /// The name of a reasoning tag cannot be used in a tag.
    #[error("reasoning tag {name:?} is not the name of a tag; give it without brackets")]
    ReasoningTag {
        /// The name.
        name: String,
    },
    /// No dialect was given.
    #[error("no dialect given; known ones are: natural")]
    MissingDialect,
    /// A limit is out of range.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// The meaning of an opening tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A call to this tool.
    Tool(usize),
    /// A call to the tool that the attribute names.
    Call { tag: &'static str, attribute: &'static str },
    /// A result.
    Response { tag: &'static str },
    /// Reasoning; an index into the reasoning tags.
    Reasoning(usize),
}

/// The opening tags, sorted by name, so that names with a common prefix are adjacent.
#[derive(Clone, Debug)]
pub(super) struct Markers {
    sorted: Vec<(Box<str>, Marker)>,
    /// The range of the names that begin with each byte.
    first: Box<[(usize, usize); 256]>,
}

impl Markers {
    fn new(sorted: Vec<(Box<str>, Marker)>) -> Self {
        let mut first = Box::new([(0, 0); 256]);
        for (at, (name, _)) in sorted.iter().enumerate() {
            let range = &mut first[usize::from(name.as_bytes()[0])];
            *range = (if *range == (0, 0) { at } else { range.0 }, at + 1);
        }
        Self { sorted, first }
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

/// An expected closing tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    /// The closing tag of a tool.
    Tool(usize),
    /// A fixed tag.
    Tag(&'static str),
    /// The closing tag of a reasoning tag.
    Reasoning(usize),
}

/// The grammar of one parser.
#[derive(Clone, Debug)]
pub(super) struct Grammar {
    pub(super) options: Options,
    pub(super) markers: Markers,
    tools: Vec<String>,
    /// For each tool, true if it has the name of an HTML element.
    html: Vec<bool>,
    exact: HashMap<String, usize>,
    /// Tools by lower-case name; `None` if two tools differ only in case.
    folded: HashMap<String, Option<usize>>,
}

impl Grammar {
    pub(super) fn new(tools: Vec<String>, options: Options) -> Result<Self, GrammarError> {
        options.limits.check()?;
        if options.dialects.is_empty() {
            return Err(GrammarError::MissingDialect);
        }
        let mut exact = HashMap::with_capacity(tools.len());
        let mut folded = HashMap::with_capacity(tools.len());
        for (index, name) in tools.iter().enumerate() {
            contract::check_name(name)?;
            if exact.insert(name.clone(), index).is_some() {
                return Err(GrammarError::Duplicate { name: name.clone() });
            }
            folded
                .entry(name.to_lowercase())
                .and_modify(|unique| *unique = None)
                .or_insert(Some(index));
        }
        let markers = markers(&tools, &options)?;
        let html = tools.iter().map(|name| html::is_element(name)).collect();
        Ok(Self { options, markers, tools, html, exact, folded })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    pub(super) fn can_follow_angle(&self, byte: u8) -> bool {
        self.markers.first(byte) != (0, 0)
    }

    pub(super) fn tool(&self, index: usize) -> &str {
        &self.tools[index]
    }

    /// Return true if the tool's own tag may be markup of a page.
    pub(super) fn is_html(&self, index: usize) -> bool {
        self.html[index]
    }

    /// Return the tool of this name: an exact match, or the only one that differs in case alone.
    pub(super) fn resolve(&self, name: &str) -> Option<usize> {
        match self.exact.get(name) {
            Some(&index) => Some(index),
            None => *self.folded.get(&name.to_lowercase())?,
        }
    }

    /// Return true if `text`, after a `<`, begins a tag that names a tool in an attribute.
    pub(super) fn begins_call_tag(&self, text: &str) -> bool {
        let forms = self.options.dialects.iter().flat_map(|dialect| dialect.forms);
        forms.into_iter().any(|form| match form.name {
            NameRule::Tag => false,
            NameRule::Attribute { tag, .. } => {
                text.strip_prefix(tag).is_some_and(|rest| rest.starts_with(char::is_whitespace))
            }
        })
    }

    pub(super) fn closer(&self, closer: Closer) -> &str {
        match closer {
            Closer::Tool(index) => &self.tools[index],
            Closer::Tag(tag) => tag,
            Closer::Reasoning(index) => &self.options.reasoning_tags[index],
        }
    }
}

fn markers(tools: &[String], options: &Options) -> Result<Markers, GrammarError> {
    let mut markers: Vec<(Box<str>, Marker)> = Vec::new();
    for dialect in &options.dialects {
        for form in dialect.forms {
            match form.name {
                NameRule::Tag => markers.extend(
                    tools
                        .iter()
                        .enumerate()
                        .map(|(index, name)| (name.as_str().into(), Marker::Tool(index))),
                ),
                NameRule::Attribute { tag, attribute } => {
                    markers.push((tag.into(), Marker::Call { tag, attribute }));
                }
            }
        }
        if let Some(tag) = dialect.response {
            markers.push((tag.into(), Marker::Response { tag }));
        }
    }
    for (index, name) in options.reasoning_tags.iter().enumerate() {
        if contract::check_name(name).is_err() {
            return Err(GrammarError::ReasoningTag { name: name.clone() });
        }
        markers.push((name.as_str().into(), Marker::Reasoning(index)));
    }
    markers.sort_by(|a, b| a.0.cmp(&b.0));
    // Several dialects may share a tag, and a tag may be listed twice.
    markers.dedup_by(|b, a| {
        a.0 == b.0
            && (a.1 == b.1 || matches!((a.1, b.1), (Marker::Reasoning(_), Marker::Reasoning(_))))
    });
    match markers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(Markers::new(markers)),
        Some(pair) => Err(GrammarError::NameConflict {
            name: pair[0].0.to_string(),
            reasoning: pair.iter().any(|(_, marker)| matches!(marker, Marker::Reasoning(_))),
        }),
    }
}
