//! Validation of samples.

use std::{cell::RefCell, collections::HashMap};

use serde_json::{Value, json};

use crate::validator::{SchemaError, Validator};

/// A compiled schema.
#[derive(Debug)]
pub(super) struct SampleValidator(Validator);

impl SampleValidator {
    pub(super) fn new(schema: &Value) -> Result<Self, SchemaError> {
        Validator::new(schema).map(Self)
    }

    /// Return the paths of violations by `value`, as JSON Pointers; empty if it is valid.
    pub(super) fn violation_paths(&self, value: &Value) -> Vec<String> {
        self.0.violations(value).into_iter().map(|violation| violation.path).collect()
    }
}

/// The patterns of a schema, each compiled once.
#[derive(Debug, Default)]
pub(super) struct Patterns(RefCell<HashMap<String, Option<SampleValidator>>>);

impl Patterns {
    /// Return true if `text` matches `pattern`, in the dialect of JSON Schema.
    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        let mut compiled = self.0.borrow_mut();
        if !compiled.contains_key(pattern) {
            let validator = SampleValidator::new(&json!({"pattern": pattern})).ok();
            compiled.insert(pattern.to_owned(), validator);
        }
        matches!(compiled.get(pattern), Some(Some(validator)) if validator.0.is_valid(&text.into()))
    }
}
