//! The tools of a request, and the choice among them, as chat completions have them.

use serde_json::{Map, Value, json};

use crate::{contract::FunctionContract, proxy::error::ApiError};

/// Return all names of tools in a request: those that are offered first, then that of the choice
/// and those of the conversation.
pub(super) fn names(body: &mut Map<String, Value>) -> Vec<&mut Value> {
    let (mut offered, mut used) = (Vec::new(), Vec::new());
    for (field, value) in body {
        match (field.as_str(), value) {
            ("tools", Value::Array(tools)) => {
                offered.extend(tools.iter_mut().filter_map(|tool| tool.get_mut("name")));
            }
            ("tool_choice", choice) => used.extend(choice.get_mut("name")),
            ("messages", Value::Array(messages)) => {
                let contents = messages.iter_mut().filter_map(|message| message.get_mut("content"));
                let blocks = contents.filter_map(Value::as_array_mut).flatten();
                let calls = blocks.filter(|block| block["type"] == "tool_use");
                used.extend(calls.filter_map(|call| call.get_mut("name")));
            }
            _ => {}
        }
    }
    offered.extend(used);
    offered
}

/// Return tool definitions of chat completions.
pub(super) fn definitions(tools: &Value) -> Result<Vec<Value>, ApiError> {
    let tools = match tools {
        Value::Null => return Ok(Vec::new()),
        Value::Array(tools) => tools,
        other => return Err(ApiError::unexpected("tools", "a list of tools", other)),
    };
    let mut definitions = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        if !tool.is_object() {
            return Err(ApiError::unexpected(place, "an object with a name", tool));
        }
        let kind = &tool["type"];
        if !kind.is_null() && kind != "custom" {
            return Err(ApiError::unexpected(format!("{place}.type"), "\"custom\"", kind));
        }
        let contract = FunctionContract::from_openai(tool)
            .map_err(|error| ApiError::field(place, error.to_string()))?;
        definitions.push(contract.to_openai());
    }
    Ok(definitions)
}

/// Return the choice as chat completions have it, and true if a reply may have several calls.
pub(super) fn choice(choice: &Value) -> Result<(Value, bool), ApiError> {
    if choice.is_null() {
        return Ok((Value::Null, true));
    }
    let parallel = match &choice["disable_parallel_tool_use"] {
        Value::Null => true,
        Value::Bool(disabled) => !disabled,
        other => {
            let place = "tool_choice.disable_parallel_tool_use";
            return Err(ApiError::unexpected(place, "true or false", other));
        }
    };
    let converted = match choice["type"].as_str() {
        Some("auto") => "auto".into(),
        Some("any") => "required".into(),
        Some("none") => "none".into(),
        Some("tool") => match &choice["name"] {
            Value::String(name) => json!({"type": "function", "function": {"name": name}}),
            other => return Err(ApiError::unexpected("tool_choice.name", "a string", other)),
        },
        _ => {
            let expected = "\"auto\", \"any\", \"tool\" or \"none\"";
            return Err(ApiError::unexpected("tool_choice.type", expected, &choice["type"]));
        }
    };
    Ok((converted, parallel))
}
