//! Replies as chunks of a stream, and as one document.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    message::{FinishReason, UsageUpdate},
    proxy::{
        error::ApiError,
        part::{Call, Notice, Part, ReplyWriter},
    },
};

/// The fields that all chunks of a reply have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// The id of the reply.
    pub id: String,
    /// The time of the request, in seconds since 1970.
    pub created: u64,
    /// The name of the model, as the client wrote it.
    pub model: String,
}

/// A writer of a reply as a stream of chunks.
#[derive(Debug)]
pub struct StreamWriter {
    /// The text of each chunk up to its delta.
    prefix: String,
    include_usage: bool,
    has_role: bool,
    /// Sent with the finish reason: clients need not expect a chunk without choices before it.
    notices: Vec<Notice>,
}

impl StreamWriter {
    /// Create a writer; `include_usage` adds a last chunk with the usage, if that is known.
    pub fn new(head: &ReplyHead, include_usage: bool) -> Self {
        let fields = json!({
            "id": head.id,
            "object": "chat.completion.chunk",
            "created": head.created,
            "model": head.model,
        });
        let mut prefix = format!("data: {fields}");
        prefix.pop();
        Self { prefix, include_usage, has_role: false, notices: Vec::new() }
    }

    fn chunk(&mut self, delta: &impl Serialize, out: &mut Vec<u8>) {
        self.begin(out);
        self.choice(delta, None, out);
        out.extend_from_slice(b"}\n\n");
    }

    /// Write the role, unless it is written already.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.has_role {
            self.has_role = true;
            self.choice(&json!({"role": "assistant", "content": ""}), None, out);
            out.extend_from_slice(b"}\n\n");
        }
    }

    /// Write a chunk up to its last brace.
    fn choice(&self, delta: &impl Serialize, finish: Option<&str>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.as_bytes());
        out.extend_from_slice(b",\"choices\":[{\"index\":0,\"delta\":");
        append(delta, out);
        out.extend_from_slice(b",\"finish_reason\":");
        append(&finish, out);
        out.extend_from_slice(b"}]");
    }

    fn finish(&mut self, reason: FinishReason, usage: Option<UsageUpdate>, out: &mut Vec<u8>) {
        self.begin(out);
        self.choice(&json!({}), Some(finish_reason(reason)), out);
        if !self.notices.is_empty() {
            out.extend_from_slice(b",\"toolweave\":");
            append(&json!({"notices": self.notices}), out);
        }
        out.extend_from_slice(b"}\n\n");
        if let Some(usage) = usage.filter(|_| self.include_usage) {
            out.extend_from_slice(self.prefix.as_bytes());
            out.extend_from_slice(b",\"choices\":[],\"usage\":");
            append(&usage_of(usage), out);
            out.extend_from_slice(b"}\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

impl ReplyWriter for StreamWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Text(text) => self.chunk(&Content { content: text }, out),
            Part::Reasoning(text) => self.chunk(&Reasoning { reasoning_content: text }, out),
            Part::Call(call) => {
                let mut delta = tool_call(&call);
                delta["index"] = call.index.into();
                self.chunk(&json!({"tool_calls": [delta]}), out);
            }
            Part::CallStart { index, id, name } => {
                let mut delta = tool_call(&Call { index, id, name, arguments: "" });
                delta["index"] = index.into();
                self.chunk(&json!({"tool_calls": [delta]}), out);
            }
            Part::CallDelta { index, fragment } => {
                let delta = json!({"index": index, "function": {"arguments": fragment}});
                self.chunk(&json!({"tool_calls": [delta]}), out);
            }
            Part::CallEnd { .. } => {}
            Part::Notice(notice) => self.notices.push(notice.clone()),
            Part::Finish { reason, usage } => self.finish(reason, usage, out),
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
        append(&error_body(error), out);
        out.extend_from_slice(b"\n\n");
    }
}

#[derive(Serialize)]
struct Content<'a> {
    content: &'a str,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    reasoning_content: &'a str,
}

/// A writer of a reply as one document.
#[derive(Debug)]
pub struct DocumentWriter {
    head: ReplyHead,
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    notices: Vec<Notice>,
}

impl DocumentWriter {
    /// Create a writer.
    pub fn new(head: ReplyHead) -> Self {
        Self {
            head,
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn document(&mut self, reason: FinishReason, usage: Option<UsageUpdate>) -> Value {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        let text = std::mem::take(&mut self.text);
        // As OpenAI's servers do.
        let is_null = text.is_empty() && !self.calls.is_empty();
        message.insert("content".into(), if is_null { Value::Null } else { text.into() });
        if !self.reasoning.is_empty() {
            let reasoning = std::mem::take(&mut self.reasoning);
            message.insert("reasoning_content".into(), reasoning.into());
        }
        if !self.calls.is_empty() {
            message.insert("tool_calls".into(), std::mem::take(&mut self.calls).into());
        }
        let mut document = json!({
            "id": self.head.id,
            "object": "chat.completion",
            "created": self.head.created,
            "model": self.head.model,
            "choices": [{
                "index": 0,
                "message": message,
                "logprobs": null,
                "finish_reason": finish_reason(reason),
            }],
        });
        if let Some(usage) = usage {
            document["usage"] = usage_of(usage);
        }
        if !self.notices.is_empty() {
            document["toolweave"] = json!({"notices": self.notices});
        }
        document
    }
}

impl ReplyWriter for DocumentWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Text(text) => self.text.push_str(text),
            Part::Reasoning(text) => self.reasoning.push_str(text),
            Part::Call(call) => self.calls.push(tool_call(&call)),
            Part::CallStart { .. } | Part::CallDelta { .. } | Part::CallEnd { .. } => {}
            Part::Notice(notice) => self.notices.push(notice.clone()),
            Part::Finish { reason, usage } => append(&self.document(reason, usage), out),
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        append(&error_body(error), out);
    }
}

/// Return the body of an error response.
pub fn error_body(error: &ApiError) -> Value {
    let ApiError { kind, message, param, code, .. } = error;
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

fn tool_call(call: &Call<'_>) -> Value {
    let Call { id, name, arguments, .. } = call;
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn usage_of(usage: UsageUpdate) -> Value {
    let UsageUpdate { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens } = usage;
    let mut counts = json!({
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens.saturating_add(output_tokens),
    });
    if cached_input_tokens > 0 {
        counts["prompt_tokens_details"] = json!({"cached_tokens": cached_input_tokens});
    }
    if reasoning_tokens > 0 {
        counts["completion_tokens_details"] = json!({"reasoning_tokens": reasoning_tokens});
    }
    counts
}

/// Return the reason as the API names it. It has no word for a stream without a reason.
fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Stop | FinishReason::Missing => "stop",
    }
}

/// Append a value as JSON.
fn append(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory does not fail, and neither do values of these types.
    let _ = serde_json::to_writer(out, value);
}
