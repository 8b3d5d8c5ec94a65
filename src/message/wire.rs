//! Serialization of messages as JSON.
//!
//! `kind` comes first, names are camelCase, and empty fields are omitted. Data of newer versions is
//! preserved: fields in [`Envelope::extra`], kinds in [`Content::Unknown`].

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    Content, Envelope, Message, Usage,
    call::{self, ErrorCode, Repair, RepairKind, ToolCall, ToolResult, order_by_calls},
    error::{MessageError, Place, one_of},
    fields::Fields,
    names::{MessageKind, Role},
};

pub(crate) const CALLS: &str = "toolCalls";
pub(crate) const RESULTS: &str = "toolResults";
const NATURAL: &str = "natural";

impl Message {
    /// Serialize the message as JSON text.
    pub fn to_json(&self) -> String {
        self.to_json_value().to_string()
    }

    /// Parse a message from JSON text, nested at most 128 levels deep.
    pub fn from_json(text: &str) -> Result<Self, MessageError> {
        let value = serde_json::from_str(text).map_err(|err| MessageError::Json {
            place: Place::default(),
            reason: err.to_string(),
        })?;
        Self::from_json_value(value)
    }

    /// Serialize the message as a JSON object.
    pub fn to_json_value(&self) -> Value {
        let mut out = Map::new();
        let envelope = &self.envelope;
        put(&mut out, "kind", self.content.kind());
        put(&mut out, "role", envelope.role.as_str());
        put_some(&mut out, "messageId", envelope.id.as_deref());
        put_some(&mut out, "chatId", envelope.chat_id.as_deref());
        put_some(&mut out, "runId", envelope.run_id.as_deref());
        put_some(&mut out, "generationId", envelope.generation_id.as_deref());
        put_some(&mut out, "fromAgent", envelope.from_agent.as_deref());
        write_content(&mut out, &self.content);
        if envelope.natural && matches!(self.content, Content::Text(_)) {
            put(&mut out, NATURAL, true);
        }
        if !envelope.metadata.is_empty() {
            put(&mut out, "metadata", envelope.metadata.clone());
        }
        add_extra(&mut out, &envelope.extra);
        Value::Object(out)
    }

    /// Parse a message from a JSON object.
    pub fn from_json_value(value: Value) -> Result<Self, MessageError> {
        Self::from_json_after(&[], value, Place::default())
    }

    /// Parse the message at `place`, which follows the given messages.
    ///
    /// A result without a name gets that of the latest call with its id.
    pub(crate) fn from_json_after(
        before: &[Self],
        value: Value,
        place: Place,
    ) -> Result<Self, MessageError> {
        let mut fields = Fields::new(value, place)?;
        let kind = fields.text("kind")?;
        let mut envelope = read_envelope(&mut fields)?;
        let Some(known) = MessageKind::from_wire(&kind) else {
            fields.check_kind(&kind, MessageKind::ALL.iter().map(|kind| kind.as_str()))?;
            return Ok(Self {
                envelope,
                content: Content::Unknown { kind, fields: fields.unknown()? },
            });
        };
        let mut leftovers = Map::new();
        let content = match known {
            MessageKind::Text => {
                envelope.natural = fields.flag(NATURAL)?.unwrap_or_default();
                Content::Text(fields.text("text")?)
            }
            MessageKind::Reasoning => Content::Reasoning(fields.text("text")?),
            MessageKind::ToolsCall => {
                let calls = read_all(&mut fields, CALLS, read_call)?;
                Content::ToolCalls(split(calls, CALLS, &mut leftovers))
            }
            MessageKind::ToolResult => {
                let name = |id: &str| called(before, id);
                let results = read_results(&mut fields, name)?;
                Content::ToolResults(split(results, RESULTS, &mut leftovers))
            }
            MessageKind::ToolsAggregate => {
                let (calls, results) = read_exchange(&mut fields, &mut leftovers)?;
                Content::Aggregate { calls, results }
            }
            MessageKind::Usage => Content::Usage(read_usage(&mut fields)?),
        };
        envelope.extra = fields.unknown()?;
        envelope.extra.extend(leftovers);
        Ok(Self { envelope, content })
    }
}

pub(crate) fn put(out: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    out.insert(name.to_owned(), value.into());
}

pub(crate) fn put_some(out: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        put(out, name, value);
    }
}

fn write_content(out: &mut Map<String, Value>, content: &Content) {
    match content {
        Content::Text(text) | Content::Reasoning(text) => put(out, "text", text.as_str()),
        Content::ToolCalls(calls) => put(out, CALLS, write_all(calls, write_call)),
        Content::ToolResults(results) => put(out, RESULTS, write_all(results, write_result)),
        Content::Aggregate { calls, results } => {
            put(out, CALLS, write_all(calls, write_call));
            put(out, RESULTS, write_all(results, write_result));
        }
        Content::Usage(usage) => write_usage(out, usage),
        Content::Unknown { fields, .. } => {
            for (name, value) in fields {
                out.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
    }
}

pub(crate) fn write_all<T>(items: &[T], write: impl Fn(&T) -> Map<String, Value>) -> Vec<Value> {
    items.iter().map(|item| Value::Object(write(item))).collect()
}

pub(crate) fn put_number(out: &mut Map<String, Value>, name: &str, number: Option<f64>) {
    put_some(out, name, number.and_then(serde_json::Number::from_f64));
}

pub(crate) fn write_call(call: &ToolCall) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "toolCallId", call.id.as_str());
    put(&mut out, "name", call.name.as_str());
    put(&mut out, "arguments", call.arguments.clone());
    put(&mut out, "index", call.index);
    if !call.raw.is_empty() {
        put(&mut out, "raw", call.raw.as_str());
    }
    if !call.repairs.is_empty() {
        put(&mut out, "repairs", write_all(&call.repairs, write_repair));
    }
    if call.dialect != call::NATURAL {
        put(&mut out, "dialect", call.dialect.as_ref());
    }
    if call.recovered {
        put(&mut out, "recovered", true);
    }
    out
}

pub(crate) fn write_repair(repair: &Repair) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "path", repair.path.as_str());
    put(&mut out, "kind", repair.kind.as_str());
    put_some(&mut out, "before", Some(&repair.before).filter(|value| !value.is_null()).cloned());
    put_some(&mut out, "after", Some(&repair.after).filter(|value| !value.is_null()).cloned());
    out
}

pub(crate) fn write_result(result: &ToolResult) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "toolCallId", result.tool_call_id.as_str());
    put(&mut out, "name", result.name.as_str());
    put(&mut out, "result", result.result.as_str());
    put(&mut out, "isError", result.is_error);
    put_some(&mut out, "errorCode", result.error_code.map(ErrorCode::as_str));
    put_number(&mut out, "duration", result.duration);
    out
}

pub(crate) fn write_usage(out: &mut Map<String, Value>, usage: &Usage) {
    put(out, "inputTokens", usage.input_tokens);
    put(out, "outputTokens", usage.output_tokens);
    put(out, "cachedInputTokens", usage.cached_input_tokens);
    put_number(out, "cost", usage.cost);
}

pub(crate) fn read_usage(fields: &mut Fields) -> Result<Usage, MessageError> {
    Ok(Usage {
        input_tokens: fields.count("inputTokens")?,
        output_tokens: fields.count("outputTokens")?,
        cached_input_tokens: fields.count("cachedInputTokens")?,
        cost: fields.number("cost")?,
    })
}

/// Add unknown fields without changing known ones. Objects, and lists of objects, are merged
/// recursively.
pub(crate) fn add_extra(out: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (name, value) in extra {
        match out.entry(name.as_str()) {
            serde_json::map::Entry::Vacant(slot) => {
                slot.insert(value.clone());
            }
            serde_json::map::Entry::Occupied(mut known) => match (known.get_mut(), value) {
                (Value::Object(known), Value::Object(value)) => add_extra(known, value),
                (Value::Array(known), Value::Array(value)) => {
                    for pair in known.iter_mut().zip(value) {
                        if let (Value::Object(known), Value::Object(value)) = pair {
                            add_extra(known, value);
                        }
                    }
                }
                _ => {}
            },
        }
    }
}

fn read_envelope(fields: &mut Fields) -> Result<Envelope, MessageError> {
    Ok(Envelope {
        role: read_role(fields)?,
        id: fields.optional_text("messageId")?,
        from_agent: fields.optional_text("fromAgent")?,
        generation_id: fields.optional_text("generationId")?,
        run_id: fields.optional_text("runId")?,
        chat_id: fields.optional_text("chatId")?,
        natural: false,
        metadata: fields.optional_object("metadata")?.unwrap_or_default(),
        extra: Map::new(),
    })
}

fn read_role(fields: &mut Fields) -> Result<Role, MessageError> {
    optional_role(fields)?.ok_or_else(|| fields.missing("role", roles()))
}

pub(crate) fn optional_role(fields: &mut Fields) -> Result<Option<Role>, MessageError> {
    let Some(value) = fields.take("role") else {
        return Ok(None);
    };
    let role = value.as_str().and_then(Role::from_wire);
    role.map(Some).ok_or_else(|| fields.unexpected("role", roles(), &value))
}

fn roles() -> String {
    one_of(&Role::ALL.iter().map(|role| role.as_str()).collect::<Vec<_>>())
}

/// Parse the items of a list of objects, each with the remaining fields of its object.
pub(crate) fn read_all<T>(
    fields: &mut Fields,
    name: &'static str,
    read: impl Fn(&mut Fields) -> Result<T, MessageError>,
) -> Result<Vec<(T, Value)>, MessageError> {
    let place = fields.at(name);
    let items = fields.list(name)?.into_iter().enumerate();
    items
        .map(|(position, item)| {
            let mut item = Fields::new(item, place.item(position))?;
            let known = read(&mut item)?;
            Ok((known, Value::Object(item.unknown()?)))
        })
        .collect()
}

/// Separate the items from their remaining fields, which are stored unless all are empty.
pub(crate) fn split<T>(
    items: Vec<(T, Value)>,
    name: &str,
    leftovers: &mut Map<String, Value>,
) -> Vec<T> {
    let (items, rests): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    if rests.iter().any(|rest| rest.as_object().is_some_and(|rest| !rest.is_empty())) {
        leftovers.insert(name.to_owned(), Value::Array(rests));
    }
    items
}

pub(crate) fn read_call(fields: &mut Fields) -> Result<ToolCall, MessageError> {
    let index = fields.count("index")?;
    Ok(ToolCall {
        id: fields.text("toolCallId")?,
        name: fields.text("name")?,
        arguments: Value::Object(fields.object("arguments")?),
        raw: fields.optional_text("raw")?.unwrap_or_default(),
        index: usize::try_from(index)
            .map_err(|_| fields.unexpected("index", "a position", &index.into()))?,
        repairs: read_repairs(fields)?,
        dialect: fields.optional_text("dialect")?.map_or(call::NATURAL, Cow::Owned),
        recovered: fields.flag("recovered")?.unwrap_or_default(),
    })
}

fn read_repairs(fields: &mut Fields) -> Result<Vec<Repair>, MessageError> {
    let place = fields.at("repairs");
    let items = fields.optional_list("repairs")?.unwrap_or_default();
    let mut repairs = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let mut item = Fields::new(item.clone(), place.item(position))?;
        let kind = RepairKind::from_wire(&item.text("kind")?);
        let path = item.text("path")?;
        let before = item.take("before").unwrap_or_default();
        let after = item.take("after").unwrap_or_default();
        match kind {
            Some(kind) if item.rest().is_empty() => {
                repairs.push(Repair { path, kind, before, after });
            }
            // A newer version wrote this list. It is kept as a whole, to preserve its order.
            _ => {
                fields.put_back("repairs", Value::Array(items));
                return Ok(Vec::new());
            }
        }
    }
    Ok(repairs)
}

/// Parse calls with their results; a result without a name gets that of its call.
pub(crate) fn read_exchange(
    fields: &mut Fields,
    leftovers: &mut Map<String, Value>,
) -> Result<(Vec<ToolCall>, Vec<ToolResult>), MessageError> {
    let calls = read_all(fields, CALLS, read_call)?;
    let name = |id: &str| {
        let call = calls.iter().find(|(call, _)| call.id == id);
        // A result without a call is reported as such, not as one without a name.
        Some(call.map_or_else(String::new, |(call, _)| call.name.clone()))
    };
    let results = read_results(fields, name)?;
    let ids = calls.iter().map(|(call, _)| &*call.id);
    let results = order_by_calls(ids, results, |(result, _)| &result.tool_call_id, &fields.place)?;
    Ok((split(calls, CALLS, leftovers), split(results, RESULTS, leftovers)))
}

/// Parse results; `name` returns the tool of a result without a name, by the id of its call.
fn read_results(
    fields: &mut Fields,
    name: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(ToolResult, Value)>, MessageError> {
    read_all(fields, RESULTS, |fields| read_result(fields, &name))
}

/// Return the tool of the latest call with this id.
fn called(messages: &[Message], id: &str) -> Option<String> {
    let mut calls = messages.iter().rev().flat_map(|message| message.content.calls());
    calls.find(|call| call.id == id).map(|call| call.name.clone())
}

fn read_result(
    fields: &mut Fields,
    name: impl Fn(&str) -> Option<String>,
) -> Result<ToolResult, MessageError> {
    let code = fields.optional_text("errorCode")?;
    let error_code = code.as_deref().and_then(ErrorCode::from_wire);
    let is_error = match (fields.flag("isError")?, &code) {
        (Some(flag), _) => flag || error_code.is_some(),
        (None, code) => code.is_some(),
    };
    let tool_call_id = fields.text("toolCallId")?;
    let name = match fields.optional_text("name")? {
        Some(name) => name,
        None => name(&tool_call_id).ok_or_else(|| {
            fields.missing("name", "a string, or a message before it with the call of this id")
        })?,
    };
    let result = ToolResult {
        tool_call_id,
        name,
        result: fields.text("result")?,
        is_error,
        error_code,
        duration: fields.number("duration")?,
    };
    if let (Some(code), None) = (code, error_code) {
        fields.put_back("errorCode", code.into());
    }
    Ok(result)
}
