//! Faults of clients and of the upstream.

use std::{
    io::Read,
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{CALL_TEXT, CHAT, ask, client, natural, request, responds, start, streams, text};
use crate::endpoint::server::Connection;

#[test]
fn text_is_streamed_at_once() {
    let (send, receive) = mpsc::channel::<()>();
    let waits = move |connection: &mut Connection| {
        connection.stream(&[&text("at once")]);
        receive.recv().unwrap();
        connection.piece(&super::end("stop"));
        connection.end();
    };
    let (server, _upstream) = start(vec![Box::new(waits)], natural);
    let body = request(json!({"stream": true})).to_string();
    let mut connection = client::open(server.address(), "POST", CHAT, "", &body);
    client::read_until(&mut connection, "at once");
    send.send(()).unwrap();
    client::read_until(&mut connection, "[DONE]");
}

#[test]
fn a_client_that_leaves_ends_the_request_to_the_upstream() {
    for stream in [true, false] {
        let (send, receive) = mpsc::channel();
        let waits = move |connection: &mut Connection| {
            connection.stream(&[&text("one")]);
            send.send(None).unwrap();
            send.send(Some(connection.wait_for_close())).unwrap();
        };
        let (server, _upstream) = start(vec![Box::new(waits)], natural);
        let body = request(json!({"stream": stream})).to_string();
        let connection = client::open(server.address(), "POST", CHAT, "", &body);
        assert_eq!(receive.recv_timeout(Duration::from_secs(20)).unwrap(), None);
        let left = Instant::now();
        drop(connection);
        assert_eq!(receive.recv_timeout(Duration::from_secs(20)).unwrap(), Some(true));
        assert!(left.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_reply_that_breaks_off_ends_with_an_error() {
    let breaks = |connection: &mut Connection| {
        connection.stream(&[&text("Half of"), &text("<get_weather>{\"ci")]);
        let _ = connection.stream.shutdown(std::net::Shutdown::Both);
    };
    let (server, _upstream) = start(vec![Box::new(breaks)], natural);
    let answer = ask(&server, json!({"stream": true}));
    let body = answer.text();
    assert!(answer.is_whole && body.contains("Half of"), "{body}");
    let (_, error) = body.trim_end().rsplit_once("data: ").unwrap();
    let error: serde_json::Value = serde_json::from_str(error).unwrap();
    assert_eq!(error["error"]["code"], "upstream_closed", "{body}");
    assert!(!body.contains("[DONE]") && !body.contains("tool_calls"), "{body}");

    let answer = ask(&server, json!({"stream": false}));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (502, &json!("upstream_closed")));
}

#[test]
fn a_forwarded_body_that_breaks_off_is_seen_to() {
    let breaks = |connection: &mut Connection| {
        connection.stream(&[&text("Half of")]);
        let _ = connection.stream.shutdown(std::net::Shutdown::Both);
    };
    let (server, _upstream) = start(vec![Box::new(breaks)], |_| {});
    let answer = ask(&server, json!({"stream": true, "tools": []}));
    assert!(!answer.is_whole);
    assert_eq!(answer.text(), text("Half of"));
}

#[test]
fn garbage_is_an_error_of_the_upstream() {
    for (headers, body) in [
        ("content-type: text/html\r\n", "<html>"),
        ("content-type: application/json\r\n", "[1]"),
        ("content-type: text/event-stream\r\n", "data: {\"choices\n\n"),
    ] {
        let (server, _upstream) = start(vec![responds("200 OK", headers, body)], natural);
        let answer = ask(&server, json!({"stream": true}));
        assert_eq!(
            (answer.status, &answer.json()["error"]["type"]),
            (502, &json!("upstream_error"))
        );
    }
}

#[test]
fn an_upstream_that_is_down_is_an_error_and_one_that_returns_is_used() {
    let (server, _none) = start(vec![streams("")], |settings| {
        settings.upstream = "http://127.0.0.1:1/v1".parse().unwrap();
    });
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (502, &json!("upstream_unreachable"))
    );

    let dies = |connection: &mut Connection| {
        let _ = connection.stream.shutdown(std::net::Shutdown::Both);
    };
    let (server, _upstream) = start(vec![Box::new(dies), streams("Back.")], natural);
    assert_eq!(ask(&server, json!({"stream": true})).status, 502);
    assert_eq!(ask(&server, json!({"stream": true})).reply().0, "Back.");
}

#[test]
fn a_silent_upstream_times_out() {
    let waits = |connection: &mut Connection| {
        connection.wait_for_close();
    };
    let (server, _upstream) = start(vec![Box::new(waits)], |settings| {
        settings.limits.first_byte_timeout = Duration::from_millis(50);
    });
    let answer = ask(&server, json!({"stream": true}));
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (504, &json!("upstream_timeout")));
}

#[test]
fn a_client_that_does_not_read_is_dropped() {
    let (send, receive) = mpsc::channel();
    let floods = move |connection: &mut Connection| {
        connection.stream(&[]);
        let piece = text(&"x".repeat(4000));
        let size = format!("{:x}\r\n{piece}\r\n", piece.len());
        let mut total = 0_usize;
        while std::io::Write::write_all(&mut connection.stream, size.as_bytes()).is_ok() {
            total += piece.len();
        }
        send.send(total).unwrap();
    };
    let (server, _upstream) = start(vec![Box::new(floods)], |settings| {
        natural(settings);
        settings.limits.client_timeout = Duration::from_millis(300);
    });
    let body = request(json!({"stream": true})).to_string();
    let mut connection = client::open(server.address(), "POST", CHAT, "", &body);
    let total = receive.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(total < 64 << 20, "{total} bytes were read ahead");
    let mut rest = Vec::new();
    let _ = connection.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("[DONE]"));
}

#[test]
fn a_shutdown_finishes_streams() {
    let (send, receive) = mpsc::channel::<()>();
    let waits = move |connection: &mut Connection| {
        connection.stream(&[&text("one")]);
        receive.recv().unwrap();
        connection.piece(&text(CALL_TEXT));
        connection.piece(&super::end("stop"));
        connection.end();
    };
    let (server, _upstream) = start(vec![Box::new(waits)], natural);
    let address = server.address();
    let body = request(json!({"stream": true})).to_string();
    let mut connection = client::open(address, "POST", CHAT, "", &body);
    client::read_until(&mut connection, "one");
    let stopping = std::thread::spawn(move || server.stop(Duration::from_secs(20)));
    client::eventually(|| std::net::TcpStream::connect(address).is_err());
    send.send(()).unwrap();
    client::read_until(&mut connection, "[DONE]");
    assert!(stopping.join().unwrap());
}

#[test]
fn a_shutdown_waits_no_longer_than_the_grace_period() {
    let waits = |connection: &mut Connection| {
        connection.stream(&[&text("one")]);
        connection.wait_for_close();
    };
    let (server, _upstream) = start(vec![Box::new(waits)], natural);
    let body = request(json!({"stream": true})).to_string();
    let mut connection = client::open(server.address(), "POST", CHAT, "", &body);
    client::read_until(&mut connection, "one");
    let begun = Instant::now();
    assert!(!server.stop(Duration::from_millis(50)));
    assert!(begun.elapsed() < Duration::from_secs(10));
}
