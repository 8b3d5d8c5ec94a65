//! Failures: their messages, and which of them are retried.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::Duration,
};

use toolweave::endpoint::{Client, Failure, FailureKind, Request, Settings, TimeoutKind};

use super::{
    DONE, STOP, Server, chunk, exchange, request,
    server::{Connection, Script},
    settings, text,
};

fn failure_of(settings: &Settings, request: &Request) -> Failure {
    exchange(&Client::new(settings).unwrap(), request, None).1.unwrap_err()
}

fn answer(head: &'static str, body: &'static str) -> Script {
    Box::new(move |connection: &mut Connection| {
        connection
            .send(&format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    })
}

fn silent() -> Script {
    Box::new(|connection| {
        connection.wait_for_close();
    })
}

fn success() -> Script {
    Box::new(|connection| {
        connection.stream(&[&chunk("Hi"), STOP, DONE]);
        connection.end();
    })
}

#[test]
fn a_closed_port_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let failure =
        failure_of(&settings(), &request(&format!("http://me:pw@127.0.0.1:{port}/v1?q=1")));
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.transient);
    let expected = format!("acme: cannot reach 127.0.0.1:{port}: Connection refused");
    assert!(failure.message.starts_with(&expected), "{failure}");
    assert!(failure.message.ends_with("(after 3 attempts)"), "{failure}");
}

#[test]
fn a_host_without_an_address_cannot_be_resolved() {
    let failure = failure_of(&settings(), &request("http://no-such-host.invalid/v1"));
    assert_eq!(failure.kind, FailureKind::Dns);
    assert!(failure.message.starts_with("acme: cannot resolve the host no-such-host.invalid: "));
}

#[test]
fn a_server_without_tls_fails_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let failure = failure_of(&settings(), &request(&format!("https://127.0.0.1:{port}/v1")));
    thread.join().unwrap();
    assert_eq!(failure.kind, FailureKind::Tls, "{failure}");
    assert!(!failure.transient);
    let expected = format!("acme: cannot establish a secure connection to 127.0.0.1:{port}: ");
    assert!(failure.message.starts_with(&expected), "{failure}");
}

#[test]
fn only_transient_statuses_are_retried() {
    for (status, attempts) in [
        ("400 x", 1),
        ("401 x", 1),
        ("404 x", 1),
        ("408 x", 3),
        ("409 x", 3),
        ("425 x", 3),
        ("429 x", 3),
        ("500 x", 3),
        ("501 x", 1),
        ("503 x", 3),
        ("505 x", 1),
        ("529 x", 3),
    ] {
        let server = Server::new(vec![answer(status, "nope")]);
        let failure = failure_of(&settings(), &request(&server.url()));
        assert_eq!(server.requests().len(), attempts, "{status}");
        assert_eq!((failure.kind, failure.transient), (FailureKind::Status, attempts > 1));
        let times = if attempts > 1 { " (after 3 attempts)" } else { "" };
        let expected = format!("acme answered with status {}: nope{times}", &status[..3]);
        assert_eq!(failure.message, expected);
    }
}

#[test]
fn an_exhausted_quota_is_permanent() {
    let server = Server::new(vec![answer(
        "429 x",
        "{\"error\": {\"message\": \"pay\", \"code\": \"insufficient_quota\"}}",
    )]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!((server.requests().len(), failure.transient), (1, false));
}

#[test]
fn a_retry_delay_above_the_maximum_is_not_awaited() {
    let server = Server::new(vec![answer("429 x\r\nretry-after: 86400", "")]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(server.requests().len(), 1);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(86400)));
    assert!(failure.transient);
}

#[test]
fn invalid_retry_delays_are_ignored() {
    for delay in ["-1", "inf", "nan", "soon", "", "1e300"] {
        let head = format!("429 x\r\nretry-after: {delay}").leak();
        let server = Server::new(vec![answer(head, ""), success()]);
        let (events, done) =
            exchange(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{delay}");
    }
}

#[test]
fn milliseconds_and_dates_are_understood() {
    for delay in [
        "retry-after-ms: 3\r\nretry-after: 86400",
        "retry-after: 0.003",
        "retry-after: Wed, 21 Oct 2015 07:28:00 GMT",
    ] {
        let head = format!("503 x\r\n{delay}").leak();
        let server = Server::new(vec![answer(head, ""), success()]);
        let (events, done) =
            exchange(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{delay}");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_server_that_never_answers_is_retried_until_the_limit() {
    let server = Server::new(vec![silent()]);
    let mut request = request(&server.url());
    request.timeouts.first_byte = Duration::from_millis(20);
    let failure = failure_of(&settings(), &request);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::FirstByte));
    let expected = "acme sent no reply within 0.02 s (after 3 attempts)";
    assert_eq!(failure.message, expected);
}

#[test]
fn response_headers_alone_do_not_end_the_first_byte_timeout() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[]);
        connection.wait_for_close();
    })]);
    let mut request = request(&server.url());
    request.timeouts.first_byte = Duration::from_millis(20);
    let failure = failure_of(&settings(), &request);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::FirstByte));
    assert!(failure.message.ends_with("(after 3 attempts)"), "{failure}");
}

#[test]
fn the_total_timeout_covers_all_attempts_and_the_reply() {
    let server = Server::new(vec![silent()]);
    let mut timed = request(&server.url());
    timed.timeouts.total = Some(Duration::from_millis(20));
    let failure = failure_of(&settings(), &timed);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    assert_eq!(failure.message, "acme sent no reply within 0.02 s");

    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hi")]);
        connection.wait_for_close();
    })]);
    let mut timed = request(&server.url());
    timed.timeouts.total = Some(Duration::from_millis(50));
    let (events, done) = exchange(&Client::new(&settings()).unwrap(), &timed, None);
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    // On a busy machine the timeout may elapse before anything has arrived.
    if !events.is_empty() {
        assert_eq!(text(&events), "Hi");
        assert!(failure.message.starts_with("the reply of acme took longer than 0.05 s, after "));
    }
}

#[test]
fn a_retry_delay_beyond_the_total_timeout_is_not_awaited() {
    let server = Server::new(vec![answer("503 x\r\nretry-after: 9", "")]);
    let mut request = request(&server.url());
    request.timeouts.total = Some(Duration::from_secs(8));
    let failure = failure_of(&settings(), &request);
    assert_eq!((failure.kind, failure.status), (FailureKind::Status, Some(503)));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_response_that_is_not_a_reply_is_rejected() {
    for (head, body) in [
        ("200 OK\r\ncontent-type: text/html", "<html></html>"),
        ("200 OK\r\ncontent-type: text/plain", "hello"),
        ("200 OK\r\ncontent-type: application/json", ""),
        ("200 OK", ""),
        ("200 OK\r\ncontent-type: application/json", "{}"),
        ("204 No", ""),
        ("200 OK\r\ncontent-type: text/html; x=y", ""),
    ] {
        let server = Server::new(vec![answer(head, body)]);
        let failure = failure_of(&settings(), &request(&server.url()));
        assert_eq!(failure.kind, FailureKind::Protocol, "{head} {failure}");
        assert!(failure.message.contains("is the base URL the right one?"), "{failure}");
        assert_eq!((server.requests().len(), failure.transient), (1, false));
    }
}

#[test]
fn a_compressed_reply_is_rejected() {
    let head = "200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip";
    let server = Server::new(vec![answer(head, "x")]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.contains("its content-encoding is gzip"), "{failure}");
}

#[test]
fn a_stream_is_recognized_whatever_its_content_type() {
    for kind in ["", "content-type: text/plain\r\n", "content-type: application/json\r\n"] {
        let server = Server::new(vec![Box::new(move |connection| {
            connection.send(&format!(
                "HTTP/1.1 200 OK\r\n{kind}connection: close\r\n\r\n{}{STOP}",
                chunk("Hi")
            ));
            connection.stream.shutdown(std::net::Shutdown::Write).unwrap();
        })]);
        let (events, done) =
            exchange(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{kind}");
    }
}

#[test]
fn an_invalid_http_response_is_reported() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.send("SSH-2.0-OpenSSH_9.6\r\n\r\n");
        connection.wait_for_close();
    })]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.starts_with("acme sent an invalid HTTP response: "));
}

#[test]
fn response_headers_have_limits() {
    let large = Settings { max_header_bytes: 1000, ..settings() };
    let one = format!("200 OK\r\nx: {}", "y".repeat(1000)).leak();
    let many = format!("200 OK{}", "\r\nx: y".repeat(200)).leak();
    let huge = format!("200 OK\r\nx: {}", "y".repeat(1 << 20)).leak();
    for head in [one, many, huge] {
        let server = Server::new(vec![answer(head, "{}")]);
        let failure = failure_of(&large, &request(&server.url()));
        assert_eq!(failure.kind, FailureKind::TooLarge, "{failure}");
        assert!(failure.message.contains("the response headers of acme are larger than"));
    }
}

#[test]
fn redirects_are_not_followed_by_default() {
    for (to, expected) in [
        (
            "http://me:pw@other.example/v2/x?key=1",
            "acme redirects to other.example/v2/x (status 307)",
        ),
        ("/v2", "/v2 (status 307)"),
    ] {
        let head = format!("307 x\r\nlocation: {to}").leak();
        let server = Server::new(vec![answer(head, ""), success()]);
        let failure = failure_of(&settings(), &request(&server.url()));
        assert_eq!((failure.kind, failure.status), (FailureKind::Redirect, Some(307)));
        assert!(failure.message.contains(expected), "{failure}");
        assert!(failure.message.ends_with("is the base URL the right one?"), "{failure}");
        assert_eq!((server.requests().len(), failure.transient), (1, false));
    }
}

#[test]
fn redirects_to_the_same_host_are_followed_on_request() {
    let follow = Settings { follow_redirects: true, ..settings() };
    let server = Server::new(vec![answer("308 x\r\nlocation: /v2", ""), success()]);
    let (events, done) = exchange(&Client::new(&follow).unwrap(), &request(&server.url()), None);
    assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    let redirected = &server.requests()[1];
    assert!(redirected.head.starts_with("POST /v2 HTTP/1.1\r\n"), "{}", redirected.head);
    assert!(redirected.head.contains("Bearer sk-secret"));
    assert_eq!(redirected.body, "{}");

    for head in ["307 x\r\nlocation: http://localhost/v2", "302 x\r\nlocation: /v2", "307 x"] {
        let server = Server::new(vec![answer(head, ""), success()]);
        let failure = failure_of(&follow, &request(&server.url()));
        assert_eq!((failure.kind, server.requests().len()), (FailureKind::Redirect, 1), "{head}");
    }
    let server = Server::new(vec![answer("307 x\r\nlocation: /round", "")]);
    let failure = failure_of(&follow, &request(&server.url()));
    assert_eq!(failure.message, "acme redirects more than 5 times");
    assert_eq!(failure.status, Some(307));
    assert_eq!(server.requests().len(), 6);
}
