//! Conversion of messages to and from the chat completions API of `OpenAI`.
//!
//! Data that only this API understands (`name`, `refusal`, lists of content parts) is kept in
//! `metadata["openai"]` and restored from there.

use serde_json::{Map, Value, json};

use super::{
    Content, Message, NATURAL, ToolCall,
    conversation::{ConversationBuilder, envelope},
    error::{MessageError, Place, one_of},
    fields::Fields,
    names::Role,
    parts::{self, own},
    turns::{Dangling, NO_RESULT, Reply, Turn, turns},
};

/// The key of metadata that belongs to this provider.
pub(crate) const PROVIDER: &str = "openai";
const TARGET: &str = "OpenAI";
const PART_TYPES: &[&str] = &["text", "image_url", "input_audio", "file", "refusal"];
const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];

/// Options of the conversion.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The treatment of calls without results.
    pub dangling: Dangling,
    /// True to send reasoning as `reasoning_content`, which only some servers accept.
    pub reasoning: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { dangling: Dangling::Answer, reasoning: false }
    }
}

/// Convert messages for a request. The messages of one reply become one, directly followed by its
/// results; usage is omitted.
///
/// A reply has one text and one list of calls in this format, so the order of text and calls is
/// lost: all texts are joined in order, and so are the calls.
pub fn to_openai(messages: &[Message], options: Options) -> Result<Vec<Value>, MessageError> {
    let mut out = Vec::new();
    for turn in turns(messages, options.dangling, TARGET)? {
        match turn {
            Turn::Input { place, message, text } => {
                parts::check_foreign(message, &place, "anthropic", TARGET)?;
                let mut chat_message = Map::new();
                chat_message.insert("role".into(), message.envelope.role.as_str().into());
                chat_message.insert("content".into(), content_of(message, text));
                add_own(&mut chat_message, message);
                out.push(Value::Object(chat_message));
            }
            Turn::Reply(reply) => write_reply(&mut out, &reply, options)?,
        }
    }
    Ok(out)
}

fn write_reply(
    out: &mut Vec<Value>,
    reply: &Reply<'_>,
    options: Options,
) -> Result<(), MessageError> {
    let mut chat_message = Map::new();
    chat_message.insert("role".into(), "assistant".into());
    let contents = reply.texts().map(|(message, text)| content_of(message, text));
    let content = contents.reduce(add_content).unwrap_or_default();
    let first_call = reply.calls().next();
    // A reader would treat an empty text next to calls as absent.
    let none = first_call.is_some() && content == "";
    chat_message.insert("content".into(), if none { Value::Null } else { content });
    let thoughts: Vec<_> = reply.thoughts().collect();
    if options.reasoning && !thoughts.is_empty() {
        chat_message.insert("reasoning_content".into(), thoughts.join("\n").into());
    }
    if first_call.is_some() {
        let calls = reply.calls().map(|answered| {
            let ToolCall { id, name, arguments, .. } = answered.call;
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"id": id, "type": "function", "function": function})
        });
        chat_message.insert("tool_calls".into(), calls.collect());
    }
    for (message, _) in reply.texts() {
        parts::check_foreign(message, &reply.place, "anthropic", TARGET)?;
        add_own(&mut chat_message, message);
    }
    if let Some(first) = first_call {
        add_own(&mut chat_message, first.message);
    }
    // There may be nothing left without the omitted reasoning and calls.
    if chat_message.len() > 2 || !chat_message["content"].is_null() {
        out.push(Value::Object(chat_message));
    }
    out.extend(reply.calls().map(|answered| {
        let content = answered.answer.map_or(NO_RESULT, |answer| &answer.result);
        json!({"role": "tool", "tool_call_id": answered.call.id, "content": content})
    }));
    Ok(())
}

fn content_of(message: &Message, text: &str) -> Value {
    let kept = parts::restore(own(message, PROVIDER), text, separator(message.envelope.role));
    kept.map_or_else(|| text.into(), |kept| Value::Array(kept.clone()))
}

/// Join two contents: texts become one text, anything else a list of parts.
fn add_content(first: Value, second: Value) -> Value {
    let as_parts = |content| match content {
        Value::Array(parts) => parts,
        text => vec![json!({"type": "text", "text": text})],
    };
    match (first, second) {
        (Value::String(first), Value::String(second)) => Value::String(first + &second),
        (first, second) => {
            let mut parts = as_parts(first);
            parts.extend(as_parts(second));
            Value::Array(parts)
        }
    }
}

/// Restore the fields that only this API understands.
fn add_own(out: &mut Map<String, Value>, message: &Message) {
    for (name, value) in own(message, PROVIDER).into_iter().flatten() {
        match name.as_str() {
            "content" | "reasoning_content" => {}
            // The only role with two names in this API.
            "role" if value == "developer" && message.envelope.role == Role::System => {
                out.insert("role".into(), value.clone());
            }
            name => {
                out.entry(name).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Return the separator between the text parts of a message. A reply may be split into parts
/// within a sentence; the parts of other messages are separate texts.
fn separator(role: Role) -> &'static str {
    if role == Role::Assistant { "" } else { "\n" }
}

/// Convert chat messages of requests and replies. Calls and their results become aggregates.
/// Errors name the position of the message.
pub fn from_openai(messages: Vec<Value>) -> Result<Vec<Message>, MessageError> {
    from_openai_at(messages, 0)
}

/// Convert messages like [`from_openai`], at `offset` in a longer list.
pub(crate) fn from_openai_at(
    messages: Vec<Value>,
    offset: usize,
) -> Result<Vec<Message>, MessageError> {
    let mut builder = ConversationBuilder::default();
    for (position, message) in messages.into_iter().enumerate() {
        let mut fields = Fields::new(message, Place::message(offset + position))?;
        if fields.take("choices").is_some() {
            let expected = "one message of the response, such as choices[0].message";
            return Err(fields.unexpected("choices", expected, &json!([])));
        }
        let role = fields.take("role").ok_or_else(|| fields.missing("role", one_of(ROLES)))?;
        match role.as_str() {
            Some("system") => read_input(&mut builder, Role::System, false, fields)?,
            Some("developer") => read_input(&mut builder, Role::System, true, fields)?,
            Some("user") => read_input(&mut builder, Role::User, false, fields)?,
            Some("assistant") => read_reply(&mut builder, fields)?,
            Some("tool") => {
                let id = fields.text("tool_call_id")?;
                let place = fields.place.clone();
                let text = read_content(&mut fields, "\n", &["text"])?.text;
                builder.add_result(id, text, false, place)?;
            }
            _ => return Err(fields.unexpected("role", one_of(ROLES), &role)),
        }
    }
    Ok(builder.finish())
}

fn read_content(
    fields: &mut Fields,
    separator: &str,
    types: &[&str],
) -> Result<parts::Parts, MessageError> {
    let place = fields.at("content");
    let content = fields
        .take("content")
        .ok_or_else(|| fields.missing("content", "a string or a list of parts"))?;
    parts::read(content, &place, types, separator)
}

fn read_input(
    builder: &mut ConversationBuilder,
    role: Role,
    developer: bool,
    mut fields: Fields,
) -> Result<(), MessageError> {
    let parts = read_content(&mut fields, separator(role), PART_TYPES)?;
    let mut own = remaining_fields(fields);
    if developer {
        own.insert("role".into(), "developer".into());
    }
    builder.add_text(role, PROVIDER, parts, own);
    Ok(())
}

/// Return the remaining non-empty fields of a message; clients often write absent ones out.
fn remaining_fields(fields: Fields) -> Map<String, Value> {
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    fields.rest().into_iter().filter(|(_, value)| !empty(value)).collect()
}

fn read_reply(builder: &mut ConversationBuilder, mut fields: Fields) -> Result<(), MessageError> {
    if let Some(thoughts) = fields.optional_text("reasoning_content")? {
        builder.add_message(Message::new(Role::Assistant, Content::Reasoning(thoughts)));
    }
    let mut calls = Vec::new();
    let mut places = Vec::new();
    let place = fields.at("tool_calls");
    for (index, call) in
        fields.optional_list("tool_calls")?.unwrap_or_default().into_iter().enumerate()
    {
        let place = place.item(index);
        calls.push(read_call(call, index, place.clone())?);
        places.push(place);
    }
    if let Some(legacy) = fields.take("function_call") {
        return Err(fields.unexpected("function_call", "calls in \"tool_calls\"", &legacy));
    }
    let place = fields.at("content");
    let content = fields.take("content");
    let mut own = remaining_fields(fields);
    if content.is_some() || calls.is_empty() && !own.is_empty() {
        let content = content.unwrap_or_else(|| "".into());
        let parts = parts::read(content, &place, PART_TYPES, separator(Role::Assistant))?;
        // Some servers send an empty text with calls.
        if calls.is_empty() || !parts.text.is_empty() || parts.kept.is_some() {
            builder.add_text(Role::Assistant, PROVIDER, parts, std::mem::take(&mut own));
        }
    }
    if calls.is_empty() {
        return Ok(());
    }
    builder.add_calls(envelope(Role::Assistant, PROVIDER, own), calls, &places)
}

fn read_call(call: Value, index: usize, place: Place) -> Result<ToolCall, MessageError> {
    let mut fields = Fields::new(call, place)?;
    if let Some(kind) = fields.take("type").filter(|kind| kind != "function") {
        return Err(fields.unexpected("type", "\"function\"", &kind));
    }
    let id = fields.text("id")?;
    let place = fields.at("function");
    let mut function = Fields::new(Value::Object(fields.object("function")?), place)?;
    let name = function.text("name")?;
    let raw = function.text("arguments")?;
    let arguments = if raw.trim_ascii().is_empty() {
        Value::Object(Map::new())
    } else {
        let place = function.at("arguments");
        match serde_json::from_str(&raw) {
            Ok(arguments @ Value::Object(_)) => arguments,
            Ok(other) => {
                return Err(MessageError::unexpected(place, "the text of a JSON object", &other));
            }
            Err(err) => return Err(MessageError::Json { place, reason: err.to_string() }),
        }
    };
    Ok(ToolCall {
        id,
        name,
        arguments,
        raw,
        index,
        repairs: Vec::new(),
        dialect: NATURAL,
        recovered: false,
    })
}
