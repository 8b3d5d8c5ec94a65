//! The markup of calls in a family of models, as data.

/// A way of writing calls: where the name is, what the payload is, what ends it.
///
/// The state machine is driven by this data. A new dialect is a constant here and, if its payload
/// is not JSON, a scanner next to `json.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The name for users.
    pub name: &'static str,
    /// The forms in which a call may be written.
    pub forms: &'static [Form],
    /// The tag in which results are sent to the model. One that the model writes itself is
    /// fabricated.
    pub response: Option<&'static str>,
}

/// One form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The place of the name.
    pub name: NameRule,
    /// The content between the opening and the closing tag.
    pub payload: PayloadRule,
}

/// The place of the tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// The tag is the name: `<Name>` to `</Name>`. Only registered names are tags.
    Tag,
    /// An attribute of a fixed tag: `<tool_call name="Name">` to `</tool_call>`.
    Attribute {
        /// The tag.
        tag: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
}

/// The format of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadRule {
    /// One JSON object, bare or in a code fence. It ends with its closing brace.
    JsonObject,
}

impl Dialect {
    /// The tags that the prompt describes: `<Name>{...}</Name>` and `<tool_call
    /// name="Name">{...}</tool_call>`.
    pub const NATURAL: Self = Self {
        name: "natural",
        forms: &[
            Form { name: NameRule::Tag, payload: PayloadRule::JsonObject },
            Form {
                name: NameRule::Attribute { tag: "tool_call", attribute: "name" },
                payload: PayloadRule::JsonObject,
            },
        ],
        response: Some("tool_response"),
    };

    /// All dialects.
    pub const ALL: &'static [Self] = &[Self::NATURAL];

    /// Return the dialect of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name == name)
    }
}
