//! Generation of a value that matches a schema, for an example.
//!
//! The sampler draws a value and the validator checks it. Whenever a schema leaves a choice (a
//! branch of an `anyOf`, an optional property, one of several strings), the sampler takes the first
//! option and records the choice. A violation names the failing location; the last open choice that
//! affects it takes its next option, and the value is drawn again. The rules of JSON Schema are
//! thus implemented only in the validator, and the sampler only has to guess well.

mod array;
mod choices;
mod conjunction;
mod decimal;
mod number;
mod object;
mod pattern;
mod text;

use serde_json::{Value, json};

use self::{
    choices::Choices,
    conjunction::{Conjunction, Kind},
};
use super::{
    refs::Document,
    validation::{Patterns, SampleValidator},
};
use crate::validator::SchemaError;

/// Maximum number of attempts to draw a value.
const ATTEMPTS: usize = 200;

/// Maximum number of values in a sample; larger ones are unsuitable as examples.
const MAX_VALUES: usize = 300;

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
    // Arguments are always an object, even if the schema allows other types.
    let object = json!({"type": "object"});
    sample(schema, &[schema, &object])
}

/// Generate a value that matches all of `schemas`, validated by their document.
fn sample<'s>(document: &'s Value, schemas: &[&'s Value]) -> Result<Value, SampleError> {
    let validator = SampleValidator::new(document).map_err(SampleError::Schema)?;
    let patterns = Patterns::default();
    for extent in [Extent::Required, Extent::Minimal, Extent::Full] {
        let mut choices = Choices::default();
        for _ in 0..ATTEMPTS {
            choices.rewind();
            let mut sampler = Sampler {
                document: Document::new(document),
                choices: &mut choices,
                patterns: &patterns,
                extent,
                path: String::new(),
                values_left: MAX_VALUES,
                dead_end: None,
            };
            let drawn = sampler.value(schemas, DrawContext::default());
            let (dead_end, values_left) = (sampler.dead_end.take(), sampler.values_left);
            let failing = match drawn {
                Some(value) => {
                    let places = validator.violation_paths(&value);
                    if places.is_empty() {
                        return Ok(value);
                    }
                    places
                }
                None if values_left == 0 => break,
                None => vec![dead_end.unwrap_or_default()],
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
struct DrawContext<'s, 'a> {
    depth: usize,
    /// The number of similar values that this one must differ from.
    variant: usize,
    /// The references that are being followed.
    refs: Option<&'a RefChain<'s, 'a>>,
    /// True if a reference is being followed again, so that only required content is drawn.
    is_recursive: bool,
}

/// A chain of references, innermost first.
#[derive(Debug)]
struct RefChain<'s, 'a> {
    target: &'s Value,
    outer: Option<&'a RefChain<'s, 'a>>,
}

impl<'s> DrawContext<'s, '_> {
    fn has_followed(&self, target: &'s Value) -> bool {
        let mut refs = self.refs;
        while let Some(link) = refs {
            if std::ptr::eq(link.target, target) {
                return true;
            }
            refs = link.outer;
        }
        false
    }
}

/// One attempt at a sample.
struct Sampler<'s, 'c> {
    document: Document<'s>,
    choices: &'c mut Choices,
    patterns: &'c Patterns,
    extent: Extent,
    /// The location of the value being drawn, as a JSON Pointer.
    path: String,
    values_left: usize,
    /// The location at which no value could be drawn.
    dead_end: Option<String>,
}

impl<'s> Sampler<'s, '_> {
    /// Draw a value for all of `schemas`.
    fn value(&mut self, schemas: &[&'s Value], context: DrawContext<'s, '_>) -> Option<Value> {
        if self.values_left == 0 || context.depth > MAX_DEPTH {
            return self.give_up();
        }
        self.values_left -= 1;
        let Some(conjunction) = self.expand(schemas, &context) else {
            return self.give_up();
        };
        let context = DrawContext {
            is_recursive: context.is_recursive || conjunction.is_recursive,
            ..context
        };
        // The chain of references is kept on the stack, one link per reference.
        self.follow(&conjunction.targets, &conjunction, context)
    }

    fn follow(
        &mut self,
        targets: &[&'s Value],
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<Value> {
        match targets {
            [] => self.draw(conjunction, context),
            [target, rest @ ..] => {
                let link = RefChain { target, outer: context.refs };
                self.follow(rest, conjunction, DrawContext { refs: Some(&link), ..context })
            }
        }
    }

    fn draw(
        &mut self,
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<Value> {
        if let Some(allowed) = conjunction.allowed_values() {
            if allowed.is_empty() {
                return self.give_up();
            }
            let chosen = self.choose(allowed.len()) + context.variant;
            return Some(allowed[chosen % allowed.len()].clone());
        }
        let suggestions = conjunction.suggestions();
        let chosen = self.choose(suggestions.before.len() + 1 + suggestions.after.len());
        if let Some(value) = suggestions.before.get(chosen + context.variant) {
            return Some((*value).clone());
        }
        if chosen > suggestions.before.len() {
            let value = suggestions.after.get(chosen - suggestions.before.len() - 1)?;
            return Some((*value).clone());
        }
        let kinds = conjunction.kinds();
        if kinds.is_empty() {
            return self.give_up();
        }
        let drawn = match kinds[self.choose(kinds.len())] {
            Kind::Null => Some(Value::Null),
            Kind::Boolean => {
                let second = self.choose(2) == 1;
                Some(Value::Bool((context.variant % 2 == 1) == second))
            }
            Kind::Integer => self.number(conjunction, true, context.variant),
            Kind::Number => self.number(conjunction, false, context.variant),
            Kind::String => self.text(conjunction, context.variant),
            Kind::Array => return self.array(conjunction, context),
            Kind::Object => return self.object(conjunction, context),
        };
        drawn.or_else(|| self.give_up())
    }

    /// Choose among `options`, continuing from earlier attempts.
    fn choose(&mut self, options: usize) -> usize {
        self.choices.choose(options, &self.path)
    }

    fn give_up<T>(&mut self) -> Option<T> {
        if self.dead_end.is_none() {
            self.dead_end = Some(self.path.clone());
        }
        None
    }

    /// Draw the member `name` of the current value.
    fn at<T>(&mut self, name: &str, draw: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let drawn = draw(self);
        self.path.truncate(length);
        drawn
    }
}
