//! Requests for chat completions.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::tools;
use crate::proxy::{
    alias::Aliases,
    error::ApiError,
    request::{ChatRequest, Choice},
};

/// A request, as far as it has been read.
#[derive(Clone, Debug)]
pub enum ChatBody {
    /// A request whose reply is converted: one with tools, or of another API.
    Tools(Box<ChatRequest>),
    /// A request without tools that may be called.
    Plain {
        /// The request, without contracts.
        request: Box<ChatRequest>,
        /// True if there are tools that may not be called, or calls in the conversation: not every
        /// upstream accepts these.
        is_native: bool,
    },
}

/// Read a request. Only the fields that concern tools are checked; the upstream checks the rest.
///
/// # Errors
/// Fails if the body is not a JSON object, or if a field is invalid or not supported with tools.
pub fn read(native: Bytes) -> Result<ChatBody, ApiError> {
    let mut body: Map<String, Value> = serde_json::from_slice(&native).map_err(|err| {
        let message = format!("the body must be a JSON object: {err}");
        ApiError::new(400, "invalid_request_error", message).with_code("invalid_json")
    })?;
    for (legacy, current) in [("functions", "tools"), ("function_call", "tool_choice")] {
        if is_given(&body, legacy) {
            let message = format!("is not supported; use {current:?} instead");
            return Err(ApiError::field(legacy, message));
        }
    }
    let model = match body.get("model") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(model)) => model.clone(),
        Some(other) => return Err(ApiError::unexpected("model", "a string", other)),
    };
    let aliases = Aliases::replace(tools::names(&mut body));
    let (contracts, choice) = tools::contracts(body.get("tools"))
        .and_then(|offered| tools::chosen(offered, body.get("tool_choice")))
        .map_err(|error| aliases.in_error(error))?;
    let stream = flag(&body, "stream", false)?;
    let parallel = flag(&body, "parallel_tool_calls", true)?;
    let options = body.get("stream_options").and_then(Value::as_object);
    let include_usage = match options {
        Some(options) => flag(options, "include_usage", false)
            .map_err(|error| nested("stream_options", error))?,
        None => false,
    };
    let mut request = ChatRequest {
        model,
        aliases,
        native,
        messages: None,
        contracts,
        choice: choice.unwrap_or(Choice::Auto),
        parallel,
        stream,
        include_usage,
        body,
    };
    if choice.is_none() || request.contracts.is_empty() {
        let is_native = choice.is_none() || has_calls(&request.body);
        return Ok(ChatBody::Plain { request: Box::new(request), is_native });
    }
    check_supported(&request.body)?;
    if !request.aliases.is_empty() {
        request.native = serde_json::to_vec(&request.body).unwrap_or_default().into();
    }
    Ok(ChatBody::Tools(Box::new(request)))
}

/// Check that a request with tools asks for nothing that needs the tokens of the upstream.
fn check_supported(body: &Map<String, Value>) -> Result<(), ApiError> {
    match body.get("n") {
        None | Some(Value::Null) => {}
        Some(Value::Number(number)) if number.as_u64() == Some(1) => {}
        Some(other) => return Err(ApiError::unexpected("n", "1 in a request with tools", other)),
    }
    if flag(body, "logprobs", false)? {
        return Err(ApiError::field("logprobs", "must be false in a request with tools"));
    }
    let audio = body.get("modalities").and_then(Value::as_array).into_iter().flatten();
    match audio.into_iter().find(|kind| *kind != "text") {
        None => Ok(()),
        Some(other) => {
            Err(ApiError::unexpected("modalities", "[\"text\"] in a request with tools", other))
        }
    }
}

/// Return true if a conversation has calls or results.
fn has_calls(body: &Map<String, Value>) -> bool {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    messages.into_iter().any(|message| {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        message["role"] == "tool" || calls.is_some_and(|calls| !calls.is_empty())
    })
}

fn is_given(body: &Map<String, Value>, name: &str) -> bool {
    body.get(name).is_some_and(|value| !value.is_null())
}

fn flag(body: &Map<String, Value>, name: &str, default: bool) -> Result<bool, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(ApiError::unexpected(name, "true or false", other)),
    }
}

/// Return an error with the path of the object that has the field.
fn nested(name: &str, error: ApiError) -> ApiError {
    let param = error.param.map(|param| format!("{name}.{param}"));
    ApiError { param, message: format!("{name}.{}", error.message), ..error }
}
