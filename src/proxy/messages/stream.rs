//! Replies as a stream of events.

use serde_json::{Value, json};

use super::document::{TEXT, THINKING, error_body, message, stop_reason, usage_of};
use crate::proxy::{
    error::ApiError,
    part::{Call, Notice, Part, ReplyWriter},
};

/// A writer of a reply as a stream of events.
#[derive(Debug)]
pub struct StreamWriter {
    id: String,
    model: String,
    has_begun: bool,
    /// The number of blocks that have begun.
    blocks: usize,
    /// The type of the block that is open; only those of text and reasoning stay open.
    open: Option<&'static str>,
    notices: Vec<Notice>,
}

impl StreamWriter {
    /// Create a writer of a message with an id.
    pub fn new(id: String, model: String) -> Self {
        Self { id, model, has_begun: false, blocks: 0, open: None, notices: Vec::new() }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            let message = message(&self.id, &self.model);
            event("message_start", &json!({"type": "message_start", "message": message}), out);
        }
    }

    fn start(&mut self, block: &Value, out: &mut Vec<u8>) {
        let index = self.blocks;
        self.blocks += 1;
        let data = json!({"type": "content_block_start", "index": index, "content_block": block});
        event("content_block_start", &data, out);
    }

    /// Write a delta of the block that began last.
    fn delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let index = self.blocks.saturating_sub(1);
        let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
        event("content_block_delta", &data, out);
    }

    fn stop(&self, out: &mut Vec<u8>) {
        let index = self.blocks.saturating_sub(1);
        event("content_block_stop", &json!({"type": "content_block_stop", "index": index}), out);
    }

    /// End the block that is open, if it is not of this type.
    fn close(&mut self, unless: Option<&str>, out: &mut Vec<u8>) {
        if self.open.is_some() && self.open != unless {
            self.open = None;
            self.stop(out);
        }
    }

    fn text(&mut self, kind: &'static str, text: &str, out: &mut Vec<u8>) {
        self.close(Some(kind), out);
        if self.open.is_none() {
            self.open = Some(kind);
            let mut block = json!({"type": kind, kind: ""});
            if kind == THINKING {
                block["signature"] = "".into();
            }
            self.start(&block, out);
        }
        self.delta(&json!({"type": format!("{kind}_delta"), kind: text}), out);
    }
}

impl ReplyWriter for StreamWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        if let Part::Notice(notice) = part {
            return self.notices.push(notice.clone());
        }
        self.begin(out);
        match part {
            Part::Notice(_) => {}
            Part::Text(text) => self.text(TEXT, text, out),
            Part::Reasoning(text) => self.text(THINKING, text, out),
            Part::Call(Call { id, name, arguments, .. }) => {
                self.close(None, out);
                self.start(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}), out);
                self.delta(&json!({"type": "input_json_delta", "partial_json": arguments}), out);
                self.stop(out);
            }
            Part::Finish { reason, usage } => {
                self.close(None, out);
                let mut data = json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": stop_reason(reason), "stop_sequence": null},
                    "usage": usage_of(usage.unwrap_or_default()),
                });
                if !self.notices.is_empty() {
                    data["toolweave"] = json!({"notices": self.notices});
                }
                event("message_delta", &data, out);
                event("message_stop", &json!({"type": "message_stop"}), out);
            }
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        event("error", &error_body(error), out);
    }
}

fn event(name: &str, data: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
}
