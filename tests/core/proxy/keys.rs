//! Keys, which nothing that the command writes may have.

use serde_json::{Value, json};

use super::{
    CHAT, Script, Upstream, client, completes, request, requests, responds, serving::Serving,
};
use crate::endpoint::server::Connection;

const UPSTREAM_KEY: &str = "sk-up-0123456789abcdef";
const CLIENT_KEY: &str = "tw-client-fedcba9876543210";
const PASSWORD: &str = "pass-word-of-the-upstream";

/// Return replies of an upstream that repeats its key wherever it can.
fn indiscreet() -> Vec<Script> {
    let json = "content-type: application/json\r\n";
    let error = |key: &str| json!({"error": {"message": format!("wrong key {key}"), "code": key}});
    let error = error(UPSTREAM_KEY).to_string();
    let event = format!("data: {error}\n\n");
    let redirect = format!("location: http://127.0.0.1:1/{UPSTREAM_KEY}\r\n");
    vec![
        responds("401 Unauthorized", json, &error),
        responds("403 Forbidden", "content-type: text/html\r\n", &format!("<b>{UPSTREAM_KEY}</b>")),
        responds("500 Internal Server Error", "", &format!("{:?}", UPSTREAM_KEY.to_uppercase())),
        responds("307 Temporary Redirect", &redirect, ""),
        responds("200 OK", "content-type: text/event-stream\r\n", &event),
        Box::new(|connection: &mut Connection| {
            connection.send(&format!("HTTP/9 {UPSTREAM_KEY}\r\n\r\n"));
            let _ = connection.stream.shutdown(std::net::Shutdown::Both);
        }),
        completes(&json!({"role": "assistant", "content": "Sunny."})),
    ]
}

/// Return all requests: of each API, with and without tools, and for paths that are passed on.
fn asked() -> Vec<(&'static str, Option<Value>)> {
    let without_tools = (CHAT, request(json!({"tools": []})));
    let posts = requests(true).into_iter().chain(requests(false)).chain([without_tools]);
    let posts = posts.map(|(path, body)| (path, Some(body)));
    posts.chain([("/v1/models", None), ("/v1/passed", None)]).collect()
}

#[test]
fn no_key_is_in_an_error_the_metrics_or_the_log() {
    let keys = [UPSTREAM_KEY, CLIENT_KEY, PASSWORD];
    let assert_none = |text: &str, what: &str| {
        let lower = text.to_lowercase();
        for key in keys {
            assert!(!lower.contains(key), "{what}: {text}");
        }
    };
    for (number, _) in indiscreet().iter().enumerate() {
        let upstream = Upstream::new(vec![indiscreet().swap_remove(number)]);
        let url = upstream.url().replace("/chat/completions", "");
        let url = url.replace("http://", &format!("http://user:{PASSWORD}@"));
        let serving = Serving::new(
            &url,
            &["--upstream-key-env", "UP", "--api-key-env", "CLIENT", "--pass", "/v1/passed"],
            &[("UP", UPSTREAM_KEY), ("CLIENT", CLIENT_KEY)],
        );
        let mut statuses = Vec::new();
        for (path, body) in asked() {
            for key in [CLIENT_KEY, UPSTREAM_KEY] {
                let headers = format!("authorization: Bearer {key}\r\n");
                let method = if body.is_some() { "POST" } else { "GET" };
                let body = body.as_ref().map(Value::to_string).unwrap_or_default();
                let target = format!("{path}?key={CLIENT_KEY}");
                let answer = client::send(serving.address, method, &target, &headers, &body);
                statuses.push(answer.status);
                assert_none(&answer.head, path);
                // Replies without tools are the upstream's, byte for byte.
                if answer.status != 200 || body.contains("get_weather") {
                    assert_none(&answer.text(), path);
                }
            }
        }
        assert!(statuses.contains(&401), "a client without the key is refused: {statuses:?}");
        let headers = format!("x-api-key: {CLIENT_KEY}\r\n");
        let metrics = client::send(serving.address, "GET", "/metrics", &headers, "").text();
        assert!(metrics.contains("toolweave_requests_in_flight"), "{metrics}");
        assert_none(&metrics, "metrics");
        let log = serving.kill();
        assert!(log.lines().count() >= asked().len(), "{log}");
        assert_none(&log, "log");
    }
}
