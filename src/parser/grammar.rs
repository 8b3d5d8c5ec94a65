//! The grammar of one parser: tools, dialects and options, prepared once.

use std::collections::HashMap;

use thiserror::Error;

use super::{
    Limits,
    dialect::{Dialect, NameRule, names},
    html,
    limits::LimitError,
    markdown::{LineStart, Markdown},
    markers::{Lead, Markers, NAME, Opener, PREFIX, Places},
    reasoning::Reasoning,
};
use crate::contract::{self, ContractError};

/// The default names of tags around reasoning.
pub const REASONING_TAGS: [&str; 2] = ["think", "thinking"];

/// The options of a parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The dialects in which calls are recognized.
    pub dialects: Dialects,
    /// True if the payload of a call is reported while it arrives.
    pub deltas: bool,
    /// The names of tags around reasoning. If there are none, no other reasoning is recognized.
    pub reasoning_tags: Vec<String>,
    /// True if the prompt ends with the opening tag of reasoning, so that the reply begins inside.
    pub starts_in_reasoning: bool,
    /// The treatment of calls inside Markdown code.
    pub in_code: InCode,
    /// Bounds on calls and markup.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dialects: Dialects::Auto,
            deltas: true,
            reasoning_tags: REASONING_TAGS.map(str::to_owned).to_vec(),
            starts_in_reasoning: false,
            in_code: InCode::Text,
            limits: Limits::default(),
        }
    }
}

/// The dialects in which calls are recognized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialects {
    /// All of them; evidence decides.
    Auto,
    /// All of them, and of these also the forms that count only where a dialect is named.
    AutoWith(Vec<Dialect>),
    /// Only some. Their shaped forms count at the beginning of each line, and their stripped forms
    /// at the beginning of the reply.
    Named(Vec<Dialect>),
}

impl Dialects {
    /// Return the dialects, in order.
    pub fn as_slice(&self) -> &[Dialect] {
        match self {
            Self::Auto | Self::AutoWith(_) => Dialect::ALL,
            Self::Named(dialects) => dialects,
        }
    }

    /// Return true if the caller names the dialect of this name.
    pub fn names(&self, name: &str) -> bool {
        match self {
            Self::Auto => false,
            Self::AutoWith(named) | Self::Named(named) => {
                named.iter().any(|dialect| dialect.name == name)
            }
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
    /// A dialect cannot write the name of a tool.
    #[error("the name of tool {name:?} cannot be written in dialect {dialect:?}")]
    DialectName {
        /// The name of the tool.
        name: String,
        /// The dialect.
        dialect: &'static str,
    },
    /// A dialect writes the names of two tools alike.
    #[error("dialect {dialect:?} cannot tell tools {name:?} and {other:?} apart")]
    DialectNames {
        /// The name of a tool.
        name: String,
        /// The name of the other tool.
        other: String,
        /// The dialect.
        dialect: &'static str,
    },
    /// No dialect was given.
    #[error("no dialect given; known ones are: {}", known_dialects())]
    MissingDialect,
    /// A limit is out of range.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// Return the names of all dialects.
fn known_dialects() -> String {
    Dialect::ALL.iter().map(|dialect| dialect.name).collect::<Vec<_>>().join(", ")
}

/// An expected closing tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    /// The closing tag of a tool.
    Tool(usize),
    /// A fixed tag.
    Tag(&'static str),
    /// The tag or the text that closes a kind of reasoning.
    Reasoning(usize),
}

/// The grammar of one parser.
#[derive(Clone, Debug)]
pub(super) struct Grammar {
    pub(super) options: Options,
    places: Places,
    /// True if there are blocks, so that more than tags is looked for.
    pub(super) has_blocks: bool,
    /// True if a marker begins with a `[`.
    pub(super) has_brackets: bool,
    /// True if the beginning of a line or of the reply may be a marker.
    pub(super) has_lines: bool,
    /// For each byte, its meaning at the beginning of a line.
    pub(super) line_starts: Box<[LineStart; 256]>,
    /// For each byte, true if it may have a meaning anywhere in text.
    pub(super) special: Box<[bool; 256]>,
    pub(super) reasoning: Vec<Reasoning>,
    /// Index of the kind of reasoning that ends as messages do, if there are messages.
    pub(super) message: Option<usize>,
    /// Index of the kind of reasoning in which replies begin.
    pub(super) initial: Option<usize>,
    /// The kinds of reasoning that may open a reply but are not found by their tags, with the
    /// texts that open them.
    pub(super) leading: Vec<(usize, String)>,
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
        if options.dialects.as_slice().is_empty() {
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
        let mut reasoning = Reasoning::kinds(&options.reasoning_tags, options.dialects.as_slice());
        check_names(&tools, &options)?;
        let places = Places::new(&tools, &options, &reasoning)?;
        let has_brackets = !places.at(Lead::Bracket).is_empty();
        let has_lines = !places.at(Lead::Beginning).is_empty();
        let has_blocks = !places.openers.is_empty();
        let mut line_starts = Box::new([LineStart::Other; 256]);
        for byte in (0..=u8::MAX).filter(|&byte| !places.at(Lead::Line).can_begin(byte)) {
            line_starts[usize::from(byte)] = match Markdown::line_start(byte) {
                LineStart::Quote if options.in_code == InCode::Call => LineStart::Text,
                meaning => meaning,
            };
        }
        let mut special = Box::new([false; 256]);
        for (byte, is_special) in [
            (b'<', true),
            (b'`', options.in_code == InCode::Text),
            (b'\n', true),
            (b'[', has_brackets),
            (PREFIX, places.has_prefixed),
        ] {
            special[usize::from(byte)] = is_special;
        }
        let html = tools.iter().map(|name| html::is_element(name)).collect();
        let starts = options.starts_in_reasoning;
        let leading = reasoning.iter().enumerate().filter_map(|(index, kind)| {
            let open = kind.open()?;
            (starts || !open.starts_with('<')).then_some((index, open))
        });
        let leading = leading.collect();
        let add = |reasoning: &mut Vec<Reasoning>, kind| {
            reasoning.push(kind);
            reasoning.len() - 1
        };
        let has_messages = options.dialects.as_slice().iter().any(Dialect::has_messages);
        let message = has_messages.then(|| add(&mut reasoning, Reasoning::message()));
        let any = Reasoning::any(&reasoning);
        let initial = starts.then(|| add(&mut reasoning, any));
        Ok(Self {
            options,
            places,
            has_blocks,
            has_brackets,
            has_lines,
            line_starts,
            special,
            reasoning,
            message,
            initial,
            leading,
            tools,
            html,
            exact,
            folded,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Return the tags and other texts that begin with a `<`.
    pub(super) fn tags(&self) -> &Markers {
        self.places.at(Lead::Angle)
    }

    /// Return the markers that count at a place.
    pub(super) fn markers(&self, lead: Lead) -> &Markers {
        self.places.at(lead)
    }

    pub(super) fn opener(&self, index: usize) -> &Opener {
        &self.places.openers[index]
    }

    /// Return true if an opener, in which [`NAME`] stands for any tool, may begin with this byte.
    pub(super) fn begins(&self, opener: &str, byte: u8) -> bool {
        let begins = |text: &str| text.as_bytes().first() == Some(&byte);
        if opener.starts_with(NAME) {
            self.tools.iter().any(|name| begins(name))
        } else {
            begins(opener)
        }
    }

    /// Return true if a byte before a `<` may belong to a marker.
    pub(super) fn has_prefixed(&self) -> bool {
        self.places.has_prefixed
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

    /// Return the length of the longest name of a tool that `text` begins with, if more follows.
    pub(super) fn longest_prefix(&self, text: &str) -> Option<usize> {
        let names = self.tools.iter().filter(|name| text.starts_with(name.as_str()));
        names.map(String::len).filter(|&length| length < text.len()).max()
    }

    /// Return true if `text`, after a `<`, begins a tag that names a tool in an attribute.
    pub(super) fn begins_call_tag(&self, text: &str) -> bool {
        let forms = self.options.dialects.as_slice().iter().flat_map(|dialect| dialect.forms);
        forms.into_iter().any(|form| match form.name {
            NameRule::Tag => false,
            NameRule::Attribute { tag, .. } => {
                text.strip_prefix(tag).is_some_and(|rest| rest.starts_with(char::is_whitespace))
            }
        })
    }

    /// Return the name in the closing tag. Texts are no tags: their name is empty.
    pub(super) fn closer(&self, closer: Closer) -> &str {
        match closer {
            Closer::Tool(index) => &self.tools[index],
            Closer::Tag(tag) => tag,
            Closer::Reasoning(index) => match self.reasoning.get(index) {
                Some(Reasoning::Tag(name)) => name,
                _ => "",
            },
        }
    }
}

/// Check that the dialects that the caller names can write the names of the tools.
fn check_names(tools: &[String], options: &Options) -> Result<(), GrammarError> {
    let Dialects::Named(dialects) = &options.dialects else { return Ok(()) };
    for Dialect { name: dialect, .. } in dialects {
        let mut written: HashMap<&str, &String> = HashMap::with_capacity(tools.len());
        for name in tools {
            let Some(text) = names::written(dialect, name) else {
                return Err(GrammarError::DialectName { name: name.clone(), dialect });
            };
            if let Some(other) = written.insert(text, name).filter(|&other| other != name) {
                let (name, other) = (name.clone(), other.clone());
                return Err(GrammarError::DialectNames { name, other, dialect });
            }
        }
    }
    Ok(())
}
