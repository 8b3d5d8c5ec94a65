//! Replies as one message, and errors.

use serde_json::{Value, json};

use crate::{
    message::{FinishReason, UsageUpdate},
    proxy::{
        error::ApiError,
        part::{Call, Notice, Part, ReplyWriter},
    },
};

/// A writer of a reply as one message.
#[derive(Debug)]
pub struct DocumentWriter {
    id: String,
    model: String,
    content: Vec<Value>,
    notices: Vec<Notice>,
}

impl DocumentWriter {
    /// Create a writer of a message with an id.
    pub fn new(id: String, model: String) -> Self {
        Self { id, model, content: Vec::new(), notices: Vec::new() }
    }

    /// Append text to the last block, or begin one of this type.
    fn append(&mut self, kind: &str, text: &str) {
        if let Some(Value::String(last)) = self
            .content
            .last_mut()
            .filter(|block| block["type"] == kind)
            .and_then(|block| block.get_mut(kind))
        {
            last.push_str(text);
            return;
        }
        let mut block = json!({"type": kind, kind: text});
        if kind == THINKING {
            block["signature"] = "".into();
        }
        self.content.push(block);
    }
}

/// The type of a block of reasoning, and the name of its text.
pub(super) const THINKING: &str = "thinking";

/// The type of a block of text, and the name of its text.
pub(super) const TEXT: &str = "text";

impl ReplyWriter for DocumentWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Text(text) => self.append(TEXT, text),
            Part::Reasoning(text) => self.append(THINKING, text),
            Part::Call(Call { id, name, arguments, .. }) => {
                let input = serde_json::from_str(arguments).unwrap_or_default();
                let input: Value = input;
                self.content
                    .push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
            }
            Part::CallStart { .. } | Part::CallDelta { .. } | Part::CallEnd { .. } => {}
            Part::Notice(notice) => self.notices.push(notice.clone()),
            Part::Finish { reason, usage } => {
                let mut message = message(&self.id, &self.model);
                message["content"] = std::mem::take(&mut self.content).into();
                message["stop_reason"] = stop_reason(reason).into();
                message["usage"] = usage_of(usage.unwrap_or_default());
                if !self.notices.is_empty() {
                    message["toolweave"] = json!({"notices": self.notices});
                }
                out.extend_from_slice(message.to_string().as_bytes());
            }
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        out.extend_from_slice(error_body(error).to_string().as_bytes());
    }
}

/// Return a message without content.
pub(super) fn message(id: &str, model: &str) -> Value {
    json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage_of(UsageUpdate::default()),
    })
}

/// Return counts as the API has them: cached tokens are not among the others.
pub(super) fn usage_of(usage: UsageUpdate) -> Value {
    let UsageUpdate { input_tokens, output_tokens, cached_input_tokens, .. } = usage;
    json!({
        "input_tokens": input_tokens.saturating_sub(cached_input_tokens),
        "output_tokens": output_tokens,
        "cache_read_input_tokens": cached_input_tokens,
        "cache_creation_input_tokens": 0,
    })
}

pub(super) fn stop_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Length => "max_tokens",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::ContentFilter => "refusal",
        FinishReason::Stop | FinishReason::Missing => "end_turn",
    }
}

/// The code of the error for a request that relies on a conversation held by the server. Clients
/// that get it send the whole conversation instead.
pub(super) const NO_THREADS: &str = "thread_unsupported_request";

/// Return the body of an error response.
pub fn error_body(error: &ApiError) -> Value {
    let kind = match error.status {
        400 | 405 | 408 | 422 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let mut body = json!({"type": "error", "error": {"type": kind, "message": error.message}});
    if error.code.as_deref() == Some(NO_THREADS) {
        body["error"]["details"] = json!({"error_code": NO_THREADS, "unsupported": ["thread"]});
    }
    body
}
