//! Replies that stream, and failures that are not transient.

use toolweave::{
    endpoint::{Client, Event, FailureKind, TimeoutKind},
    message::FinishReason,
};

use super::{DONE, STOP, Server, chunk, exchange, finish, request, settings, text};

#[test]
fn a_reply_is_read_while_it_streams() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hel"), &chunk("lo"), STOP, DONE]);
        connection.end();
    })]);
    let client = Client::new(&settings()).unwrap();
    let (events, done) = exchange(&client, &request(&server.url()), None);
    assert_eq!(done, Ok(()));
    let texts = ["Hel", "lo"].map(|text| Event::Text(text.to_owned()));
    assert_eq!(events[..2], texts);
    assert_eq!(finish(&events), Some(FinishReason::Stop));
    let head = &server.requests()[0].head;
    for line in
        ["authorization: Bearer sk-secret", "user-agent: toolweave/", "accept: text/event-stream"]
    {
        assert!(head.contains(line), "{head}");
    }
    assert_eq!(server.requests()[0].body, "{}");
}

#[test]
fn an_error_response_keeps_its_message_without_the_key() {
    let server = Server::new(vec![Box::new(|connection| {
        let body = "{\"error\": {\"message\": \"no key\\n sk-secret\", \"code\": \"bad\", \
                    \"param\": \"stop\"}}";
        connection
            .send(&format!("HTTP/1.1 400 Bad\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    })]);
    let client = Client::new(&settings()).unwrap();
    let (events, done) = exchange(&client, &request(&server.url()), None);
    let failure = done.unwrap_err();
    assert_eq!(events, []);
    assert_eq!(failure.to_string(), "acme answered with status 400: no key [key]");
    assert_eq!((failure.kind, failure.status), (FailureKind::Status, Some(400)));
    assert_eq!(failure.code.as_deref(), Some("bad"));
    assert_eq!(failure.param.as_deref(), Some("stop"));
    assert!(!failure.transient);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn transient_failures_are_retried() {
    let server = Server::new(vec![
        Box::new(|connection| {
            connection.send("HTTP/1.1 503 No\r\ncontent-length: 0\r\nretry-after-ms: 1\r\n\r\n");
        }),
        Box::new(|connection| {
            connection.stream.shutdown(std::net::Shutdown::Both).unwrap();
        }),
        Box::new(|connection| {
            connection.stream(&[&chunk("Hi"), STOP, DONE]);
            connection.end();
        }),
    ]);
    let client = Client::new(&settings()).unwrap();
    let (events, done) = exchange(&client, &request(&server.url()), None);
    assert_eq!(done, Ok(()));
    assert_eq!(text(&events), "Hi");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_reply_that_breaks_off_reports_the_received_bytes() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hel")]);
        connection.stream.shutdown(std::net::Shutdown::Both).unwrap();
    })]);
    let client = Client::new(&settings()).unwrap();
    let (events, done) = exchange(&client, &request(&server.url()), None);
    let failure = done.unwrap_err();
    assert_eq!(text(&events), "Hel");
    assert_eq!(finish(&events), None);
    assert_eq!(failure.kind, FailureKind::Cut);
    assert!(failure.transient);
    assert_eq!(failure.received, chunk("Hel").len() as u64);
    assert!(failure.message.starts_with("acme broke off: "), "{failure}");
    assert!(failure.message.ends_with(" bytes of the reply"), "{failure}");
    assert_eq!(server.requests().len(), 1, "a reply that has begun is not retried");
}

#[test]
fn a_stalled_reply_times_out() {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hel")]);
        connection.wait_for_close();
    })]);
    let client = Client::new(&settings()).unwrap();
    let mut request = request(&server.url());
    request.timeouts.idle = std::time::Duration::from_millis(30);
    let (events, done) = exchange(&client, &request, None);
    let failure = done.unwrap_err();
    assert_eq!(text(&events), "Hel");
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Idle));
    assert!(failure.message.starts_with("acme sent nothing more for 0.03 s, after "), "{failure}");
}
