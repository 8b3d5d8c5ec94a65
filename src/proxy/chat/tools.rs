//! The tools of a request, and the choice among them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    contract::FunctionContract,
    proxy::{error::ApiError, request::Choice},
};

/// Maximum number of tools in a request.
const MAX_TOOLS: usize = 1024;

/// Return all names of tools in a request: those that are offered first, then that of the choice
/// and those of the conversation.
pub(super) fn names(body: &mut Map<String, Value>) -> Vec<&mut Value> {
    let (mut offered, mut used) = (Vec::new(), Vec::new());
    for (field, value) in body {
        match (field.as_str(), value) {
            ("tools", Value::Array(tools)) => offered.extend(tools.iter_mut().filter_map(name)),
            ("tool_choice", choice) => used.extend(name(choice)),
            ("messages", Value::Array(messages)) => {
                for message in messages.iter_mut().filter_map(Value::as_object_mut) {
                    let is_result = message.get("role").is_some_and(|role| role == "tool");
                    for (field, value) in message {
                        match (field.as_str(), value) {
                            ("name", name) if is_result => used.push(name),
                            ("tool_calls", Value::Array(calls)) => {
                                used.extend(calls.iter_mut().filter_map(name));
                            }
                            _ => {}
                        }
                    }
                }
            }
            _ => {}
        }
    }
    offered.extend(used);
    offered
}

/// Return the name of the function that a definition, a choice or a call has.
fn name(object: &mut Value) -> Option<&mut Value> {
    object.get_mut("function")?.get_mut("name")
}

/// Read the tools of a request.
pub(super) fn contracts(tools: Option<&Value>) -> Result<Vec<FunctionContract>, ApiError> {
    let tools = match tools {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(ApiError::unexpected("tools", "a list of tools", other)),
    };
    if tools.len() > MAX_TOOLS {
        let message = format!("must have at most {MAX_TOOLS} tools, got {}", tools.len());
        return Err(ApiError::field("tools", message));
    }
    let mut names = HashSet::new();
    let mut contracts = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        if !tool.is_object() {
            return Err(ApiError::unexpected(place, "an object", tool));
        }
        if tool["type"] != "function" {
            let place = format!("{place}.type");
            return Err(ApiError::unexpected(place, "\"function\"", &tool["type"]));
        }
        if !tool["function"].is_object() {
            let place = format!("{place}.function");
            return Err(ApiError::unexpected(place, "an object with a name", &tool["function"]));
        }
        let contract = FunctionContract::from_openai(tool)
            .map_err(|error| ApiError::field(format!("{place}.function"), error.to_string()))?;
        if !names.insert(contract.name.clone()) {
            let message = format!("must be unique, got {:?} twice", contract.name);
            return Err(ApiError::field(format!("{place}.function.name"), message));
        }
        contracts.push(contract);
    }
    Ok(contracts)
}

/// Return the tools that the model may call, and the calls that it must make; `None` if it must not
/// make any.
pub(super) fn chosen(
    tools: Vec<FunctionContract>,
    choice: Option<&Value>,
) -> Result<(Vec<FunctionContract>, Option<Choice>), ApiError> {
    const EXPECTED: &str = "\"auto\", \"none\", \"required\" or a function";
    let choice = match choice {
        None | Some(Value::Null) => return Ok((tools, Some(Choice::Auto))),
        Some(choice) => choice,
    };
    let kind = choice.get("type").unwrap_or(choice);
    match kind.as_str() {
        Some("none") => return Ok((Vec::new(), None)),
        Some("auto") => return Ok((tools, Some(Choice::Auto))),
        Some("required") if !tools.is_empty() => return Ok((tools, Some(Choice::Required))),
        Some("required") => {
            let message = "must be \"auto\" or \"none\" in a request without tools";
            return Err(ApiError::field("tool_choice", message));
        }
        Some("function") => {}
        _ => return Err(ApiError::unexpected("tool_choice", EXPECTED, choice)),
    }
    let place = "tool_choice.function.name";
    let Some(name) = choice["function"]["name"].as_str() else {
        return Err(ApiError::unexpected(place, "a string", &choice["function"]["name"]));
    };
    let named: Vec<_> = tools.into_iter().filter(|tool| tool.name == name).collect();
    if named.is_empty() {
        let message = format!("must be the name of one of the tools, got {name:?}");
        return Err(ApiError::field(place, message));
    }
    Ok((named, Some(Choice::Required)))
}
