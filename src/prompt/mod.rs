//! Rendering of contracts for the system prompt.
//!
//! A prompt is in Markdown, or in the [`Dialect`](crate::parser::Dialect) of a model. In Markdown,
//! [`render_contracts`] describes each tool: a heading, its purpose and a list of parameters.
//! [`system_prompt`] adds the descriptions to a system prompt, with instructions for calls and an
//! example, or updates those that it contains. Examples always match their schema; if no sample
//! can be found, there is no example.
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
//!      Current weather of a place.\n\
//!      - location (string): City and country\n"
//! );
//!
//! let prompt = system_prompt(&tools, Some("You are a guide."), Style::default());
//! assert_eq!(system_prompt(&tools, Some(&prompt), Style::default()), prompt);
//! assert_eq!(system_prompt(&[], Some(&prompt), Style::default()), "You are a guide.");
//! # Ok::<_, toolweave::contract::ContractError>(())
//! ```
//!
//! In a dialect, [`present`] lists the tools as the chat templates of the dialect's models do, and
//! [`dialect_prompt`] adds them to a system prompt. Both kinds of sections replace each other.
//!
//! ```
//! use toolweave::contract::FunctionContract;
//! use toolweave::parser::Dialect;
//! use toolweave::prompt::{Style, dialect_prompt, present, system_prompt};
//!
//! let tools = [FunctionContract::new("Ping")?];
//! let hermes = Dialect::named("hermes").ok_or("no such dialect")?;
//! assert_eq!(
//!     present(&tools, &hermes)?.text,
//!     "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"Ping\"}}\n</tools>"
//! );
//! let prompt = dialect_prompt(&tools, Some("You are a guide."), &hermes)?;
//! assert!(prompt.contains("<tool_call>\n{\"name\": \"Ping\", \"arguments\": {}}\n</tool_call>"));
//! assert_eq!(system_prompt(&[], Some(&prompt), Style::default()), "You are a guide.");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod details;
mod dialect_section;
mod inline;
mod lines;
mod outline;
mod presentation;
mod refs;
mod sample;
mod schema;
mod section;
mod stop;
#[cfg(test)]
mod tests;

pub use self::{
    dialect_section::dialect_prompt,
    presentation::{Presentation, PresentationError, Simplification, present},
    sample::SampleError,
    section::system_prompt,
    stop::stop_sequence,
};

use serde_json::{Map, Value};

use self::{
    details::SchemaWriter,
    inline::{flat, spaced},
    lines::Lines,
};
use crate::contract::{FunctionContract, Tag};

/// The layout of the tools in a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// A line for each parameter, and one worked example for all tools: no more tokens than the
    /// templates of models need.
    #[default]
    Compact,
    /// A list of all keywords for each parameter, the result, and an example for each tool.
    Full,
}

impl Layout {
    /// Return the layout for a value of the option.
    pub fn from_wire(name: &str) -> Option<Self> {
        match name {
            "compact" => Some(Self::Compact),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// The format of tools and calls in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The layout of the tools.
    pub layout: Layout,
    /// The tag.
    pub tag: Tag,
    /// True to put arguments in a Markdown code fence.
    pub fenced: bool,
}

impl Default for Style {
    /// Return the format that small models follow most reliably.
    fn default() -> Self {
        Self { layout: Layout::default(), tag: Tag::Name, fenced: false }
    }
}

/// Render contracts as Markdown, one section each, separated by blank lines. Descriptions are put
/// on one line, so that they cannot forge headings.
///
/// In the compact layout there are no examples: [`system_prompt`] has one for all tools.
pub fn render_contracts(contracts: &[FunctionContract], style: Style) -> String {
    let render = |contract| match style.layout {
        Layout::Compact => compact::describe(contract),
        Layout::Full => render_in_full(contract, style),
    };
    let rendered: Vec<String> = contracts.iter().map(render).collect();
    rendered.join("\n")
}

/// Generate arguments that match the parameters of `contract`, for an example. Optional arguments
/// are included only if the required ones alone do not match.
pub fn sample_arguments(contract: &FunctionContract) -> Result<Value, SampleError> {
    match &contract.parameters {
        None => Ok(Value::Object(Map::new())),
        Some(schema) => sample::sample_object(schema),
    }
}

fn render_in_full(contract: &FunctionContract, style: Style) -> String {
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

/// Render a call as the model should write it.
fn call(name: &str, arguments: &Value, style: Style) -> String {
    let (opening, closing) = (style.tag.opening(name), style.tag.closing(name));
    let arguments = match style.layout {
        Layout::Compact => spaced(arguments),
        Layout::Full => format!("{arguments:#}"),
    };
    if style.fenced {
        format!("{opening}\n```json\n{arguments}\n```\n{closing}")
    } else {
        format!("{opening}\n{arguments}\n{closing}")
    }
}
