//! Presentation of tools in the markup of a family of models.
//!
//! The list of tools is the one that the chat templates of the family write, for the same tools.
//! Foreign text is neutralized, see [`neutral`]; what a form cannot show is reported.

mod declarations;
mod headings;
mod json;
mod namespace;
mod neutral;
mod tags;
#[cfg(test)]
mod tests;
mod view;

use std::fmt;

use serde_json::Value;
use thiserror::Error;

use crate::{
    contract::FunctionContract,
    parser::{Dialect, Teaching, ToolList, Values},
};

/// Tools in the markup of a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// The list of tools, without instructions.
    pub text: String,
    /// The parts of contracts that the text does not show.
    pub simplifications: Vec<Simplification>,
}

/// A part of a contract that a presentation does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simplification {
    /// The name of the tool.
    pub tool: String,
    /// Location in the schema of the parameters, as a JSON Pointer; empty for the top.
    pub place: String,
    /// The part: a keyword in quotes, or a description.
    pub what: String,
}

impl fmt::Display for Simplification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, place, what } = self;
        let place = if place.is_empty() { "the top" } else { place };
        write!(f, "tool {tool:?}: at {place}: {what} is not shown")
    }
}

/// Tools that a dialect cannot present.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PresentationError {
    /// The dialect is only read.
    #[error("tools cannot be presented in the dialect {dialect:?}, only in {}", known())]
    Dialect {
        /// The dialect.
        dialect: &'static str,
    },
    /// Calls in the dialect cannot name the tool.
    #[error("tool {tool:?} cannot be presented in the dialect {dialect:?}: {reason}")]
    Name {
        /// The tool.
        tool: String,
        /// The dialect.
        dialect: &'static str,
        /// The defect.
        reason: &'static str,
    },
    /// Calls in the dialect cannot name a parameter.
    #[error(
        "tool {tool:?} cannot be presented in the dialect {dialect:?}: at {place}: \
         the name of the parameter {parameter:?} {reason}"
    )]
    Parameter {
        /// The tool.
        tool: String,
        /// The dialect.
        dialect: &'static str,
        /// Location in the schema of the parameters, as a JSON Pointer.
        place: String,
        /// The parameter.
        parameter: String,
        /// The defect.
        reason: &'static str,
    },
}

/// Return the names of the dialects in which tools can be presented.
fn known() -> String {
    let known = Dialect::ALL.iter().filter(|dialect| dialect.teaching.is_some());
    let names: Vec<&str> =
        std::iter::once("natural").chain(known.map(|dialect| dialect.name)).collect();
    names.join(", ")
}

/// Present tools as the chat templates of the dialect's models do, without instructions.
pub fn present(
    contracts: &[FunctionContract],
    dialect: &Dialect,
) -> Result<Presentation, PresentationError> {
    let unknown = PresentationError::Dialect { dialect: dialect.name };
    let teaching = dialect.teaching.ok_or(unknown)?;
    if contracts.is_empty() {
        return Ok(Presentation { text: String::new(), simplifications: Vec::new() });
    }
    let mut simplifications = Vec::new();
    for contract in contracts {
        check(contract, dialect)?;
        if contract.returns.is_some() {
            simplifications.push(Simplification {
                tool: contract.name.clone(),
                place: String::new(),
                what: "the description of the result".to_owned(),
            });
        }
    }
    let text = match &teaching.tools {
        ToolList::Json(list) => json::write(contracts, list),
        ToolList::Tags => tags::write(contracts, &mut simplifications),
        ToolList::Declarations => declarations::write(contracts, &mut simplifications),
        ToolList::Namespace => namespace::write(contracts, &mut simplifications),
        ToolList::Headings => headings::write(contracts),
    };
    Ok(Presentation { text, simplifications })
}

/// Check that calls in the dialect can name the tool and its parameters.
fn check(contract: &FunctionContract, dialect: &Dialect) -> Result<(), PresentationError> {
    let tool = &contract.name;
    if !dialect.can_name(tool) || neutral::line(tool) != *tool {
        let reason = "its calls cannot contain this name";
        return Err(PresentationError::Name { tool: tool.clone(), dialect: dialect.name, reason });
    }
    let is_json = matches!(dialect.teaching, Some(Teaching { values: Values::Literal, .. }));
    let properties = contract.parameters.as_ref().and_then(|schema| schema.get("properties"));
    for (name, _) in properties.and_then(Value::as_object).into_iter().flatten() {
        let is_neutral = is_json || neutral::line(name) == *name;
        if !is_neutral || !dialect.can_name_parameter(name) {
            return Err(PresentationError::Parameter {
                tool: tool.clone(),
                dialect: dialect.name,
                place: format!("/properties/{}", pointer_step(name)),
                parameter: name.clone(),
                reason: "cannot be written in a call",
            });
        }
    }
    Ok(())
}

/// Return true if a sample call can show these arguments: they contain no markup, and line breaks
/// only in languages with escapes.
pub(super) fn can_show(arguments: &Value, dialect: &Dialect) -> bool {
    let has_escapes = matches!(dialect.teaching, Some(Teaching { values: Values::Literal, .. }));
    let neutral = if has_escapes { neutral::json } else { neutral::line };
    is_plain(arguments, &|text| neutral(text) == text)
}

/// Return true if all texts in a value are plain.
fn is_plain(value: &Value, is_plain_text: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_plain_text(text),
        Value::Array(items) => items.iter().all(|item| is_plain(item, is_plain_text)),
        Value::Object(members) => {
            members.iter().all(|(key, value)| is_plain_text(key) && is_plain(value, is_plain_text))
        }
        _ => true,
    }
}

/// Return a key as a step of a JSON Pointer.
fn pointer_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Return true for a name that needs no quotes, as the templates write all names.
fn is_bare(name: &str) -> bool {
    let is_bare = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '$' | '-' | '.');
    !name.is_empty() && name.chars().all(is_bare)
}
