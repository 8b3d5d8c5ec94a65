//! Golden cases for messages.

use std::{fs, path::Path};

use serde_json::{Value, json};
use toolweave::message::{
    Content, Dangling, ErrorCode, FinishReason, Joiner, Message, MessageError, MessageKind,
    Problem, Role, ToolCallUpdate, Update, UsageUpdate,
    anthropic::{from_anthropic, to_anthropic},
    openai::{Options, from_openai, to_openai},
};

fn cases(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/message").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn messages(value: &Value) -> Vec<Message> {
    let messages = value.as_array().unwrap().iter().cloned();
    messages.map(|message| Message::from_json_value(message).unwrap()).collect()
}

fn check_error(name: &str, err: &MessageError, expected: &Value) {
    let says = expected["says"].as_str().unwrap();
    assert!(err.to_string().contains(says), "{name}: {err}");
    assert_eq!(err.place().path, expected["path"].as_str().unwrap(), "{name}: {err}");
    assert_eq!(json!(err.place().index), expected["index"], "{name}: {err}");
}

fn dangling(case: &Value) -> Dangling {
    case.get("dangling")
        .map_or(Dangling::Answer, |name| Dangling::from_wire(name.as_str().unwrap()).unwrap())
}

#[test]
fn names_are_the_same_in_rust_and_json() {
    let names = cases("names.json");
    let wire = |names: Vec<&str>| json!(names);
    assert_eq!(names["Role"], wire(Role::ALL.iter().map(|name| name.as_str()).collect()));
    assert_eq!(
        names["MessageKind"],
        wire(MessageKind::ALL.iter().map(|name| name.as_str()).collect())
    );
    assert_eq!(names["ErrorCode"], wire(ErrorCode::ALL.iter().map(|name| name.as_str()).collect()));
    assert_eq!(
        names["FinishReason"],
        wire(FinishReason::ALL.iter().map(|name| name.as_str()).collect())
    );
}

#[test]
fn wire_cases_hold() {
    for case in cases("wire.json").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let read = Message::from_json(&case["json"].to_string());
        if let Some(expected) = case.get("error") {
            check_error(name, &read.unwrap_err(), expected);
            continue;
        }
        let message = read.unwrap_or_else(|err| panic!("{name}: {err}"));
        let written = case.get("written").unwrap_or(&case["json"]);
        assert_eq!(&message.to_json_value(), written, "{name}");
        assert_eq!(Message::from_json(&message.to_json()).unwrap(), message, "{name}");
    }
}

fn update(value: &Value) -> Update {
    let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let whole = |kind: &str, field: &str| {
        let message = json!({"kind": kind, "role": "assistant", field: [value]});
        Message::from_json_value(message).unwrap().content
    };
    match kind.as_str() {
        "text" => Update::Text(text(value).unwrap()),
        "reasoning" => Update::Reasoning(text(value).unwrap()),
        "fragment" => Update::ToolCallUpdate(ToolCallUpdate {
            tool_call_id: text(&value["id"]),
            index: value["index"].as_u64().map(|index| usize::try_from(index).unwrap()),
            function_name: text(&value["name"]),
            function_args: text(&value["args"]),
        }),
        "call" => match whole("tools_call", "toolCalls") {
            Content::ToolCalls(mut calls) => Update::ToolCall(calls.remove(0)),
            other => panic!("{other:?}"),
        },
        "result" => match whole("tool_result", "toolResults") {
            Content::ToolResults(mut results) => Update::ToolResult(results.remove(0)),
            other => panic!("{other:?}"),
        },
        "usage" => Update::Usage(UsageUpdate {
            input_tokens: value[0].as_u64().unwrap(),
            output_tokens: value[1].as_u64().unwrap(),
            cached_input_tokens: value[2].as_u64().unwrap(),
            ..UsageUpdate::default()
        }),
        "finish" => Update::Finish(FinishReason::from_wire(value.as_str().unwrap()).unwrap()),
        other => panic!("no such update: {other}"),
    }
}

#[test]
fn joiner_cases_hold() {
    for case in cases("joiner.json").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let mut joiner = Joiner::new();
        for value in case["updates"].as_array().unwrap() {
            joiner.push(update(value));
        }
        let found = joiner.finish();
        let kinds: Vec<_> = found.problems.iter().map(Problem::kind).collect();
        let none = json!([]);
        assert_eq!(found.messages, messages(&case["messages"]), "{name}");
        assert_eq!(found.finish_reason.as_str(), case["finish"], "{name}");
        assert_eq!(&json!(found.missing), case.get("missing").unwrap_or(&none), "{name}");
        assert_eq!(&json!(kinds), case.get("problems").unwrap_or(&none), "{name}");
    }
}

#[test]
fn openai_cases_hold() {
    for case in cases("openai.json").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let options = Options { dangling: dangling(case), reasoning: case["reasoning"] == true };
        let direction = case["direction"].as_str().unwrap_or("both");
        if direction != "from" {
            match to_openai(&messages(&case["messages"]), options) {
                Ok(dicts) => assert_eq!(json!(dicts), case["dicts"], "{name}"),
                Err(err) => check_error(name, &err, &case["error"]),
            }
        }
        if direction != "to" {
            match from_openai(case["dicts"].as_array().unwrap().clone()) {
                Ok(read) => assert_eq!(read, messages(&case["messages"]), "{name}"),
                Err(err) => check_error(name, &err, &case["error"]),
            }
        }
    }
}

#[test]
fn anthropic_cases_hold() {
    for case in cases("anthropic.json").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let direction = case["direction"].as_str().unwrap_or("both");
        let system = case.get("system").cloned();
        if direction != "from" {
            match to_anthropic(&messages(&case["messages"]), dangling(case)) {
                Ok(request) => {
                    assert_eq!(json!(request.messages), case["dicts"], "{name}");
                    assert_eq!(request.system, system, "{name}");
                }
                Err(err) => check_error(name, &err, &case["error"]),
            }
        }
        if direction != "to" {
            match from_anthropic(case["dicts"].as_array().unwrap().clone(), system) {
                Ok(read) => assert_eq!(read, messages(&case["messages"]), "{name}"),
                Err(err) => check_error(name, &err, &case["error"]),
            }
        }
    }
}
