//! Function contracts: what a tool is called, does, takes and returns.

use serde_json::Value;
use thiserror::Error;

/// What the model is told about one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionContract {
    /// What the model calls it by.
    pub name: String,
    /// What it does, for the model to read.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; without one nothing is validated.
    pub parameters: Option<Value>,
    /// What it returns: a JSON Schema, or prose as a JSON string.
    pub returns: Option<Value>,
}

/// A contract that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The name cannot stand in a tag.
    #[error("tool name {name:?} {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The parameters are not a schema for an object.
    #[error("parameters of tool {name:?} {reason}")]
    Parameters {
        /// The tool.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
}

/// The longest name a tool may have, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

impl FunctionContract {
    /// A contract for a tool that takes anything.
    pub fn new(name: impl Into<String>) -> Result<Self, ContractError> {
        let name = name.into();
        check_name(&name)?;
        Ok(Self { name, description: None, parameters: None, returns: None })
    }
}

/// Whether `name` can be told apart inside `<name>` and `name="..."`.
pub fn check_name(name: &str) -> Result<(), ContractError> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "is longer than 256 bytes"
    } else if name.contains(|ch: char| ch.is_whitespace() || ch.is_control()) {
        "contains white space or a control character"
    } else if name.contains(['<', '>', '"', '\'', '=', '`', '&']) {
        "contains one of < > \" ' = ` &"
    } else if name.starts_with('/') || name.ends_with('/') {
        "begins or ends with a slash"
    } else {
        return Ok(());
    };
    Err(ContractError::Name { name: name.to_owned(), reason })
}
