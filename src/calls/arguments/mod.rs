//! Conversion of payloads in other syntaxes than JSON to JSON.

mod argument;
mod assignments;
mod bare_keys;
mod cursor;
mod literal;
mod members;
mod nested;
mod pairs;
mod parameters;
mod python;
#[cfg(test)]
mod tests;
mod text;
mod typed;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use self::argument::object_json;
pub use self::argument::{Argument, ArgumentValue};
use crate::{message::Repair, parser::Syntax};

/// The arguments of a call, as JSON text or otherwise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Converted<A = String> {
    /// A JSON object.
    pub(super) arguments: A,
    /// Changes beyond the conversion itself.
    pub(super) repairs: Vec<Repair>,
}

/// An object of arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arguments<'t> {
    /// JSON text.
    Json(Cow<'t, str>),
    /// One argument each; of several with one name the last counts.
    Each(Vec<Argument<'t>>),
}

impl Arguments<'_> {
    /// Return the JSON text.
    pub(super) fn json(&self) -> Cow<'_, str> {
        match self {
            Self::Json(json) => Cow::Borrowed(json),
            Self::Each(arguments) => object_json(arguments).into(),
        }
    }
}

impl From<Converted> for Converted<Arguments<'_>> {
    fn from(Converted { arguments, repairs }: Converted) -> Self {
        Self { arguments: Arguments::Json(arguments.into()), repairs }
    }
}

/// Convert a payload that is not JSON; `None` if it cannot be read. `schema` is that of the tool.
///
/// The cost is linear in the payload, and nothing recurses without a limit.
pub(super) fn convert<'t>(
    syntax: Syntax,
    payload: &'t str,
    schema: Option<&Value>,
    max_depth: usize,
) -> Option<Converted<Arguments<'t>>> {
    let converted = match syntax {
        Syntax::Json => None,
        Syntax::Parameters => return parameters::convert(payload, schema, max_depth),
        Syntax::Pairs => pairs::convert(payload, schema),
        Syntax::Assignments => assignments::convert(payload, schema),
        Syntax::Python => python::convert(payload, max_depth),
        Syntax::BareKeys => bare_keys::convert(payload, max_depth),
        Syntax::Text => text::convert(payload, schema),
    };
    converted.map(Into::into)
}
