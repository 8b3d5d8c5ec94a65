//! Tools whose own names calls in text cannot have.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use toolweave::proxy::{
    ChatRequest, Mode,
    chat::{self, ChatBody},
    messages, responses,
};

use super::{CHAT, client::post, completes, received, request, responds, start, streams_in_pieces};

/// An API, by the path of its requests.
const PATHS: [&str; 3] = [CHAT, "/v1/messages", "/v1/responses"];

/// Names that need an alias, and names that look like aliases.
const NAMES: [&str; 12] = [
    "tool_call",
    "tool_call_",
    "tool_call_2",
    "Tool_Call",
    "tool_response",
    "think",
    "think_",
    "tool_calls",
    "function_calls",
    "a b",
    "a<b",
    "a_b",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(&NAMES[..]).prop_map(str::to_owned),
        2 => "\\PC{1,12}",
        1 => "[<>_ /\"'&=\\\\\n]{1,4}",
        1 => (200_usize..600).prop_map(|length| "long".repeat(length / 4)),
    ]
}

/// Return a request with these tools, each of which has been called, whose reply must call `chosen`.
fn with_tools(path: &str, names: &[String], chosen: &str, stream: bool) -> Value {
    let calls = || names.iter().enumerate();
    let mut request = json!({"model": "acme-1", "stream": stream});
    match path {
        CHAT => {
            let function = |name: &String| json!({"type": "function", "function": {"name": name}});
            request["tools"] = names.iter().map(function).collect();
            request["tool_choice"] = json!({"type": "function", "function": {"name": chosen}});
            let called: Value = calls()
                .map(|(number, name)| {
                    let function = json!({"name": name, "arguments": "{}"});
                    json!({"id": number.to_string(), "type": "function", "function": function})
                })
                .collect();
            let mut messages = vec![json!({"role": "user", "content": "Go on."})];
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": called}));
            messages.extend(calls().map(|(number, name)| {
                let id = number.to_string();
                json!({"role": "tool", "tool_call_id": id, "name": name, "content": "done"})
            }));
            request["messages"] = messages.into();
        }
        "/v1/messages" => {
            let schema = json!({"type": "object"});
            let tool = |name: &String| json!({"name": name, "input_schema": schema});
            request["tools"] = names.iter().map(tool).collect();
            request["tool_choice"] = json!({"type": "tool", "name": chosen});
            request["max_tokens"] = 100.into();
            let called = calls().map(|(number, name)| {
                json!({"type": "tool_use", "id": number.to_string(), "name": name, "input": {}})
            });
            let results = calls().map(|(number, _)| {
                let id = number.to_string();
                json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
            });
            request["messages"] = json!([
                {"role": "user", "content": "Go on."},
                {"role": "assistant", "content": called.collect::<Value>()},
                {"role": "user", "content": results.collect::<Value>()},
            ]);
        }
        _ => {
            let tool = |name: &String| json!({"type": "function", "name": name});
            request["tools"] = names.iter().map(tool).collect();
            request["tool_choice"] = json!({"type": "function", "name": chosen});
            let mut input = vec![json!({"role": "user", "content": "Go on."})];
            for (number, name) in calls() {
                let id = number.to_string();
                input.push(
                    json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}),
                );
                input.push(json!({"type": "function_call_output", "call_id": id, "output": "ok"}));
            }
            request["input"] = input.into();
        }
    }
    request
}

fn read(path: &str, body: &Value) -> ChatRequest {
    let body = body.to_string().into();
    match path {
        CHAT => match chat::read(body).unwrap() {
            ChatBody::Tools(request) => *request,
            ChatBody::Plain { .. } => panic!("the request should have tools"),
        },
        "/v1/messages" => messages::read(&body).unwrap(),
        _ => responses::read(&body).unwrap(),
    }
}

/// Add all values of the fields `name`.
fn add_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_names(item, names)),
        Value::Object(members) => {
            names.extend(members.get("name").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| add_names(value, names));
        }
        _ => {}
    }
}

/// Return the names of tools in a response: a document, or a stream.
fn names_in(answer: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let values = events.filter(|data| *data != "[DONE]").chain([answer]);
    for value in values.filter_map(|text| serde_json::from_str(text).ok()) {
        add_names(&value, &mut names);
    }
    names
}

proptest! {
    #![proptest_config(crate::effort::cases(96))]

    #[test]
    fn clients_read_their_own_names(
        names in vec(name(), 1..6),
        chosen in any::<prop::sample::Index>(),
        path in select(&PATHS[..]),
        stream in any::<bool>(),
        mode in select(vec![Mode::Natural, Mode::Recover]),
        in_text in any::<bool>(),
    ) {
        let mut seen = BTreeSet::new();
        let names: Vec<String> =
            names.into_iter().filter(|name| seen.insert(name.clone())).collect();
        let own = chosen.get(&names);
        let body = with_tools(path, &names, own, stream);
        let request = read(path, &body);
        let [contract] = request.contracts.as_slice() else { panic!("one tool is chosen") };
        prop_assert_eq!(request.aliases.own(&contract.name), own);

        let in_text = in_text || mode == Mode::Natural;
        let message = if in_text {
            let call = format!("<tool_call name=\"{}\">{{}}</tool_call>", contract.name);
            json!({"role": "assistant", "content": call})
        } else {
            let function = json!({"name": contract.name, "arguments": "{}"});
            let call = json!({"index": 0, "id": "c", "type": "function", "function": function});
            json!({"role": "assistant", "content": null, "tool_calls": [call]})
        };
        let script = match (stream, message["content"].as_str()) {
            (false, _) => completes(&message),
            (true, Some(call)) => streams_in_pieces(call, 3),
            (true, None) => {
                let chunk = json!({"choices": [{"index": 0, "delta": message}]});
                let events = format!("data: {chunk}\n\n{}", super::end("tool_calls"));
                responds("200 OK", "content-type: text/event-stream\r\n", &events)
            }
        };
        let (server, upstream) = start(vec![script], |settings| settings.mode = Some(mode));
        let answer = post(server.address(), path, &body.to_string());
        prop_assert_eq!(answer.status, 200, "{}", answer.text());
        prop_assert_eq!(names_in(&answer.text()), BTreeSet::from([own.clone()]));

        let sent = received(&upstream, 0);
        if mode == Mode::Recover {
            let mut of_upstream = BTreeSet::new();
            add_names(&sent, &mut of_upstream);
            let restored: BTreeSet<String> =
                of_upstream.iter().map(|name| request.aliases.own(name).to_owned()).collect();
            prop_assert_eq!(of_upstream.len(), names.len());
            prop_assert_eq!(restored, names.into_iter().collect());
        } else {
            let prompt = sent["messages"][0]["content"].as_str().unwrap();
            prop_assert!(prompt.contains(&contract.name), "{prompt}");
        }
    }
}

#[test]
fn the_arguments_of_a_call_by_an_alias_are_streamed() {
    let reply = "<tool_call name=\"tool_call_\">{\"city\": \"Oslo\"}</tool_call>";
    let (server, _upstream) = start(vec![streams_in_pieces(reply, 3)], |settings| {
        settings.mode = Some(Mode::Natural);
        settings.stream_arguments = true;
    });
    let mut body = request(json!({"stream": true}));
    body["tools"][0]["function"]["name"] = "tool_call".into();
    let answer = post(server.address(), CHAT, &body.to_string());
    assert_eq!(names_in(&answer.text()), BTreeSet::from(["tool_call".to_owned()]));
}

#[test]
fn a_remark_has_the_own_name() {
    let reply = "<tool_call name=\"tool_call_\">{\"days\": 1}</tool_call>";
    let (server, _upstream) = start(vec![streams_in_pieces(reply, 3)], |settings| {
        settings.mode = Some(Mode::Natural);
        settings.retries = 0;
    });
    let mut body = request(json!({"stream": true}));
    body["tools"][0]["function"]["name"] = "tool_call".into();
    let answer = post(server.address(), CHAT, &body.to_string());
    let chunks = answer.chunks();
    let notice = &chunks.last().unwrap()["toolweave"]["notices"][0];
    assert_eq!(notice["type"], "invalid_tool_call", "{chunks:#?}");
    assert_eq!(notice["name"], "tool_call");
}

#[test]
fn a_request_whose_choice_is_no_call_is_passed_on_unchanged() {
    let body = request(json!({"tool_choice": "none"})).to_string();
    let body = body.replace("\"get_weather\"", "\"tool_call\"");
    let message = json!({"role": "assistant", "content": "Hello."});
    let (server, upstream) = start(vec![completes(&message)], |_| {});
    assert_eq!(post(server.address(), CHAT, &body).status, 200);
    assert_eq!(upstream.requests()[0].body, body);
}
