//! Input items, as messages of chat completions.

use serde_json::{Value, json};

use crate::proxy::error::ApiError;

const ITEM_TYPES: &str =
    "\"message\", \"function_call\", \"function_call_output\" or \"reasoning\"";

/// Return the messages that instructions and input stand for.
pub(super) fn messages(instructions: Value, input: Value) -> Result<Vec<Value>, ApiError> {
    let mut messages = Vec::new();
    match instructions {
        Value::Null => {}
        Value::String(text) => messages.push(json!({"role": "system", "content": text})),
        other => return Err(ApiError::unexpected("instructions", "a string", &other)),
    }
    match input {
        Value::String(text) => messages.push(json!({"role": "user", "content": text})),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add(&mut messages, item, &format!("input[{index}]"))?;
            }
        }
        other => {
            return Err(ApiError::unexpected("input", "a string or a list of items", &other));
        }
    }
    Ok(messages)
}

fn add(messages: &mut Vec<Value>, item: &Value, place: &str) -> Result<(), ApiError> {
    // A message may come without its type.
    let kind = item["type"].as_str().or(item["role"].as_str().map(|_| "message"));
    match kind {
        Some("message") => {
            let role = text(item, "role", place)?;
            let content = content(&item["content"], &format!("{place}.content"))?;
            let known = ["system", "developer", "user", "assistant"];
            if !known.contains(&role) {
                let expected = "\"system\", \"developer\", \"user\" or \"assistant\"";
                let place = format!("{place}.role");
                return Err(ApiError::unexpected(place, expected, &item["role"]));
            }
            messages.push(json!({"role": role, "content": content}));
        }
        Some("function_call") => {
            let function = json!({"name": text(item, "name", place)?, "arguments": text(item, "arguments", place)?});
            let id = text(item, "call_id", place)?;
            let call = json!({"id": id, "type": "function", "function": function});
            add_call(messages, call);
        }
        Some("function_call_output") => {
            let id = text(item, "call_id", place)?;
            let output = output(&item["output"], &format!("{place}.output"))?;
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
        }
        Some("item_reference") => {
            let message = "\"item_reference\" stands for an item that the server has stored, and \
                           this server keeps no state; send the items themselves, as clients do \
                           with \"store\": false";
            return Err(ApiError::field(format!("{place}.type"), message));
        }
        // Models do not get their earlier reasoning.
        Some("reasoning") => {}
        _ => {
            let place = format!("{place}.type");
            return Err(ApiError::unexpected(place, ITEM_TYPES, &item["type"]));
        }
    }
    Ok(())
}

/// Append a call to the reply that is last, or to a new one.
fn add_call(messages: &mut Vec<Value>, call: Value) {
    if messages.last().is_none_or(|last| last["role"] != "assistant") {
        messages.push(json!({"role": "assistant", "content": null}));
    }
    let Some(Value::Object(reply)) = messages.last_mut() else { return };
    if let Value::Array(calls) = reply.entry("tool_calls").or_insert_with(|| json!([])) {
        calls.push(call);
    }
}

/// Return messages in which the text after the calls of a reply is a part of it.
pub(super) fn joined(messages: &[Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        match (joined.last_mut(), message["content"].as_str()) {
            (Some(reply), Some(text)) if has_calls(reply) && message["role"] == "assistant" => {
                let before = reply["content"].as_str().unwrap_or_default();
                reply["content"] = format!("{before}{text}").into();
                if let Value::Array(calls) = &message["tool_calls"]
                    && let Value::Array(known) = &mut reply["tool_calls"]
                {
                    known.extend(calls.iter().cloned());
                }
            }
            _ => joined.push(message.clone()),
        }
    }
    joined
}

/// Return true for a reply with calls whose text, if it has any, is no list of parts.
fn has_calls(message: &Value) -> bool {
    message["tool_calls"].is_array() && !message["content"].is_array()
}

fn text<'i>(item: &'i Value, name: &str, place: &str) -> Result<&'i str, ApiError> {
    item[name]
        .as_str()
        .ok_or_else(|| ApiError::unexpected(format!("{place}.{name}"), "a string", &item[name]))
}

/// Return content as chat completions have it.
fn content(content: &Value, place: &str) -> Result<Value, ApiError> {
    let parts = match content {
        Value::String(_) => return Ok(content.clone()),
        Value::Array(parts) => parts,
        other => return Err(ApiError::unexpected(place, "a string or a list of parts", other)),
    };
    let mut converted = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}[{index}]");
        converted.push(match part["type"].as_str() {
            Some("input_text" | "output_text" | "text") => {
                json!({"type": "text", "text": text(part, "text", &place)?})
            }
            Some("refusal") => json!({"type": "text", "text": text(part, "refusal", &place)?}),
            Some("input_image") => {
                json!({"type": "image_url", "image_url": {"url": text(part, "image_url", &place)?}})
            }
            _ => {
                let expected = "\"input_text\", \"output_text\", \"refusal\" or \"input_image\"";
                return Err(ApiError::unexpected(format!("{place}.type"), expected, &part["type"]));
            }
        });
    }
    if converted.iter().all(|part| part["type"] == "text") {
        let texts = converted.iter().filter_map(|part| part["text"].as_str());
        return Ok(texts.collect::<Vec<_>>().join("\n").into());
    }
    Ok(converted.into())
}

/// Return the output of a call as text.
fn output(output: &Value, place: &str) -> Result<Value, ApiError> {
    match content(output, place)? {
        text @ Value::String(_) => Ok(text),
        _ => Err(ApiError::field(place, "must be a string or a list of texts")),
    }
}
