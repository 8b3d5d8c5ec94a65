//! A reply as the upstream sent it, put together from its events.

use std::{collections::BTreeMap, time::Instant};

use serde_json::{Map, Value, json};

use crate::{
    endpoint::Event,
    message::{NATIVE, UsageUpdate},
    parser::{CallId, Discard},
};

/// A reply as the upstream sent it: its text with all markup, and its native calls.
#[derive(Debug)]
pub(super) struct RawReply {
    begun: Instant,
    text: String,
    calls: Vec<Value>,
    /// The ids of calls that have begun, by index.
    ids: BTreeMap<usize, String>,
    /// True inside a reasoning tag; other reasoning is not part of the text.
    in_reasoning: bool,
    finish: Option<String>,
    usage: Option<UsageUpdate>,
}

impl RawReply {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            text: String::new(),
            calls: Vec::new(),
            ids: BTreeMap::new(),
            in_reasoning: false,
            finish: None,
            usage: None,
        }
    }

    /// Add an event. Each byte of the text is in exactly one.
    pub(super) fn add(&mut self, event: &Event) {
        match event {
            Event::Text(text) => self.text.push_str(text),
            Event::Reasoning(text) if self.in_reasoning => self.text.push_str(text),
            Event::Start { index, id: Some(CallId::Provided(id)), .. } => {
                self.ids.insert(*index, id.clone());
            }
            Event::End { index, name, raw, dialect, .. } if *dialect == NATIVE => {
                let id = self.ids.remove(index);
                self.calls.push(json!({"id": id, "name": name, "arguments": raw}));
            }
            Event::End { raw, .. } | Event::Fabricated { raw, .. } => self.text.push_str(raw),
            Event::Discarded { raw, reason } => {
                if *reason == Discard::ReasoningTag {
                    self.in_reasoning = !raw.starts_with("</");
                }
                if *reason != Discard::LateFragment {
                    self.text.push_str(raw);
                }
            }
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish { reason, unknown } => {
                let reason = unknown.clone().unwrap_or_else(|| reason.as_str().to_owned());
                self.finish = Some(reason);
            }
            _ => {}
        }
    }

    /// Return the reply as a line of a file of replies, without what is known of its request.
    pub(super) fn fields(self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        add("prompt_tokens", self.usage.map(|usage| usage.input_tokens).into());
        add("completion_tokens", self.usage.map(|usage| usage.output_tokens).into());
        add("seconds", self.begun.elapsed().as_secs_f64().into());
        add("finish", self.finish.into());
        add("text", self.text.into());
        add("native_calls", self.calls.into());
        fields
    }
}
