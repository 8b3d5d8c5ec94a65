//! Function contracts: the name, description, parameters and result of a tool.
//!
//! A [`FunctionContract`] is what the model is shown of a tool, and what its calls are validated
//! against. Contracts come from a JSON Schema or from the tool definitions of provider clients.
//! They are checked when they are created: the name of every contract can be written as a tag, and
//! its parameters are a schema for an object.
//!
//! ```
//! use serde_json::json;
//! use toolweave::contract::FunctionContract;
//!
//! let contract = FunctionContract::from_openai(&json!({
//!     "type": "function",
//!     "function": {
//!         "name": "get_weather",
//!         "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
//!     },
//! }))?;
//! assert_eq!(contract.name, "get_weather");
//!
//! let broken = FunctionContract::new("get_weather")?
//!     .with_parameters(json!({"type": "object", "properties": {"city": 3}}));
//! assert_eq!(
//!     broken.unwrap_err().to_string(),
//!     "parameters of tool \"get_weather\": at /properties/city: \
//!      a schema is an object, true or false, not a number",
//! );
//! # Ok::<_, toolweave::contract::ContractError>(())
//! ```

mod json;
mod name;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use self::name::is_name_char;
pub use self::name::{MAX_NAME_BYTES, TOOL_CALL, TOOL_RESPONSE, Tag, check_name};
pub use self::schema::MAX_SCHEMA_DEPTH;

use std::{collections::HashSet, fmt};

use serde_json::Value;
use thiserror::Error;

/// The contract of a tool, as shown to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionContract {
    /// The name by which the model calls the tool.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the arguments. Without one, nothing is validated.
    pub parameters: Option<Value>,
    /// The result: a JSON Schema, or prose as a JSON string.
    pub returns: Option<Value>,
}

/// An invalid contract.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The name cannot be used in a tag.
    #[error("tool name {name:?} {reason}")]
    Name {
        /// The name.
        name: String,
        /// The defect.
        reason: &'static str,
    },
    /// The parameters are not a schema for an object, or the schema of the result is invalid.
    #[error("{part} of tool {name:?}: at {}: {reason}", place_or_top(.place))]
    Schema {
        /// The tool.
        name: String,
        /// The part that has the schema.
        part: Part,
        /// Location in the schema, as a JSON Pointer; empty for the whole schema.
        place: String,
        /// The defect, and what would be valid.
        reason: String,
    },
    /// A tool definition has an unknown form.
    #[error("tool definition{}: {reason}", name_if_known(.name.as_deref()))]
    Definition {
        /// The tool, if the definition has a name.
        name: Option<String>,
        /// The defect, and what would be valid.
        reason: String,
    },
    /// Two tools share a name.
    #[error("tool name {name:?} is given more than once; each tool needs a name of its own")]
    Duplicate {
        /// The name.
        name: String,
    },
}

/// The part of a contract that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The arguments.
    Parameters,
    /// The result of the tool.
    Returns,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parameters => "parameters",
            Self::Returns => "returns",
        })
    }
}

fn place_or_top(place: &str) -> &str {
    if place.is_empty() { "the top" } else { place }
}

fn name_if_known(name: Option<&str>) -> String {
    name.map(|name| format!(" {name:?}")).unwrap_or_default()
}

impl FunctionContract {
    /// Create a contract for a tool that accepts any arguments.
    pub fn new(name: impl Into<String>) -> Result<Self, ContractError> {
        let name = name.into();
        check_name(&name)?;
        Ok(Self { name, description: None, parameters: None, returns: None })
    }

    /// Set the description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Set the JSON Schema of the arguments: an object schema, at most [`MAX_SCHEMA_DEPTH`] levels
    /// deep.
    pub fn with_parameters(mut self, schema: Value) -> Result<Self, ContractError> {
        schema::check_parameters(&schema)
            .map_err(|fault| fault.of(&self.name, Part::Parameters))?;
        self.parameters = Some(schema);
        Ok(self)
    }

    /// Set the result: a JSON Schema, or prose as a JSON string.
    pub fn with_returns(mut self, returns: Value) -> Result<Self, ContractError> {
        schema::check_returns(&returns).map_err(|fault| fault.of(&self.name, Part::Returns))?;
        self.returns = Some(returns);
        Ok(self)
    }
}

/// Check that no two contracts share a name.
pub fn check_distinct(contracts: &[FunctionContract]) -> Result<(), ContractError> {
    let mut seen = HashSet::new();
    match contracts.iter().find(|contract| !seen.insert(contract.name.as_str())) {
        Some(twice) => Err(ContractError::Duplicate { name: twice.name.clone() }),
        None => Ok(()),
    }
}
