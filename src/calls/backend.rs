//! The representation of argument values.

use super::arguments::{Argument, object_json};
use crate::validator::Violation;

/// A representation of JSON values: `serde_json` in the core, Python objects in the bindings.
///
/// [`CallValidator`](super::CallValidator) is generic over it, so that the rules for arguments
/// exist once.
pub trait Backend {
    /// A JSON value.
    type Value;
    /// A schema, compiled for such values.
    type Schema;

    /// Parse JSON text nested at most 128 levels deep; the error is a sentence.
    fn parse(&self, json: &str) -> Result<Self::Value, String>;

    /// Create an object of arguments, each nested at most 127 levels deep; of several with one name
    /// the last counts. The error is a sentence.
    ///
    /// The value is that of the JSON text of the object, which a backend that builds it from the
    /// arguments need not write and parse.
    fn object(&self, arguments: &[Argument<'_>]) -> Result<Self::Value, String> {
        self.parse(&object_json(arguments))
    }

    /// Return true if the value fits the schema.
    fn accepts(&self, schema: &Self::Schema, value: &Self::Value) -> bool;

    /// Return the violations of the schema by the value.
    fn violations(&self, schema: &Self::Schema, value: &Self::Value) -> Vec<Violation>;
}
