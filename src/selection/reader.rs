//! From a reply to a score and parameters.

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

/// What a reply says.
///
/// Score and parameters stand for themselves: a tool whose parameters do not fit has a score all
/// the same, and can be ranked by it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredReply {
    /// From 0 to 100, or why there is none.
    pub score: Result<f64, ScoreError>,
    /// The rest of the reply. It fits the schema if there are no `violations`.
    pub parameters: Map<String, Value>,
    /// In which ways the parameters do not fit the schema.
    pub violations: Vec<Violation>,
    /// The members of the reply that are not among the parameters: those that the schema does not
    /// have, and those that are null where it wants a value and can do without.
    pub ignored: Vec<String>,
    /// What was mended.
    pub repairs: Vec<Repair>,
}

impl ScoredReply {
    /// Why a reply cannot be read at all.
    pub fn failure(error: ScoreError) -> Self {
        Self {
            score: Err(error),
            parameters: Map::new(),
            violations: Vec::new(),
            ignored: Vec::new(),
            repairs: Vec::new(),
        }
    }

    /// A sentence on why there is no score or, if there is one, on why the parameters cannot be
    /// used.
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

/// Reads replies that should fit a schema; compiled once.
///
/// The score is read by rules of its own, whatever the schema says of it. The rest, the
/// parameters, is mended and judged by the schema without the score.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    /// The schema of the parameters.
    schema: Value,
    validator: Validator,
    closed: bool,
    /// Whether scores are from 0 to 1.
    is_fraction: bool,
}

impl ReplyReader {
    /// A reader for replies that should fit `schema`.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let is_fraction = has_fractional_score(schema);
        let schema = parameter_schema(schema);
        let validator = Validator::new(&schema)?;
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && schema.get("patternProperties").is_none();
        Ok(Self { schema, validator, closed, is_fraction })
    }

    /// A reader for replies that may have anything beside their score.
    pub fn of_anything() -> Result<Self, SchemaError> {
        Self::new(&json!({"type": "object"}))
    }

    /// The schema of the parameters.
    pub fn parameter_schema(&self) -> &Value {
        &self.schema
    }

    /// Reads a reply as text.
    pub fn read(&self, reply: &str) -> ScoredReply {
        match reply::object(reply) {
            Ok((members, repairs)) => self.judge(members, repairs),
            Err(error) => ScoredReply::failure(error),
        }
    }

    /// Reads a reply that is JSON already.
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
        // The beginning of a value may fit where all of it would not.
        if score.is_ok() {
            violations.extend(cut_off.into_iter().map(truncated));
        }
        let parameters = match value {
            Value::Object(members) => members,
            // Nothing brings an object to another type.
            _ => Map::new(),
        };
        ScoredReply { score, parameters, violations, ignored, repairs }
    }

    /// Whether a member of the reply is one of the parameters.
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

/// Whether the end of the reply came in the middle of a value, and not just before the last
/// bracket.
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

/// Whether a schema declares a type that null is not.
fn disallows_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "null",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind != "null"),
        _ => false,
    }
}
