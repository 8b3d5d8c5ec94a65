//! Replies as a stream of events.

use serde_json::{Value, json};

use super::output::{Response, TextKind, call_item, text_item, text_part};
use crate::proxy::{
    chat::ReplyHead,
    error::ApiError,
    part::{Call, Part, ReplyWriter},
};

/// A writer of a reply as a stream of events.
#[derive(Debug)]
pub struct StreamWriter {
    response: Response,
    has_begun: bool,
    /// The number of events.
    sequence: u64,
    open: Option<OpenItem>,
}

/// An item with text that is being written.
#[derive(Debug)]
struct OpenItem {
    kind: TextKind,
    id: String,
    text: String,
}

impl StreamWriter {
    /// Create a writer. The id of the reply has the form `resp_1`.
    pub fn new(head: ReplyHead) -> Self {
        Self { response: Response::new(head), has_begun: false, sequence: 0, open: None }
    }

    fn event(&mut self, name: &str, fields: Value, out: &mut Vec<u8>) {
        let mut data = json!({"type": name, "sequence_number": self.sequence});
        self.sequence += 1;
        if let (Some(data), Value::Object(fields)) = (data.as_object_mut(), fields) {
            data.extend(fields);
        }
        out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            let response = self.response.document("in_progress");
            self.event("response.created", json!({"response": response}), out);
            self.event("response.in_progress", json!({"response": response}), out);
        }
    }

    fn text(&mut self, kind: TextKind, text: &str, out: &mut Vec<u8>) {
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.close(out);
            let id = self.response.item_id(if kind == TextKind::Message { "msg" } else { "rs" });
            let item = text_item(kind, &id, "in_progress", None);
            self.added(&item, out);
            if kind == TextKind::Message {
                let fields = self.of_part(&id, json!({"part": text_part(kind, "")}));
                self.event("response.content_part.added", fields, out);
            }
            self.open = Some(OpenItem { kind, id, text: String::new() });
        }
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let id = open.id.clone();
        let more = match kind {
            TextKind::Message => json!({"delta": text, "logprobs": []}),
            TextKind::Reasoning => json!({"delta": text}),
        };
        let fields = self.of_part(&id, more);
        self.event(&format!("response.{}.delta", kind.part_type()), fields, out);
    }

    /// Return the fields of an event about the part of an item, which is the only one.
    fn of_part(&self, id: &str, more: Value) -> Value {
        let index = self.response.output.len();
        let mut fields = json!({"item_id": id, "output_index": index, "content_index": 0});
        if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
            fields.extend(more);
        }
        fields
    }

    fn added(&mut self, item: &Value, out: &mut Vec<u8>) {
        let index = self.response.output.len();
        self.event("response.output_item.added", json!({"output_index": index, "item": item}), out);
    }

    fn done(&mut self, item: Value, out: &mut Vec<u8>) {
        let index = self.response.output.len();
        self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
        self.response.output.push(item);
    }

    /// End the item that is open.
    fn close(&mut self, out: &mut Vec<u8>) {
        let Some(OpenItem { kind, id, text }) = self.open.take() else { return };
        let part = text_part(kind, &text);
        let more = match kind {
            TextKind::Message => json!({"text": text, "logprobs": []}),
            TextKind::Reasoning => json!({"text": text}),
        };
        let fields = self.of_part(&id, more);
        self.event(&format!("response.{}.done", kind.part_type()), fields, out);
        if kind == TextKind::Message {
            let fields = self.of_part(&id, json!({"part": part}));
            self.event("response.content_part.done", fields, out);
        }
        self.done(text_item(kind, &id, "completed", Some(&part)), out);
    }

    fn call(&mut self, call: &Call<'_>, out: &mut Vec<u8>) {
        self.close(out);
        let id = self.response.item_id("fc");
        self.added(&call_item(&id, "in_progress", call, ""), out);
        let index = self.response.output.len();
        let arguments = call.arguments;
        let fields = json!({"item_id": id, "output_index": index, "delta": arguments});
        self.event("response.function_call_arguments.delta", fields, out);
        let fields = json!({
            "item_id": id, "output_index": index, "name": call.name, "arguments": arguments,
        });
        self.event("response.function_call_arguments.done", fields, out);
        self.done(call_item(&id, "completed", call, arguments), out);
    }
}

impl ReplyWriter for StreamWriter {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        if let Part::Notice(notice) = part {
            return self.response.notices.push(notice.clone());
        }
        self.begin(out);
        match part {
            Part::Notice(_) => {}
            Part::Text(text) => self.text(TextKind::Message, text, out),
            Part::Reasoning(text) => self.text(TextKind::Reasoning, text, out),
            Part::Call(call) => self.call(&call, out),
            Part::Finish { reason, usage } => {
                self.close(out);
                let response = self.response.finished(reason, usage);
                let name = match response["status"].as_str() {
                    Some("incomplete") => "response.incomplete",
                    _ => "response.completed",
                };
                self.event(name, json!({"response": response}), out);
            }
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        let mut response = self.response.document("failed");
        let code = error.code.as_deref().unwrap_or("server_error");
        response["error"] = json!({"code": code, "message": error.message});
        self.event("response.failed", json!({"response": response}), out);
    }
}
