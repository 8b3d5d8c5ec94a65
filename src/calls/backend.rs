//! Where the values of arguments live.

use crate::validator::Violation;

/// A home for JSON values: `serde_json` in the core, Python objects in the bindings.
///
/// The rules for arguments stand once, in [`CallValidator`](super::Judge), and are generic over this.
pub trait Backend {
    /// A JSON value.
    type Value;
    /// A schema that is ready to validate such values.
    type Schema;

    /// Read JSON text that is nested no deeper than 128 levels; the error is a sentence.
    fn parse(&self, json: &str) -> Result<Self::Value, String>;

    /// Return true if the value fits the schema.
    fn accepts(&self, schema: &Self::Schema, value: &Self::Value) -> bool;

    /// How the value does not fit the schema.
    fn violations(&self, schema: &Self::Schema, value: &Self::Value) -> Vec<Violation>;
}
