//! Bodies of requests to the upstream.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::correction::Correction;
use crate::{
    consolidate::{self, Form, consolidate},
    message::{Content, Message, Role, openai},
    parser::Dialect,
    prompt::{Style, dialect_prompt, stop_sequence, system_prompt},
    proxy::{
        error::ApiError,
        request::{ChatRequest, Choice},
        settings::Mode,
    },
};

/// Fields that a request with tools in its prompt does not have.
const NATIVE_FIELDS: [&str; 5] =
    ["tools", "tool_choice", "parallel_tool_calls", "response_format", "messages"];

/// Maximum number of stop sequences that all upstreams accept.
const MAX_STOP_SEQUENCES: usize = 4;

/// Return the body of the upstream's request in a mode, and in the dialect of its model.
///
/// # Errors
/// Fails if a message is invalid, or if the dialect cannot present a tool.
pub fn upstream_body(
    request: &ChatRequest,
    mode: Mode,
    dialect: Dialect,
) -> Result<Bytes, ApiError> {
    body(request, mode, dialect, &[])
}

/// Return the body of a request in a mode, with the corrections so far.
pub(super) fn body(
    request: &ChatRequest,
    mode: Mode,
    dialect: Dialect,
    corrections: &[Correction],
) -> Result<Bytes, ApiError> {
    match mode {
        Mode::Recover if corrections.is_empty() => Ok(request.native.clone()),
        Mode::Recover => {
            let mut body = request.body.clone();
            if let Some(Value::Array(messages)) = body.get_mut("messages") {
                messages.extend(turns(corrections));
            }
            Ok(to_bytes(&body))
        }
        Mode::Natural => natural(request, dialect, corrections),
    }
}

fn to_bytes(body: &Map<String, Value>) -> Bytes {
    serde_json::to_vec(body).unwrap_or_default().into()
}

/// Return corrections as messages.
fn turns(corrections: &[Correction]) -> impl Iterator<Item = Value> {
    corrections.iter().flat_map(|Correction { reply, answer }| {
        [json!({"role": "assistant", "content": reply}), json!({"role": "user", "content": answer})]
    })
}

fn natural(
    request: &ChatRequest,
    dialect: Dialect,
    corrections: &[Correction],
) -> Result<Bytes, ApiError> {
    let contracts = &request.contracts;
    // The history shows the model its own calls in the form that the prompt asks for.
    let Style { tag, fenced, .. } = Style::default();
    let options = consolidate::Options { form: Form::Turn, tag, fenced, dialect };
    let mut messages = consolidate(&request.conversation()?, contracts, options)
        .map_err(|error| ApiError::field("messages", error.to_string()))?;
    if !contracts.is_empty() {
        teach(&mut messages, request, dialect)?;
    }
    let mut written = openai::to_openai(&messages, openai::Options::default())?;
    written.extend(turns(corrections));
    let mut body = Map::new();
    for (name, value) in &request.body {
        if name == "messages" {
            body.insert(name.clone(), std::mem::take(&mut written).into());
        } else if contracts.is_empty() && name == "response_format"
            || !NATIVE_FIELDS.contains(&name.as_str())
        {
            body.insert(name.clone(), value.clone());
        }
    }
    if !contracts.is_empty() {
        add_stop(&mut body, dialect);
    }
    Ok(to_bytes(&body))
}

/// Add the tools to the system prompt.
fn teach(
    messages: &mut Vec<Message>,
    request: &ChatRequest,
    dialect: Dialect,
) -> Result<(), ApiError> {
    let system = messages.iter_mut().find(|message| message.envelope.role == Role::System);
    let existing = system.as_ref().and_then(|message| match &message.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let contracts = &request.contracts;
    let mut prompt = if dialect == Dialect::NATURAL {
        system_prompt(contracts, existing, Style::default())
    } else {
        dialect_prompt(contracts, existing, &dialect)
            .map_err(|error| ApiError::field("tools", error.to_string()))?
    };
    for rule in rules(request) {
        prompt.push_str("\n\n");
        prompt.push_str(&rule);
    }
    match system {
        Some(message) => message.content = Content::Text(prompt),
        None => messages.insert(0, Message::new(Role::System, Content::Text(prompt))),
    }
    Ok(())
}

/// Return the rules that native fields of the request stand for.
fn rules(request: &ChatRequest) -> Vec<String> {
    let mut rules = Vec::new();
    if request.choice == Choice::Required {
        rules.push(match request.contracts.as_slice() {
            [only] => format!("Your next reply must be a call of `{}`.", only.name),
            _ => "Your next reply must have a call of one of the tools.".to_owned(),
        });
    }
    if !request.parallel {
        rules.push("Make at most one call in a reply.".to_owned());
    }
    let format = request.body.get("response_format").unwrap_or(&Value::Null);
    let schema = &format["json_schema"]["schema"];
    match format["type"].as_str() {
        Some("json_schema") if schema.is_object() => rules.push(format!(
            "A reply without a call must be JSON that matches this JSON Schema, and nothing else: \
             {schema}"
        )),
        Some("json_schema" | "json_object") => {
            rules.push(
                "A reply without a call must be one JSON object, and nothing else.".to_owned(),
            );
        }
        _ => {}
    }
    rules
}

/// Add the stop sequence of the dialect, if there is room for it.
fn add_stop(body: &mut Map<String, Value>, dialect: Dialect) {
    let Some(sequence) = stop_sequence(&dialect) else { return };
    let mut stops = match body.get("stop") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(stops)) => stops.clone(),
        Some(stop) => vec![stop.clone()],
    };
    if stops.len() < MAX_STOP_SEQUENCES && !stops.iter().any(|stop| stop == sequence) {
        stops.push(sequence.into());
        body.insert("stop".to_owned(), stops.into());
    }
}
