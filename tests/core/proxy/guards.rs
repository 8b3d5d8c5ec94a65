//! Requests that are refused.

use serde_json::json;
use toolweave::proxy::{Server, Settings};

use super::{
    CHAT, ask,
    client::{self, get, post, send},
    natural, request, start, streams,
};

#[test]
fn unknown_paths_and_methods_are_refused() {
    let (server, upstream) = start(vec![streams("")], |_| {});
    for path in ["/", "/v1/embeddings", "/v1/chat/completions/", "/v1/models/../files", "/metrics/"]
    {
        let answer = get(server.address(), path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("--pass"));
    }
    assert_eq!(get(server.address(), CHAT).status, 405);
    assert_eq!(post(server.address(), "/v1/models", "").status, 405);
    assert_eq!(get(server.address(), "/healthz").json(), json!({"status": "ok"}));
    assert!(upstream.requests().is_empty());
}

#[test]
fn web_pages_are_refused() {
    let (server, upstream) = start(vec![streams("")], |_| {});
    for header in ["origin: https://evil.example\r\n", "host: evil.example\r\n"] {
        let answer = send(server.address(), "POST", CHAT, header, "{}");
        assert_eq!(answer.status, 403, "{header}");
    }
    assert!(upstream.requests().is_empty());
}

#[test]
fn pages_of_allowed_origins_can_read_replies() {
    const ORIGIN: &str = "http://localhost:3000";
    let (server, _upstream) = start(vec![streams("Hi.")], |settings| {
        natural(settings);
        settings.origins = vec![ORIGIN.to_owned()];
        settings.api_key = Some("tw-client".to_owned());
    });
    let asks = format!(
        "origin: {ORIGIN}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: authorization\r\n"
    );
    let answer = send(server.address(), "OPTIONS", CHAT, &asks, "");
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(ORIGIN));
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization"));
    let headers = format!("origin: {ORIGIN}\r\nauthorization: Bearer tw-client\r\n");
    let body = request(json!({"stream": true})).to_string();
    let answer = send(server.address(), "POST", CHAT, &headers, &body);
    assert_eq!(answer.reply().0, "Hi.");
    assert_eq!(answer.header("access-control-allow-origin"), Some(ORIGIN));
    let answer = send(server.address(), "OPTIONS", CHAT, "origin: https://evil.example\r\n", "");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
}

#[test]
fn a_key_is_required_if_there_is_one() {
    let (server, upstream) =
        start(vec![streams("Hi.")], |settings| settings.api_key = Some("tw-client".to_owned()));
    let body = request(json!({"stream": true})).to_string();
    for header in ["", "authorization: Bearer sk-upstream-key\r\n"] {
        let answer = send(server.address(), "POST", CHAT, header, &body);
        assert_eq!(answer.status, 401);
        assert_eq!(answer.json()["error"]["code"], "invalid_api_key");
    }
    assert_eq!(get(server.address(), "/metrics").status, 401);
    assert_eq!(get(server.address(), "/healthz").status, 200);
    let answer = send(server.address(), "POST", CHAT, "authorization: Bearer tw-client\r\n", &body);
    assert_eq!(answer.reply().0, "Hi.");
    assert!(!upstream.requests()[0].head.contains("tw-client"));
}

#[test]
fn a_refusal_says_what_is_accepted() {
    let (server, _upstream) =
        start(vec![], |settings| settings.api_key = Some("tw-client".to_owned()));
    let allowed = |path| get(server.address(), path).header("allow").map(str::to_owned);
    assert_eq!(allowed(CHAT).as_deref(), Some("POST"));
    let answer = post(server.address(), "/metrics", "");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET")));
    let answer = post(server.address(), CHAT, "{}");
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
}

#[test]
fn keys_do_not_come_back_in_errors() {
    let body = "{\"error\": {\"message\": \"wrong key sk-upstream-key\"}}";
    let upstream_error =
        || super::responds("401 Unauthorized", "content-type: application/json\r\n", body);
    let (server, _upstream) = start(vec![upstream_error()], |_| {});
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(answer.status, 401);
    assert!(!answer.text().contains("upstream-key"), "{}", answer.text());
}

#[test]
fn bodies_have_a_limit() {
    let (server, upstream) =
        start(vec![streams("")], |settings| settings.limits.max_body_bytes = 100);
    let answer = post(server.address(), CHAT, &"x".repeat(101));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!("body_too_large")));
    let chunked = "transfer-encoding: chunked\r\n";
    let mut connection = client::open_chunked(server.address(), CHAT, chunked, &"x".repeat(101));
    assert_eq!(client::answer(&mut connection).status, 413);
    assert!(upstream.requests().is_empty());
}

#[test]
fn requests_at_once_have_a_limit() {
    let waits = |connection: &mut super::Connection| {
        connection.stream(&[&super::text("one")]);
        connection.wait_for_close();
    };
    let (server, _upstream) =
        start(vec![Box::new(waits)], |settings| settings.limits.max_concurrency = 1);
    let body = request(json!({"stream": true})).to_string();
    let mut first = client::open(server.address(), "POST", CHAT, "", &body);
    client::read_until(&mut first, "one");
    let answer = ask(&server, json!({}));
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    drop(first);
    client::eventually(|| get(server.address(), "/metrics").text().contains("in_flight 0"));
}

#[test]
fn invalid_requests_name_the_field() {
    let (server, upstream) = start(vec![streams("")], natural);
    let answer = ask(&server, json!({"tool_choice": "always"}));
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("tool_choice")));
    let answer = ask(&server, json!({"messages": [{"role": "user", "content": [{"type": "x"}]}]}));
    assert_eq!(answer.json()["error"]["param"], "messages[0].content[0].type");
    let answer = post(server.address(), CHAT, "{\"model\": ");
    assert_eq!(answer.json()["error"]["code"], "invalid_json");
    assert!(upstream.requests().is_empty());
}

#[test]
fn other_machines_need_a_key() {
    let mut settings = Settings::new("http://127.0.0.1:1/v1".parse().unwrap());
    settings.address = "0.0.0.0:0".parse().unwrap();
    let error = Server::start(settings).unwrap_err().to_string();
    assert!(error.contains("requires a key for clients"), "{error}");
}
