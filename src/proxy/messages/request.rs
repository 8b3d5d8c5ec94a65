//! Requests for messages.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{document::NO_THREADS, tools};
use crate::{
    message::{Message, anthropic::from_anthropic, openai},
    proxy::{
        alias::Aliases,
        chat::{self, ChatBody},
        error::ApiError,
        request::ChatRequest,
    },
};

/// Fields that are sent to the upstream, with their names there.
const PASSED: [(&str, &str); 5] = [
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("stop_sequences", "stop"),
];

/// Fields about tools and files of the provider.
const UNSUPPORTED: [&str; 2] = ["container", "mcp_servers"];

/// Read a request. Of its other fields, those are ignored that change nothing in the reply, such
/// as `metadata`, and those on reasoning (`thinking`, `effort`), which models decide upon
/// themselves.
///
/// # Errors
/// Fails if the body is not a JSON object, or if a field is invalid or not supported.
pub fn read(body: &Bytes) -> Result<ChatRequest, ApiError> {
    let mut body: Map<String, Value> = serde_json::from_slice(body).map_err(|err| {
        let message = format!("the body must be a JSON object: {err}");
        ApiError::new(400, "invalid_request_error", message).with_code("invalid_json")
    })?;
    if body.get("thread").is_some_and(|thread| !thread.is_null()) {
        let message = "is not supported: this server keeps no conversations; send all messages";
        return Err(ApiError::field("thread", message).with_code(NO_THREADS));
    }
    for name in UNSUPPORTED {
        if body.get(name).is_some_and(|value| !value.is_null()) {
            return Err(ApiError::field(name, "is not supported"));
        }
    }
    let aliases = Aliases::replace(tools::names(&mut body));
    let mut take = |name: &str| body.remove(name).unwrap_or_default();
    let messages = match take("messages") {
        Value::Array(messages) => messages,
        Value::Null => {
            return Err(ApiError::field("messages", "is missing; it must be a list of messages"));
        }
        other => return Err(ApiError::unexpected("messages", "a list of messages", &other)),
    };
    let system = Some(take("system")).filter(|system| !system.is_null());
    check_results(&messages)?;
    let mut messages = from_anthropic(messages, system)?;
    messages.iter_mut().try_for_each(convert_images)?;

    let mut converted = Map::new();
    converted.insert("model".to_owned(), take("model"));
    let native = openai::to_openai(&messages, openai::Options::default())?;
    converted.insert("messages".to_owned(), native.into());
    for (name, there) in PASSED {
        let value = take(name);
        if !value.is_null() {
            converted.insert(there.to_owned(), value);
        }
    }
    // The second is the former name.
    let (output, former) = (take("output_config"), take("output_format"));
    let given = if output["format"].is_null() { &former } else { &output["format"] };
    converted.insert("response_format".to_owned(), format(given)?);
    let stream = take("stream");
    if stream == true {
        converted.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    converted.insert("stream".to_owned(), stream);
    let definitions =
        tools::definitions(&take("tools")).map_err(|error| aliases.in_error(error))?;
    let (choice, parallel) = tools::choice(&take("tool_choice"))?;
    if !definitions.is_empty() {
        converted.insert("tools".to_owned(), definitions.into());
        converted.insert("parallel_tool_calls".to_owned(), parallel.into());
        if !choice.is_null() {
            converted.insert("tool_choice".to_owned(), choice);
        }
    }
    converted.retain(|_, value| !value.is_null());
    let native = serde_json::to_vec(&converted).unwrap_or_default();
    let read =
        chat::read(native.into()).map_err(|error| aliases.in_error(error.without_function()))?;
    let (ChatBody::Tools(mut request) | ChatBody::Plain { mut request, .. }) = read;
    request.messages = Some(messages);
    request.aliases = aliases;
    Ok(*request)
}

/// Check that all results of calls are text: chat completions have no other.
fn check_results(messages: &[Value]) -> Result<(), ApiError> {
    for (message, value) in messages.iter().enumerate() {
        for (block, value) in items(&value["content"]) {
            if value["type"] != "tool_result" {
                continue;
            }
            if let Some((part, value)) =
                items(&value["content"]).find(|(_, part)| part["type"] != "text")
            {
                let place = format!("messages[{message}].content[{block}].content[{part}].type");
                return Err(ApiError::unexpected(place, "\"text\"", &value["type"]));
            }
        }
    }
    Ok(())
}

/// Return the items of a list with their positions; none of another value.
fn items(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

/// Return the format of the reply as chat completions have it.
fn format(format: &Value) -> Result<Value, ApiError> {
    match format["type"].as_str() {
        _ if format.is_null() => Ok(Value::Null),
        Some("json_schema") => {
            let schema = json!({"name": "reply", "schema": format["schema"], "strict": true});
            Ok(json!({"type": "json_schema", "json_schema": schema}))
        }
        _ => {
            let place = "output_config.format.type";
            Err(ApiError::unexpected(place, "\"json_schema\"", &format["type"]))
        }
    }
}

/// Convert the images of a message to the form of chat completions.
fn convert_images(message: &mut Message) -> Result<(), ApiError> {
    let metadata = &mut message.envelope.metadata;
    let Some(parts) = metadata.get("anthropic").and_then(|own| own["content"].as_array()) else {
        return Ok(());
    };
    if !parts.iter().any(|part| part["type"] == "image") {
        return Ok(());
    }
    let converted = parts.iter().map(|part| match part["type"].as_str() {
        Some("image") => {
            let source = &part["source"];
            let text = |name: &str| source[name].as_str().unwrap_or_default();
            let url = match text("type") {
                "base64" => format!("data:{};base64,{}", text("media_type"), text("data")),
                "url" => text("url").to_owned(),
                _ => {
                    let expected = "\"base64\" or \"url\"";
                    return Err(ApiError::unexpected("source.type", expected, &source["type"]));
                }
            };
            Ok(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        Some("text") => Ok(json!({"type": "text", "text": part["text"]})),
        // Reported as it is, when the message is converted.
        _ => Ok(part.clone()),
    });
    let converted: Vec<Value> = converted.collect::<Result<_, _>>()?;
    let is_known = |part: &Value| part["type"] == "text" || part["type"] == "image_url";
    if converted.iter().all(is_known) {
        metadata.remove("anthropic");
        metadata.insert("openai".to_owned(), json!({"content": converted}));
    }
    Ok(())
}
