//! Connections that are cut, stall or bring garbage, on both sides.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use serde_json::Value;

use super::{
    CALL_TEXT, CHAT,
    client::{self, Answer},
    end, natural, requests, start, streams, text,
};
use crate::endpoint::server::{Connection, STREAM, TEST_TIMEOUT};

/// Return an event as a chunk of a response.
fn chunk(event: &str) -> String {
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// The reply that is cut off, as the bytes of an HTTP response, and the number of bytes up to the
/// end of each text in it.
fn reply() -> (String, Vec<(usize, &'static str)>) {
    let mut bytes = STREAM.to_owned();
    let mut texts = Vec::new();
    for piece in ["a < b, ", "\u{e9}. "] {
        let event = text(piece);
        bytes += &chunk(&event);
        texts.push((bytes.len(), piece));
    }
    for event in [text(&CALL_TEXT[..20]), text(&CALL_TEXT[20..]), end("stop")] {
        bytes += &chunk(&event);
    }
    bytes.push_str("0\r\n\r\n");
    (bytes, texts)
}

/// Return the text of a stream, and true if the stream ended without an error.
fn read(api: &str, answer: &Answer) -> (String, bool) {
    let body = answer.text();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let is_done = data.clone().any(|data| data == "[DONE]");
    let events = data.filter(|data| *data != "[DONE]");
    let events: Vec<Value> = events.map(|data| serde_json::from_str(data).unwrap()).collect();
    let last = events.last().unwrap();
    let is_text = |event: &&Value| event["type"] == "response.output_text.delta";
    let (text, is_finished, is_error): (String, bool, bool) = match api {
        CHAT => {
            let texts =
                events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
            (texts.collect(), is_done, last["error"].is_object())
        }
        "/v1/messages" => {
            let texts = events.iter().filter_map(|event| event["delta"]["text"].as_str());
            (texts.collect(), last["type"] == "message_stop", last["type"] == "error")
        }
        _ => {
            let texts = events.iter().filter(is_text).map(|event| event["delta"].as_str().unwrap());
            let kind = last["type"].as_str().unwrap();
            (texts.collect(), kind == "response.completed", kind == "response.failed")
        }
    };
    assert!(is_finished != is_error, "{body}");
    (text, is_finished)
}

#[test]
fn a_reply_that_is_cut_anywhere_ends_and_keeps_its_text() {
    let (reply, texts) = reply();
    let step = crate::step();
    for stream in [true, false] {
        for (path, body) in requests(stream) {
            let body = body.to_string();
            let mut cut = 0;
            let bytes = reply.clone().into_bytes();
            let cuts = move |connection: &mut Connection| {
                let _ = connection.stream.write_all(&bytes[..cut]);
                let _ = connection.stream.shutdown(Shutdown::Both);
                cut += step;
            };
            let (server, _upstream) = start(vec![Box::new(cuts)], natural);
            let mut ends = 0;
            for cut in (0..=reply.len()).step_by(step) {
                let answer = client::post(server.address(), path, &body);
                assert!(answer.is_whole, "{path}, {cut} bytes");
                let arrived = texts.iter().filter(|(end, _)| *end <= cut).map(|(_, text)| *text);
                let arrived: String = arrived.collect();
                if answer.status != 200 {
                    let error = &answer.json()["error"];
                    assert_eq!(answer.status, 502, "{path}, {cut} bytes: {error}");
                    assert!(error["message"].is_string());
                    assert!(!stream || arrived.is_empty(), "{path}, {cut} bytes: lost {arrived:?}");
                } else if stream {
                    let (text, is_finished) = read(path, &answer);
                    assert!(text.starts_with(&arrived), "{path}, {cut} bytes: {text:?}");
                    ends += usize::from(is_finished);
                } else {
                    assert!(answer.text().contains("get_weather"), "{path}, {cut} bytes");
                    ends += 1;
                }
            }
            // Nothing but the end of the stream is missing.
            let tail = reply.len() - reply.find("finish_reason").unwrap();
            assert!(ends > 0 && ends < tail, "{path}: {ends}");
        }
    }
}

/// Send bytes at once, then one byte every few milliseconds, until the server closes the
/// connection. Return what it has sent, and the time.
fn trickle(address: std::net::SocketAddr, at_once: &str, then: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    stream.write_all(at_once.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut received = Vec::new();
    let mut rest = then.bytes().cycle();
    while begun.elapsed() < TEST_TIMEOUT {
        let _ = stream.write_all(&[rest.next().unwrap()]);
        let mut buffer = [0; 1024];
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => received.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(_) => {}
        }
    }
    (String::from_utf8(received).unwrap(), begun.elapsed())
}

#[test]
fn a_request_that_trickles_in_ends_by_the_time_limit() {
    let (server, upstream) = start(vec![streams("Hi.")], |settings| {
        settings.limits.client_timeout = Duration::from_millis(300);
    });
    let address = server.address();
    let (_, took) = trickle(address, "POST /v1/chat/completions HTTP/1.1\r\nx-slow: ", "a");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let head = format!("POST {CHAT} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 9999\r\n\r\n");
    let (response, took) = trickle(address, &head, " ");
    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let (_, took) = trickle(address, "", "\r\n");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(upstream.requests().is_empty());
    assert_eq!(client::get(address, "/healthz").status, 200);
}

proptest! {
    #![proptest_config(crate::effort::cases(64))]

    #[test]
    fn garbage_is_answered_with_an_error(
        begin in prop::sample::select(vec![
            "", "POST ", "POST /v1/messages HTTP/1.1\r\n", "GET /metrics HTTP/1.1\r\nhost: ",
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 40\r\n\r\n",
        ]),
        garbage in prop::collection::vec(any::<u8>(), 40..200),
    ) {
        let (server, upstream) = start(vec![streams("Hi.")], |settings| {
            settings.limits.client_timeout = Duration::from_millis(100);
        });
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let _ = stream.write_all(begin.as_bytes());
        let _ = stream.write_all(&garbage);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response);
        let is_refused = response.is_empty() || response.starts_with("HTTP/1.1 4");
        prop_assert!(is_refused, "{}", response);
        prop_assert!(upstream.requests().is_empty());
        prop_assert_eq!(client::get(server.address(), "/healthz").status, 200);
    }
}
