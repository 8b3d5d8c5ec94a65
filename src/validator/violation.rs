//! One way in which a value does not fit its schema.

use serde_json::Value;

/// One way in which a value does not fit its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Where in the value, as a JSON Pointer; empty for the whole value.
    pub path: String,
    /// The schema keyword that failed (`type`, `required`, ...), or `json` where the text is
    /// no JSON at all.
    pub keyword: String,
    /// A sentence that names the place and says what would be accepted.
    pub message: String,
    /// What the schema asks for, where that can be said as a value.
    pub expected: Value,
    /// What stood there, cut short where it is long.
    pub actual: Value,
}
