//! How a family of models writes a call: data, not code.

/// One way of writing calls: where the name stands, what the payload is, what ends it.
///
/// The state machine reads these and knows no dialect by name; a new one is a constant
/// here and, if its payload is not JSON, a scanner beside `json.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What users call it by.
    pub name: &'static str,
    /// The forms in which a call may be written.
    pub forms: &'static [Form],
    /// The tag in which results are reported *to* the model. One that the model writes
    /// itself is fabricated.
    pub response: Option<&'static str>,
}

/// One form of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Where the name is.
    pub name: NameRule,
    /// What stands between the opening and the closing tag.
    pub payload: PayloadRule,
}

/// Where the name of the tool is.
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

/// What the arguments are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadRule {
    /// One JSON object, bare or in a code fence. Its own grammar says where it ends.
    JsonObject,
}

impl Dialect {
    /// Tags that the prompt teaches: `<Name>{...}</Name>` and
    /// `<tool_call name="Name">{...}</tool_call>`.
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

    /// Every dialect there is.
    pub const ALL: &'static [Self] = &[Self::NATURAL];

    /// Return the dialect of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name == name)
    }
}
