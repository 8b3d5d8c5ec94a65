//! An upstream that dies and comes back, and a server that gets a signal to end.

use std::{
    io::{BufReader, Read},
    net::TcpStream,
    sync::mpsc::channel,
};

use serde_json::json;

use super::{
    CHAT, Script, Upstream, client, end, request, requests, serving::Serving, streams, text,
};
use crate::endpoint::server::Connection;

const ROUNDS: usize = 6;

fn hangs() -> Script {
    Box::new(|connection: &mut Connection| {
        connection.stream(&[&text("one")]);
        connection.wait_for_close();
    })
}

fn serve(upstream: &Upstream) -> Serving {
    let url = upstream.url().replace("/chat/completions", "");
    Serving::new(&url, &["--mode", "natural"], &[])
}

/// Open a stream, and read its first text.
fn opened(serving: &Serving, path: &str, body: &str) -> BufReader<TcpStream> {
    let mut connection = client::open(serving.address, "POST", path, "", body);
    client::read_until(&mut connection, "one");
    connection
}

#[test]
fn an_upstream_that_dies_and_comes_back_is_used_again() {
    let scripts = || vec![streams("Back."), hangs(), hangs(), hangs()];
    let mut upstream = Upstream::new(scripts());
    let port = upstream.port();
    let serving = serve(&upstream);
    let chat = request(json!({"stream": true})).to_string();
    let without_tools = request(json!({"tools": []})).to_string();
    let mut open_files = Vec::new();
    for round in 0..ROUNDS {
        // A connection that was kept open to the upstream before is of no use, and not used.
        let answer = client::post(serving.address, CHAT, &chat);
        assert_eq!((answer.status, answer.reply_text().as_str()), (200, "Back."), "{round}");
        let paths = if round % 2 == 0 { requests(true).to_vec() } else { vec![] };
        let mut open: Vec<_> =
            paths.iter().map(|(path, body)| opened(&serving, path, &body.to_string())).collect();
        upstream.die();
        for stream in &mut open {
            client::read_until(stream, "of the reply");
        }
        drop(open);
        for (path, body) in requests(round % 3 == 0) {
            let answer = client::post(serving.address, path, &body.to_string());
            assert_eq!(answer.status, 502, "{path}: {}", answer.text());
        }
        let answer = client::post(serving.address, CHAT, &without_tools);
        assert_eq!(answer.json()["error"]["code"], "upstream_unreachable", "{}", answer.text());
        client::eventually(|| serving.has_in_flight(0));
        open_files.push(serving.count("fd"));
        upstream = Upstream::on(port, scripts());
    }
    assert!(open_files[ROUNDS - 1] <= open_files[0] + 2, "sockets are left: {open_files:?}");
}

#[test]
fn a_signal_lets_streams_end_and_a_second_one_does_not() {
    for signals in [1, 2] {
        let (send, receive) = channel::<()>();
        let waits = move |connection: &mut Connection| {
            connection.stream(&[&text("one")]);
            let _ = receive.recv();
            connection.piece(&end("stop"));
            connection.end();
        };
        let upstream = Upstream::new(vec![Box::new(waits)]);
        let serving = serve(&upstream);
        let body = request(json!({"stream": true})).to_string();
        let mut stream = opened(&serving, CHAT, &body);
        serving.signal("TERM");
        client::eventually(|| TcpStream::connect(serving.address).is_err());
        if signals == 1 {
            send.send(()).unwrap();
            client::read_until(&mut stream, "[DONE]");
            let (code, log) = serving.wait();
            assert_eq!(code, Some(0), "{log}");
            assert!(log.contains("\"status\":200") && !log.contains("client_left"), "{log}");
        } else {
            serving.signal("TERM");
            assert_eq!(serving.wait().0, Some(130));
        }
    }
}

#[test]
fn signals_are_received_before_the_address_is_printed() {
    let (serving, mut output) = Serving::with_full_output();
    client::eventually(|| serving.handles_sigterm());
    serving.signal("TERM");
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert!(text.contains("stopping"), "{text}");
    assert_eq!(serving.wait().0, Some(0));
}
