//! JSON Schema: compile once, validate many; violations are data.
//!
//! A [`Validator`] knows every draft of JSON Schema. It reaches for nothing:
//! a `$ref` resolves within the schema, the given resources and the bundled
//! meta-schemas, or the schema is refused. Schemas and values may both be
//! hostile; what would take too long to judge or to explain is cut short.
//! `format` asserts where its draft says so (up to draft 7) and is an
//! annotation elsewhere.
//!
//! ```
//! use serde_json::json;
//! use toolweave::validator::Validator;
//!
//! let schema = json!({"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}});
//! let validator = Validator::new(&schema)?;
//! assert!(validator.is_valid(&json!({"unit": "celsius"})));
//!
//! let violations = validator.violations(&json!({"unit": "kelvin"}));
//! assert_eq!(
//!     violations[0].message,
//!     r#"/unit: "kelvin" is not one of "celsius", "fahrenheit""#
//! );
//! # Ok::<(), toolweave::validator::SchemaError>(())
//! ```

mod compile;
mod cost;
mod documents;
mod error;
mod excess;
mod explain;
mod metered;
mod patterns;
mod sentence;
mod violation;

pub use self::{error::SchemaError, excess::MAX_DEPTH, violation::Violation};

pub(crate) use self::compile::compile;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use self::documents::Documents;
use self::explain::Judged;
use self::metered::{Meter, Metered, MeteredJson};

/// What there is too much of in `value`, for any schema: depth, or a number without measure.
pub(crate) fn excess(value: &Value) -> Option<Violation> {
    excess::find(value).map(|(path, excess)| Violation::too_much(path, &excess))
}

/// Schemas that a `$ref` may lead to, by URI.
pub type Resources = BTreeMap<String, Value>;

/// How many violations are reported at most.
pub const MAX_VIOLATIONS: usize = 20;

/// A compiled schema. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Validator {
    compiled: Arc<jsonschema::Validator<MeteredJson>>,
    /// Explanations quote it.
    schema: Arc<Value>,
    /// Whether it has patterns that long texts are kept from.
    steps_back: bool,
}

impl Validator {
    /// Compiles a schema that needs no other.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Self::with_resources(schema, &Resources::new())
    }

    /// Compiles a schema whose `$ref`s may lead to `resources`.
    pub fn with_resources(schema: &Value, resources: &Resources) -> Result<Self, SchemaError> {
        Ok(Self {
            compiled: Arc::new(compile(schema, resources)?),
            schema: Arc::new(schema.clone()),
            steps_back: patterns::step_back(Documents { schema, resources }),
        })
    }

    /// Whether values have to be measured before their texts are matched with patterns.
    #[cfg(feature = "python")]
    pub(crate) fn steps_back(&self) -> bool {
        self.steps_back
    }

    /// Whether `value` fits. One nested deeper than [`MAX_DEPTH`] does not, nor one with a number
    /// past the range of an `f64` or longer than 4,300 characters, nor, where a pattern has
    /// look-around or back-references, one with a string of more than 10,000 bytes.
    pub fn is_valid(&self, value: &Value) -> bool {
        excess::is_sane(value)
            && !self.has_too_much_text(value)
            && self.compiled.is_valid(Metered::free(value))
    }

    fn has_too_much_text(&self, value: &Value) -> bool {
        self.steps_back && patterns::too_much_text(value)
    }

    /// In which ways `value` does not fit, at most [`MAX_VIOLATIONS`] of them; none if it fits.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if let Some(violation) = excess(value) {
            return vec![violation];
        }
        if self.has_too_much_text(value) {
            return vec![Violation::too_much_text(value)];
        }
        if self.compiled.is_valid(Metered::free(value)) {
            return Vec::new();
        }
        let meter = Meter::default();
        let found: Vec<_> = self
            .compiled
            .iter_errors(Metered::new(value, &meter))
            .filter(|error| metered::is_true(error, &meter))
            .take(MAX_VIOLATIONS)
            .map(|error| explain::violation(&error, Judged { value, schema: &self.schema }))
            .collect();
        if found.is_empty() { vec![Violation::unexplained(value)] } else { found }
    }

    /// The value that `text` spells, if it is JSON and fits.
    pub fn validate_json(&self, text: &str) -> Result<Value, Vec<Violation>> {
        let value = serde_json::from_str(text).map_err(|err| vec![Violation::no_json(&err)])?;
        let violations = self.violations(&value);
        if violations.is_empty() { Ok(value) } else { Err(violations) }
    }
}
