//! A `tools.xml` as it is laid out: what is needed to write it again.

use std::sync::Arc;

use super::tool::Tool;

/// An attribute that is kept as it is.
pub(super) type Attribute = (Box<str>, Box<str>);

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Open { name: Box<str>, attributes: Box<[Attribute]> },
    Close,
    Text(Box<str>),
    Comment(Box<str>),
    Instruction(Box<str>),
    Doctype(Box<str>),
}

/// A child element of a tool that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Path,
    Method,
    Handler,
    /// One of the arguments, by position.
    Argument(u32),
    /// One of the examples, by position.
    Example(u32),
    Prompt,
    ReturnStruc,
}

/// What stands in a tool, in the order of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Field(Field),
    /// A field whose element has more to it than its text.
    AnnotatedField(Box<AnnotatedField>),
    /// Whatever else is there: a comment, an unknown element with all in it.
    Verbatim(Box<[Piece]>),
}

/// A field with attributes that mean nothing, or with more than text in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnnotatedField {
    pub(super) field: Field,
    pub(super) attributes: Box<[Attribute]>,
    /// The content as it is, if it is more than its text.
    pub(super) inner: Option<Box<[Piece]>>,
}

/// How a tool is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolMarkup {
    /// What `enabled` says, if it is there.
    pub(super) enabled: Option<Box<str>>,
    /// Attributes that mean nothing.
    pub(super) attributes: Box<[Attribute]>,
    pub(super) parts: Vec<Part>,
}

impl ToolMarkup {
    /// How a tool is written that was in no document.
    pub(super) fn of(tool: &Tool) -> Self {
        let counted = |count: usize| 0..u32::try_from(count).unwrap_or(u32::MAX);
        let mut parts = Vec::new();
        let mut field = |field| parts.push(Part::Field(field));
        if !tool.path.is_empty() {
            field(Field::Path);
        }
        if !tool.method.is_empty() {
            field(Field::Method);
        }
        if tool.handler.is_some() {
            field(Field::Handler);
        }
        counted(tool.arguments.len()).for_each(|index| field(Field::Argument(index)));
        counted(tool.examples.len()).for_each(|index| field(Field::Example(index)));
        if tool.prompt.is_some() {
            field(Field::Prompt);
        }
        if tool.return_struc.is_some() {
            field(Field::ReturnStruc);
        }
        let enabled = (!tool.enabled).then(|| "false".into());
        Self { enabled, attributes: Box::default(), parts }
    }
}

/// A tool and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) tool: Arc<Tool>,
    pub(super) markup: Arc<ToolMarkup>,
}

/// What stands in a document outside of tools, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The root, a site or a type begins.
    Open { name: Box<str>, attributes: Box<[Attribute]> },
    /// It ends.
    Close,
    /// A tool, by position.
    Tool(u32),
    /// Whatever else is there.
    Verbatim(Box<[Piece]>),
}
