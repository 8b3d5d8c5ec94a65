//! One tool of a registry.

use std::sync::Arc;

use serde_json::Value;

use super::schema_org::type_name;

/// A tool as a registry has it: the element `Tool` of a `tools.xml`.
///
/// Two tools are equal if they say the same, wherever they stand.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// What it is called.
    pub name: Arc<str>,
    /// The type it belongs to, in its short form.
    pub type_name: Arc<str>,
    /// The site it belongs to; nothing for those of every site.
    pub site: Option<Arc<str>>,
    /// Whether it is one. A tool that is off hides those it replaces.
    pub enabled: bool,
    /// What `path` says, or nothing.
    pub path: Box<str>,
    /// What `method` says, or nothing.
    pub method: Box<str>,
    /// The dotted path of the class that runs it.
    pub handler: Option<Box<str>>,
    /// Names and descriptions, each name once.
    pub arguments: Vec<(Box<str>, Box<str>)>,
    /// Queries it is for.
    pub examples: Vec<Box<str>>,
    /// What a model is asked, with placeholders.
    pub prompt: Option<Box<str>>,
    /// An example of the reply.
    pub return_struc: Option<Value>,
    /// Where it begins in the document, from 1.
    pub line: Option<usize>,
}

impl Tool {
    /// A tool that has nothing but a name, a type in any spelling and a site.
    pub fn new(name: &str, type_: &str, site: Option<&str>) -> Self {
        Self {
            name: name.into(),
            type_name: type_name(type_).into(),
            site: site.filter(|site| *site != super::DEFAULT_SITE).map(Into::into),
            enabled: true,
            ..Self::default()
        }
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Self, other: &Self| {
            one.name == other.name
                && one.type_name == other.type_name
                && one.site == other.site
                && one.enabled == other.enabled
        };
        let runs = |one: &Self, other: &Self| {
            one.path == other.path && one.method == other.method && one.handler == other.handler
        };
        same(self, other)
            && runs(self, other)
            && self.arguments == other.arguments
            && self.examples == other.examples
            && self.prompt == other.prompt
            && self.return_struc == other.return_struc
    }
}

/// Text as it counts: without white space around it, and nothing if there is none.
pub(super) fn stripped(text: &str) -> Option<&str> {
    // Of what is not ASCII there is next to nothing.
    Some(text.trim_ascii().trim()).filter(|text| !text.is_empty())
}
