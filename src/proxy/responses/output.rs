//! Output items, and replies as one document.

use serde_json::{Value, json};

use crate::{
    message::{FinishReason, UsageUpdate},
    proxy::{
        chat::{ReplyHead, error_body},
        error::ApiError,
        part::{Call, Notice, Part, ReplyWriter},
    },
};

/// A response with its output so far.
#[derive(Debug)]
pub(super) struct Response {
    head: ReplyHead,
    /// The items, complete or not.
    pub(super) output: Vec<Value>,
    pub(super) notices: Vec<Notice>,
}

/// The type of an item with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Message,
    Reasoning,
}

impl TextKind {
    /// The type of the part that has the text.
    pub(super) fn part_type(self) -> &'static str {
        match self {
            Self::Message => "output_text",
            Self::Reasoning => "reasoning_text",
        }
    }
}

impl Response {
    pub(super) fn new(head: ReplyHead) -> Self {
        Self { head, output: Vec::new(), notices: Vec::new() }
    }

    /// Return the id of the item that comes next.
    pub(super) fn item_id(&self, prefix: &str) -> String {
        let reply = self.head.id.split_once('_').map_or(self.head.id.as_str(), |(_, id)| id);
        format!("{prefix}_{reply}_{}", self.output.len())
    }

    /// Return the response with a status.
    pub(super) fn document(&self, status: &str) -> Value {
        let ReplyHead { id, created, model } = &self.head;
        json!({
            "id": id,
            "object": "response",
            "created_at": created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "metadata": {},
            "model": model,
            "output": self.output,
            "parallel_tool_calls": true,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
        })
    }

    /// Return the whole response.
    pub(super) fn finished(&self, reason: FinishReason, usage: Option<UsageUpdate>) -> Value {
        let mut document = self.document(final_status(reason));
        if let Some(reason) = incomplete_reason(reason) {
            document["incomplete_details"] = json!({"reason": reason});
        }
        if let Some(usage) = usage {
            let UsageUpdate { input_tokens, output_tokens, cached_input_tokens, reasoning_tokens } =
                usage;
            document["usage"] = json!({
                "input_tokens": input_tokens,
                "input_tokens_details": {
                    "cache_write_tokens": 0,
                    "cached_tokens": cached_input_tokens,
                },
                "output_tokens": output_tokens,
                "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
                "total_tokens": input_tokens.saturating_add(output_tokens),
            });
        }
        if !self.notices.is_empty() {
            document["toolweave"] = json!({"notices": self.notices});
        }
        document
    }
}

/// Return why a reply that ended for this reason is incomplete.
fn incomplete_reason(reason: FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Length => Some("max_output_tokens"),
        FinishReason::ContentFilter => Some("content_filter"),
        _ => None,
    }
}

/// Return the status of a reply that ended for this reason, and of the item that ended with it.
pub(super) fn final_status(reason: FinishReason) -> &'static str {
    if incomplete_reason(reason).is_some() { "incomplete" } else { "completed" }
}

/// Return an item with text.
pub(super) fn text_item(kind: TextKind, id: &str, status: &str, content: Option<&Value>) -> Value {
    let content: Vec<&Value> = content.into_iter().collect();
    match kind {
        TextKind::Message => json!({
            "id": id, "type": "message", "status": status, "role": "assistant", "content": content,
        }),
        TextKind::Reasoning => json!({
            "id": id, "type": "reasoning", "status": status, "summary": [], "content": content,
        }),
    }
}

/// Return the part of an item that has the text.
pub(super) fn text_part(kind: TextKind, text: &str) -> Value {
    match kind {
        TextKind::Message => {
            json!({"type": kind.part_type(), "text": text, "annotations": [], "logprobs": []})
        }
        TextKind::Reasoning => json!({"type": kind.part_type(), "text": text}),
    }
}

/// Return the item of a call.
pub(super) fn call_item(item: &str, status: &str, call: &Call<'_>) -> Value {
    let Call { id, name, arguments, .. } = call;
    json!({
        "id": item,
        "type": "function_call",
        "status": status,
        "call_id": id,
        "name": name,
        "arguments": arguments,
    })
}

/// A writer of a reply as one document.
#[derive(Debug)]
pub struct DocumentWriter {
    response: Response,
    /// The text of the item that is open.
    open: Option<(TextKind, String)>,
}

impl DocumentWriter {
    /// Create a writer. The id of the reply has the form `resp_1`.
    pub fn new(head: ReplyHead) -> Self {
        Self { response: Response::new(head), open: None }
    }

    fn text(&mut self, kind: TextKind, text: &str) {
        match &mut self.open {
            Some((open, before)) if *open == kind => before.push_str(text),
            _ => {
                self.close("completed");
                self.open = Some((kind, text.to_owned()));
            }
        }
    }

    fn close(&mut self, status: &str) {
        let Some((kind, text)) = self.open.take() else { return };
        let id = self.response.item_id(if kind == TextKind::Message { "msg" } else { "rs" });
        let item = text_item(kind, &id, status, Some(&text_part(kind, &text)));
        self.response.output.push(item);
    }
}

impl ReplyWriter for DocumentWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        match part {
            Part::Text(text) => self.text(TextKind::Message, text),
            Part::Reasoning(text) => self.text(TextKind::Reasoning, text),
            Part::Call(call) => {
                self.close("completed");
                let id = self.response.item_id("fc");
                self.response.output.push(call_item(&id, "completed", &call));
            }
            Part::CallStart { .. } | Part::CallDelta { .. } | Part::CallEnd { .. } => {}
            Part::Notice(notice) => self.response.notices.push(notice.clone()),
            Part::Finish { reason, usage } => {
                self.close(final_status(reason));
                let document = self.response.finished(reason, usage);
                out.extend_from_slice(document.to_string().as_bytes());
            }
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        out.extend_from_slice(error_body(error).to_string().as_bytes());
    }
}
