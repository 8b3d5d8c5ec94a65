//! Replies as a stream of events.

use serde_json::{Value, json};

use super::output::{Response, TextKind, call_item, final_status, text_item, text_part};
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
    open: Option<OpenText>,
    /// The calls whose arguments are being written.
    calls: Vec<OpenCall>,
}

/// The place of an item in the output, and its id.
#[derive(Clone, Debug)]
struct Item {
    index: usize,
    id: String,
}

/// An item with text that is being written.
#[derive(Debug)]
struct OpenText {
    kind: TextKind,
    item: Item,
    text: String,
}

/// An item with a call that is being written.
#[derive(Debug)]
struct OpenCall {
    /// The position of the call among the calls of the reply.
    index: usize,
    item: Item,
    id: String,
    name: String,
    arguments: String,
}

impl StreamWriter {
    /// Create a writer. The id of the reply has the form `resp_1`.
    pub fn new(head: ReplyHead) -> Self {
        let response = Response::new(head);
        Self { response, has_begun: false, sequence: 0, open: None, calls: Vec::new() }
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
            self.close("completed", out);
            let prefix = if kind == TextKind::Message { "msg" } else { "rs" };
            let item = self.added(prefix, |id| text_item(kind, id, "in_progress", None), out);
            if kind == TextKind::Message {
                let fields = of_part(&item, json!({"part": text_part(kind, "")}));
                self.event("response.content_part.added", fields, out);
            }
            self.open = Some(OpenText { kind, item, text: String::new() });
        }
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let more = match kind {
            TextKind::Message => json!({"delta": text, "logprobs": []}),
            TextKind::Reasoning => json!({"delta": text}),
        };
        let fields = of_part(&open.item, more);
        self.event(&format!("response.{}.delta", kind.part_type()), fields, out);
    }

    /// Begin an item, whose id has this prefix.
    fn added(&mut self, prefix: &str, item: impl FnOnce(&str) -> Value, out: &mut Vec<u8>) -> Item {
        let id = self.response.item_id(prefix);
        let item = item(&id);
        let index = self.response.output.len();
        self.event("response.output_item.added", json!({"output_index": index, "item": item}), out);
        self.response.output.push(item);
        Item { index, id }
    }

    /// End an item with its content.
    fn done(&mut self, index: usize, item: Value, out: &mut Vec<u8>) {
        self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
        self.response.output[index] = item;
    }

    /// End the item with text that is open.
    fn close(&mut self, status: &str, out: &mut Vec<u8>) {
        let Some(OpenText { kind, item, text }) = self.open.take() else { return };
        let part = text_part(kind, &text);
        let more = match kind {
            TextKind::Message => json!({"text": text, "logprobs": []}),
            TextKind::Reasoning => json!({"text": text}),
        };
        let fields = of_part(&item, more);
        self.event(&format!("response.{}.done", kind.part_type()), fields, out);
        if kind == TextKind::Message {
            let fields = of_part(&item, json!({"part": part}));
            self.event("response.content_part.done", fields, out);
        }
        self.done(item.index, text_item(kind, &item.id, status, Some(&part)), out);
    }

    fn call_start(&mut self, index: usize, id: &str, name: &str, out: &mut Vec<u8>) {
        self.close("completed", out);
        let call = Call { index, id, name, arguments: "" };
        let item = self.added("fc", |item| call_item(item, "in_progress", &call), out);
        let (id, name) = (id.to_owned(), name.to_owned());
        self.calls.push(OpenCall { index, item, id, name, arguments: String::new() });
    }

    fn call_delta(&mut self, index: usize, fragment: &str, out: &mut Vec<u8>) {
        let Some(call) = self.calls.iter_mut().find(|call| call.index == index) else { return };
        call.arguments.push_str(fragment);
        let Item { index, id } = &call.item;
        let fields = json!({"item_id": id, "output_index": index, "delta": fragment});
        self.event("response.function_call_arguments.delta", fields, out);
    }

    fn call_end(&mut self, index: usize, is_complete: bool, out: &mut Vec<u8>) {
        let Some(at) = self.calls.iter().position(|call| call.index == index) else { return };
        let OpenCall { item: Item { index: place, id: item }, id, name, arguments, .. } =
            self.calls.remove(at);
        let call = Call { index, id: &id, name: &name, arguments: &arguments };
        if is_complete {
            let fields = json!({
                "item_id": item, "output_index": place, "name": name, "arguments": arguments,
            });
            self.event("response.function_call_arguments.done", fields, out);
        }
        let status = if is_complete { "completed" } else { "incomplete" };
        self.done(place, call_item(&item, status, &call), out);
    }
}

/// Return the fields of an event about the part of an item, which is the only one.
fn of_part(item: &Item, more: Value) -> Value {
    let Item { index, id } = item;
    let mut fields = json!({"item_id": id, "output_index": index, "content_index": 0});
    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
        fields.extend(more);
    }
    fields
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
            Part::Call(Call { index, id, name, arguments }) => {
                self.call_start(index, id, name, out);
                self.call_delta(index, arguments, out);
                self.call_end(index, true, out);
            }
            Part::CallStart { index, id, name } => self.call_start(index, id, name, out),
            Part::CallDelta { index, fragment } => self.call_delta(index, fragment, out),
            Part::CallEnd { index, is_complete } => self.call_end(index, is_complete, out),
            Part::Finish { reason, usage } => {
                self.close(final_status(reason), out);
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
        self.response.output.retain(|item| item["status"] != "in_progress");
        let mut response = self.response.document("failed");
        // The API has a closed set of codes.
        let code = if error.status == 429 { "rate_limit_exceeded" } else { "server_error" };
        response["error"] = json!({"code": code, "message": error.message, "type": error.code});
        self.event("response.failed", json!({"response": response}), out);
    }
}
