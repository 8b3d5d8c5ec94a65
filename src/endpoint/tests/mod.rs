//! Decoding of bodies without a socket.

mod bodies;
mod calls;
mod documents;
mod laws;
mod queue;
mod secrets;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{BodyFormat, CallParsing, Event, EventSink, Failure, Limits, read};
use crate::{
    calls::{CallValidator, RepairMode, Tool},
    parser::{self, Parser},
};

const LIMITS: Limits = Limits { line: 1 << 20, body: 1 << 24 };

/// A sink that joins consecutive deltas of one kind.
#[derive(Default)]
struct JoinedReply(Vec<Event>);

impl EventSink for JoinedReply {
    fn put(&mut self, event: Event) {
        match (self.0.last_mut(), event) {
            (Some(Event::Text(text)), Event::Text(more))
            | (Some(Event::Reasoning(text)), Event::Reasoning(more)) => text.push_str(&more),
            (
                Some(Event::Delta { index, fragment }),
                Event::Delta { index: same, fragment: more },
            ) if *index == same => {
                fragment.push_str(&more);
            }
            (_, event) => self.0.push(event),
        }
    }

    async fn room(&mut self) {}
}

/// Return settings for parsing calls of `Add`.
fn parsing(inline: bool) -> CallParsing {
    let tools = vec![Tool { name: "Add".to_owned(), schema: None }];
    let options = parser::Options::default();
    CallParsing {
        validator: CallValidator::new(tools, RepairMode::Schema, options.limits).into(),
        parser: Parser::new(["Add"], options).unwrap(),
        inline,
        recovered: false,
        deltas: true,
    }
}

/// Decode a body in these pieces, with consecutive deltas joined.
fn joined(
    pieces: &[&[u8]],
    limits: Limits,
    parsing: Option<CallParsing>,
) -> (Vec<Event>, Result<(), Failure>) {
    let mut joined = JoinedReply::default();
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
    let done = read("m", BodyFormat::Events, pieces, limits, parsing, &mut joined);
    (joined.0, done)
}

fn written(event: &Event) -> Value {
    match event {
        Event::Text(text) => json!({"text": text}),
        Event::Reasoning(text) => json!({"reasoning": text}),
        Event::Fragment(update) => json!({"fragment": {
            "id": update.tool_call_id,
            "index": update.index,
            "name": update.function_name,
            "arguments": update.function_args,
        }}),
        Event::Usage(usage) => {
            json!({"usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens]})
        }
        Event::Finish { reason, .. } => json!({"finish": reason}),
        other => json!(format!("{other:?}")),
    }
}

/// Return the golden cases of `tests/cases/completions`, which the Python reader shares.
fn cases() -> Vec<(String, Vec<Value>, Vec<Value>)> {
    let mut cases = Vec::new();
    for name in ["calls", "finish", "text", "usage"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/completions");
        let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
        for case in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
            let list = |key: &str| case[key].as_array().unwrap().clone();
            cases.push((case["name"].to_string(), list("chunks"), list("updates")));
        }
    }
    cases
}

fn body(chunks: &[Value]) -> String {
    let events: Vec<_> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.concat()
}

#[test]
fn chunks_give_the_expected_updates() {
    let cases = cases();
    assert!(cases.len() > 60, "{}", cases.len());
    for (name, chunks, updates) in cases {
        let mut log: Vec<Event> = Vec::new();
        let body = Bytes::from(body(&chunks));
        let done = read("m", BodyFormat::Events, [body], LIMITS, None, &mut log);
        assert_eq!(done, Ok(()), "{name}");
        let events: Vec<_> = log.iter().map(written).collect();
        assert_eq!(events, updates, "{name}");
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn text_chunk(text: &str) -> Value {
    chunk(&json!({"content": text}), None)
}

fn text_of(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
