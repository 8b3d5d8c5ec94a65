//! Serialization of stream events as JSON.
//!
//! As in messages, `kind` comes first, names are camelCase, empty fields are omitted, a null field
//! counts as absent, and unknown fields and kinds are preserved.

use serde_json::{Map, Value, json};

use super::event::{
    ErrorStreamEvent, EventBody, EventHead, InvalidReason, LARGEST, RankedTool, RawStreamEvent,
    ReasoningStreamEvent, ReportedCall, RunStatus, RunStreamEvent, SceneStreamEvent,
    SelectionStreamEvent, StreamEvent, TextStreamEvent, ToolResultStreamEvent,
    ToolStateStreamEvent, ToolsAggregateEvent, ToolsCallStreamEvent, ToolsCallUpdateStreamEvent,
};
use crate::message::{
    MessageError, Place, ToolCallUpdate,
    fields::Fields,
    wire::{
        CALLS, RESULTS, add_extra, optional_role, put, put_number, put_some, read_all, read_call,
        read_exchange, read_usage, split, write_all, write_call, write_result, write_usage,
    },
};

const UPDATES: &str = "toolCallUpdates";
/// The fields of an update, at least one of which is required.
const UPDATE: &[&str] = &["toolCallId", "index", "functionName", "functionArgs"];
const RANKING: &str = "ranking";

impl StreamEvent {
    /// Serialize the event as JSON text.
    pub fn to_json(&self) -> String {
        self.to_json_value().to_string()
    }

    /// Parse an event from JSON text, nested at most 128 levels deep.
    pub fn from_json(text: &str) -> Result<Self, MessageError> {
        let value = serde_json::from_str(text)
            .map_err(|err| MessageError::Json { place: Place::event(), reason: err.to_string() })?;
        Self::from_json_value(value)
    }

    /// Serialize the event as a JSON object.
    pub fn to_json_value(&self) -> Value {
        let mut out = Map::new();
        let head = &self.head;
        put(&mut out, "kind", self.body.kind());
        put_some(&mut out, "chatId", head.chat_id.as_deref());
        put_some(&mut out, "sequenceNumber", head.sequence_number);
        put_some(&mut out, "timestampUtc", head.timestamp_utc);
        put_some(&mut out, "messageId", head.message_id.as_deref());
        put_some(&mut out, "runId", head.run_id.as_deref());
        put_some(&mut out, "generationId", head.generation_id.as_deref());
        put_some(&mut out, "role", head.role.map(crate::message::Role::as_str));
        put_some(&mut out, "fromAgent", head.from_agent.as_deref());
        write_body(&mut out, &self.body);
        put_some(&mut out, "done", head.done);
        put_some(&mut out, "metadata", head.metadata.clone());
        add_extra(&mut out, &head.extra);
        Value::Object(out)
    }

    /// Parse an event from a JSON object.
    pub fn from_json_value(value: Value) -> Result<Self, MessageError> {
        let mut fields = Fields::new(value, Place::event())?;
        let kind = fields.text("kind")?;
        let mut head = read_head(&mut fields)?;
        let mut leftovers = Map::new();
        let Some(body) = read_body(&kind, &head, &mut fields, &mut leftovers)? else {
            fields.check_kind(&kind, EventBody::KINDS)?;
            let fields = fields.unknown()?;
            return Ok(Self { head, body: EventBody::Unknown { kind, fields } });
        };
        head.extra = fields.unknown()?;
        head.extra.extend(leftovers);
        Ok(Self { head, body })
    }
}

fn write_body(out: &mut Map<String, Value>, body: &EventBody) {
    match body {
        EventBody::Text(TextStreamEvent { delta })
        | EventBody::Reasoning(ReasoningStreamEvent { delta })
        | EventBody::Raw(RawStreamEvent { delta }) => put(out, "delta", delta.as_str()),
        EventBody::ToolsCallUpdate(event) => {
            put(out, UPDATES, write_all(&event.tool_call_updates, write_update));
        }
        EventBody::ToolsCall(event) => {
            put(out, CALLS, write_all(&event.tool_calls, write_reported));
        }
        EventBody::ToolResult(event) => {
            put(out, "toolCallId", event.tool_call_id.as_str());
            put(out, "result", event.result.as_str());
            put(out, "isError", event.is_error);
            put_some(out, "name", event.name.as_deref());
            put_some(out, "errorCode", event.error_code.as_deref());
            put_number(out, "duration", event.duration);
        }
        EventBody::ToolsAggregate(event) => {
            put(out, CALLS, write_all(&event.tool_calls, write_call));
            put(out, RESULTS, write_all(&event.tool_results, write_result));
        }
        EventBody::Usage(usage) => write_usage(out, usage),
        EventBody::Error(event) => {
            put(out, "message", event.message.as_str());
            put_some(out, "code", event.code.as_deref());
            put_some(out, "toolCallId", event.tool_call_id.as_deref());
        }
        EventBody::Run(event) => {
            put(out, "status", event.status.as_str());
            put_some(out, "stopReason", event.stop_reason.as_deref());
            put_some(out, "error", event.error.as_deref());
        }
        EventBody::ToolState(event) => {
            put(out, "toolCallId", event.tool_call_id.as_str());
            put(out, "state", event.state.as_str());
            put_some(out, "key", event.key.as_deref());
            put_some(out, "question", event.question.as_deref());
            put_some(out, "schema", event.schema.clone());
            put_some(out, "reason", event.reason.as_deref());
            put_some(out, "decidedBy", event.decided_by.as_deref());
        }
        EventBody::Scene(event) => put(out, "step", event.step.clone()),
        EventBody::Selection(event) => {
            put_some(out, "tool", event.tool.as_deref());
            put_number(out, "score", event.score);
            put(out, "fallback", event.fallback);
            put(out, "calls", event.calls);
            put_number(out, "duration", Some(event.duration));
            put(out, RANKING, write_all(&event.ranking, write_ranked));
        }
        EventBody::Unknown { fields, .. } => {
            for (name, value) in fields {
                out.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
    }
}

fn write_update(update: &ToolCallUpdate) -> Map<String, Value> {
    let mut out = Map::new();
    put_some(&mut out, "toolCallId", update.tool_call_id.as_deref());
    put_some(&mut out, "index", update.index);
    put_some(&mut out, "functionName", update.function_name.as_deref());
    put_some(&mut out, "functionArgs", update.function_args.as_deref());
    out
}

fn write_reported(reported: &ReportedCall) -> Map<String, Value> {
    let mut out = write_call(&reported.call);
    if reported.call.arguments.is_null() {
        out.shift_remove("arguments");
    }
    let invalid = reported.invalid.as_ref();
    put_some(
        &mut out,
        "invalid",
        invalid
            .map(|InvalidReason { reason, message }| json!({"reason": reason, "message": message})),
    );
    out
}

fn write_ranked(ranked: &RankedTool) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "tool", ranked.tool.as_str());
    put_number(&mut out, "score", ranked.score);
    put_some(&mut out, "error", ranked.error.as_deref());
    out
}

fn read_head(fields: &mut Fields) -> Result<EventHead, MessageError> {
    Ok(EventHead {
        chat_id: fields.optional_text("chatId")?,
        sequence_number: read_number(fields, "sequenceNumber", 1)?,
        timestamp_utc: read_number(fields, "timestampUtc", 0)?,
        message_id: fields.optional_text("messageId")?,
        run_id: fields.optional_text("runId")?,
        generation_id: fields.optional_text("generationId")?,
        role: optional_role(fields)?,
        from_agent: fields.optional_text("fromAgent")?,
        done: fields.flag("done")?,
        metadata: fields.optional_object("metadata")?,
        extra: Map::new(),
    })
}

fn read_number(
    fields: &mut Fields,
    name: &'static str,
    least: u64,
) -> Result<Option<u64>, MessageError> {
    let Some(number) = fields.optional_count(name)? else {
        return Ok(None);
    };
    if !(least..=LARGEST).contains(&number) {
        let expected = format!("a whole number from {least} to {LARGEST}");
        return Err(fields.unexpected(name, expected, &number.into()));
    }
    Ok(Some(number))
}

/// The kinds of events that belong to a message.
const OF_MESSAGES: [&str; 6] =
    ["text", "reasoning", "tools_call_update", "tools_call", "tools_aggregate", "usage"];

/// Parse the body; return `None` if the kind is unknown.
fn read_body(
    kind: &str,
    head: &EventHead,
    fields: &mut Fields,
    leftovers: &mut Map<String, Value>,
) -> Result<Option<EventBody>, MessageError> {
    if OF_MESSAGES.contains(&kind) && head.message_id.is_none() {
        return Err(fields.missing("messageId", "a string"));
    }
    Ok(Some(match kind {
        "text" => EventBody::Text(TextStreamEvent { delta: fields.text("delta")? }),
        "reasoning" => EventBody::Reasoning(ReasoningStreamEvent { delta: fields.text("delta")? }),
        "raw" => EventBody::Raw(RawStreamEvent { delta: fields.text("delta")? }),
        "tools_call_update" => {
            let updates = read_all(fields, UPDATES, read_update)?;
            let tool_call_updates = split(updates, UPDATES, leftovers);
            EventBody::ToolsCallUpdate(ToolsCallUpdateStreamEvent { tool_call_updates })
        }
        "tools_call" => {
            let calls = read_all(fields, CALLS, read_reported)?;
            let tool_calls = split(calls, CALLS, leftovers);
            EventBody::ToolsCall(ToolsCallStreamEvent { tool_calls })
        }
        "tool_result" => EventBody::ToolResult(read_tool_result(head, fields)?),
        "tools_aggregate" => {
            let (tool_calls, tool_results) = read_exchange(fields, leftovers)?;
            EventBody::ToolsAggregate(ToolsAggregateEvent { tool_calls, tool_results })
        }
        "usage" => EventBody::Usage(read_usage(fields)?),
        "error" => EventBody::Error(ErrorStreamEvent {
            message: fields.text("message")?,
            code: fields.optional_text("code")?,
            tool_call_id: fields.optional_text("toolCallId")?,
        }),
        "run" => {
            if head.run_id.is_none() {
                return Err(fields.missing("runId", "a string"));
            }
            EventBody::Run(RunStreamEvent {
                status: read_status(fields)?,
                stop_reason: fields.optional_text("stopReason")?,
                error: fields.optional_text("error")?,
            })
        }
        "tool_state" => EventBody::ToolState(ToolStateStreamEvent {
            tool_call_id: fields.text("toolCallId")?,
            state: fields.text("state")?,
            key: fields.optional_text("key")?,
            question: fields.optional_text("question")?,
            schema: fields.take("schema"),
            reason: fields.optional_text("reason")?,
            decided_by: fields.optional_text("decidedBy")?,
        }),
        "scene" => EventBody::Scene(SceneStreamEvent { step: fields.object("step")? }),
        "selection" => EventBody::Selection(read_selection(fields, leftovers)?),
        _ => return Ok(None),
    }))
}

fn read_update(fields: &mut Fields) -> Result<ToolCallUpdate, MessageError> {
    let update = ToolCallUpdate {
        tool_call_id: fields.optional_text("toolCallId")?,
        index: read_index(fields)?,
        function_name: fields.optional_text("functionName")?,
        function_args: fields.optional_text("functionArgs")?,
    };
    // Otherwise it would be a call that cannot be identified.
    if update == ToolCallUpdate::default() {
        return Err(fields.missing_any_of(UPDATE));
    }
    Ok(update)
}

fn read_index(fields: &mut Fields) -> Result<Option<usize>, MessageError> {
    let Some(index) = fields.optional_count("index")? else {
        return Ok(None);
    };
    match usize::try_from(index) {
        Ok(position) if index <= LARGEST => Ok(Some(position)),
        _ => Err(fields.unexpected("index", "a position", &index.into())),
    }
}

fn read_reported(fields: &mut Fields) -> Result<ReportedCall, MessageError> {
    let invalid = read_invalid(fields)?;
    let arguments = fields.optional_object("arguments")?;
    let none = arguments.is_none() && invalid.is_some();
    if let Some(arguments) = arguments.or_else(|| invalid.is_some().then(Map::new)) {
        fields.put_back("arguments", Value::Object(arguments));
    }
    let mut call = read_call(fields)?;
    if none {
        call.arguments = Value::Null;
    }
    Ok(ReportedCall { call, invalid })
}

fn read_invalid(fields: &mut Fields) -> Result<Option<InvalidReason>, MessageError> {
    let place = fields.at("invalid");
    let Some(fault) = fields.optional_object("invalid")? else {
        return Ok(None);
    };
    let mut fault = Fields::new(Value::Object(fault), place)?;
    let invalid = InvalidReason { reason: fault.text("reason")?, message: fault.text("message")? };
    let rest = fault.rest();
    if !rest.is_empty() {
        fields.put_back("invalid", Value::Object(rest));
    }
    Ok(Some(invalid))
}

fn read_tool_result(
    head: &EventHead,
    fields: &mut Fields,
) -> Result<ToolResultStreamEvent, MessageError> {
    let event = ToolResultStreamEvent {
        tool_call_id: fields.text("toolCallId")?,
        result: fields.text("result")?,
        is_error: fields.flag("isError")?.unwrap_or(false),
        name: fields.optional_text("name")?,
        error_code: fields.optional_text("errorCode")?,
        duration: fields.number("duration")?,
    };
    match head.done {
        None => Err(fields.missing("done", "true or false")),
        Some(_) => Ok(event),
    }
}

fn read_status(fields: &mut Fields) -> Result<RunStatus, MessageError> {
    let name = fields.text("status")?;
    RunStatus::from_wire(&name).ok_or_else(|| {
        fields.unexpected("status", "\"started\" or \"finished\"", &name.as_str().into())
    })
}

fn read_selection(
    fields: &mut Fields,
    leftovers: &mut Map<String, Value>,
) -> Result<SelectionStreamEvent, MessageError> {
    let ranking = read_all(fields, RANKING, |fields| {
        Ok(RankedTool {
            tool: fields.text("tool")?,
            score: fields.number("score")?,
            error: fields.optional_text("error")?,
        })
    })?;
    Ok(SelectionStreamEvent {
        tool: fields.optional_text("tool")?,
        score: fields.number("score")?,
        fallback: fields.flag("fallback")?.unwrap_or(false),
        calls: fields.count("calls")?,
        duration: fields.number("duration")?.unwrap_or(0.0),
        ranking: split(ranking, RANKING, leftovers),
    })
}
