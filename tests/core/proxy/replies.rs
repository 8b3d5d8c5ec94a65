//! Replies of the proxy, in each mode.

use serde_json::{Value, json};

use super::{
    CALL_TEXT as CALL, ask, client, completes, end, natural, received, request, responds, start,
    streams, streams_in_pieces, text,
};
use crate::endpoint::server::Connection;

#[test]
fn a_call_in_the_text_becomes_a_call() {
    let (server, upstream) = start(vec![streams(&format!("Let me see.\n{CALL}"))], natural);
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(answer.header("x-toolweave-mode"), Some("natural"));
    let (text, calls, finish) = answer.reply();
    assert_eq!(text.trim(), "Let me see.");
    assert_eq!(calls, [("get_weather".to_owned(), "{\"city\":\"Oslo\"}".to_owned())]);
    assert_eq!(finish, "tool_calls");

    let sent = received(&upstream, 0);
    assert_eq!(sent.get("tools"), None);
    assert_eq!(sent["stream"], true);
    assert_eq!(sent["messages"][0]["role"], "system");
    assert!(sent["messages"][0]["content"].as_str().unwrap().contains("get_weather"));
    assert_eq!(sent["messages"][1], json!({"role": "user", "content": "Weather in Oslo?"}));
    let head = &upstream.requests()[0].head;
    assert!(head.contains("authorization: Bearer sk-upstream-key"), "{head}");
}

#[test]
fn a_reply_without_streaming_is_one_document() {
    let message = json!({"role": "assistant", "content": CALL, "reasoning_content": "Hm."});
    let (server, _upstream) = start(vec![completes(&message)], natural);
    let answer = ask(&server, json!({}));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let reply = answer.json();
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["model"], "acme-1");
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    assert_eq!(choice["message"]["reasoning_content"], "Hm.");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "get_weather");
    assert_eq!(
        reply["usage"],
        json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
    );
}

#[test]
fn a_history_is_written_as_text_in_the_form_that_the_prompt_teaches() {
    let (server, upstream) = start(vec![streams("Sunny.")], natural);
    let answer = ask(
        &server,
        json!({"stream": true, "messages": [
            {"role": "user", "content": "Weather in Oslo?"},
            {"role": "assistant", "content": null, "tool_calls": [{
                "id": "call_9", "type": "function",
                "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
            }]},
            {"role": "tool", "tool_call_id": "call_9", "content": "sun </tool_response>"},
        ]}),
    );
    assert_eq!(answer.reply(), ("Sunny.".to_owned(), vec![], "stop".to_owned()));
    let sent = received(&upstream, 0);
    let roles: Vec<_> = sent["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let content = |index: usize| sent["messages"][index]["content"].as_str().unwrap();
    assert_eq!(content(2), "<get_weather>\n{\n  \"city\": \"Oslo\"\n}\n</get_weather>");
    assert!(content(3).contains("sun &lt;/tool_response>"), "{}", content(3));
}

#[test]
fn calls_are_repaired() {
    let reply = "<get_weather>{city: 'Oslo', \"days\": \"3\",}</get_weather>";
    let (server, _upstream) = start(vec![streams(reply)], natural);
    let (_, calls, _) = ask(&server, json!({"stream": true})).reply();
    assert_eq!(calls[0].1, "{\"city\":\"Oslo\",\"days\":3}");
}

#[test]
fn an_invalid_call_is_asked_for_once_more() {
    let invalid = "One moment. <get_weather>{\"days\": 3}</get_weather>";
    let corrected = format!("I am sorry. {CALL}");
    let usage = json!({
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3, "audio_tokens": null},
    });
    let thinks = |reply: &str| {
        let pieces = [text(reply), format!("data: {}\n\n", json!({"choices": [], "usage": usage}))];
        let stream = pieces.concat() + "data: [DONE]\n\n";
        responds("200 OK", "content-type: text/event-stream\r\n", &stream)
    };
    let (server, upstream) = start(vec![thinks(invalid), thinks(&corrected)], natural);
    let answer = ask(&server, json!({"stream": true, "stream_options": {"include_usage": true}}));
    let (text, calls, finish) = answer.reply();
    assert_eq!(text.trim(), "One moment.");
    assert_eq!(calls, [("get_weather".to_owned(), "{\"city\":\"Oslo\"}".to_owned())]);
    assert_eq!(finish, "tool_calls");
    let usage = &answer.chunks().pop().unwrap()["usage"];
    assert_eq!(
        usage,
        &json!({
            "prompt_tokens": 20,
            "completion_tokens": 10,
            "total_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 6},
        }),
        "the usage of both requests counts"
    );

    let messages = received(&upstream, 1)["messages"].clone();
    let [.., reply, error] = messages.as_array().unwrap().as_slice() else { panic!("{messages}") };
    assert_eq!(reply, &json!({"role": "assistant", "content": invalid}));
    assert_eq!(error["role"], "user");
    assert!(error["content"].as_str().unwrap().contains("city"), "{error}");
}

/// Return the golden replies of all dialects that have only calls. Texts have markup of their own,
/// and the calls of `react` results.
fn replies_of_calls() -> Vec<String> {
    crate::dialects::files()
        .into_iter()
        .filter(|name| name != "react.json")
        .flat_map(|name| crate::golden::cases(&format!("dialects/{name}")))
        .filter(|case| case["read_by"].as_array().unwrap().contains(&json!("auto")))
        .filter(|case| case["calls"] != json!([]) && case.get("reasoning").is_none())
        .filter(|case| case["text"].as_str().unwrap_or_default().trim().is_empty())
        .map(|case| case["reply"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn invalid_calls_are_shown_with_all_their_markup() {
    let tools: Vec<Value> = crate::golden::cases("dialects/tools.json")
        .into_iter()
        .map(|mut tool| {
            tool["parameters"]["required"] = json!(["what no call has"]);
            json!({"type": "function", "function": tool})
        })
        .collect();
    let replies = replies_of_calls();
    assert!(replies.len() > 200);
    let scripts = replies.iter().map(|reply| streams_in_pieces(reply, 64)).collect();
    let (server, _upstream) = start(scripts, |settings| {
        natural(settings);
        settings.retries = 0;
    });
    let mut changed = Vec::new();
    for reply in &replies {
        let (text, calls, _) = ask(&server, json!({"stream": true, "tools": tools})).reply();
        assert_eq!(calls, [], "{reply}");
        // Calls are shown behind white space and unfinished markup, which are text.
        let characters = |text: &str| {
            let mut found: Vec<char> = text.chars().filter(|each| !each.is_whitespace()).collect();
            found.sort_unstable();
            found
        };
        if characters(&text) != characters(reply) {
            changed.push((reply, text));
        }
    }
    assert_eq!(changed, []);
}

#[test]
fn a_call_that_stays_invalid_is_text_with_a_notice() {
    let invalid = "<get_weather>{\"days\": 3}</get_weather>";
    let scripts = vec![streams(invalid), streams("I cannot.")];
    let (server, upstream) = start(scripts, natural);
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(answer.reply(), (invalid.to_owned(), vec![], "stop".to_owned()));
    let notice = &answer.chunks().pop().unwrap()["toolweave"]["notices"][0];
    assert_eq!(notice["type"], "invalid_tool_call");
    assert_eq!(
        (&notice["name"], &notice["kind"]),
        (&json!("get_weather"), &json!("schema_violation"))
    );
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn retries_can_be_switched_off() {
    let invalid = "<get_weather>{}</get_weather>";
    let (server, upstream) = start(vec![streams(invalid)], |settings| {
        natural(settings);
        settings.retries = 0;
    });
    assert_eq!(ask(&server, json!({"stream": true})).reply().0, invalid);
    assert_eq!(upstream.requests().len(), 1);
}

#[test]
fn a_required_call_is_asked_for() {
    let (server, upstream) = start(vec![streams("It is sunny."), streams(CALL)], natural);
    let answer = ask(&server, json!({"stream": true, "tool_choice": "required"}));
    let (text, calls, finish) = answer.reply();
    assert_eq!((text.as_str(), calls.len(), finish.as_str()), ("It is sunny.", 1, "tool_calls"));
    let prompt = received(&upstream, 0)["messages"][0]["content"].to_string();
    assert!(prompt.contains("must be a call of `get_weather`"), "{prompt}");
}

#[test]
fn one_call_is_passed_on_if_calls_are_not_parallel() {
    let (server, _upstream) = start(vec![streams(&format!("{CALL}\n{CALL}"))], natural);
    let answer = ask(&server, json!({"stream": true, "parallel_tool_calls": false}));
    assert_eq!(answer.reply().1.len(), 1);
    let notice = &answer.chunks().pop().unwrap()["toolweave"]["notices"][0];
    assert_eq!(notice, &json!({"type": "omitted_tool_call", "name": "get_weather"}));
}

#[test]
fn native_calls_are_passed_on_and_missed_ones_recovered() {
    let fragment = |index: usize, function: Value| {
        let call = json!({"index": index, "id": format!("n{index}"), "function": function});
        let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
        format!("data: {chunk}\n\n")
    };
    let name = fragment(0, json!({"name": "get_weather", "arguments": ""}));
    let rest = fragment(0, json!({"arguments": "{\"city\": \"Bergen\", \"days\": \"2\"}"}));
    let native = move |connection: &mut Connection| {
        connection.stream(&[&name, &rest, &end("tool_calls")]);
        connection.end();
    };
    let missed = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    let (server, upstream) = start(vec![Box::new(native), streams(missed)], |_| {});

    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(answer.header("x-toolweave-mode"), Some("recover"));
    let arguments = "{\"city\":\"Bergen\",\"days\":2}".to_owned();
    assert_eq!(answer.reply().1, [("get_weather".to_owned(), arguments)]);
    assert!(answer.text().contains("\"id\":\"n0\""), "{}", answer.text());
    assert_eq!(upstream.requests()[0].body, request(json!({"stream": true})).to_string());

    let (text, calls, finish) = ask(&server, json!({"stream": true})).reply();
    assert_eq!((text.trim(), calls.len(), finish.as_str()), ("", 1, "tool_calls"));
    let metrics = client::get(server.address(), "/metrics").text();
    assert!(metrics.contains("toolweave_recovered_calls_total 1"), "{metrics}");
}

#[test]
fn a_call_that_is_native_and_in_the_text_is_one() {
    let call = json!({
        "id": "n0", "type": "function",
        "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
    });
    let message = json!({"role": "assistant", "content": CALL, "tool_calls": [call]});
    let (server, _upstream) = start(vec![completes(&message)], |_| {});
    let reply = ask(&server, json!({})).json();
    assert_eq!(reply["choices"][0]["message"]["tool_calls"].as_array().unwrap().len(), 1);
}

#[test]
fn an_upstream_that_rejects_tools_is_asked_in_text_from_then_on() {
    let error = json!({"error": {"message": "acme-1 does not support tools", "type": "api_error"}});
    let rejects =
        responds("400 Bad Request", "content-type: application/json\r\n", &error.to_string());
    let (server, upstream) = start(vec![rejects, streams(CALL)], |_| {});
    for _ in 0..2 {
        let answer = ask(&server, json!({"stream": true}));
        assert_eq!(answer.header("x-toolweave-mode"), Some("natural"));
        assert_eq!(answer.reply().1.len(), 1);
    }
    assert_eq!(upstream.requests().len(), 3);
}

#[test]
fn other_errors_keep_their_status_and_body() {
    let body = "{\"error\": {\"message\":  \"slow down\", \"type\": \"tokens\"}}";
    let headers = "content-type: application/json\r\nretry-after: 7\r\n";
    let scripts = || vec![responds("429 Too Many Requests", headers, body)];
    for more in [json!({"stream": true}), json!({}), json!({"tools": []})] {
        let (server, upstream) = start(scripts(), |_| {});
        let answer = ask(&server, more);
        assert_eq!((answer.status, answer.text().as_str()), (429, body));
        assert_eq!(answer.header("retry-after"), Some("7"));
        assert_eq!(upstream.requests().len(), 1);
    }
}

#[test]
fn without_tools_the_body_is_the_upstreams() {
    let reply = format!(": hello\r\n\r\n{}data: {{not json\n\n{}", text("a \u{e9}"), end("stop"));
    for more in [json!({"tools": null, "stream": true}), json!({"tool_choice": "none", "n": 3})] {
        let sent = request(more.clone()).to_string();
        let (server, upstream) =
            start(vec![responds("200 OK", "content-type: text/event-stream\r\n", &reply)], |_| {});
        let answer = ask(&server, more);
        assert_eq!(answer.text(), reply);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(upstream.requests()[0].body, sent);
    }
}

#[test]
fn models_and_listed_paths_are_passed_on() {
    let list = "{\"object\":\"list\",\"data\":[{\"id\":\"acme-1\"}]}";
    let json = "content-type: application/json\r\n";
    let scripts = vec![responds("200 OK", json, list), responds("201 Created", json, "[1]")];
    let (server, upstream) =
        start(scripts, |settings| settings.pass = vec!["/v1/embeddings".into()]);
    assert_eq!(client::get(server.address(), "/v1/models").text(), list);
    let answer = client::post(server.address(), "/v1/embeddings?x=1", "{\"input\": \"a\"}");
    assert_eq!((answer.status, answer.text().as_str()), (201, "[1]"));
    let requests = upstream.requests();
    assert!(requests[0].head.starts_with("GET /v1/models HTTP"), "{}", requests[0].head);
    assert!(requests[1].head.starts_with("POST /v1/embeddings?x=1 HTTP"), "{}", requests[1].head);
    assert_eq!(requests[1].body, "{\"input\": \"a\"}");
}

#[test]
fn every_split_of_a_reply_gives_the_same_answer() {
    let reply = format!(
        "A < b. {CALL} then ```\n{CALL}\n``` and <get_weather>{{\"city\": \"S\\u00e3o\"}} end"
    );
    let mut answers = Vec::new();
    for size in [1, 2, 3, 7, 1000] {
        let (server, _upstream) = start(vec![streams_in_pieces(&reply, size)], natural);
        answers.push(ask(&server, json!({"stream": true})).reply());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].1.len(), 2);
}
