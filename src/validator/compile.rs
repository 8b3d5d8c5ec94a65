//! Compilation of a schema, with the location of any error in it.

use std::ops::ControlFlow;

use jsonschema::{
    PatternOptions, ReferencingError, Registry, Uri, ValidationError, error::ValidationErrorKind,
    json::Json, uri,
};
use serde_json::Value;

use super::{
    Resources, cost, decimal,
    documents::{Documents, parts, resolve},
    error::{SchemaError, too_large},
    excess::{self, Excess, MAX_DEPTH},
    explain::{self, Subject},
    sentence::quote,
};

/// Maximum number of values in a schema, resources included.
const MAX_VALUES: usize = 200_000;
/// Maximum number of characters in numbers longer than [`LONG_NUMBER_CHARS`], resources included:
/// meta-schemas require unique items, and the crate compares all pairs of them.
const MAX_LONG_NUMBERS: usize = 20_000;
/// Length in characters up to which different numbers are different floats.
const LONG_NUMBER_CHARS: usize = 15;
/// Maximum number of arrays and objects in an `enum`, resources included, for the same reason.
const MAX_LISTED: usize = 1_000;
/// Maximum number of patterns in a schema, resources included.
const MAX_PATTERNS: usize = 500;
/// Maximum length of a pattern, in characters.
const MAX_PATTERN_CHARS: usize = 1_000;
/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 22;
/// Maximum number of backtracking steps of one match; beyond it the value does not match. Only
/// patterns with look-around or back-references take any; see `patterns.rs`.
const MAX_BACKTRACKS: usize = 10_000;

/// Compile `schema` for values of the representation `F`.
pub(crate) fn compile<F: Json>(
    schema: &Value,
    resources: &Resources,
) -> Result<jsonschema::Validator<F>, SchemaError> {
    let documents = Documents { schema, resources };
    documents.check_size()?;
    let registry = Registry::new()
        .retriever(NoRetriever)
        .extend(resources)
        .and_then(jsonschema::RegistryBuilder::prepare)
        .map_err(|err| documents.reference_error(&err))?;
    let compiled = jsonschema::options_for::<F>()
        .with_registry(&registry)
        .with_retriever(NoRetriever)
        .with_pattern_options(
            PatternOptions::fancy_regex()
                .backtrack_limit(MAX_BACKTRACKS)
                .size_limit(MAX_PATTERN_BYTES)
                .dfa_size_limit(MAX_PATTERN_BYTES),
        )
        .build(schema)
        .map_err(|err| documents.locate(&err))?;
    cost::check(documents)?;
    Ok(compiled)
}

/// A retriever that fetches nothing.
struct NoRetriever;

impl jsonschema::Retrieve for NoRetriever {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is not among the resources").into())
    }
}

impl Documents<'_> {
    fn check_size(self) -> Result<(), SchemaError> {
        let mut values = 0;
        let mut long_numbers = 0;
        for (uri, document) in self.iter() {
            let path = Self::path_of(uri);
            match excess::find(document) {
                Some((_, Excess::Depth)) => {
                    return Err(too_large(&path, "nested too deep", MAX_DEPTH));
                }
                Some((below, Excess::Number(number))) => {
                    return Err(SchemaError::Invalid {
                        path: path + &below,
                        reason: format!("{} is too large a number", quote(&number.into())),
                    });
                }
                None => {}
            }
            values += count(document);
            if values > MAX_VALUES {
                return Err(too_large(&path, "too many values in the schema", MAX_VALUES));
            }
            long_numbers += long_number_chars(document);
            if long_numbers > MAX_LONG_NUMBERS {
                let what = "too many characters in long numbers of the schema";
                return Err(too_large(&path, what, MAX_LONG_NUMBERS));
            }
        }
        let mut patterns = 0;
        let mut listed = 0;
        let found = self.walk(|member| {
            if let ("enum", Value::Array(options)) = (member.key, member.value) {
                listed += options.iter().filter(|one| one.is_array() || one.is_object()).count();
                if listed > MAX_LISTED {
                    let what = "too many arrays and objects listed in the schema";
                    return ControlFlow::Break(too_large(member.path, what, MAX_LISTED));
                }
            }
            for pattern in member.patterns() {
                patterns += 1;
                if patterns > MAX_PATTERNS {
                    let what = "too many patterns in the schema";
                    return ControlFlow::Break(too_large(member.path, what, MAX_PATTERNS));
                }
                let chars = pattern.chars().count();
                if chars > MAX_PATTERN_CHARS {
                    let what = format!("the pattern has {chars} characters");
                    return ControlFlow::Break(too_large(member.path, &what, MAX_PATTERN_CHARS));
                }
            }
            ControlFlow::Continue(())
        });
        found.break_value().map_or(Ok(()), Err)
    }

    /// Convert an error of the crate, with its location in the schema.
    fn locate(self, err: &ValidationError<'_>) -> SchemaError {
        let path = err.instance_path().to_string();
        match err.kind() {
            ValidationErrorKind::Referencing(reason) => self.reference_error(reason),
            ValidationErrorKind::Format { format } if format == "regex" => SchemaError::Invalid {
                path: self.pattern(err.instance().as_str().unwrap_or_default(), &path),
                reason: format!(
                    "{} is not a regular expression, or compiles to more than {} KiB",
                    quote(err.instance()),
                    MAX_PATTERN_BYTES >> 10,
                ),
            },
            _ => SchemaError::Invalid {
                path: self.place(err.instance(), path),
                reason: explain::message(err, Subject { value: self.schema, schema: &Value::Null }),
            },
        }
    }

    /// Return the location of `instance`: `path`, with the document, which the crate does not
    /// report.
    fn place(self, instance: &Value, path: String) -> String {
        let mut documents = self.iter();
        match documents.find(|(_, document)| document.pointer(&path) == Some(instance)) {
            Some((uri, _)) => Self::path_of(uri) + &path,
            None => path,
        }
    }

    /// Return the location of `pattern`. The crate reports `path`, but not the document, and counts
    /// some references as steps.
    fn pattern(self, pattern: &str, path: &str) -> String {
        let mut places = Vec::new();
        let _ = self.walk::<()>(|member| {
            let is_value = member.key == "pattern" && member.value == pattern;
            let holder = member.path.rsplit_once('/').map_or("", |(holder, _)| holder);
            if is_value || member.key == pattern && holder.ends_with("/patternProperties") {
                places.push(member.path.to_owned());
            }
            ControlFlow::Continue(())
        });
        let exact = places.iter().find(|place| place.ends_with(path)).or(places.first());
        exact.map_or_else(|| path.to_owned(), Clone::clone)
    }

    fn reference_error(self, reason: &ReferencingError) -> SchemaError {
        let message = match reason {
            ReferencingError::Unretrievable { .. } => {
                "is neither in the schema nor among the resources, and nothing is fetched"
            }
            ReferencingError::PointerToNowhere { .. }
            | ReferencingError::InvalidArrayIndex { .. } => "points to nothing in the schema",
            ReferencingError::NoSuchAnchor { .. } | ReferencingError::InvalidAnchor { .. } => {
                "names no anchor of the schema"
            }
            ReferencingError::UnknownSpecification { .. } => {
                "is no meta-schema that is known or among the resources"
            }
            _ => "is not a URI reference that can be followed",
        };
        let found = self.walk(|member| match member.value.as_str() {
            Some(target) if is_culprit(reason, member.key, target, member.base) => {
                ControlFlow::Break(SchemaError::Reference {
                    path: member.path.to_owned(),
                    reference: target.to_owned(),
                    reason: message,
                })
            }
            _ => ControlFlow::Continue(()),
        });
        found.break_value().unwrap_or_else(|| SchemaError::Invalid {
            path: String::new(),
            reason: reason.to_string(),
        })
    }
}

const REFERENCES: [&str; 4] = ["$ref", "$dynamicRef", "$recursiveRef", "$schema"];

/// Return true if the error was caused by following `target` under `key` from `base`.
fn is_culprit(reason: &ReferencingError, key: &str, target: &str, base: &str) -> bool {
    if !REFERENCES.contains(&key) {
        let names = matches!(key, "$id" | "id");
        return names
            && matches!(reason, ReferencingError::InvalidUri(_))
            && uri::from_str(target).is_err();
    }
    let (before, fragment) = target.split_once('#').unwrap_or((target, ""));
    match reason {
        ReferencingError::Unretrievable { uri, .. } => {
            let uri = uri.trim_end_matches('#');
            before == uri || resolve(base, before).trim_end_matches('#') == uri
        }
        ReferencingError::PointerToNowhere { pointer }
        | ReferencingError::InvalidArrayIndex { pointer, .. }
        | ReferencingError::InvalidPercentEncoding { pointer, .. } => fragment == pointer,
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            fragment == anchor
        }
        ReferencingError::UnknownSpecification { specification } => {
            target.trim_end_matches('#') == specification.trim_end_matches('#')
        }
        _ => uri::from_str(target).is_err(),
    }
}

/// Return the number of characters in the long numbers of `value`, written without exponents. The
/// depth has been checked.
fn long_number_chars(value: &Value) -> usize {
    let own = value.as_number().map_or(0, decimal::expanded_len);
    let own = if own > LONG_NUMBER_CHARS { own } else { 0 };
    own + parts(value).map(long_number_chars).sum::<usize>()
}

/// Return the number of values in `value`, itself included. The depth has been checked.
fn count(value: &Value) -> usize {
    1 + parts(value).map(count).sum::<usize>()
}
