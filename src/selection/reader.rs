//! Parsing of replies into scores and parameters.

use serde_json::{Map, Value, json};

use super::{
    reply,
    score::{ScoreError, score},
};
use crate::{
    message::{Repair, RepairKind},
    registry::structure::{has_fractional_score, parameter_schema, score_key},
    repair::{coerce, coerce_partially},
    validator::{SchemaError, Validator, Violation},
};

/// The score and the parameters in a reply.
///
/// They are independent: a tool with invalid parameters can still be ranked by its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredReply {
    /// The score from 0 to 100, or the reason why there is none.
    pub score: Result<f64, ScoreError>,
    /// The other members of the reply. They are valid if there are no `violations`.
    pub parameters: Map<String, Value>,
    /// The violations of the schema by the parameters.
    pub violations: Vec<Violation>,
    /// The members of the reply that were dropped: those unknown to the schema, and optional ones
    /// that are null although the schema does not allow it.
    pub ignored: Vec<String>,
    /// The repairs made to the reply.
    pub repairs: Vec<Repair>,
}

impl ScoredReply {
    /// Create the result for a reply without a score.
    pub fn failure(error: ScoreError) -> Self {
        Self {
            score: Err(error),
            parameters: Map::new(),
            violations: Vec::new(),
            ignored: Vec::new(),
            repairs: Vec::new(),
        }
    }

    /// Return the reason why there is no score or, if there is one, why the parameters are invalid.
    pub fn error(&self) -> Option<String> {
        match (&self.score, self.violations.as_slice()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), []) => None,
            (Ok(_), [only]) => Some(format!("the parameters cannot be used: {}", only.message)),
            (Ok(_), [first, rest @ ..]) => Some(format!(
                "the parameters cannot be used: {} (and {} more)",
                first.message,
                rest.len()
            )),
        }
    }
}

/// A reader for replies that should match a schema, which is compiled once.
///
/// The score is parsed by fixed rules, whatever the schema. The other members, the parameters, are
/// repaired and validated by the schema without the score.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    /// The schema of the parameters.
    schema: Value,
    validator: Validator,
    closed: bool,
    /// True if scores are from 0 to 1.
    is_fraction: bool,
}

impl ReplyReader {
    /// Create a reader for replies that should match `schema`.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let is_fraction = has_fractional_score(schema);
        let schema = parameter_schema(schema);
        let validator = Validator::new(&schema)?;
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none();
        Ok(Self { schema, validator, closed, is_fraction })
    }

    /// Create a reader for replies that may have any members besides their score.
    pub fn of_anything() -> Result<Self, SchemaError> {
        Self::new(&json!({"type": "object"}))
    }

    /// Return the schema of the parameters.
    pub fn parameter_schema(&self) -> &Value {
        &self.schema
    }

    /// Parse the text of a reply.
    pub fn read(&self, reply: &str) -> ScoredReply {
        match reply::object(reply) {
            Ok((members, repairs)) => self.judge(members, repairs),
            Err(error) => ScoredReply::failure(error),
        }
    }

    /// Parse a reply that is JSON already.
    pub fn read_value(&self, reply: Value) -> ScoredReply {
        match reply::members(reply) {
            Ok(members) => self.judge(members, Vec::new()),
            Err(error) => ScoredReply::failure(error),
        }
    }

    fn judge(&self, mut parameters: Map<String, Value>, mut repairs: Vec<Repair>) -> ScoredReply {
        let cut_off = repairs.iter().filter(|repair| is_cut_off(repair));
        let cut_off: Vec<Repair> = cut_off.cloned().collect();
        let key = score_key(parameters.keys().map(String::as_str)).map(str::to_owned);
        let score = match key.and_then(|key| Some((parameters.shift_remove(&key)?, key))) {
            Some((_, key)) if cut_off.iter().any(|repair| repair.path[1..] == key) => {
                Err(ScoreError::CutOff)
            }
            Some((value, _)) => score(&value, self.is_fraction),
            None => Err(ScoreError::Missing),
        };
        let mut ignored = Vec::new();
        let mut value = Value::Object(parameters);
        let mut violations = Vec::new();
        if !self.validator.is_valid(&value) {
            if let Value::Object(members) = &mut value {
                members.retain(|name, member| {
                    let is_kept = self.is_kept(name, member);
                    if !is_kept {
                        ignored.push(name.clone());
                    }
                    is_kept
                });
            }
            let accepts = |value: &Value| self.validator.is_valid(value);
            let repaired = coerce(&value, &self.schema, &accepts).unwrap_or_else(|| {
                let violation_count = |value: &Value| self.validator.violations(value).len();
                coerce_partially(&value, &self.schema, &violation_count)
            });
            value = repaired.value;
            repairs.extend(repaired.repairs);
            violations = self.validator.violations(&value);
        }
        // A truncated value may be valid although the complete one would not be.
        if score.is_ok() {
            violations.extend(cut_off.into_iter().map(truncated));
        }
        let parameters = match value {
            Value::Object(members) => members,
            // Repairs never convert an object to another type.
            _ => Map::new(),
        };
        ScoredReply { score, parameters, violations, ignored, repairs }
    }

    /// Return true if a member of the reply is one of the parameters.
    fn is_kept(&self, name: &str, member: &Value) -> bool {
        let Some(schema) = self.schema.get("properties").and_then(|all| all.get(name)) else {
            return !self.closed;
        };
        if !member.is_null() || !disallows_null(schema) {
            return true;
        }
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|other| other == name))
    }
}

/// Return true if the reply ended within a value, not just before the last bracket.
fn is_cut_off(repair: &Repair) -> bool {
    repair.kind == RepairKind::MissingCloser && !repair.path.is_empty()
}

fn truncated(repair: Repair) -> Violation {
    Violation {
        message: format!("{}: the reply ends in the middle of it", repair.path),
        path: repair.path,
        keyword: "json".to_owned(),
        expected: Value::Null,
        actual: repair.before,
    }
}

/// Return true if a schema declares a type other than null.
fn disallows_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "null",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind != "null"),
        _ => false,
    }
}
