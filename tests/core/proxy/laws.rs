//! Laws of the APIs, for every request and every reply.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use toolweave::{
    message::FinishReason,
    parser::Dialect,
    proxy::{
        ApiError, Call, ChatRequest, Mode, Part, ReplyWriter,
        chat::{self, ChatBody, ReplyHead},
        messages, responses, upstream_body,
    },
};

/// Names of fields and values of all three APIs, in all places.
const WORDS: [&str; 44] = [
    "model",
    "messages",
    "input",
    "instructions",
    "system",
    "tools",
    "tool_choice",
    "type",
    "function",
    "name",
    "parameters",
    "input_schema",
    "properties",
    "required",
    "stream",
    "stream_options",
    "include_usage",
    "parallel_tool_calls",
    "response_format",
    "json_schema",
    "schema",
    "text",
    "format",
    "stop",
    "role",
    "content",
    "user",
    "assistant",
    "tool",
    "tool_calls",
    "tool_call_id",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "id",
    "call_id",
    "arguments",
    "{}",
    "function_call",
    "function_call_output",
    "output",
    "image",
    "source",
    "auto",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![9 => select(&WORDS[..]).prop_map(str::to_owned), 1 => "\\PC{0,4}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((word(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Replace some values of a valid request: those at the ends of paths of up to five steps.
fn changed(mut request: Value, changes: Vec<(Vec<prop::sample::Index>, Value)>) -> Value {
    for (steps, replacement) in changes {
        let mut at = &mut request;
        for step in steps {
            let count = match at {
                Value::Array(items) => items.len(),
                Value::Object(members) => members.len(),
                _ => 0,
            };
            if count == 0 {
                break;
            }
            let next = match at {
                Value::Array(items) => items.get_mut(step.index(count)),
                Value::Object(members) => members.values_mut().nth(step.index(count)),
                _ => None,
            };
            at = next.unwrap();
        }
        *at = replacement;
    }
    request
}

fn examples() -> Vec<Value> {
    ["chat", "messages", "responses"]
        .into_iter()
        .flat_map(|api| crate::golden::cases(&format!("proxy/{api}_requests.json")))
        .map(|case| case["request"].clone())
        .collect()
}

fn check(read: Result<ChatRequest, ApiError>) {
    match read {
        Ok(request) => {
            for dialect in ["natural", "hermes", "qwen3_coder"] {
                let dialect = Dialect::named(dialect).unwrap();
                for mode in [Mode::Natural, Mode::Recover] {
                    if let Ok(body) = upstream_body(&request, mode, dialect) {
                        let body: Map<String, Value> = serde_json::from_slice(&body).unwrap();
                        assert!(mode == Mode::Recover || !body.contains_key("tools"));
                    }
                }
            }
        }
        Err(error) => {
            assert_eq!(error.status, 400, "{error:?}");
            // Unless it is no object at all, the error names a field.
            let is_of_body = error.code.as_deref() == Some("invalid_json");
            assert!(is_of_body || error.param.is_some(), "{error:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_request_makes_a_reader_panic(
        request in prop_oneof![
            value(),
            (select(examples()), vec((vec(any::<prop::sample::Index>(), 1..6), value()), 0..4))
                .prop_map(|(request, changes)| changed(request, changes)),
        ],
    ) {
        let body = request.to_string();
        check(chat::read(body.clone().into()).map(|read| match read {
            ChatBody::Tools(request) | ChatBody::Plain { request, .. } => *request,
        }));
        check(messages::read(&body.clone().into()));
        check(responses::read(&body.into()));
    }

    #[test]
    fn a_stream_adds_up_to_the_document(parts in vec(part(), 0..12)) {
        let head = |id: &str| ReplyHead { id: id.into(), created: 7, model: "m".into() };
        let events = write(chat::StreamWriter::new(&head("c"), true), &parts);
        let document = write(chat::DocumentWriter::new(head("c")), &parts);
        let document: Value = serde_json::from_str(&document).unwrap();
        prop_assert_eq!(chat_message(&events), document["choices"][0]["message"].clone());

        let events = write(messages::StreamWriter::new("m".into(), "m".into()), &parts);
        let document = write(messages::DocumentWriter::new("m".into(), "m".into()), &parts);
        let document: Value = serde_json::from_str(&document).unwrap();
        prop_assert_eq!(blocks(&events), document["content"].clone());

        let events = write(responses::StreamWriter::new(head("resp_1")), &parts);
        let document = write(responses::DocumentWriter::new(head("resp_1")), &parts);
        let document: Value = serde_json::from_str(&document).unwrap();
        let events = data(&events);
        let last = events.last().unwrap();
        prop_assert_eq!(&last["response"], &document);
        for (number, event) in events.iter().enumerate() {
            prop_assert_eq!(&event["sequence_number"], &json!(number));
        }
        let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
        let items: Vec<_> = done.map(|event| event["item"].clone()).collect();
        prop_assert_eq!(json!(items), document["output"].clone());
        let text = |kind: &str| -> String {
            let deltas = events.iter().filter(|event| event["type"] == kind);
            deltas.map(|event| event["delta"].as_str().unwrap()).collect()
        };
        prop_assert_eq!(text("response.output_text.delta"), joined(&parts, "text"));
        prop_assert_eq!(text("response.reasoning_text.delta"), joined(&parts, "reasoning"));
    }
}

/// A part of a reply, as the kind and its text.
fn part() -> impl Strategy<Value = (&'static str, String)> {
    (select(vec!["text", "text", "reasoning", "call"]), "\\PC{1,6}")
}

fn joined(parts: &[(&str, String)], kind: &str) -> String {
    parts.iter().filter(|(each, _)| *each == kind).map(|(_, text)| text.as_str()).collect()
}

fn write(mut writer: impl ReplyWriter, parts: &[(&str, String)]) -> String {
    let mut out = Vec::new();
    let mut index = 0;
    for (kind, text) in parts {
        let (id, arguments) = (format!("call_{index}"), json!({"text": text}).to_string());
        let part = match *kind {
            "text" => Part::Text(text),
            "reasoning" => Part::Reasoning(text),
            _ => {
                index += 1;
                Part::Call(Call { index: index - 1, id: &id, name: "t", arguments: &arguments })
            }
        };
        writer.write(part, &mut out);
    }
    writer.write(Part::Finish { reason: FinishReason::Stop, usage: None }, &mut out);
    String::from_utf8(out).unwrap()
}

/// Return the data of the events of a stream.
pub(super) fn data(events: &str) -> Vec<Value> {
    let lines = events.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// Return the message that chunks add up to.
pub(super) fn chat_message(events: &str) -> Value {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for chunk in data(events) {
        let delta = &chunk["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let mut call = call.clone();
            assert_eq!(call.as_object_mut().unwrap().remove("index"), Some(json!(calls.len())));
            calls.push(call);
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if text.is_empty() && !calls.is_empty() {
        message["content"] = Value::Null;
    }
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

/// Return the content blocks that events add up to.
pub(super) fn blocks(events: &str) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    let mut open = false;
    for event in data(events) {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert!(!open && event["index"] == blocks.len());
                open = true;
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                assert!(open && event["index"] == blocks.len() - 1);
                let (block, delta) = (blocks.last_mut().unwrap(), &event["delta"]);
                match delta["type"].as_str().unwrap() {
                    "input_json_delta" => {
                        block["input"] =
                            serde_json::from_str(delta["partial_json"].as_str().unwrap()).unwrap();
                    }
                    kind => {
                        let name = kind.strip_suffix("_delta").unwrap();
                        let text = block[name].as_str().unwrap().to_owned();
                        block[name] = (text + delta[name].as_str().unwrap()).into();
                    }
                }
            }
            "content_block_stop" => {
                assert!(open && event["index"] == blocks.len() - 1);
                open = false;
            }
            _ => assert!(!open),
        }
    }
    blocks.into()
}
