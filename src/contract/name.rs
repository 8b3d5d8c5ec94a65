//! Names of tools, and the tags of their calls.

use super::ContractError;

/// Maximum length of a tool's name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// The tag of a call that names its tool in an attribute.
pub const TOOL_CALL: &str = "tool_call";

/// The tag of a result.
pub const TOOL_RESPONSE: &str = "tool_response";

/// The markup of a call in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tag {
    /// `<Name>`, the form that small models close most reliably.
    Name,
    /// `<tool_call name="Name">`.
    #[default]
    ToolCall,
}

impl Tag {
    /// Return the value of the option for this tag.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::ToolCall => "tool_call",
        }
    }

    /// Return the tag for a value of the option.
    pub fn from_wire(name: &str) -> Option<Self> {
        [Self::Name, Self::ToolCall].into_iter().find(|tag| tag.as_str() == name)
    }

    /// Return the opening tag of a call to `name`, which passes [`check_name`].
    pub fn opening(self, name: &str) -> String {
        match self {
            Self::Name => format!("<{name}>"),
            Self::ToolCall => format!("<{TOOL_CALL} name=\"{name}\">"),
        }
    }

    /// Return the closing tag of a call to `name`.
    pub fn closing(self, name: &str) -> String {
        match self {
            Self::Name => format!("</{name}>"),
            Self::ToolCall => format!("</{TOOL_CALL}>"),
        }
    }
}

/// Return true if `ch` is allowed in the name of a tool.
pub(crate) fn is_name_char(ch: char) -> bool {
    !(ch.is_whitespace()
        || ch.is_control()
        || matches!(ch, '<' | '>' | '"' | '\'' | '=' | '`' | '&' | '\\'))
}

/// Check that `name` is unambiguous in `<name>` and `name="..."`.
pub fn check_name(name: &str) -> Result<(), ContractError> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "is longer than 256 bytes"
    } else if name.contains(|ch: char| ch.is_whitespace() || ch.is_control()) {
        "contains white space or a control character"
    } else if !name.chars().all(is_name_char) {
        "contains one of < > \" ' = ` & \\"
    } else if name.starts_with('/') || name.ends_with('/') {
        "begins or ends with a slash"
    } else if [TOOL_CALL, TOOL_RESPONSE].iter().any(|tag| name.eq_ignore_ascii_case(tag)) {
        "is one of our own tags"
    } else {
        return Ok(());
    };
    Err(ContractError::Name { name: name.to_owned(), reason })
}
