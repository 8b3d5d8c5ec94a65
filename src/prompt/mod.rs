//! Contracts as Markdown, for the system prompt.
//!
//! [`render_contracts`] describes tools the way models read them best: a heading, a list of
//! parameters, an example call. The example fits the schema, always; where no value could be
//! found that does, there is none. [`system_prompt`] puts the descriptions, with a few words on
//! how to call, into a system prompt, or brings up to date those that are in it.
//!
//! ```
//! use serde_json::json;
//! use toolweave::contract::FunctionContract;
//! use toolweave::prompt::{Style, render_contracts, system_prompt};
//!
//! let weather = FunctionContract::new("GetWeather")?
//!     .with_description("Current weather of a place.")
//!     .with_parameters(json!({
//!         "type": "object",
//!         "properties": {"location": {"type": "string", "description": "City and country"}},
//!         "required": ["location"],
//!     }))?;
//! let tools = [weather];
//! assert_eq!(
//!     render_contracts(&tools, Style::default()),
//!     "## GetWeather\n\
//!      Description: Current weather of a place.\n\
//!      \n\
//!      Parameters:\n\
//!      - location (required): City and country\n  \
//!        Schema Details:\n  \
//!        - Type: string\n\
//!      \n\
//!      Example:\n\
//!      \n\
//!      <GetWeather>\n\
//!      ```json\n\
//!      {\n  \"location\": \"value\"\n}\n\
//!      ```\n\
//!      </GetWeather>\n"
//! );
//!
//! let prompt = system_prompt(&tools, Some("You are a guide."), Style::default());
//! assert_eq!(system_prompt(&tools, Some(&prompt), Style::default()), prompt);
//! assert_eq!(system_prompt(&[], Some(&prompt), Style::default()), "You are a guide.");
//! # Ok::<_, toolweave::contract::ContractError>(())
//! ```

mod details;
mod inline;
mod validation;
mod lines;
mod outline;
mod refs;
mod sample;
mod section;
#[cfg(test)]
mod tests;

pub use self::{sample::SampleError, section::system_prompt};

use serde_json::{Map, Value};

use self::{details::SchemaWriter, inline::flat, lines::Lines};
use crate::contract::{FunctionContract, Tag};

/// How a prompt shows calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The tag.
    pub tag: Tag,
    /// Whether the arguments stand in a Markdown fence.
    pub fenced: bool,
}

impl Default for Style {
    /// The form that small models follow most reliably.
    fn default() -> Self {
        Self { tag: Tag::Name, fenced: true }
    }
}

/// The contracts in Markdown, one section each, with a blank line between them. What
/// descriptions say is flattened to one line, so that none can pass for a heading.
pub fn render_contracts(contracts: &[FunctionContract], style: Style) -> String {
    let rendered: Vec<String> =
        contracts.iter().map(|contract| render_contract(contract, style)).collect();
    rendered.join("\n")
}

/// Arguments that the parameters of `contract` accept, to show in an example: required ones, and
/// others only where none fit without them.
pub fn sample_arguments(contract: &FunctionContract) -> Result<Value, SampleError> {
    match &contract.parameters {
        None => Ok(Value::Object(Map::new())),
        Some(schema) => sample::sample_object(schema),
    }
}

fn render_contract(contract: &FunctionContract, style: Style) -> String {
    let mut lines = Lines::default();
    lines.push(0, &format!("## {}", contract.name));
    let description = flat(contract.description.as_deref().unwrap_or_default());
    if !description.is_empty() {
        lines.push(0, &format!("Description: {description}"));
    }
    lines.blank();
    if let Some(schema) = &contract.parameters {
        SchemaWriter::new(schema, &mut lines).parameters();
    }
    match &contract.returns {
        None => {}
        Some(Value::String(prose)) => {
            lines.push(0, "Returns:");
            lines.push(0, &format!("- Description: {}", flat(prose)));
            lines.blank();
        }
        Some(schema) => SchemaWriter::new(schema, &mut lines).returns(),
    }
    let example = match sample_arguments(contract) {
        Ok(arguments) => format!("Example:\n\n{}\n", call(&contract.name, &arguments, style)),
        Err(reason) => format!("Example: none ({})\n", flat(&reason.to_string())),
    };
    lines.into_text() + &example
}

/// A call as the model is to write it.
fn call(name: &str, arguments: &Value, style: Style) -> String {
    let (opening, closing) = (style.tag.opening(name), style.tag.closing(name));
    if style.fenced {
        format!("{opening}\n```json\n{arguments:#}\n```\n{closing}")
    } else {
        format!("{opening}\n{arguments:#}\n{closing}")
    }
}
