//! Validation of calls that the parser has found.

use serde_json::Value;

use super::{
    Backend, InvalidKind, RepairMode,
    arguments::{Arguments, convert},
};
use crate::{
    message::{Repair, RepairKind},
    parser::{Ending, Excess, FoundCall, Limits, Outcome, Syntax},
    repair::{RepairedJson, coerce, coerce_partially, repair_json, replace_lone_surrogates},
    validator::Violation,
};

/// The outcome of validation.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome<V> {
    /// A valid call.
    Call {
        /// The arguments: a JSON object that fits the tool's schema.
        arguments: V,
        /// The repairs that this took.
        repairs: Vec<Repair>,
    },
    /// A call that cannot be run.
    Invalid {
        /// The reason.
        kind: InvalidKind,
        /// The violations, at least one. If the arguments violate the schema, those that remain
        /// after repair.
        violations: Vec<Violation>,
        /// The arguments that violate the schema, repaired as far as possible.
        arguments: Option<V>,
    },
}

impl<V> CallOutcome<V> {
    fn invalid(kind: InvalidKind, message: String, actual: Value) -> Self {
        Self::Invalid {
            kind,
            violations: vec![violation(kind.as_str(), message, actual)],
            arguments: None,
        }
    }
}

fn violation(keyword: &str, message: String, actual: Value) -> Violation {
    let keyword = keyword.to_owned();
    Violation { path: String::new(), keyword, message, expected: Value::Null, actual }
}

/// Return a repair of a whole call.
fn repair(kind: RepairKind, before: impl Into<Value>, after: impl Into<Value>) -> Repair {
    Repair { path: String::new(), kind, before: before.into(), after: after.into() }
}

/// A tool with its schema.
#[derive(Clone, Debug)]
pub struct Tool<S> {
    /// The name.
    pub name: String,
    /// The schema, as JSON and compiled. Without one, any object is valid.
    pub schema: Option<(Value, S)>,
}

/// A validator of calls by the schemas of their tools.
#[derive(Clone, Debug)]
pub struct CallValidator<S> {
    tools: Vec<Tool<S>>,
    repair: RepairMode,
    limits: Limits,
    subject: Subject,
}

/// The text that is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// The arguments of a call, which are an object; none means an empty one.
    Arguments,
    /// A reply that is one value of any type.
    Reply,
}

impl Subject {
    /// Return the words for it in errors.
    fn words(self) -> &'static str {
        match self {
            Self::Arguments => "the arguments",
            Self::Reply => "the contents of the reply",
        }
    }
}

/// Maximum number of tools that an error names.
const MAX_NAMED_TOOLS: usize = 20;

impl<S> CallValidator<S> {
    /// Create a validator for these tools, in the order in which the parser has them.
    pub fn new(tools: Vec<Tool<S>>, repair: RepairMode, limits: Limits) -> Self {
        Self { tools, repair, limits, subject: Subject::Arguments }
    }

    /// Create a validator of replies that are one value, by the rules for arguments. Any type of
    /// value is valid that the schema accepts.
    pub fn for_value(schema: Option<(Value, S)>, repair: RepairMode, limits: Limits) -> Self {
        let tools = vec![Tool { name: String::new(), schema }];
        Self { tools, repair, limits, subject: Subject::Reply }
    }

    /// Validate a reply that is one value.
    pub fn validate_value<B>(
        &self,
        backend: &B,
        text: &str,
        ending: Ending,
    ) -> CallOutcome<B::Value>
    where
        B: Backend<Schema = S>,
    {
        let found = FoundCall::of_text(text, &self.limits, ending);
        match self.tools.first() {
            Some(tool) => self.check(backend, &found, tool, Vec::new()),
            None => self.unknown_tool(&found),
        }
    }

    /// Return a validator by the same rules for another representation of values.
    #[cfg(feature = "python")]
    pub(crate) fn with<T>(&self, schema: impl Fn(&S) -> T) -> CallValidator<T> {
        let tools = self.tools.iter().map(|tool| Tool {
            name: tool.name.clone(),
            schema: tool.schema.as_ref().map(|(text, ready)| (text.clone(), schema(ready))),
        });
        CallValidator {
            tools: tools.collect(),
            repair: self.repair,
            limits: self.limits,
            subject: self.subject,
        }
    }

    /// Validate one call.
    pub fn validate<B>(&self, backend: &B, found: &FoundCall<'_>) -> CallOutcome<B::Value>
    where
        B: Backend<Schema = S>,
    {
        if found.index >= self.limits.max_calls {
            let message = format!("the reply makes more than {} calls", self.limits.max_calls);
            return CallOutcome::invalid(InvalidKind::TooMany, message, Value::Null);
        }
        let Some(tool) = found.tool.and_then(|index| self.tools.get(index)) else {
            return self.unknown_tool(found);
        };
        let mut repairs = Vec::new();
        if found.written != tool.name {
            repairs.push(repair(RepairKind::NameCase, found.written, tool.name.as_str()));
        }
        self.check(backend, found, tool, repairs)
    }

    /// Check the payload against the schema of its tool.
    fn check<B>(
        &self,
        backend: &B,
        found: &FoundCall<'_>,
        tool: &Tool<S>,
        mut repairs: Vec<Repair>,
    ) -> CallOutcome<B::Value>
    where
        B: Backend<Schema = S>,
    {
        let any_type = self.subject == Subject::Reply;
        let schema = tool.schema.as_ref().map(|(schema, _)| schema);
        let written = match self.arguments(found, schema, &mut repairs) {
            Ok(Arguments::Json(json)) if !any_type && !json.trim_start().starts_with('{') => {
                let message = "the arguments are not a JSON object".to_owned();
                return CallOutcome::invalid(InvalidKind::InvalidJson, message, Value::Null);
            }
            Ok(written) => written,
            Err((kind, message)) => return CallOutcome::invalid(kind, message, Value::Null),
        };
        let arguments = match &written {
            Arguments::Json(json) => backend.parse(json),
            Arguments::Each(arguments) => backend.object(arguments),
        };
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(message) => {
                return CallOutcome::invalid(InvalidKind::InvalidJson, message, Value::Null);
            }
        };
        let Some((schema, compiled)) = &tool.schema else {
            return CallOutcome::Call { arguments, repairs };
        };
        if backend.accepts(compiled, &arguments) {
            return CallOutcome::Call { arguments, repairs };
        }
        let mut arguments = arguments;
        let json = (self.repair == RepairMode::Schema).then(|| written.json());
        if let Some(json) = json.filter(|json| json.len() <= self.limits.max_repair_bytes) {
            match coerce_arguments(backend, schema, compiled, &json) {
                Some(Coercion::Full(arguments, changes)) => {
                    repairs.extend(changes);
                    return CallOutcome::Call { arguments, repairs };
                }
                Some(Coercion::Partial(coerced)) => arguments = coerced,
                None => {}
            }
        }
        let violations = backend.violations(compiled, &arguments);
        let arguments = Some(arguments);
        CallOutcome::Invalid { kind: InvalidKind::SchemaViolation, violations, arguments }
    }

    fn unknown_tool<V>(&self, found: &FoundCall<'_>) -> CallOutcome<V> {
        let mut names: Vec<_> =
            self.tools.iter().take(MAX_NAMED_TOOLS).map(|tool| tool.name.as_str()).collect();
        if self.tools.len() > MAX_NAMED_TOOLS {
            names.push("...");
        }
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let message = format!("no tool is called {:?}; known tools: {known}", found.written);
        CallOutcome::invalid(InvalidKind::UnknownTool, message, found.written.into())
    }

    /// Return the arguments in the payload, repaired if necessary.
    fn arguments<'a>(
        &self,
        found: &FoundCall<'a>,
        schema: Option<&Value>,
        repairs: &mut Vec<Repair>,
    ) -> Result<Arguments<'a>, (InvalidKind, String)> {
        let strict = match found.outcome {
            Outcome::Empty if self.subject == Subject::Arguments => {
                return Ok(Arguments::Json("{}".into()));
            }
            Outcome::Empty => {
                return Err((InvalidKind::InvalidJson, "the reply is empty".to_owned()));
            }
            Outcome::Whole { strict, implicit_close } => {
                if implicit_close {
                    repairs.push(repair(RepairKind::ImplicitClose, Value::Null, Value::Null));
                }
                strict
            }
            Outcome::Broken => false,
            Outcome::Prose => {
                let message = "the body of the call is not a JSON object".to_owned();
                return Err((InvalidKind::InvalidJson, message));
            }
            Outcome::Unclosed => {
                let message = match self.subject {
                    Subject::Arguments => "the reply ended before the call was closed",
                    Subject::Reply => "the reply was cut off",
                };
                return Err((InvalidKind::Unclosed, message.to_owned()));
            }
            Outcome::TooLarge(excess) => {
                return Err((InvalidKind::TooLarge, self.excess(excess)));
            }
        };
        if found.syntax != Syntax::Json {
            let depth = self.limits.max_depth;
            let Some(converted) = convert(found.syntax, found.payload, schema, depth) else {
                let message = "the arguments cannot be read".to_owned();
                return Err((InvalidKind::InvalidJson, message));
            };
            if self.repair == RepairMode::None && !converted.repairs.is_empty() {
                let message = "the arguments are not valid".to_owned();
                return Err((InvalidKind::InvalidJson, message));
            }
            repairs.extend(converted.repairs);
            return Ok(converted.arguments);
        }
        if strict && !found.lone_surrogates {
            return Ok(Arguments::Json(found.payload.into()));
        }
        let broken = |reason: &str| {
            let subject = self.subject.words();
            (InvalidKind::InvalidJson, format!("{subject} are not valid JSON{reason}"))
        };
        if self.repair == RepairMode::None {
            return Err(broken(""));
        }
        if found.payload.len() > self.limits.max_repair_bytes {
            let limit = self.limits.max_repair_bytes;
            return Err(broken(&format!(" and larger than the {limit} bytes that are mended")));
        }
        let text = if found.fenced { strip_fence(found.payload, repairs) } else { found.payload };
        // A reply may be a string; the schema decides whether it is one.
        let decoded = match self.subject {
            Subject::Arguments => decode_json_string(text, repairs),
            Subject::Reply => None,
        };
        let text = decoded.as_deref().unwrap_or(text);
        let repaired = if strict { replace_lone_surrogates(text) } else { repair_payload(text) };
        let repaired = repaired.ok_or_else(|| broken(" and cannot be mended"))?;
        repairs.extend(repaired.repairs);
        Ok(Arguments::Json(repaired.text.into()))
    }

    fn excess(&self, excess: Excess) -> String {
        let (subject, limits) = (self.subject.words(), &self.limits);
        match excess {
            Excess::Bytes => {
                format!("{subject} are larger than {} bytes", limits.max_argument_bytes)
            }
            Excess::Depth => {
                format!("{subject} are nested deeper than {} levels", limits.max_depth)
            }
        }
    }
}

/// The result of coercion to the types of a schema.
enum Coercion<V> {
    /// Arguments that fit the schema, and the changes.
    Full(V, Vec<Repair>),
    /// Arguments that fit the schema in part.
    Partial(V),
}

/// Coerce the arguments to the types that the schema declares, as far as that is unambiguous.
fn coerce_arguments<B: Backend>(
    backend: &B,
    schema: &Value,
    compiled: &B::Schema,
    json: &str,
) -> Option<Coercion<B::Value>> {
    let value = super::json::parse(json).ok()?;
    let read = |value: &Value| backend.parse(&value.to_string()).ok();
    let accepts =
        |value: &Value| read(value).is_some_and(|value| backend.accepts(compiled, &value));
    if let Some(coerced) = coerce(&value, schema, &accepts) {
        return Some(Coercion::Full(read(&coerced.value)?, coerced.repairs));
    }
    let faults = |value: &Value| {
        read(value).map_or(usize::MAX, |value| backend.violations(compiled, &value).len())
    };
    read(&coerce_partially(&value, schema, &faults).value).map(Coercion::Partial)
}

/// Repair a payload that was ended by a tag.
fn repair_payload(payload: &str) -> Option<RepairedJson> {
    // A number or word at the very end of a text may be incomplete, so it is not repaired. Here the
    // tag has ended it; white space after it has the same meaning.
    let cut_off = |text: &&str| text.ends_with(|ch: char| ch.is_ascii_alphanumeric());
    let ended = || Some(payload).filter(cut_off).and_then(|text| repair_json(&format!("{text}\n")));
    repair_json(payload).or_else(ended)
}

/// Decode a payload that is a JSON string with an object in it, as some providers send them.
fn decode_json_string(payload: &str, repairs: &mut Vec<Repair>) -> Option<String> {
    if !payload.starts_with('"') {
        return None;
    }
    let inner: String = serde_json::from_str(payload).ok()?;
    if !inner.trim_start().starts_with('{') {
        return None;
    }
    repairs.push(repair(RepairKind::JsonText, excerpt(payload), excerpt(&inner)));
    Some(inner)
}

/// Return the beginning of a text.
fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 80;
    text.chars().take(CHARACTERS).collect()
}

/// Remove the closing fence from a payload that was cut off inside its fence.
fn strip_fence<'a>(payload: &'a str, repairs: &mut Vec<Repair>) -> &'a str {
    let trimmed = payload.trim_end();
    let inner = trimmed.trim_end_matches('`');
    let line = inner.trim_end_matches([' ', '\t']);
    if trimmed.len() - inner.len() < 3 || !line.ends_with('\n') {
        return payload;
    }
    repairs.push(repair(RepairKind::Debris, &trimmed[inner.len()..], Value::Null));
    line.trim_end()
}
