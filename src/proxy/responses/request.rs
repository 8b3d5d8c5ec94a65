//! Requests for responses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::input;
use crate::proxy::{
    chat::{self, ChatBody},
    error::ApiError,
    request::ChatRequest,
};

/// Fields that are sent to the upstream, with their names there.
const PASSED: [(&str, &str); 5] = [
    ("max_output_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("user", "user"),
    ("parallel_tool_calls", "parallel_tool_calls"),
];

/// Fields that refer to what a server has stored.
const STATEFUL: [&str; 4] = ["previous_response_id", "conversation", "background", "prompt"];

/// Read a request. Of its other fields, those are ignored that change nothing in the reply, such
/// as `metadata` and `include`, and `store`: nothing is stored.
///
/// # Errors
/// Fails if the body is not a JSON object, or if a field is invalid or not supported.
pub fn read(body: &Bytes) -> Result<ChatRequest, ApiError> {
    let mut body: Map<String, Value> = serde_json::from_slice(body).map_err(|err| {
        let message = format!("the body must be a JSON object: {err}");
        ApiError::new(400, "invalid_request_error", message).with_code("invalid_json")
    })?;
    for name in STATEFUL {
        if body.get(name).is_some_and(|value| !value.is_null() && *value != false) {
            let message = "is not supported: this server keeps no state";
            return Err(ApiError::field(name, message));
        }
    }
    if let Some(number) = body.get("top_logprobs").filter(|number| !number.is_null())
        && number.as_u64() != Some(0)
    {
        return Err(ApiError::unexpected("top_logprobs", "0", number));
    }
    let mut take = |name: &str| body.remove(name).unwrap_or_default();
    let mut converted = Map::new();
    converted.insert("model".to_owned(), take("model"));
    let messages = input::messages(take("instructions"), take("input"))?;
    converted.insert("messages".to_owned(), messages.into());
    for (name, there) in PASSED {
        converted.insert(there.to_owned(), take(name));
    }
    let reasoning = take("reasoning");
    converted.insert("reasoning_effort".to_owned(), reasoning["effort"].clone());
    converted.insert("response_format".to_owned(), format(&take("text"))?);
    let stream = take("stream");
    if stream == true {
        converted.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    converted.insert("stream".to_owned(), stream);
    let tools = tools(&take("tools"))?;
    if !tools.is_empty() {
        converted.insert("tools".to_owned(), tools.into());
        converted.insert("tool_choice".to_owned(), choice(take("tool_choice"))?);
    }
    converted.retain(|_, value| !value.is_null());
    let native = serde_json::to_vec(&converted).unwrap_or_default();
    let read = chat::read(native.into()).map_err(ApiError::without_function)?;
    let (ChatBody::Tools(mut request) | ChatBody::Plain { mut request, .. }) = read;
    join_replies(&mut request);
    Ok(*request)
}

/// Join messages of one reply. Chat completions have one for its text and its calls, which the
/// results must follow.
fn join_replies(request: &mut ChatRequest) {
    let Some(Value::Array(messages)) = request.body.get("messages") else { return };
    let joined = input::joined(messages);
    if joined.len() < messages.len() {
        request.body.insert("messages".to_owned(), joined.into());
        request.native = serde_json::to_vec(&request.body).unwrap_or_default().into();
    }
}

/// Return the format of the answer as chat completions have it.
fn format(text: &Value) -> Result<Value, ApiError> {
    let format = &text["format"];
    match format["type"].as_str() {
        _ if format.is_null() => Ok(Value::Null),
        Some("text") => Ok(Value::Null),
        Some("json_object") => Ok(json!({"type": "json_object"})),
        Some("json_schema") => {
            let mut schema = format.clone();
            if let Some(members) = schema.as_object_mut() {
                members.shift_remove("type");
            }
            Ok(json!({"type": "json_schema", "json_schema": schema}))
        }
        _ => {
            let expected = "\"text\", \"json_object\" or \"json_schema\"";
            Err(ApiError::unexpected("text.format.type", expected, &format["type"]))
        }
    }
}

/// Return tool definitions of chat completions.
fn tools(tools: &Value) -> Result<Vec<Value>, ApiError> {
    let tools = match tools {
        Value::Null => return Ok(Vec::new()),
        Value::Array(tools) => tools,
        other => return Err(ApiError::unexpected("tools", "a list of tools", other)),
    };
    let mut definitions = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        if tool["type"] != "function" {
            let place = format!("tools[{index}].type");
            return Err(ApiError::unexpected(place, "\"function\"", &tool["type"]));
        }
        let mut function = tool.clone();
        if let Some(members) = function.as_object_mut() {
            members.shift_remove("type");
            members.retain(|_, value| !value.is_null());
        }
        definitions.push(json!({"type": "function", "function": function}));
    }
    Ok(definitions)
}

/// Return the choice as chat completions have it.
fn choice(choice: Value) -> Result<Value, ApiError> {
    match choice["type"].as_str() {
        Some("function") => match &choice["name"] {
            Value::String(name) => Ok(json!({"type": "function", "function": {"name": name}})),
            other => Err(ApiError::unexpected("tool_choice.name", "a string", other)),
        },
        _ => Ok(choice),
    }
}
