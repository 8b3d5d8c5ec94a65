//! What is wrong with a schema.

use thiserror::Error;

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is no valid schema.
    #[error("schema at {}: {reason}", place(path))]
    Invalid {
        /// Where in the schema, as a JSON Pointer.
        path: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A `$ref` leads nowhere, or out of what was given.
    #[error("schema at {}: {reference:?} {reason}", place(path))]
    Reference {
        /// Where in the schema, as a JSON Pointer.
        path: String,
        /// The reference, as it is spelled.
        reference: String,
        /// Why it leads nowhere.
        reason: &'static str,
    },
    /// The schema is too large, too deep or takes too long to check.
    #[error("schema at {}: {what}; at most {limit} accepted", place(path))]
    TooLarge {
        /// Where in the schema, as a JSON Pointer.
        path: String,
        /// What there is too much of.
        what: String,
        /// How much is accepted.
        limit: usize,
    },
}

impl SchemaError {
    /// Where in the schema, as a JSON Pointer; empty for the whole schema. A place within a
    /// resource begins with the resource's URI and `#`.
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

/// There is more of `what` than is accepted.
pub(super) fn too_large(path: &str, what: &str, limit: usize) -> SchemaError {
    SchemaError::TooLarge { path: path.to_owned(), what: what.to_owned(), limit }
}
