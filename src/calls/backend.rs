//! The representation of argument values.

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

    /// Return true if the value fits the schema.
    fn accepts(&self, schema: &Self::Schema, value: &Self::Value) -> bool;

    /// Return the violations of the schema by the value.
    fn violations(&self, schema: &Self::Schema, value: &Self::Value) -> Vec<Violation>;
}
