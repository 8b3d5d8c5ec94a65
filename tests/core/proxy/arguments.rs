//! Arguments that are streamed as they are written.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::proxy::{Server, Settings};

use super::{
    CALL_TEXT, CHAT, Script, client::Answer, natural, post, request, start, streams,
    streams_in_pieces,
};
use crate::endpoint::server::Connection;

fn streaming(settings: &mut Settings) {
    natural(settings);
    settings.stream_arguments = true;
}

fn streaming_native(settings: &mut Settings) {
    settings.stream_arguments = true;
}

/// Return a script that streams a native call, with its arguments in pieces, and then text.
fn calls(arguments: &str, size: usize, then: &str) -> Script {
    let delta =
        |delta: Value| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}));
    let function = json!({"name": "get_weather", "arguments": ""});
    let first = json!({"index": 0, "id": "n0", "type": "function", "function": function});
    let mut pieces = vec![delta(json!({"tool_calls": [first]}))];
    let chars: Vec<char> = arguments.chars().collect();
    for piece in chars.chunks(size) {
        let function = json!({"arguments": piece.iter().collect::<String>()});
        pieces.push(delta(json!({"tool_calls": [{"index": 0, "function": function}]})));
    }
    if !then.is_empty() {
        pieces.push(delta(json!({"content": then})));
    }
    Box::new(move |connection: &mut Connection| {
        connection.stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        connection.piece(&super::end("stop"));
        connection.end();
    })
}

fn ask(server: &Server, more: Value) -> Answer {
    let mut more = more;
    more["stream"] = true.into();
    post(server.address(), CHAT, &request(more).to_string())
}

/// Return the calls of a stream of chat completions: name, pieces of the arguments.
fn pieces(answer: &Answer) -> Vec<(String, Vec<String>)> {
    let mut calls: Vec<(String, Vec<String>)> = Vec::new();
    for chunk in answer.chunks() {
        for call in chunk["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            let text = |name: &str| call["function"][name].as_str().map(str::to_owned);
            if call.get("id").is_some() {
                assert_eq!(index, calls.len());
                calls.push((text("name").unwrap(), Vec::new()));
            }
            calls[index].1.extend(text("arguments").filter(|text| !text.is_empty()));
        }
    }
    calls
}

fn notices(answer: &Answer) -> Value {
    let chunks = answer.chunks();
    let last = chunks.iter().rfind(|chunk| chunk["choices"][0]["finish_reason"].is_string());
    last.unwrap()["toolweave"]["notices"].clone()
}

fn finish(answer: &Answer) -> String {
    let chunks = answer.chunks();
    let mut reasons = chunks.iter().filter_map(|each| each["choices"][0]["finish_reason"].as_str());
    reasons.next().unwrap().to_owned()
}

/// Return the arguments of the only call of a reply in each of the other APIs.
fn in_other_apis(server: &Server) -> [String; 2] {
    let tool = request(json!({}))["tools"][0]["function"].clone();
    let mut body = json!({"model": "m", "max_tokens": 9, "stream": true});
    let message = json!([{"role": "user", "content": "Weather?"}]);
    let mut definition = tool.clone();
    definition["input_schema"] = definition.as_object_mut().unwrap().remove("parameters").unwrap();
    body["messages"] = message.clone();
    body["tools"] = json!([definition]);
    let messages = post(server.address(), "/v1/messages", &body.to_string());
    let mut definition = tool;
    definition["type"] = "function".into();
    let body = json!({"model": "m", "stream": true, "input": message, "tools": [definition]});
    let responses = post(server.address(), "/v1/responses", &body.to_string());
    [(messages, "input_json_delta"), (responses, "response.function_call_arguments.delta")].map(
        |(answer, kind)| {
            let text = answer.text();
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            let data = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
            data.filter_map(|event| match &event["delta"] {
                Value::Object(delta) if delta.get("type") == Some(&kind.into()) => {
                    Some(delta["partial_json"].as_str().unwrap().to_owned())
                }
                Value::String(delta) if event["type"] == kind => Some(delta.clone()),
                _ => None,
            })
            .collect()
        },
    )
}

proptest! {
    #![proptest_config(crate::effort::cases(48))]

    #[test]
    fn the_deltas_are_the_arguments_as_they_were_written(
        city in "[\\PC\n\t<>\\\\\"]{0,12}",
        space in "[ \n\t]{0,3}",
        size in 1_usize..9,
    ) {
        let written = format!("{{{space}\"city\":{space}{}}}", json!(city));
        let text = format!("<get_weather>{written}</get_weather>");
        let in_text = start(vec![streams_in_pieces(&text, size)], streaming);
        let native = start(vec![calls(&written, size, "")], streaming_native);
        for (server, _upstream) in [in_text, native] {
            let answer = ask(&server, json!({}));
            let found = pieces(&answer);
            prop_assert_eq!(found.len(), 1, "{}", answer.text());
            prop_assert_eq!(&found[0].0, "get_weather");
            prop_assert_eq!(found[0].1.concat(), written.clone());
            prop_assert_eq!(finish(&answer), "tool_calls");
            prop_assert_eq!(in_other_apis(&server), [written.clone(), written.clone()]);
        }
    }
}

#[test]
fn arguments_come_in_pieces_only_if_that_is_asked_for() {
    let long = format!("<get_weather>{{\"city\": \"{}\"}}</get_weather>", "Oslo ".repeat(20));
    for (is_on, change) in [(true, streaming as fn(&mut Settings)), (false, natural)] {
        let (server, _upstream) = start(vec![streams(&long)], change);
        let found = pieces(&ask(&server, json!({})));
        assert_eq!(found[0].1.len() > 10, is_on, "{found:?}");
        let document = post(server.address(), CHAT, &request(json!({})).to_string()).json();
        let call = &document["choices"][0]["message"]["tool_calls"][0]["function"];
        assert!(call["arguments"].as_str().unwrap().starts_with("{\"city\":\"Oslo"), "{call}");
    }
}

#[test]
fn arguments_that_do_not_begin_as_json_come_whole_and_repaired() {
    let python = "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n\
                  </function>\n</tool_call>";
    for reply in ["<get_weather>{city: 'Oslo'}</get_weather>", python] {
        let (server, _upstream) = start(vec![streams(reply)], streaming);
        let answer = ask(&server, json!({"model": "qwen3-coder"}));
        let whole = vec!["{\"city\":\"Oslo\"}".to_owned()];
        assert_eq!(pieces(&answer), [("get_weather".to_owned(), whole)], "{}", answer.text());
    }
}

#[test]
fn an_invalid_call_that_was_streamed_has_a_notice() {
    let invalid = "{\"days\": \"many\"}";
    let text = format!("<get_weather>{invalid}</get_weather>");
    let (server, upstream) = start(vec![streams(&text)], streaming);
    let answer = ask(&server, json!({}));
    assert_eq!(pieces(&answer)[0].1.concat(), invalid);
    assert_eq!(notices(&answer)[0]["kind"], "schema_violation");
    assert_eq!(answer.reply_text(), "");
    assert_eq!(upstream.requests().len(), 1, "what was sent cannot be corrected");
}

#[test]
fn a_repair_that_came_too_late_has_a_notice() {
    let written = "{\"city\": \"Oslo\", \"days\": \"3\",}";
    let (server, _upstream) =
        start(vec![streams(&format!("<get_weather>{written}</get_weather>"))], streaming);
    let answer = ask(&server, json!({}));
    assert_eq!(pieces(&answer)[0].1.concat(), written);
    let notice = notices(&answer)[0].clone();
    assert_eq!(notice["type"], "unrepaired_tool_call");
    assert_eq!(notice["arguments"], json!({"city": "Oslo", "days": 3}));
    assert!(answer.text().contains(&format!("\"id\":{}", notice["id"])));
}

#[test]
fn a_reply_that_ends_within_a_call_is_cut_off() {
    let cut = |connection: &mut Connection| {
        connection.stream(&[&super::text("<get_weather>{\"city\": \"Os")]);
        connection.piece(&super::end("length"));
        connection.end();
    };
    let (server, _upstream) = start(vec![Box::new(cut)], streaming);
    let answer = ask(&server, json!({}));
    assert_eq!(pieces(&answer)[0].1.concat(), "{\"city\": \"Os");
    assert_eq!(finish(&answer), "length");
    assert_eq!(notices(&answer)[0]["kind"], "unclosed");
}

#[test]
fn a_call_that_is_streamed_and_in_the_text_is_one() {
    let (server, _upstream) =
        start(vec![calls("{\"city\":\"Oslo\"}", 3, CALL_TEXT)], streaming_native);
    let answer = ask(&server, json!({}));
    assert_eq!(pieces(&answer).len(), 1, "{}", answer.text());
    let other = CALL_TEXT.replace("Oslo", "Bergen");
    let (server, _upstream) =
        start(vec![calls("{\"city\":\"Oslo\"}", 3, &other)], streaming_native);
    assert_eq!(pieces(&ask(&server, json!({}))).len(), 2);
}

#[test]
fn only_one_call_is_streamed_if_there_may_be_one() {
    let (server, _upstream) = start(vec![streams(&format!("{CALL_TEXT}\n{CALL_TEXT}"))], streaming);
    let answer = ask(&server, json!({"parallel_tool_calls": false}));
    assert_eq!(pieces(&answer).len(), 1);
    assert_eq!(notices(&answer)[0]["type"], "omitted_tool_call");
}
