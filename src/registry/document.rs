//! The layout of a `tools.xml`, as needed to write it again.

use std::sync::Arc;

use super::tool::Tool;

/// An attribute that is preserved unchanged.
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

/// A known child element of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Path,
    Method,
    Handler,
    /// An argument, by position.
    Argument(u32),
    /// An example, by position.
    Example(u32),
    Prompt,
    ReturnStruc,
}

/// A part of a tool, in document order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Field(Field),
    /// A field whose element has more than its text.
    AnnotatedField(Box<AnnotatedField>),
    /// Other content, preserved unchanged: a comment, or an unknown element with its content.
    Verbatim(Box<[Piece]>),
}

/// A field with unknown attributes, or with markup in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnnotatedField {
    pub(super) field: Field,
    pub(super) attributes: Box<[Attribute]>,
    /// The content, if it is more than text.
    pub(super) inner: Option<Box<[Piece]>>,
}

/// The markup of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolMarkup {
    /// The value of `enabled`, if present.
    pub(super) enabled: Option<Box<str>>,
    /// Unknown attributes.
    pub(super) attributes: Box<[Attribute]>,
    pub(super) parts: Vec<Part>,
}

impl ToolMarkup {
    /// Create the markup for a tool that was not read from a document.
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

/// A tool and its markup.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) tool: Arc<Tool>,
    pub(super) markup: Arc<ToolMarkup>,
}

/// An item of a document outside of tools, in document order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The start of the root, a site or a type.
    Open { name: Box<str>, attributes: Box<[Attribute]> },
    /// The end of the innermost open item.
    Close,
    /// A tool, by position.
    Tool(u32),
    /// Other content, preserved unchanged.
    Verbatim(Box<[Piece]>),
}
