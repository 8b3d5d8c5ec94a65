//! Conversion of messages to and from the messages API of Anthropic.
//!
//! Data that only this API understands (signatures of thinking, cache marks, non-text blocks) is
//! kept in `metadata["anthropic"]` and restored from there.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Content, Message, NATURAL, ToolCall,
    conversation::{ConversationBuilder, envelope},
    error::{MessageError, Place, one_of},
    fields::Fields,
    names::Role,
    parts::{self, own},
    turns::{AnsweredCall, Dangling, NO_RESULT, Part, Reply, Turn, turns},
};

/// The key of metadata that belongs to this provider.
pub(crate) const PROVIDER: &str = "anthropic";
const TARGET: &str = "Anthropic";
const USER_BLOCKS: &[&str] =
    &["text", "image", "document", "search_result", "container_upload", "tool_result"];
const RESULT_BLOCKS: &[&str] = &["text", "image", "document", "search_result", "tool_reference"];
const REPLY_BLOCKS: &[&str] = &["text", "thinking", "redacted_thinking", "tool_use"];

/// The messages and the system prompt of a call of `messages.create`.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The system prompt, made of all system texts: a string, or a list of text blocks if it was
    /// read from one.
    pub system: Option<Value>,
    /// The messages of the conversation.
    pub messages: Vec<Value>,
}

/// Convert messages for a request. The messages of one reply become one, with its blocks in order,
/// directly followed by one user message with the results of its calls. Usage, blank texts and
/// reasoning without a signature are omitted, since the API rejects them. Ids are made unique and
/// restricted to valid characters.
pub fn to_anthropic(messages: &[Message], dangling: Dangling) -> Result<Request, MessageError> {
    let mut system = Vec::new();
    let mut structured = false;
    let mut out = Vec::new();
    let mut ids = Ids::default();
    for turn in turns(messages, dangling, TARGET)? {
        match turn {
            Turn::Input { place, message, text } => {
                parts::check_foreign(message, &place, "openai", TARGET)?;
                let kept = parts::restore(own(message, PROVIDER), text, "\n");
                let is_system = message.envelope.role == Role::System;
                match kept {
                    Some(kept) if is_system => {
                        structured = true;
                        system.extend(kept.iter().cloned());
                    }
                    Some(kept) => out.push(json!({"role": "user", "content": kept})),
                    None if text.trim().is_empty() => {}
                    None if is_system => system.push(json!({"type": "text", "text": text})),
                    None => out.push(json!({"role": "user", "content": text})),
                }
            }
            Turn::Reply(reply) => write_reply(&mut out, &reply, &mut ids)?,
        }
    }
    let system = if system.is_empty() {
        None
    } else if structured {
        Some(Value::Array(system))
    } else {
        let texts: Vec<_> = system.iter().filter_map(|block| block["text"].as_str()).collect();
        Some(texts.join("\n\n").into())
    };
    Ok(Request { system, messages: out })
}

fn write_reply(out: &mut Vec<Value>, reply: &Reply<'_>, ids: &mut Ids) -> Result<(), MessageError> {
    let mut content = Vec::new();
    let mut results = Vec::new();
    for part in &reply.parts {
        match part {
            Part::Thought(message, text) => content.extend(thought(message, text)),
            Part::Text(message, text) => {
                parts::check_foreign(message, &reply.place, "openai", TARGET)?;
                match parts::restore(own(message, PROVIDER), text, "") {
                    Some(kept) => content.extend(kept.iter().cloned()),
                    None if text.trim().is_empty() => {}
                    None => content.push(json!({"type": "text", "text": text})),
                }
            }
            Part::Call(answered) => {
                let (call, result) = write_call(answered, ids);
                content.push(call);
                results.push(result);
            }
        }
    }
    if !content.is_empty() {
        out.push(json!({"role": "assistant", "content": content}));
    }
    if !results.is_empty() {
        out.push(json!({"role": "user", "content": results}));
    }
    Ok(())
}

/// Return a block of thinking, if it has a signature.
fn thought(message: &Message, text: &str) -> Option<Value> {
    let own = own(message, PROVIDER)?;
    if let Some(signature) = own.get("signature") {
        return Some(json!({"type": "thinking", "thinking": text, "signature": signature}));
    }
    let data = own.get("redacted")?;
    Some(json!({"type": "redacted_thinking", "data": data}))
}

/// Return the blocks of a call and of its result.
fn write_call(answered: &AnsweredCall<'_>, ids: &mut Ids) -> (Value, Value) {
    let ToolCall { id: given, name, arguments, .. } = answered.call;
    let id = ids.assign(given);
    let marks = own(answered.message, PROVIDER).and_then(|own| own.get("blocks"));
    let marks = marks.and_then(|blocks| blocks.get(given));
    let mut call = json!({"type": "tool_use", "id": id, "name": name, "input": arguments});
    add_marks(&mut call, marks, "tool_use");

    let (text, is_error) =
        answered.answer.map_or((NO_RESULT, true), |answer| (&answer.result, answer.is_error));
    let marks_of_result =
        marks.and_then(|marks| marks.get("tool_result")).and_then(Value::as_object);
    let content = parts::restore(marks_of_result, text, "\n")
        .map_or_else(|| text.into(), |kept| Value::Array(kept.clone()));
    let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if is_error {
        result["is_error"] = true.into();
    }
    add_marks(&mut result, marks, "tool_result");
    (call, result)
}

fn add_marks(block: &mut Value, marks: Option<&Value>, kind: &str) {
    let marks = marks.and_then(|marks| marks.get(kind)).and_then(Value::as_object);
    if let (Some(block), Some(marks)) = (block.as_object_mut(), marks) {
        for (name, value) in marks.iter().filter(|(name, _)| *name != "content") {
            block.entry(name.as_str()).or_insert_with(|| value.clone());
        }
    }
}

/// A generator of ids that are unique in the conversation and consist of letters, digits, `_` and
/// `-`.
#[derive(Default)]
struct Ids {
    taken: HashSet<String>,
    repeats: HashMap<String, usize>,
}

impl Ids {
    fn assign(&mut self, id: &str) -> String {
        let fits = |ch: char| ch.is_ascii_alphanumeric() || ch == '_' || ch == '-';
        let mut base: String = id.chars().map(|ch| if fits(ch) { ch } else { '_' }).collect();
        if base.is_empty() {
            base.push('_');
        }
        let mut free = base.clone();
        while !self.taken.insert(free.clone()) {
            let repeat = self.repeats.entry(base.clone()).or_insert(1);
            *repeat += 1;
            free = format!("{base}_{repeat}");
        }
        free
    }
}

/// Convert the messages of a request or a reply, with the system prompt. Reasoning, texts and calls
/// of a reply keep their order; consecutive text blocks become one text. Consecutive calls become
/// one aggregate with their results. The generation id is the reply's; a reply without one that
/// continues after its calls is named after the first of them. Errors name the position of the
/// message.
pub fn from_anthropic(
    messages: Vec<Value>,
    system: Option<Value>,
) -> Result<Vec<Message>, MessageError> {
    let mut builder = ConversationBuilder::default();
    if let Some(system) = system {
        let place = Place { path: "/system".into(), ..Place::default() };
        let parts = parts::read(system, &place, &["text"], "\n")?;
        builder.add_text(Role::System, PROVIDER, parts, Map::new());
    }
    for (position, message) in messages.into_iter().enumerate() {
        let mut fields = Fields::new(message, Place::message(position))?;
        let roles = || one_of(&["user", "assistant"]);
        let role = fields.take("role").ok_or_else(|| fields.missing("role", roles()))?;
        let content = fields
            .take("content")
            .ok_or_else(|| fields.missing("content", "a string or a list of blocks"))?;
        match role.as_str() {
            Some("user") => read_input(&mut builder, content, &fields)?,
            Some("assistant") => read_reply(&mut builder, content, fields)?,
            _ => return Err(fields.unexpected("role", roles(), &role)),
        }
    }
    Ok(builder.finish())
}

fn read_input(
    builder: &mut ConversationBuilder,
    content: Value,
    fields: &Fields,
) -> Result<(), MessageError> {
    let place = fields.at("content");
    let blocks = match content {
        Value::Array(blocks) => blocks,
        text => {
            let parts = parts::read(text, &place, &[], "\n")?;
            builder.add_text(Role::User, PROVIDER, parts, Map::new());
            return Ok(());
        }
    };
    let mut rest = Vec::new();
    let mut answered = false;
    for (position, block) in blocks.into_iter().enumerate() {
        if block["type"] == "tool_result" {
            read_result(builder, block, place.item(position))?;
            answered = true;
        } else {
            rest.push(block);
        }
    }
    if !answered || !rest.is_empty() {
        let parts = parts::read(Value::Array(rest), &place, USER_BLOCKS, "\n")?;
        builder.add_text(Role::User, PROVIDER, parts, Map::new());
    }
    Ok(())
}

fn read_result(
    builder: &mut ConversationBuilder,
    block: Value,
    place: Place,
) -> Result<(), MessageError> {
    let mut fields = Fields::new(block, place.clone())?;
    fields.take("type");
    let id = fields.text("tool_use_id")?;
    let is_error = fields.flag("is_error")?.unwrap_or(false);
    let content = fields.take("content").unwrap_or_else(|| "".into());
    let parts = parts::read(content, &fields.at("content"), RESULT_BLOCKS, "\n")?;
    let mut marks = marks_of(fields);
    marks.extend(parts.kept.map(|kept| ("content".to_owned(), kept)));
    let message = builder.add_result(id.clone(), parts.text, is_error, place)?;
    add_block_marks(&mut message.envelope.metadata, &id, "tool_result", marks);
    Ok(())
}

/// Return the remaining fields of a block that are not null.
fn marks_of(fields: Fields) -> Map<String, Value> {
    fields.rest().into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Store the fields of a call's blocks that only this API knows, in `anthropic.blocks[id][kind]`.
fn add_block_marks(
    metadata: &mut Map<String, Value>,
    id: &str,
    kind: &str,
    marks: Map<String, Value>,
) {
    if marks.is_empty() {
        return;
    }
    let mut slot = metadata;
    for name in [PROVIDER, "blocks", id] {
        let next = slot.entry(name).or_insert_with(|| json!({}));
        match next {
            Value::Object(next) => slot = next,
            _ => return,
        }
    }
    slot.insert(kind.to_owned(), Value::Object(marks));
}

/// A segment of a reply.
enum Segment {
    /// Reasoning, with data that only this API understands.
    Thought(String, Option<(String, Value)>),
    Texts(Vec<Value>),
    Calls(CallGroup),
}

/// Consecutive calls of a reply.
#[derive(Default)]
struct CallGroup {
    calls: Vec<ToolCall>,
    places: Vec<Place>,
    /// Extra fields of their blocks.
    metadata: Map<String, Value>,
}

fn read_reply(
    builder: &mut ConversationBuilder,
    content: Value,
    mut fields: Fields,
) -> Result<(), MessageError> {
    let place = fields.at("content");
    let generation = fields.optional_text("id")?;
    fields.take("type");
    // A request cannot contain the rest of a response (model, usage, stop reason).
    let mut response = marks_of(fields);
    let blocks = match content {
        Value::Array(blocks) => blocks,
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => {
            let expected = "a string or a list of blocks";
            return Err(MessageError::unexpected(place, expected, &other));
        }
    };
    let mut segments = read_blocks(blocks, &place)?;
    // An empty reply is still a reply.
    if segments.is_empty() {
        segments.push(Segment::Texts(Vec::new()));
    }
    let generation = generation.or_else(|| fallback_generation_id(&segments));
    let mut envelope_of = |mut own: Map<String, Value>| {
        if !response.is_empty() {
            own.insert("response".into(), Value::Object(std::mem::take(&mut response)));
        }
        let mut envelope = envelope(Role::Assistant, PROVIDER, own);
        envelope.generation_id.clone_from(&generation);
        envelope
    };
    for part in segments {
        match part {
            Segment::Thought(text, own) => {
                let envelope = envelope_of(own.into_iter().collect());
                builder.add_message(Message { envelope, content: Content::Reasoning(text) });
            }
            Segment::Texts(texts) => {
                let parts = parts::read(Value::Array(texts), &place, &["text"], "")?;
                let kept = parts.kept;
                let kept = kept.filter(|kept| kept.as_array().is_some_and(|kept| !kept.is_empty()));
                let own = kept.map(|kept| ("content".to_owned(), kept)).into_iter().collect();
                let envelope = envelope_of(own);
                builder.add_message(Message { envelope, content: Content::Text(parts.text) });
            }
            Segment::Calls(mut called) => {
                let own = match called.metadata.remove(PROVIDER) {
                    Some(Value::Object(own)) => own,
                    _ => Map::new(),
                };
                builder.add_calls(envelope_of(own), called.calls, &called.places)?;
            }
        }
    }
    Ok(())
}

/// Return a generation id for a reply without one, if only that separates it from the next reply:
/// something follows its calls.
fn fallback_generation_id(segments: &[Segment]) -> Option<String> {
    let (_, before) = segments.split_last()?;
    before.iter().find_map(|part| match part {
        Segment::Calls(called) => called.calls.first().map(|call| format!("reply_{}", call.id)),
        _ => None,
    })
}

fn read_blocks(blocks: Vec<Value>, place: &Place) -> Result<Vec<Segment>, MessageError> {
    let mut segments = Vec::new();
    let mut ids = HashSet::new();
    for (position, block) in blocks.into_iter().enumerate() {
        let place = place.item(position);
        if block["type"] == "text" {
            match segments.last_mut() {
                Some(Segment::Texts(texts)) => texts.push(block),
                _ => segments.push(Segment::Texts(vec![block])),
            }
            continue;
        }
        let mut block = Fields::new(block, place.clone())?;
        let kind = block.text("type")?;
        match kind.as_str() {
            "thinking" => {
                let text = block.text("thinking")?;
                let own = block.take("signature").map(|value| ("signature".to_owned(), value));
                segments.push(Segment::Thought(text, own));
            }
            "redacted_thinking" => {
                let data = block.text("data")?;
                segments.push(Segment::Thought(
                    String::new(),
                    Some(("redacted".to_owned(), data.into())),
                ));
            }
            "tool_use" => {
                let id = block.text("id")?;
                let name = block.text("name")?;
                let arguments = Value::Object(block.object("input")?);
                let (raw, index) = (String::new(), ids.len());
                if !ids.insert(id.clone()) {
                    return Err(MessageError::RepeatedId { place, id });
                }
                if !matches!(segments.last(), Some(Segment::Calls(_))) {
                    segments.push(Segment::Calls(CallGroup::default()));
                }
                if let Some(Segment::Calls(called)) = segments.last_mut() {
                    add_block_marks(&mut called.metadata, &id, "tool_use", marks_of(block));
                    let (repairs, dialect) = (Vec::new(), NATURAL);
                    called.calls.push(ToolCall {
                        id,
                        name,
                        arguments,
                        raw,
                        index,
                        repairs,
                        dialect,
                        recovered: false,
                    });
                    called.places.push(place);
                }
            }
            _ => return Err(block.unexpected("type", one_of(REPLY_BLOCKS), &kind.into())),
        }
    }
    Ok(segments)
}
