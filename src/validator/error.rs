//! Errors of schemas.

use thiserror::Error;

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is invalid.
    #[error("schema at {}: {reason}", place(path))]
    Invalid {
        /// Location in the schema, as a JSON Pointer.
        path: String,
        /// The defect, and what would be valid.
        reason: String,
    },
    /// A `$ref` has no target among the given documents.
    #[error("schema at {}: {reference:?} {reason}", place(path))]
    Reference {
        /// Location in the schema, as a JSON Pointer.
        path: String,
        /// The reference, as written.
        reference: String,
        /// The reason.
        reason: &'static str,
    },
    /// The schema is too large, too deep or takes too long to check.
    #[error("schema at {}: {what}; at most {limit} accepted", place(path))]
    TooLarge {
        /// Location in the schema, as a JSON Pointer.
        path: String,
        /// The quantity that exceeds its limit.
        what: String,
        /// The limit.
        limit: usize,
    },
}

impl SchemaError {
    /// Return the location in the schema, as a JSON Pointer; empty for the whole schema. A location
    /// in a resource begins with the resource's URI and `#`.
    pub fn path(&self) -> &str {
        match self {
            Self::Invalid { path, .. }
            | Self::Reference { path, .. }
            | Self::TooLarge { path, .. } => path,
        }
    }
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the top" } else { path }
}

/// Create the error for a quantity that exceeds `limit`.
pub(super) fn too_large(path: &str, what: &str, limit: usize) -> SchemaError {
    SchemaError::TooLarge { path: path.to_owned(), what: what.to_owned(), limit }
}
