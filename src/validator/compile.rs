//! From a schema to something that validates, or to the place that is wrong with it.

use std::ops::ControlFlow;

use jsonschema::{
    PatternOptions, ReferencingError, Registry, Uri, ValidationError, error::ValidationErrorKind,
    json::Json, uri,
};
use serde_json::Value;
use thiserror::Error;

use super::{
    Resources, cost,
    excess::{self, Excess, MAX_DEPTH},
    explain::{self, Judged},
    sentence::{push_step, quote},
};

/// A schema may hold this many values, resources included.
const MAX_VALUES: usize = 200_000;
/// A schema may hold this many patterns, resources included.
const MAX_PATTERNS: usize = 500;
/// A pattern may be this long, in characters.
const MAX_PATTERN_CHARS: usize = 1_000;
/// A compiled pattern may be this large, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 22;
/// Steps back that matching one pattern may take; past it the value does not match. Only patterns
/// with look-around or back-references take any, and each may read the whole string once more.
const MAX_BACKTRACKS: usize = 10_000;

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

/// Compiles `schema` for values of representation `F`.
pub(crate) fn compile<F: Json>(
    schema: &Value,
    resources: &Resources,
) -> Result<jsonschema::Validator<F>, SchemaError> {
    let documents = Documents { schema, resources };
    documents.check_size()?;
    let registry = Registry::new()
        .retriever(Nothing)
        .extend(resources)
        .and_then(jsonschema::RegistryBuilder::prepare)
        .map_err(|err| documents.reference_error(&err))?;
    let compiled = jsonschema::options_for::<F>()
        .with_registry(&registry)
        .with_retriever(Nothing)
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

/// Fetches nothing.
struct Nothing;

impl jsonschema::Retrieve for Nothing {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is not among the resources").into())
    }
}

/// A schema and what its references may lead to.
#[derive(Clone, Copy)]
pub(super) struct Documents<'a> {
    schema: &'a Value,
    resources: &'a Resources,
}

/// One member of an object somewhere in a schema.
pub(super) struct Member<'a, 'w> {
    /// Its place, as a JSON Pointer; a place in a resource begins with the URI and `#`.
    pub(super) path: &'w str,
    /// The URI against which references are resolved there.
    pub(super) base: &'w str,
    /// The object that holds it.
    pub(super) parent: &'a Value,
    pub(super) key: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Documents<'a> {
    /// The documents, each with its URI.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let resources = self.resources.iter().map(|(uri, resource)| (&**uri, resource));
        std::iter::once((ROOT, self.schema)).chain(resources)
    }

    /// The path of the top of the document with this URI.
    pub(super) fn path_of(uri: &str) -> String {
        if uri == ROOT { String::new() } else { format!("{uri}#") }
    }

    /// Shows `visit` every member of every object, until it breaks.
    pub(super) fn walk<B>(
        self,
        mut visit: impl FnMut(Member<'a, '_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (uri, document) in self.iter() {
            let mut path = Self::path_of(uri);
            walk(&mut path, uri, document, &mut visit)?;
        }
        ControlFlow::Continue(())
    }

    fn check_size(self) -> Result<(), SchemaError> {
        let mut values = 0;
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
        }
        let mut patterns = 0;
        let found = self.walk(|member| {
            let single = (member.key == "pattern").then(|| member.value.as_str()).flatten();
            let keys = (member.key == "patternProperties").then(|| member.value.as_object());
            let keys = keys.flatten().into_iter().flat_map(|patterns| patterns.keys());
            for pattern in keys.map(String::as_str).chain(single) {
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
        match found {
            ControlFlow::Break(err) => Err(err),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// What the crate found wrong, with the place where the schema says it.
    fn locate(self, err: &ValidationError<'_>) -> SchemaError {
        let path = err.instance_path().to_string();
        match err.kind() {
            ValidationErrorKind::Referencing(reason) => self.reference_error(reason),
            ValidationErrorKind::Format { format } if format == "regex" => SchemaError::Invalid {
                path,
                reason: format!(
                    "{} is not a regular expression, or compiles to more than {} KiB",
                    quote(err.instance()),
                    MAX_PATTERN_BYTES >> 10,
                ),
            },
            _ => SchemaError::Invalid {
                path,
                reason: explain::said(err, Judged { value: self.schema, schema: &Value::Null }),
            },
        }
    }

    fn reference_error(self, reason: &ReferencingError) -> SchemaError {
        let said = match reason {
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
                    reason: said,
                })
            }
            _ => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break(err) => err,
            ControlFlow::Continue(()) => {
                SchemaError::Invalid { path: String::new(), reason: reason.to_string() }
            }
        }
    }
}

/// The URI of a schema that has none.
const ROOT: &str = "json-schema:///";

const REFERENCES: [&str; 4] = ["$ref", "$dynamicRef", "$recursiveRef", "$schema"];

/// Whether following `target`, which stands at `key`, from `base` is what went wrong.
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

// Recursive, but `check_size` has seen to the depth.
fn walk<'a, B>(
    path: &mut String,
    base: &str,
    value: &'a Value,
    visit: &mut impl FnMut(Member<'a, '_>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let end = path.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push_step(path, &index.to_string());
                walk(path, base, item, visit)?;
                path.truncate(end);
            }
        }
        Value::Object(members) => {
            let own = ["$id", "id"].iter().find_map(|key| members.get(*key)?.as_str());
            let own = own.map(|id| resolve(base, id));
            let base = own.as_deref().unwrap_or(base);
            for (key, member) in members {
                push_step(path, key);
                visit(Member { path, base, parent: value, key, value: member })?;
                walk(path, base, member, visit)?;
                path.truncate(end);
            }
        }
        _ => {}
    }
    ControlFlow::Continue(())
}

/// How many values there are in `value`, itself included. The depth is known to be sane.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

fn too_large(path: &str, what: &str, limit: usize) -> SchemaError {
    SchemaError::TooLarge { path: path.to_owned(), what: what.to_owned(), limit }
}

/// `reference` seen from `base`; as it stands where it is no URI reference.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    uri::from_str(base)
        .and_then(|base| uri::resolve_against(&base.borrow(), reference))
        .map_or_else(|_| reference.to_owned(), |uri| uri.to_string())
}
