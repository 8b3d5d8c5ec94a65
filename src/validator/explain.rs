//! Messages for the errors of the validator crate, which state what would be valid.

use std::fmt::Write;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::{Map, Value};

use super::{
    sentence::{counted, either, list, push_step, quote, truncated, with_article},
    violation::Violation,
};

/// Maximum number of alternatives of an `anyOf` that are explained.
const MAX_ALTERNATIVES: usize = 5;
/// Maximum depth of nested alternatives that are explained.
const MAX_EXPLAINED_NESTING: usize = 3;

/// The value and the schema that an explanation may quote.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: &'a Value,
}

/// Return the violation that `error` reports.
pub(super) fn violation(error: &ValidationError<'_>, subject: Subject<'_>) -> Violation {
    let path = error.instance_path().to_string();
    let Explanation { place, message } = explain(error, subject, 0);
    let place = if place.is_empty() { "the value" } else { &place };
    Violation {
        message: format!("{place}: {message}"),
        keyword: keyword(error),
        expected: expected(error, subject.schema),
        actual: truncated(subject.value.pointer(&path).unwrap_or(error.instance())),
        path,
    }
}

/// Return the message of `error`, without the location.
pub(super) fn message(error: &ValidationError<'_>, subject: Subject<'_>) -> String {
    explain(error, subject, 0).message
}

/// A message about one location.
struct Explanation {
    /// The subject of the message: a missing property has a location of its own.
    place: String,
    message: String,
}

fn explain(error: &ValidationError<'_>, subject: Subject<'_>, nesting: usize) -> Explanation {
    let mut place = error.instance_path().to_string();
    let actual = || quote(error.instance());
    let message = match error.kind() {
        Kind::Type { kind } => format!("{} is not {}", actual(), either(&types(kind))),
        Kind::Enum { options: Value::Array(options) } => match options.as_slice() {
            [only] => format!("{} is not {}", actual(), quote(only)),
            _ => format!("{} is not one of {}", actual(), list(options.iter())),
        },
        Kind::Enum { options } => format!("{} is not {}", actual(), quote(options)),
        Kind::Constant { expected_value } => {
            format!("{} is not {}", actual(), quote(expected_value))
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            push_step(&mut place, name);
            match wanted(error, subject.schema, name) {
                Some(wanted) => format!("missing; {wanted} is required"),
                None => "missing; it is required".to_owned(),
            }
        }
        Kind::AdditionalProperties { unexpected } => {
            let found = names(unexpected);
            match known(error, subject.schema) {
                Some(known) if !known.is_empty() => {
                    format!("unexpected {found}; only {} accepted", are(&known))
                }
                Some(_) => format!("unexpected {found}; no properties are accepted"),
                None => format!("unexpected {found}; nothing else is accepted"),
            }
        }
        // The known properties may be in any of the schemas that apply.
        Kind::UnevaluatedProperties { unexpected } => {
            format!("unexpected {}; nothing else is accepted", names(unexpected))
        }
        Kind::FalseSchema if is_about_properties(error) => {
            let members = subject.value.pointer(&place).and_then(Value::as_object);
            let found: Vec<_> = members.into_iter().flat_map(Map::keys).cloned().collect();
            format!("unexpected {}; no properties are accepted", names(&found))
        }
        Kind::UnevaluatedItems { unexpected } => {
            let more = counted(unexpected.len() as u64, "item");
            format!("{} has {more} more than is accepted", actual())
        }
        Kind::UniqueItems => format!("{} has an item twice; all must differ", actual()),
        Kind::Contains => {
            let asked = keyword_value(error, subject.schema, "contains").map(quote);
            let asked = asked.map_or_else(String::new, |asked| format!(" {asked}"));
            format!("{} does not have the right number of items that fit{asked}", actual())
        }
        Kind::Pattern { pattern } => format!("{} does not match the pattern {pattern}", actual()),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            format!("{} takes too long to match against the pattern", actual())
        }
        Kind::Format { format } => format!("{} is not in the format {format}", actual()),
        Kind::ContentEncoding { content_encoding } => {
            format!("{} is not encoded as {content_encoding}", actual())
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("{} does not hold {content_media_type}", actual())
        }
        Kind::FromUtf8 { .. } => format!("{} does not encode UTF-8 text", actual()),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("{} {}", actual(), alternatives(context, error, subject, nesting))
        }
        Kind::OneOfMultipleValid { context } => {
            let many = context.len();
            format!("{} fits more than one of {many} alternatives; exactly one may fit", actual())
        }
        Kind::Not { schema } => format!("{} fits what is ruled out: {}", actual(), quote(schema)),
        Kind::FalseSchema => format!("{} stands where nothing is accepted", actual()),
        Kind::PropertyNames { error } => {
            let inner = explain(error, subject, nesting + 1);
            format!("the name {}", inner.message)
        }
        Kind::Custom { message, .. } => message.clone(),
        Kind::Referencing(reason) => reason.to_string(),
        kind => format!("{} {}", actual(), limit_message(kind)),
    };
    Explanation { place, message }
}

/// Return the message for a limit that the value exceeds.
fn limit_message(kind: &Kind) -> String {
    let at_least = |limit, noun| format!("does not have at least {}", counted(limit, noun));
    let at_most = |limit, noun| format!("does not have at most {}", counted(limit, noun));
    match kind {
        Kind::Minimum { limit } => format!("is not at least {limit}"),
        Kind::Maximum { limit } => format!("is not at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("is not more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("is not less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("is not a multiple of {multiple_of}"),
        Kind::MinLength { limit } => at_least(*limit, "character"),
        Kind::MaxLength { limit } => at_most(*limit, "character"),
        Kind::MinItems { limit } => at_least(*limit, "item"),
        Kind::MaxItems { limit } => at_most(*limit, "item"),
        Kind::AdditionalItems { limit } => at_most(*limit as u64, "item"),
        Kind::MinProperties { limit } => at_least(*limit, "property"),
        Kind::MaxProperties { limit } => at_most(*limit, "property"),
        _ => format!("does not satisfy {}", kind.keyword()),
    }
}

/// Explain why none of the alternatives is valid.
fn alternatives(
    context: &[Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
    subject: Subject<'_>,
    nesting: usize,
) -> String {
    let at = error.instance_path();
    let mut all_types = Vec::new();
    for branch in context {
        match branch.first().map(|first| (first.kind(), first.instance_path())) {
            Some((Kind::Type { kind }, path)) if path == at => all_types.extend(types(kind)),
            _ => all_types.clear(),
        }
        if all_types.is_empty() {
            break;
        }
    }
    if !all_types.is_empty() {
        let mut seen = Vec::new();
        for name in all_types {
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        return format!("is not {}", either(&seen));
    }
    let mut text = format!("fits none of {} alternatives", context.len());
    if nesting >= MAX_EXPLAINED_NESTING {
        return text;
    }
    for (index, branch) in context.iter().take(MAX_ALTERNATIVES).enumerate() {
        let Some(first) =
            branch.first().filter(|error| !super::metered::is_exhausted(error.instance()))
        else {
            continue;
        };
        let Explanation { place, message } = explain(first, subject, nesting + 1);
        let place = place.strip_prefix(at.as_str()).unwrap_or(&place);
        let separator = if place.is_empty() { "" } else { ": " };
        // Writing to a string cannot fail.
        let _ = write!(text, "; ({}) {place}{separator}{message}", index + 1);
    }
    text
}

fn names(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| Value::from(name.as_str())).collect();
    list(names.iter())
}

/// Return true if a `false` schema rejects the properties of an object without declaring any. The
/// crate then reports the first of them at the location of the object.
fn is_about_properties(error: &ValidationError<'_>) -> bool {
    error.schema_path().as_str().ends_with("/additionalProperties")
}

fn types(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(only) => vec![with_article(only.as_str())],
        TypeKind::Multiple(many) => many.iter().map(|kind| with_article(kind.as_str())).collect(),
    }
}

/// Return the schema of the failed keyword, if the error refers to it and `schema` contains it.
fn parent<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Option<&'s Value> {
    let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
    schema.pointer(parent)
}

fn keyword_value<'s>(
    error: &ValidationError<'_>,
    schema: &'s Value,
    keyword: &str,
) -> Option<&'s Value> {
    parent(error, schema)?.get(keyword)
}

/// Describe a missing property: `an integer`, `one of "a", "b"`.
fn wanted(error: &ValidationError<'_>, schema: &Value, name: &str) -> Option<String> {
    let mut property = keyword_value(error, schema, "properties")?.get(name)?;
    // One step is the usual case; more would need a limit.
    if let Some(pointer) = property.get("$ref").and_then(Value::as_str) {
        property = schema.pointer(pointer.strip_prefix('#')?)?;
    }
    if let Some(Value::Array(options)) = property.get("enum") {
        return Some(format!("one of {}", list(options.iter())));
    }
    if let Some(only) = property.get("const") {
        return Some(quote(only));
    }
    match property.get("type")? {
        Value::String(name) => Some(with_article(name)),
        Value::Array(names) => {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).map(with_article).collect();
            Some(either(&names))
        }
        _ => None,
    }
}

/// Return the names of the properties that are declared next to the failed keyword.
fn known(error: &ValidationError<'_>, schema: &Value) -> Option<Vec<Value>> {
    let parent = parent(error, schema)?;
    if parent.get("patternProperties").is_some() {
        return None;
    }
    let names = parent.get("properties").and_then(Value::as_object);
    Some(
        names.into_iter().flat_map(|names| names.keys()).map(|name| name.as_str().into()).collect(),
    )
}

/// Return `"a" is`, or `"a", "b" are`.
fn are(names: &[Value]) -> String {
    format!("{} {}", list(names.iter()), if names.len() == 1 { "is" } else { "are" })
}

/// Return the keyword as written in the schema.
fn keyword(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::FalseSchema if is_about_properties(error) => "additionalProperties".to_owned(),
        Kind::FalseSchema => "false".to_owned(),
        kind => kind.keyword().to_owned(),
    }
}

fn expected(error: &ValidationError<'_>, schema: &Value) -> Value {
    match error.kind() {
        Kind::Type { kind: TypeKind::Single(only) } => only.as_str().into(),
        Kind::Type { kind: TypeKind::Multiple(many) } => {
            many.iter().map(|kind| Value::from(kind.as_str())).collect()
        }
        Kind::Enum { options } => truncated(options),
        Kind::Constant { expected_value } => truncated(expected_value),
        Kind::Required { property } => property.clone(),
        Kind::AdditionalProperties { .. } => {
            known(error, schema).map_or(Value::Null, |names| truncated(&names.into()))
        }
        Kind::Minimum { limit }
        | Kind::Maximum { limit }
        | Kind::ExclusiveMinimum { limit }
        | Kind::ExclusiveMaximum { limit } => limit.clone(),
        Kind::MultipleOf { multiple_of } => multiple_of.clone(),
        Kind::MinLength { limit }
        | Kind::MaxLength { limit }
        | Kind::MinItems { limit }
        | Kind::MaxItems { limit }
        | Kind::MinProperties { limit }
        | Kind::MaxProperties { limit } => (*limit).into(),
        Kind::AdditionalItems { limit } => (*limit).into(),
        Kind::Pattern { pattern } => pattern.as_str().into(),
        Kind::Format { format } => format.as_str().into(),
        Kind::ContentEncoding { content_encoding } => content_encoding.as_str().into(),
        Kind::ContentMediaType { content_media_type } => content_media_type.as_str().into(),
        _ => Value::Null,
    }
}
