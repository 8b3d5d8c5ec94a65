//! Failures: what they say, and which of them are tried again.

use std::{
    io::{Read, Write},
    net::TcpListener,
    time::Duration,
};

use toolweave::endpoint::{Client, Failure, FailureKind, Request, Settings, TimeoutKind};

use super::{
    DONE, STOP, Server, requests, chunk, request,
    server::{Connection, Script},
    settings, text,
};

fn failure_of(settings: &Settings, request: &Request) -> Failure {
    requests(&Client::new(settings).unwrap(), request, None).1.unwrap_err()
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
fn a_server_that_nobody_runs_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let failure = failure_of(&settings(), &request(&format!("http://me:pw@127.0.0.1:{port}/v1?q=1")));
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.transient);
    let expected = format!("acme: cannot reach 127.0.0.1:{port}: Connection refused");
    assert!(failure.message.starts_with(&expected), "{failure}");
    assert!(failure.message.ends_with("(asked 3 times)"), "{failure}");
}

#[test]
fn a_host_that_has_no_address_is_not_known() {
    let failure = failure_of(&settings(), &request("http://no-such-host.invalid/v1"));
    assert_eq!(failure.kind, FailureKind::Dns);
    assert!(failure.message.starts_with("acme: the host no-such-host.invalid is not known: "));
}

#[test]
fn a_server_without_tls_gives_no_secure_connection() {
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
    let expected = format!("acme: there is no secure connection to 127.0.0.1:{port}: ");
    assert!(failure.message.starts_with(&expected), "{failure}");
}

#[test]
fn statuses_that_may_pass_are_asked_again_and_no_others() {
    for (status, often) in [
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
        assert_eq!(server.requests().len(), often, "{status}");
        assert_eq!((failure.kind, failure.transient), (FailureKind::Status, often > 1));
        let times = if often > 1 { " (asked 3 times)" } else { "" };
        let expected = format!("acme answered with status {}: nope{times}", &status[..3]);
        assert_eq!(failure.message, expected);
    }
}

#[test]
fn a_quota_that_is_used_up_does_not_pass() {
    let server = Server::new(vec![answer(
        "429 x",
        "{\"error\": {\"message\": \"pay\", \"code\": \"insufficient_quota\"}}",
    )]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!((server.requests().len(), failure.transient), (1, false));
}

#[test]
fn a_server_that_asks_to_wait_too_long_is_not_waited_for() {
    let server = Server::new(vec![answer("429 x\r\nretry-after: 86400", "")]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(server.requests().len(), 1);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(86400)));
    assert!(failure.transient);
}

#[test]
fn nonsense_about_waiting_is_as_if_it_were_not_there() {
    for expected in ["-1", "inf", "nan", "soon", "", "1e300"] {
        let head = format!("429 x\r\nretry-after: {said}").leak();
        let server = Server::new(vec![answer(head, ""), success()]);
        let (events, done) =
            requests(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{said}");
    }
}

#[test]
fn milliseconds_and_dates_are_understood() {
    for expected in [
        "retry-after-ms: 3\r\nretry-after: 86400",
        "retry-after: 0.003",
        "retry-after: Wed, 21 Oct 2015 07:28:00 GMT",
    ] {
        let head = format!("503 x\r\n{said}").leak();
        let server = Server::new(vec![answer(head, ""), success()]);
        let (events, done) =
            requests(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{said}");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_server_that_never_answers_is_asked_again_and_given_up() {
    let server = Server::new(vec![silent()]);
    let mut request = request(&server.url());
    request.timeouts.first_byte = Duration::from_millis(20);
    let failure = failure_of(&settings(), &request);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::FirstByte));
    let expected = "acme sent nothing of a reply within 0.02 s (asked 3 times)";
    assert_eq!(failure.message, expected);
}

#[test]
fn a_head_is_no_reply() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[]);
        connection.wait_for_close();
    })]);
    let mut request = request(&server.url());
    request.timeouts.first_byte = Duration::from_millis(20);
    let failure = failure_of(&settings(), &request);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::FirstByte));
    assert!(failure.message.ends_with("(asked 3 times)"), "{failure}");
}

#[test]
fn there_is_so_much_time_for_everything() {
    let server = Server::new(vec![silent()]);
    let mut replies = request(&server.url());
    replies.timeouts.total = Some(Duration::from_millis(20));
    let failure = failure_of(&settings(), &replies);
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    assert_eq!(failure.message, "acme sent nothing of a reply within 0.02 s");

    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hi")]);
        connection.wait_for_close();
    })]);
    let mut replies = request(&server.url());
    replies.timeouts.total = Some(Duration::from_millis(50));
    let (events, done) = requests(&Client::new(&settings()).unwrap(), &replies, None);
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    // On a busy machine the time may be over before anything has come.
    if !events.is_empty() {
        assert_eq!(text(&events), "Hi");
        assert!(failure.message.starts_with("the reply of acme took longer than 0.05 s, after "));
    }
}

#[test]
fn a_wait_that_outlasts_the_time_for_everything_is_not_begun() {
    let server = Server::new(vec![answer("503 x\r\nretry-after: 9", "")]);
    let mut request = request(&server.url());
    request.timeouts.total = Some(Duration::from_secs(8));
    let failure = failure_of(&settings(), &request);
    assert_eq!((failure.kind, failure.status), (FailureKind::Status, Some(503)));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_answer_that_is_none_of_a_model_is_refused() {
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
fn a_reply_that_is_compressed_is_refused() {
    let head = "200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip";
    let server = Server::new(vec![answer(head, "x")]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.contains("its content-encoding is gzip"), "{failure}");
}

#[test]
fn a_stream_is_one_whatever_it_is_called() {
    for kind in ["", "content-type: text/plain\r\n", "content-type: application/json\r\n"] {
        let server = Server::new(vec![Box::new(move |connection| {
            connection.send(&format!(
                "HTTP/1.1 200 OK\r\n{kind}connection: close\r\n\r\n{}{STOP}",
                chunk("Hi")
            ));
            connection.stream.shutdown(std::net::Shutdown::Write).unwrap();
        })]);
        let (events, done) =
            requests(&Client::new(&settings()).unwrap(), &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())), "{kind}");
    }
}

#[test]
fn what_is_no_http_is_told() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.send("SSH-2.0-OpenSSH_9.6\r\n\r\n");
        connection.wait_for_close();
    })]);
    let failure = failure_of(&settings(), &request(&server.url()));
    assert_eq!(failure.kind, FailureKind::Protocol);
    assert!(failure.message.starts_with("acme answered with something that is no HTTP: "));
}

#[test]
fn a_head_has_limits() {
    let large = Settings { max_header_bytes: 1000, ..settings() };
    let one = format!("200 OK\r\nx: {}", "y".repeat(1000)).leak();
    let many = format!("200 OK{}", "\r\nx: y".repeat(200)).leak();
    let huge = format!("200 OK\r\nx: {}", "y".repeat(1 << 20)).leak();
    for head in [one, many, huge] {
        let server = Server::new(vec![answer(head, "{}")]);
        let failure = failure_of(&large, &request(&server.url()));
        assert_eq!(failure.kind, FailureKind::TooLarge, "{failure}");
        assert!(failure.message.contains("the head of the answer of acme is larger than"));
    }
}

#[test]
fn redirects_are_refused() {
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
fn redirects_on_the_same_host_are_followed_where_that_is_wanted() {
    let follow = Settings { follow_redirects: true, ..settings() };
    let server = Server::new(vec![answer("308 x\r\nlocation: /v2", ""), success()]);
    let (events, done) = requests(&Client::new(&follow).unwrap(), &request(&server.url()), None);
    assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    let asked_for = &server.requests()[1];
    assert!(asked_for.head.starts_with("POST /v2 HTTP/1.1\r\n"), "{}", asked_for.head);
    assert!(asked_for.head.contains("Bearer sk-secret"));
    assert_eq!(asked_for.body, "{}");

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
