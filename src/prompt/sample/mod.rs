//! A value that fits a schema, to show in an example.
//!
//! The sampler draws a value and the validator judges it. Wherever a schema leaves a choice
//! (which branch of an `anyOf`, whether an optional property is there, which of several
//! strings), the sampler takes the first option and writes the choice down. A violation names
//! the place that is wrong; the last open choice that has to do with that place takes its next
//! option, and the value is drawn anew. So the rules of JSON Schema stand in one place, the
//! validator, and the sampler need only be a good guesser.

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
    validation::{SampleValidator, Patterns},
    refs::Document,
};
use crate::validator::SchemaError;

/// How often a value is drawn anew before it is given up.
const ATTEMPTS: usize = 200;

/// How many values one sample may consist of: more is no example.
const MAX_VALUES: usize = 300;

/// How deep a sample may be nested.
const MAX_DEPTH: usize = 16;

/// How deep optional properties and items are shown.
const FULL_DEPTH: usize = 3;

/// How much of what may be left out is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Items of arrays and entries of maps, but no optional properties: models fill in what an
    /// example fills in.
    Required,
    /// Nothing.
    Minimal,
    /// Everything.
    Full,
}

/// Why there is no sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The schema is none.
    #[error("the {0}")]
    Schema(#[source] SchemaError),
    /// Nothing that was tried fits.
    #[error("no value was found that fits the schema")]
    NotFound,
}

/// An object that `schema` accepts, without optional properties unless it fits only with them.
pub(super) fn sample_object(schema: &Value) -> Result<Value, SampleError> {
    // Arguments are an object, whatever else the schema would take.
    let object = json!({"type": "object"});
    sample(schema, &[schema, &object])
}

/// A value that fits all of `schemas`, to be judged by the document that they belong to.
fn sample<'s>(document: &'s Value, schemas: &[&'s Value]) -> Result<Value, SampleError> {
    let validation = SampleValidator::new(document).map_err(SampleError::Schema)?;
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
                    let places = validation.violation_paths(&value);
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

/// Where in the sample a value is drawn.
#[derive(Clone, Copy, Debug, Default)]
struct DrawContext<'s, 'a> {
    depth: usize,
    /// How many values like this one must differ from it: which of the possible ones to take.
    variant: usize,
    /// The references that led here.
    refs: Option<&'a RefChain<'s, 'a>>,
    /// Whether one of them led here before, so that only what must be there is.
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
    /// Where the value being drawn stands, as a JSON Pointer.
    path: String,
    values_left: usize,
    /// Where no value could be drawn.
    dead_end: Option<String>,
}

impl<'s> Sampler<'s, '_> {
    /// A value that is meant to fit all of `schemas`.
    fn value(&mut self, schemas: &[&'s Value], context: DrawContext<'s, '_>) -> Option<Value> {
        if self.values_left == 0 || context.depth > MAX_DEPTH {
            return self.give_up();
        }
        self.values_left -= 1;
        let Some(conjunction) = self.expand(schemas, &context) else {
            return self.give_up();
        };
        let context = DrawContext { is_recursive: context.is_recursive || conjunction.is_recursive, ..context };
        // The chain of references grows with the stack, one link for each that led here.
        self.refs(&conjunction.targets, &conjunction, context)
    }

    fn refs(
        &mut self,
        targets: &[&'s Value],
        conjunction: &Conjunction<'s>,
        context: DrawContext<'s, '_>,
    ) -> Option<Value> {
        match targets {
            [] => self.draw(conjunction, context),
            [target, rest @ ..] => {
                let link = RefChain { target, outer: context.refs };
                self.refs(rest, conjunction, DrawContext { refs: Some(&link), ..context })
            }
        }
    }

    fn draw(&mut self, conjunction: &Conjunction<'s>, context: DrawContext<'s, '_>) -> Option<Value> {
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

    /// The next choice among `options`, as far as earlier attempts left any.
    fn choose(&mut self, options: usize) -> usize {
        self.choices.choose(options, &self.path)
    }

    fn give_up<T>(&mut self) -> Option<T> {
        if self.dead_end.is_none() {
            self.dead_end = Some(self.path.clone());
        }
        None
    }

    /// Draws what stands under `name` of the value being drawn.
    fn at<T>(&mut self, name: &str, draw: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let drawn = draw(self);
        self.path.truncate(length);
        drawn
    }
}
