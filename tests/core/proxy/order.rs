//! The order of a reply's text and calls, and the ids of its calls.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use toolweave::proxy::Mode;

use super::{
    CHAT, MESSAGES, RESPONSES, Script,
    client::{self, Answer},
    completes, end, laws, natural, received, requests, start, streams_in_pieces,
};
use crate::endpoint::server::Connection;

/// A part of a reply: text, or a call with this text as its city.
#[derive(Clone, Debug, PartialEq)]
enum Segment {
    Text(String),
    Call(String),
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let segment = prop_oneof![
        "[a-z]{1,8}[.!]".prop_map(Segment::Text),
        "[A-Z][a-z]{1,8}".prop_map(Segment::Call),
    ];
    vec(segment, 1..8)
}

/// Return a reply as a model writes it in text.
fn written(segments: &[Segment]) -> String {
    let lines = segments.iter().map(|segment| match segment {
        Segment::Text(text) => text.clone(),
        Segment::Call(city) => format!("<get_weather>{}</get_weather>", json!({"city": city})),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Return the parts with texts that follow each other as one, without white space.
fn joined(segments: impl IntoIterator<Item = Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for segment in segments {
        match (segment, all.last_mut()) {
            (Segment::Text(text), Some(Segment::Text(before))) => before.push_str(text.trim()),
            (Segment::Text(text), _) if text.trim().is_empty() => {}
            (Segment::Text(text), _) => all.push(Segment::Text(text.split_whitespace().collect())),
            (call, _) => all.push(call),
        }
    }
    all
}

/// Return the items of an answer: its message, its content blocks or its output.
fn items(path: &str, stream: bool, answer: &Answer) -> Vec<Value> {
    let items = match (path, stream) {
        (CHAT, true) => json!([laws::chat_message(&answer.text())]),
        (CHAT, false) => json!([answer.json()["choices"][0]["message"]]),
        (MESSAGES, true) => laws::blocks(&answer.text()),
        (MESSAGES, false) => answer.json()["content"].take(),
        (_, true) => laws::data(&answer.text()).pop().unwrap()["response"]["output"].take(),
        _ => answer.json()["output"].take(),
    };
    items.as_array().expect("the answer should have items").clone()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Return an argument of a call whose arguments are a string.
fn city(arguments: &Value) -> String {
    string(&serde_json::from_str::<Value>(&string(arguments)).unwrap()["city"])
}

/// Return the parts of an item.
fn parts(item: &Value) -> Vec<Segment> {
    let text = |value: &Value| Segment::Text(value.as_str().unwrap_or_default().to_owned());
    match item["type"].as_str() {
        Some("text") => vec![text(&item["text"])],
        Some("tool_use") => vec![Segment::Call(string(&item["input"]["city"]))],
        Some("message") => vec![text(&item["content"][0]["text"])],
        Some("function_call") => vec![Segment::Call(city(&item["arguments"]))],
        _ => {
            let calls = item["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(|call| Segment::Call(city(&call["function"]["arguments"])));
            std::iter::once(text(&item["content"])).chain(calls).collect()
        }
    }
}

/// Return the ids of the calls in an item.
fn ids(item: &Value) -> Vec<String> {
    match item["type"].as_str() {
        Some("tool_use") => vec![string(&item["id"])],
        Some("function_call") => vec![string(&item["call_id"])],
        Some(_) => vec![],
        None => {
            let calls = item["tool_calls"].as_array().into_iter().flatten();
            calls.map(|call| string(&call["id"])).collect()
        }
    }
}

/// Return all ids of calls in the events of a stream, once each.
fn ids_in_events(answer: &Answer) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut open: Vec<Value> = laws::data(&answer.text());
    while let Some(value) = open.pop() {
        if value["type"] == "tool_use" {
            ids.insert(string(&value["id"]));
        }
        ids.extend(value["call_id"].as_str().map(str::to_owned));
        for call in value["tool_calls"].as_array().into_iter().flatten() {
            ids.insert(string(&call["id"]));
        }
        match value {
            Value::Array(values) => open.extend(values),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    ids
}

/// Return a conversation with calls of these ids, all of them answered, in the form of an API.
fn history(path: &str, ids: &[&str]) -> Value {
    let question = json!({"role": "user", "content": "Weather in Oslo?"});
    let all = |each: &dyn Fn(&str) -> Value| ids.iter().map(|id| each(id)).collect::<Vec<_>>();
    let arguments = "{\"city\":\"Oslo\"}";
    if ids.is_empty() {
        return json!([question]);
    }
    match path {
        CHAT => {
            let calls = all(&|id| {
                let function = json!({"name": "get_weather", "arguments": arguments});
                json!({"id": id, "type": "function", "function": function})
            });
            let results = all(&|id| json!({"role": "tool", "tool_call_id": id, "content": "sun"}));
            let reply = json!({"role": "assistant", "content": null, "tool_calls": calls});
            [vec![question, reply], results].concat().into()
        }
        MESSAGES => {
            let calls = all(&|id| {
                json!({
                    "type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Oslo"},
                })
            });
            let results =
                all(&|id| json!({"type": "tool_result", "tool_use_id": id, "content": "sun"}));
            json!([
                question,
                {"role": "assistant", "content": calls},
                {"role": "user", "content": results},
            ])
        }
        _ => {
            let calls = all(&|id| {
                json!({
                    "type": "function_call", "call_id": id, "name": "get_weather",
                    "arguments": arguments,
                })
            });
            let results =
                all(&|id| json!({"type": "function_call_output", "call_id": id, "output": "sun"}));
            [vec![question], calls, results].concat().into()
        }
    }
}

/// Return a script that replies with native calls of these ids, each of another city.
fn calls_natively(ids: &[&'static str], stream: bool) -> Script {
    let calls = ids.iter().enumerate().map(|(index, id)| {
        let arguments = json!({"city": format!("City{index}")}).to_string();
        json!({
            "index": index, "id": id, "type": "function",
            "function": {"name": "get_weather", "arguments": arguments},
        })
    });
    let calls: Vec<Value> = calls.collect();
    if !stream {
        return completes(&json!({"role": "assistant", "content": null, "tool_calls": calls}));
    }
    let chunks = calls.into_iter().map(|call| {
        let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
        format!("data: {chunk}\n\n")
    });
    let chunks: Vec<String> = chunks.chain([end("tool_calls")]).collect();
    Box::new(move |connection: &mut Connection| {
        connection.stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
        connection.end();
    })
}

#[test]
fn results_follow_their_calls_where_text_is_between() {
    let [_, (_, mut body), _] = requests(false);
    body["input"] = json!([
        {"role": "user", "content": "Weather in Oslo?"},
        {"type": "function_call", "call_id": "c", "name": "get_weather",
         "arguments": "{\"city\":\"Oslo\"}"},
        {"role": "assistant", "content": "One moment."},
        {"type": "function_call_output", "call_id": "c", "output": "sun"},
    ]);
    for (mode, expected) in [
        (Mode::Recover, &["user", "assistant", "tool"][..]),
        (Mode::Natural, &["system", "user", "assistant", "user"]),
    ] {
        let script = completes(&json!({"role": "assistant", "content": "Sunny."}));
        let (server, upstream) = start(vec![script], |settings| settings.mode = Some(mode));
        let answer = client::post(server.address(), RESPONSES, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let sent = received(&upstream, 0);
        let messages = sent["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, expected, "{mode:?}");
        assert!(sent.to_string().contains("One moment."), "{sent}");
    }
}

proptest! {
    #![proptest_config(crate::effort::cases(32))]

    /// In chat completions, the text comes before the calls: they have no place for another order.
    #[test]
    fn text_and_calls_come_in_the_order_in_which_they_were_written(
        segments in segments(),
        size in 1..40_usize,
    ) {
        let expected = joined(segments.iter().cloned());
        let (calls, texts) = segments.iter().cloned()
            .partition::<Vec<_>, _>(|segment| matches!(segment, Segment::Call(_)));
        let apart = joined(texts.into_iter().chain(calls));
        let reply = written(&segments);
        for stream in [true, false] {
            for (path, body) in requests(stream) {
                let (server, _upstream) = start(vec![streams_in_pieces(&reply, size)], natural);
                let answer = client::post(server.address(), path, &body.to_string());
                let found = joined(items(path, stream, &answer).iter().flat_map(parts));
                prop_assert_eq!(&found, if path == CHAT { &apart } else { &expected }, "{}", path);
            }
        }
    }

    #[test]
    fn an_id_is_the_upstreams_unless_the_conversation_has_it(
        taken in prop::sample::subsequence(vec!["call_0", "call_1", "call_2"], 0..3),
        given in vec(select(vec!["call_0", "call_1", "call_2", ""]), 1..4),
    ) {
        for stream in [true, false] {
            for (path, mut body) in requests(stream) {
                let field = if body["input"].is_null() { "messages" } else { "input" };
                body[field] = history(path, &taken);
                let (server, _upstream) = start(vec![calls_natively(&given, stream)], |_| {});
                let answer = client::post(server.address(), path, &body.to_string());
                let found: Vec<_> = items(path, stream, &answer).iter().flat_map(ids).collect();
                prop_assert_eq!(found.len(), given.len(), "{}: {}", path, answer.text());
                let mut known: BTreeSet<String> = taken.iter().map(|id| (*id).to_owned()).collect();
                for (id, given) in found.iter().zip(&given) {
                    let is_free = !given.is_empty() && !known.contains(*given);
                    prop_assert!(!is_free || id == given, "{}: {} for {}", path, id, given);
                    prop_assert!(!id.is_empty() && known.insert(id.clone()), "{}: {}", path, id);
                }
                if stream {
                    // No event has another id than the call in the end.
                    prop_assert_eq!(ids_in_events(&answer), found.into_iter().collect(), "{}", path);
                }
            }
        }
    }
}
