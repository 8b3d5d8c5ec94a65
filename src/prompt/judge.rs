//! Whether a sample fits, as the validator sees it.

use jsonschema::PatternOptions;
use serde_json::{Value, json};

/// How many violations are looked at: the first places that are wrong are enough.
const MAX_VIOLATIONS: usize = 8;

/// Steps that one match of a pattern may take, so that no schema can stall us.
const BACKTRACK_LIMIT: usize = 10_000;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Judge(jsonschema::Validator);

impl Judge {
    /// Compiles a schema; the error says what is wrong with it.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
        jsonschema::options()
            .should_validate_formats(true)
            .with_pattern_options(patterns)
            .build(schema)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// Where `value` does not fit, as JSON Pointers; none if it does.
    pub(super) fn places_of_violations(&self, value: &Value) -> Vec<String> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        let places = self.0.iter_errors(value).map(|error| error.instance_path().to_string());
        let places: Vec<String> = places.take(MAX_VIOLATIONS).collect();
        // An invalid value without a violation would pass for a valid one.
        if places.is_empty() { vec![String::new()] } else { places }
    }
}

/// Whether `text` matches `pattern`, in the dialect of JSON Schema.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    Judge::new(&json!({"pattern": pattern})).is_ok_and(|judge| judge.0.is_valid(&text.into()))
}
