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
    /// The type and the index of the open block of text or reasoning.
    open: Option<(&'static str, usize)>,
    /// The indices of the calls that are open, and of their blocks.
    calls: Vec<(usize, usize)>,
    notices: Vec<Notice>,
}

impl StreamWriter {
    /// Create a writer of a message with an id.
    pub fn new(id: String, model: String) -> Self {
        Self {
            id,
            model,
            has_begun: false,
            blocks: 0,
            open: None,
            calls: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            let message = message(&self.id, &self.model);
            event("message_start", &json!({"type": "message_start", "message": message}), out);
        }
    }

    /// Begin a block and return its index.
    fn start(&mut self, block: &Value, out: &mut Vec<u8>) -> usize {
        let index = self.blocks;
        self.blocks += 1;
        let data = json!({"type": "content_block_start", "index": index, "content_block": block});
        event("content_block_start", &data, out);
        index
    }

    /// End the open block of text or reasoning, if it is not of this type.
    fn close(&mut self, unless: Option<&str>, out: &mut Vec<u8>) {
        if let Some((_, block)) = self.open.take_if(|(kind, _)| Some(*kind) != unless) {
            stop(block, out);
        }
    }

    fn text(&mut self, kind: &'static str, text: &str, out: &mut Vec<u8>) {
        self.close(Some(kind), out);
        let block = if let Some((_, block)) = self.open {
            block
        } else {
            let mut block = json!({"type": kind, kind: ""});
            if kind == THINKING {
                block["signature"] = "".into();
            }
            let block = self.start(&block, out);
            self.open = Some((kind, block));
            block
        };
        delta(block, &json!({"type": format!("{kind}_delta"), kind: text}), out);
    }

    /// Begin the block of a call and return its index.
    fn call(&mut self, id: &str, name: &str, out: &mut Vec<u8>) -> usize {
        self.close(None, out);
        self.start(&json!({"type": "tool_use", "id": id, "name": name, "input": {}}), out)
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
                let block = self.call(id, name, out);
                arguments_delta(block, arguments, out);
                stop(block, out);
            }
            Part::CallStart { index, id, name } => {
                let block = self.call(id, name, out);
                self.calls.push((index, block));
            }
            Part::CallDelta { index, fragment } => {
                if let Some((_, block)) = self.calls.iter().find(|(open, _)| *open == index) {
                    arguments_delta(*block, fragment, out);
                }
            }
            Part::CallEnd { index, .. } => {
                if let Some(at) = self.calls.iter().position(|(open, _)| *open == index) {
                    stop(self.calls.remove(at).1, out);
                }
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

fn delta(block: usize, delta: &Value, out: &mut Vec<u8>) {
    let data = json!({"type": "content_block_delta", "index": block, "delta": delta});
    event("content_block_delta", &data, out);
}

fn arguments_delta(block: usize, text: &str, out: &mut Vec<u8>) {
    delta(block, &json!({"type": "input_json_delta", "partial_json": text}), out);
}

fn stop(block: usize, out: &mut Vec<u8>) {
    event("content_block_stop", &json!({"type": "content_block_stop", "index": block}), out);
}

fn event(name: &str, data: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
}
