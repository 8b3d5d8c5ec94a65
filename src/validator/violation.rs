//! One way in which a value does not fit its schema.

use serde_json::Value;

use super::{
    excess::{Excess, MAX_DEPTH},
    sentence::{cut, quote},
};

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Where in the value, as a JSON Pointer; empty for the whole value.
    pub path: String,
    /// The schema keyword that failed (`type`, `required`, ...), or `json` where the text is
    /// no JSON at all or nothing that is looked at: too deep, or a number too large.
    pub keyword: String,
    /// A sentence that names the place and says what would be accepted.
    pub message: String,
    /// What the schema asks for, where that can be said as a value.
    pub expected: Value,
    /// What stood there, cut short where it is long.
    pub actual: Value,
}

impl Violation {
    /// Return the JSON of `value`, cut short where it is long.
    pub(crate) fn quote(value: &Value) -> String {
        quote(value)
    }

    pub(super) fn too_much(path: String, excess: &Excess) -> Self {
        let place = if path.is_empty() { "the value" } else { &path };
        let (message, actual) = match excess {
            Excess::Depth => (
                format!("the value: nested too deep; at most {MAX_DEPTH} levels are accepted"),
                Value::Null,
            ),
            Excess::Number(number) => {
                let number = cut(&Value::Number(number.clone()));
                (format!("{place}: {} is too large a number", quote(&number)), number)
            }
        };
        Self { path, keyword: "json".to_owned(), message, expected: Value::Null, actual }
    }

    pub(crate) fn too_much_text(value: &Value) -> Self {
        let message = "the value: too much text for a pattern with look-around or back-references; \
                       at most one string of 10000 bytes, or more of shorter ones";
        Self {
            path: String::new(),
            keyword: "pattern".to_owned(),
            message: message.to_owned(),
            expected: Value::Null,
            actual: cut(value),
        }
    }

    pub(crate) fn invalid_json(reason: &dyn std::fmt::Display) -> Self {
        Self {
            path: String::new(),
            keyword: "json".to_owned(),
            message: format!("the value: not JSON: {reason}"),
            expected: Value::Null,
            actual: Value::Null,
        }
    }

    /// For a value of which it takes too long to tell whether it fits.
    pub(crate) fn too_costly(value: &Value) -> Self {
        Self {
            path: String::new(),
            keyword: "schema".to_owned(),
            message: "the value: takes too long to check against the schema; send fewer or \
                      shorter values"
                .to_owned(),
            expected: Value::Null,
            actual: cut(value),
        }
    }

    /// For a value that does not fit in a way that takes too long to explain.
    pub(crate) fn unexplained(value: &Value) -> Self {
        Self {
            path: String::new(),
            keyword: "schema".to_owned(),
            message: "the value: does not fit the schema, in too many ways to list".to_owned(),
            expected: Value::Null,
            actual: cut(value),
        }
    }
}
