//! The log, and the counters beside it.

use serde_json::Value;

use super::{CHAT, Upstream, client, serving::Serving};

#[test]
fn refused_requests_are_in_the_log_and_the_metrics() {
    let upstream = Upstream::new(vec![]);
    let options = ["--api-key-env", "CLIENT"];
    let serving = Serving::new(
        &upstream.url().replace("/chat/completions", ""),
        &options,
        &[("CLIENT", "tw-client")],
    );
    let address = serving.address;
    let key = "authorization: Bearer tw-client\r\n";
    for (method, path, headers, status) in [
        ("POST", CHAT, "", 401),
        ("POST", CHAT, "origin: https://evil.example\r\n", 403),
        ("POST", "/v1/secret", key, 404),
        ("SECRET", CHAT, key, 405),
        ("POST", CHAT, key, 400),
        ("GET", "/healthz", "", 200),
        ("GET", "/metrics", key, 200),
    ] {
        let answer = client::send(address, method, path, headers, "");
        assert_eq!(answer.status, status, "{method} {path}");
    }
    let metrics = client::send(address, "GET", "/metrics", key, "").text();
    assert!(metrics.contains("status=\"4xx\"} 5\n"), "{metrics}");
    let log = serving.kill();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let logged: Vec<_> = lines
        .map(|line| (line["method"].clone(), line["path"].clone(), line["status"].clone()))
        .collect();
    let expected = [
        ("POST", CHAT, 401),
        ("POST", CHAT, 403),
        ("POST", "unknown", 404),
        ("other", CHAT, 405),
        ("POST", CHAT, 400),
    ];
    let expected: [(Value, Value, Value); 5] =
        expected.map(|(method, path, status)| (method.into(), path.into(), status.into()));
    assert_eq!(logged, expected);
}
