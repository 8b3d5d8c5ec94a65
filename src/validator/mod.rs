//! JSON Schema validation: compile once, validate many; violations are data.
//!
//! A [`Validator`] supports every draft of JSON Schema. It performs no I/O: a `$ref` resolves
//! within the schema, the given resources and the bundled meta-schemas, or the schema is rejected.
//! Schemas and values may both be hostile; validation and explanations that would take too long are
//! cut short. `format` is an assertion where its draft says so (up to draft 7) and an annotation
//! elsewhere.
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

mod bounds;
mod compile;
mod cost;
mod cost_model;
mod decimal;
mod documents;
mod equality;
mod error;
mod excess;
mod explain;
mod metered;
mod patterns;
mod sentence;
#[cfg(test)]
mod tests;
mod violation;

pub use self::{error::SchemaError, excess::MAX_DEPTH, violation::Violation};

#[cfg(any(test, feature = "python"))]
pub(crate) use self::cost_model::MAX_VISITS;
#[cfg(feature = "python")]
pub(crate) use self::equality::Keys;
pub(crate) use self::{
    compile::compile, cost::percent_decoded, cost_model::CostModel, documents::parts,
    equality::equal, metered::Meter,
};

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use serde_json::Value;

use self::documents::Documents;
use self::explain::Subject;
use self::metered::{Metered, MeteredJson};

/// Return the violation of a limit that holds for any schema: depth, or the size of a number.
pub(crate) fn excess(value: &Value) -> Option<Violation> {
    excess::find(value).map(|(path, excess)| Violation::too_much(path, &excess))
}

/// Schemas that a `$ref` may refer to, by URI.
pub type Resources = BTreeMap<String, Value>;

/// Maximum number of violations that are reported.
pub const MAX_VIOLATIONS: usize = 20;

/// A compiled schema. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Validator {
    compiled: Arc<jsonschema::Validator<MeteredJson>>,
    /// The schema, which explanations quote.
    schema: Arc<Value>,
    /// The cost of visits to a value.
    cost_model: CostModel,
    /// Weight up to which values cannot exceed the budget of visits.
    unmetered_weight: usize,
}

/// The result of validation.
enum Verdict {
    Fits,
    DoesNotFit,
    /// A limit is exceeded, or validation takes too long.
    Refused(Box<Violation>),
}

impl Verdict {
    fn of(fits: bool) -> Self {
        if fits { Self::Fits } else { Self::DoesNotFit }
    }
}

impl Validator {
    /// Compile a schema without external references.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Self::with_resources(schema, &Resources::new())
    }

    /// Compile a schema whose `$ref`s may refer to `resources`.
    pub fn with_resources(schema: &Value, resources: &Resources) -> Result<Self, SchemaError> {
        let cost_model = CostModel::of(Documents { schema, resources });
        let visits =
            (!cost_model.backtracks()).then(|| bounds::visits(schema, cost_model.reading()));
        Ok(Self {
            compiled: Arc::new(compile(schema, resources)?),
            schema: Arc::new(schema.clone()),
            cost_model,
            unmetered_weight: visits.flatten().map_or(0, |visits| cost_model::MAX_VISITS / visits),
        })
    }

    /// Return the cost of visits to a value.
    #[cfg(feature = "python")]
    pub(crate) fn cost_model(&self) -> CostModel {
        self.cost_model
    }

    /// Return true if `value` is valid.
    ///
    /// A value is invalid as well if it is nested deeper than [`MAX_DEPTH`], if it has a number
    /// beyond the range of an `f64` or longer than 4,300 characters, if it has a string of more
    /// than 10,000 bytes and a pattern has look-around or back-references, or if the schema visits
    /// it too often: more than two million times, plus 32 times for each value and for each 16
    /// bytes of text.
    pub fn is_valid(&self, value: &Value) -> bool {
        matches!(self.verdict(value), Verdict::Fits)
    }

    fn verdict(&self, value: &Value) -> Verdict {
        let Some(weight) = excess::weigh(value) else {
            let excess = excess(value).unwrap_or_else(|| Violation::too_costly(value));
            return Verdict::Refused(Box::new(excess));
        };
        if weight.parts <= self.unmetered_weight && !weight.has_long_numbers {
            return Verdict::of(self.compiled.is_valid(Metered::unmetered(value)));
        }
        if self.cost_model.backtracks() && patterns::too_much_text(value) {
            return Verdict::Refused(Box::new(Violation::too_much_text(value)));
        }
        let visits = CostModel::verdict(weight.parts);
        let (fits, exhausted) =
            self.run_metered(value, visits, |node| self.compiled.is_valid(node));
        if exhausted {
            return Verdict::Refused(Box::new(Violation::too_costly(value)));
        }
        Verdict::of(fits)
    }

    /// Run `validate` with a budget of `visits`; the second value is true if the budget was
    /// exhausted.
    fn run_metered<T>(
        &self,
        value: &Value,
        visits: usize,
        validate: impl FnOnce(Metered<'_>) -> T,
    ) -> (T, bool) {
        let meter = Meter::new(visits, self.cost_model);
        if !self.cost_model.validates_names() {
            return (validate(Metered::new(value, &meter)), meter.is_exhausted());
        }
        let meter = Rc::new(meter);
        let result = meter.with_names(|| validate(Metered::new(value, &meter)));
        (result, meter.is_exhausted())
    }

    /// Return the violations by `value`, at most [`MAX_VIOLATIONS`]; none if it is valid.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        match self.verdict(value) {
            Verdict::Fits => Vec::new(),
            Verdict::Refused(violation) => vec![*violation],
            Verdict::DoesNotFit => self.explain(value),
        }
    }

    fn explain(&self, value: &Value) -> Vec<Violation> {
        let meter = Rc::new(Meter::new(self.cost_model.explanation(), self.cost_model));
        let found: Vec<_> = meter.with_names(|| {
            self.compiled
                .iter_errors(Metered::new(value, &meter))
                .filter(|error| metered::is_reliable(error, &meter))
                .take(MAX_VIOLATIONS)
                .map(|error| explain::violation(&error, Subject { value, schema: &self.schema }))
                .collect()
        });
        if found.is_empty() { vec![Violation::unexplained(value)] } else { found }
    }

    /// Parse `text` and return the value, if it is valid.
    pub fn validate_json(&self, text: &str) -> Result<Value, Vec<Violation>> {
        let value =
            serde_json::from_str(text).map_err(|err| vec![Violation::invalid_json(&err)])?;
        let violations = self.violations(&value);
        if violations.is_empty() { Ok(value) } else { Err(violations) }
    }
}
