//! The tools of a registry.

use std::sync::Arc;

use serde_json::Value;

use super::schema_org::type_name;

/// A tool in a registry: the element `Tool` of a `tools.xml`.
///
/// Tools are equal if their content is, regardless of their position.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// The name.
    pub name: Arc<str>,
    /// The type to which the tool belongs, in its short form.
    pub type_name: Arc<str>,
    /// The site to which the tool belongs; `None` if it belongs to every site.
    pub site: Option<Arc<str>>,
    /// True if the tool is enabled. A disabled tool hides the tools that it replaces.
    pub enabled: bool,
    /// The content of `path`, or an empty string.
    pub path: Box<str>,
    /// The content of `method`, or an empty string.
    pub method: Box<str>,
    /// The dotted path of the handler class.
    pub handler: Option<Box<str>>,
    /// The arguments: names, each once, and descriptions.
    pub arguments: Vec<(Box<str>, Box<str>)>,
    /// Example queries.
    pub examples: Vec<Box<str>>,
    /// The prompt for scoring, with placeholders.
    pub prompt: Option<Box<str>>,
    /// The example of the reply.
    pub return_struc: Option<Value>,
    /// The line on which the tool begins, from 1.
    pub line: Option<usize>,
}

impl Tool {
    /// Create a tool with only a name, a type in any spelling and a site.
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

/// Strip white space from a text; return `None` if it is empty then.
pub(super) fn stripped(text: &str) -> Option<&str> {
    // White space outside of ASCII is rare.
    Some(text.trim_ascii().trim()).filter(|text| !text.is_empty())
}
