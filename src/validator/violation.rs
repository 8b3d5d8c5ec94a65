//! Violations of schemas.

use serde_json::Value;

use super::{
    excess::{Excess, MAX_DEPTH},
    sentence::{quote, truncated},
};

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Location in the value, as a JSON Pointer; empty for the whole value.
    pub path: String,
    /// The schema keyword that failed (`type`, `required`, ...), or `json` for text that is not
    /// JSON or exceeds a limit on depth or numbers.
    pub keyword: String,
    /// A sentence with the location, which states what would be valid.
    pub message: String,
    /// The value that the schema expects, where it can be given as a value.
    pub expected: Value,
    /// The value there, truncated if it is long.
    pub actual: Value,
}

impl Violation {
    /// Return the JSON of `value`, truncated if it is long.
    pub(crate) fn quote(value: &Value) -> String {
        quote(value)
    }

    /// Create a violation by a whole value.
    fn of_whole(keyword: &str, message: impl Into<String>, actual: Value) -> Self {
        let (path, keyword) = (String::new(), keyword.to_owned());
        Self { path, keyword, message: message.into(), expected: Value::Null, actual }
    }

    pub(super) fn too_much(path: String, excess: &Excess) -> Self {
        let place = if path.is_empty() { "the value" } else { &path };
        let (message, actual) = match excess {
            Excess::Depth => (
                format!("the value: nested too deep; at most {MAX_DEPTH} levels are accepted"),
                Value::Null,
            ),
            Excess::Number(number) => {
                let number = truncated(&Value::Number(number.clone()));
                (format!("{place}: {} is too large a number", quote(&number)), number)
            }
        };
        Self { path, ..Self::of_whole("json", message, actual) }
    }

    pub(crate) fn too_much_text(value: &Value) -> Self {
        let message = "the value: too much text for a pattern with look-around or back-references; \
                       at most one string of 10000 bytes, or more of shorter ones";
        Self::of_whole("pattern", message, truncated(value))
    }

    pub(crate) fn invalid_json(reason: &dyn std::fmt::Display) -> Self {
        Self::of_whole("json", format!("the value: not JSON: {reason}"), Value::Null)
    }

    /// Create the violation for a key that is repeated with another value, where that contradicts
    /// what was reported before.
    #[cfg(feature = "python")]
    pub(crate) fn duplicate_key(path: String) -> Self {
        let message = format!("{path}: written twice, with different values");
        Self { path, ..Self::of_whole("duplicate_key", message, Value::Null) }
    }

    /// Create the violation for a value whose validation takes too long.
    pub(crate) fn too_costly(value: &Value) -> Self {
        let message =
            "the value: takes too long to check against the schema; send fewer or shorter values";
        Self::of_whole("schema", message, truncated(value))
    }

    /// Create the violation for an invalid value whose explanation takes too long.
    pub(crate) fn unexplained(value: &Value) -> Self {
        let message = "the value: does not fit the schema, in too many ways to list";
        Self::of_whole("schema", message, truncated(value))
    }
}
