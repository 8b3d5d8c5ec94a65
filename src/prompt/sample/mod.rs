//! Generation of a value that matches a schema, for an example.
//!
//! The sampler guesses a value and the validator checks it: the example is valid, or there is none.
//! Whenever a schema leaves a choice (a branch of an `anyOf`, an optional property, one of several
//! strings), the sampler takes the first option and records the choice. A violation names the
//! failing location; the last open choice that affects it takes its next option, and the value is
//! drawn again. The rules of JSON Schema are thus implemented only in the validator.

mod array;
mod choices;
mod conjunction;
mod number;
mod object;
mod pattern;
mod text;

use serde_json::{Value, json};

use self::{choices::Choices, conjunction::Conjunction};
use super::refs::Document;
use crate::validator::{SchemaError, Validator};

/// Maximum number of attempts to draw a value.
const ATTEMPTS: usize = 200;

/// Maximum number of values in a sample; larger ones are unsuitable as examples.
const MAX_VALUES: usize = 300;

/// Maximum number of items and properties; more are unsuitable as examples.
const MAX_MEMBERS: usize = 50;

/// Maximum nesting depth of a sample.
const MAX_DEPTH: usize = 16;

/// Maximum depth at which optional properties and items are included.
const FULL_DEPTH: usize = 3;

/// The amount of optional content in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Items of arrays and entries of maps, but no optional properties: models fill in whatever an
    /// example fills in.
    Required,
    /// No optional content.
    Minimal,
    /// All optional content.
    Full,
}

/// The reason why there is no sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The schema is invalid.
    #[error("the {0}")]
    Schema(#[source] SchemaError),
    /// No attempt produced a matching value.
    #[error("no value was found that fits the schema")]
    NotFound,
}

/// Generate an object that matches `schema`, with optional properties only if it does not match
/// without them.
pub(super) fn sample_object(schema: &Value) -> Result<Value, SampleError> {
    let validator = Validator::new(schema).map_err(SampleError::Schema)?;
    // Arguments are always an object, even if the schema allows other types.
    let object = json!({"type": "object"});
    for extent in [Extent::Required, Extent::Minimal, Extent::Full] {
        let mut choices = Choices::default();
        for _ in 0..ATTEMPTS {
            let mut sampler = Sampler {
                document: Document { root: schema },
                choices: &mut choices,
                extent,
                path: String::new(),
                values_left: MAX_VALUES,
                targets: Vec::new(),
            };
            let drawn = sampler.value(&[schema, &object], DrawContext::default());
            let (dead_end, values_left) = (sampler.path, sampler.values_left);
            let failing = match drawn {
                Some(value) => {
                    let violations = validator.violations(&value);
                    if violations.is_empty() {
                        return Ok(value);
                    }
                    violations.into_iter().map(|violation| violation.path).collect()
                }
                None if values_left == 0 => break,
                None => vec![dead_end],
            };
            if !choices.advance(&failing) {
                break;
            }
        }
    }
    Err(SampleError::NotFound)
}

/// The context in which a value is drawn.
#[derive(Clone, Copy, Debug, Default)]
struct DrawContext {
    depth: usize,
    /// The number of similar values that this one should differ from.
    variant: usize,
    /// True if a reference is being followed again, so that only required content is drawn.
    is_recursive: bool,
}

impl DrawContext {
    /// Return the context of a member.
    fn inside(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// One attempt at a sample. The methods that draw return `None` at a dead end, where they leave
/// `path` as it is.
struct Sampler<'s, 'c> {
    document: Document<'s>,
    choices: &'c mut Choices,
    extent: Extent,
    /// The location of the value being drawn, as a JSON Pointer.
    path: String,
    values_left: usize,
    /// The targets of the references that are being followed.
    targets: Vec<&'s Value>,
}

impl<'s> Sampler<'s, '_> {
    /// Draw a value for all of `schemas`.
    fn value(&mut self, schemas: &[&'s Value], mut context: DrawContext) -> Option<Value> {
        if context.depth > MAX_DEPTH {
            return None;
        }
        self.values_left = self.values_left.checked_sub(1)?;
        let outer_targets = self.targets.len();
        let conjunction = self.expand(schemas, &mut context)?;
        let drawn = self.draw(&conjunction, context)?;
        self.targets.truncate(outer_targets);
        Some(drawn)
    }

    fn draw(&mut self, conjunction: &Conjunction<'s>, context: DrawContext) -> Option<Value> {
        if let Some(allowed) = conjunction.allowed_values() {
            let chosen = self.choose(allowed.len()) + context.variant;
            return allowed.get(chosen.checked_rem(allowed.len())?).cloned();
        }
        let suggestions = conjunction.suggestions();
        let chosen = self.choose(suggestions.len() + 1);
        if let Some(value) = suggestions.get(chosen + context.variant) {
            return Some((*value).clone());
        }
        let kinds = conjunction.kinds();
        match *kinds.get(self.choose(kinds.len()))? {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool((context.variant + self.choose(2)).is_multiple_of(2))),
            "integer" => self.number(conjunction, true, context.variant),
            "number" => self.number(conjunction, false, context.variant),
            "array" => self.array(conjunction, context),
            "object" => self.object(conjunction, context),
            _ => self.text(conjunction, context.variant),
        }
    }

    /// Return true if optional content is included.
    fn is_full(&self, context: DrawContext) -> bool {
        self.extent != Extent::Minimal && !context.is_recursive && context.depth <= FULL_DEPTH
    }

    /// Choose among `options`, continuing from earlier attempts.
    fn choose(&mut self, options: usize) -> usize {
        self.choices.choose(options, &self.path)
    }

    /// Draw the member `name` of the current value.
    fn at<T>(&mut self, name: &str, draw: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let drawn = draw(self)?;
        self.path.truncate(length);
        Some(drawn)
    }
}
