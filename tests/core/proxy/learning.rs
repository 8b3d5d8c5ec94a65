//! The mode and the dialect of each model, learned from its replies.

use serde_json::{Value, json};
use toolweave::{parser::Dialect, proxy::Mode};

use super::{CALL_TEXT, ask, completes, received, responds, start, streams};

const INVALID: &str = "<get_weather>{\"days\": 3}</get_weather>";

const HERMES: &str =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

fn rejects() -> super::Script {
    let error = json!({"error": {"message": "acme-1 does not support tools"}});
    responds("400 Bad Request", "content-type: application/json\r\n", &error.to_string())
}

#[test]
fn a_required_call_that_is_missing_changes_the_mode() {
    let (server, upstream) = start(vec![streams("No."), streams(CALL_TEXT)], |_| {});
    let answer = ask(&server, json!({"stream": true, "tool_choice": "required"}));
    assert_eq!(answer.header("x-toolweave-mode"), Some("recover"));
    assert_eq!(answer.reply().1.len(), 1);
    assert!(received(&upstream, 0).get("tools").is_some());
    assert!(received(&upstream, 1).get("tools").is_none(), "the second request is in text");
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(answer.header("x-toolweave-mode"), Some("natural"));
}

#[test]
fn calls_that_stay_invalid_change_the_mode() {
    let scripts = vec![streams(INVALID), streams(INVALID), streams(CALL_TEXT)];
    let (server, upstream) = start(scripts, |_| {});
    for (mode, calls) in [("recover", 0), ("natural", 1)] {
        let answer = ask(&server, json!({"stream": true}));
        assert_eq!(answer.header("x-toolweave-mode"), Some(mode));
        assert_eq!(answer.reply().1.len(), calls);
    }
    assert!(received(&upstream, 1).get("tools").is_some(), "it was told of its error first");
    assert_eq!(upstream.requests().len(), 3);
}

#[test]
fn a_call_keeps_the_mode() {
    let call = json!({
        "id": "n0", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
    });
    let native = completes(&json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    let scripts = vec![native, streams("No."), streams("No.")];
    let (server, upstream) = start(scripts, |_| {});
    ask(&server, json!({}));
    for _ in 0..2 {
        let answer = ask(&server, json!({"stream": true, "tool_choice": "required"}));
        assert_eq!(answer.header("x-toolweave-mode"), Some("recover"));
    }
    assert!((0..5).all(|number| received(&upstream, number).get("tools").is_some()));
}

#[test]
fn the_dialect_of_a_recovered_call_is_taught_once_tools_are_rejected() {
    let (server, upstream) = start(vec![streams(HERMES), rejects(), streams(HERMES)], |_| {});
    for mode in ["recover", "natural", "natural"] {
        let answer = ask(&server, json!({"stream": true}));
        assert_eq!(answer.header("x-toolweave-mode"), Some(mode));
        assert_eq!(answer.reply().1.len(), 1, "{}", answer.text());
    }
    let request = match toolweave::proxy::chat::read(upstream.requests()[0].body.clone().into()) {
        Ok(toolweave::proxy::chat::ChatBody::Tools(request)) => request,
        other => panic!("{other:?}"),
    };
    let body = |dialect: &str| -> Value {
        let dialect = Dialect::named(dialect).unwrap();
        let body = toolweave::proxy::upstream_body(&request, Mode::Natural, dialect).unwrap();
        serde_json::from_slice(&body).unwrap()
    };
    assert_ne!(body("hermes"), body("natural"));
    assert_eq!(received(&upstream, 2), body("hermes"));
}

#[test]
fn a_fixed_mode_stays() {
    let (server, upstream) = start(vec![rejects()], |settings| {
        settings.mode = Some(Mode::Recover);
    });
    for _ in 0..2 {
        assert_eq!(ask(&server, json!({"stream": true})).status, 400);
    }
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn a_conversation_with_calls_but_without_tools_is_in_the_mode_of_its_model() {
    let (server, upstream) = start(vec![rejects(), streams(CALL_TEXT), streams("Sun.")], |_| {});
    ask(&server, json!({"stream": true}));
    let call = json!({
        "id": "n0", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
    });
    let messages = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "n0", "content": "sun"},
    ]);
    let answer = ask(&server, json!({"stream": true, "tools": [], "messages": messages}));
    assert_eq!(answer.header("x-toolweave-mode"), Some("natural"));
    assert_eq!(received(&upstream, 2)["messages"][1].get("tool_calls"), None);
}

#[test]
fn tools_that_may_not_be_called_are_no_tools_in_text() {
    let scripts = vec![rejects(), streams(CALL_TEXT), streams("Sun.")];
    let (server, upstream) = start(scripts, |_| {});
    ask(&server, json!({"stream": true}));
    let format = json!({"type": "json_object"});
    let more = json!({"stream": true, "tool_choice": "none", "response_format": format});
    let answer = ask(&server, more);
    assert!(answer.text().contains("Sun."), "{}", answer.text());
    assert_eq!(answer.header("x-toolweave-mode"), Some("natural"));
    let sent = received(&upstream, 2);
    assert!(sent.get("tools").is_none() && sent.get("tool_choice").is_none());
    assert_eq!(sent["response_format"], format);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1);
}
