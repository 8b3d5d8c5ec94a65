//! Connections: pooling, sharing, closing and settings.

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::Notify;
use toolweave::endpoint::{
    Client, Event, EventSink, HttpVersion, ProxyChoice, Settings, stream_reply,
};

use super::{
    DONE, STOP, Server, chunk, exchange, request, runtime,
    server::{Script, TEST_TIMEOUT},
    settings, text,
};

fn success() -> Script {
    Box::new(|connection| {
        connection.stream(&[&chunk("Hi"), STOP]);
        // In one write, so that the end of the body arrives with the last chunk.
        connection.send(&format!("{:x}\r\n{DONE}\r\n0\r\n\r\n", DONE.len()));
    })
}

#[test]
fn a_connection_is_reused() {
    let server = Server::new(vec![success()]);
    let runtime = runtime();
    let mut clients = Vec::new();
    for _ in 0..10 {
        // Each request has its own client: clients with equal settings share connections.
        let client = Client::new(&settings()).unwrap();
        let mut log: Vec<Event> = Vec::new();
        let done = runtime.block_on(stream_reply(&client, &request(&server.url()), None, &mut log));
        assert_eq!((text(&log).as_str(), done), ("Hi", Ok(())));
        clients.push(client);
    }
    let connections: Vec<_> =
        server.requests().iter().map(|received| received.connection).collect();
    // The end of a reply may arrive after its last event, and too late for the next request.
    assert!(connections.windows(2).any(|pair| pair[0] == pair[1]), "{connections:?}");
}

#[test]
fn clients_with_different_settings_share_nothing() {
    let server = Server::new(vec![success()]);
    let runtime = runtime();
    let mut clients = Vec::new();
    for http_version in [HttpVersion::Auto, HttpVersion::One] {
        let client = Client::new(&Settings { http_version, ..settings() }).unwrap();
        let mut log: Vec<Event> = Vec::new();
        runtime.block_on(stream_reply(&client, &request(&server.url()), None, &mut log)).unwrap();
        clients.push(client);
    }
    assert_eq!(server.requests()[1].connection, 1);
}

#[test]
fn a_connection_closed_by_the_server_is_replaced() {
    let closing: Script = Box::new(|connection| {
        connection.stream(&[&chunk("Hi"), STOP, DONE]);
        connection.end();
        connection.stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let server = Server::new(vec![closing, success()]);
    let client = Client::new(&settings()).unwrap();
    let runtime = runtime();
    for _ in 0..2 {
        let mut log: Vec<Event> = Vec::new();
        let mut request = request(&server.url());
        request.retries.initial_delay = TEST_TIMEOUT;
        let done = runtime.block_on(stream_reply(&client, &request, None, &mut log));
        assert_eq!((text(&log).as_str(), done), ("Hi", Ok(())));
    }
}

/// A sink that signals the first event.
struct FirstEventSignal(Sender<()>);

impl EventSink for FirstEventSignal {
    fn put(&mut self, _: Event) {
        let _ = self.0.send(());
    }

    async fn room(&mut self) {}
}

#[test]
fn dropping_the_future_closes_the_connection() {
    let (closed, was_closed) = channel();
    let server = Server::new(vec![Box::new(move |connection| {
        connection.stream(&[&chunk("Hi")]);
        closed.send(connection.wait_for_close()).unwrap();
    })]);
    let (signal, signalled) = channel();
    let client = Client::new(&settings()).unwrap();
    let request = request(&server.url());
    let runtime = runtime();
    let task = runtime.spawn(async move {
        let _ = stream_reply(&client, &request, None, &mut FirstEventSignal(signal)).await;
    });
    signalled.recv_timeout(TEST_TIMEOUT).unwrap();
    task.abort();
    assert_eq!(was_closed.recv_timeout(TEST_TIMEOUT), Ok(true));
}

/// A sink that has no room until it is notified.
struct BlockedSink<'a> {
    log: Vec<Event>,
    room: &'a Notify,
}

impl EventSink for BlockedSink<'_> {
    fn put(&mut self, event: Event) {
        self.log.put(event);
    }

    async fn room(&mut self) {
        self.room.notified().await;
        self.room.notify_one();
    }
}

#[test]
fn a_sink_without_room_stops_the_server() {
    const ENDLESS: usize = 64 << 20;
    let (stopped, was_stopped) = channel();
    let server = Server::new(vec![Box::new(move |connection| {
        use std::io::Write;
        connection.stream(&[]);
        let piece = chunk(&"x".repeat(4000));
        let piece = format!("{:x}\r\n{piece}\r\n", piece.len());
        connection.stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let (mut written, mut rest) = (0, &piece.as_bytes()[..0]);
        while written < ENDLESS {
            if rest.is_empty() {
                rest = piece.as_bytes();
            }
            match connection.stream.write(rest) {
                Ok(bytes) => {
                    written += bytes;
                    rest = &rest[bytes..];
                }
                Err(_) => break,
            }
        }
        stopped.send(written).unwrap();
        connection.stream.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
        connection.stream.write_all(rest).unwrap();
        connection.piece(STOP);
        connection.end();
    })]);
    let room = Notify::new();
    let client = Client::new(&settings()).unwrap();
    let request = request(&server.url());
    let mut full = BlockedSink { log: Vec::new(), room: &room };
    let done = runtime().block_on(async {
        let exchange = stream_reply(&client, &request, None, &mut full);
        let releasing = async {
            let written =
                tokio::task::spawn_blocking(move || was_stopped.recv_timeout(TEST_TIMEOUT));
            let written = written.await.unwrap().unwrap();
            room.notify_one();
            written
        };
        futures_util::future::join(exchange, releasing).await
    });
    assert_eq!(done.0, Ok(()));
    assert!(done.1 < ENDLESS, "the server was never stopped");
    assert!(text(&full.log).len() > done.1 / 2, "what had been written was received");
}

#[test]
fn requests_go_through_the_proxy() {
    let proxy = Server::new(vec![success()]);
    let address = proxy.url().replace("http://", "http://me:pass%20word@");
    let address = address.split("/v1").next().unwrap().to_owned();
    let through = Settings { proxy: ProxyChoice::Url(address.clone()), ..settings() };
    let client = Client::new(&through).unwrap();
    let (events, done) = exchange(&client, &request("http://model.example/v1"), None);
    assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    let head = &proxy.requests()[0].head;
    assert!(head.starts_with("POST http://model.example/v1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic bWU6cGFzcyB3b3Jk\r\n"), "{head}");
    let shown = format!("{client:?} {through:?} {:?}", request(&address));
    assert!(!shown.contains("pass") && !shown.contains("sk-secret"), "{shown}");

    drop(proxy);
    let failure = exchange(&client, &request("http://model.example/v1"), None).1.unwrap_err();
    assert!(!failure.message.contains("pass"), "{failure}");
}

#[test]
fn errors_of_invalid_settings_do_not_contain_the_password() {
    for (proxy, expected) in [
        ("http://me:secret@[", "the proxy is not a URL"),
        ("ftp://me:secret@host", "the proxy has a scheme other than http and https"),
        ("me:secret@host", "the proxy has a scheme other than"),
    ] {
        let proxy = ProxyChoice::Url(proxy.to_owned());
        let error = Client::new(&Settings { proxy, ..settings() }).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let broken = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    for (roots, expected) in [
        ("", "the roots hold no certificate"),
        ("certificate", "the roots hold no certificate"),
        (broken, "the roots cannot be read"),
    ] {
        let roots = Some(roots.as_bytes().to_vec());
        let error = Client::new(&Settings { roots, ..settings() }).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_client_outlives_the_runtimes_that_used_it() {
    let server = Server::new(vec![success()]);
    let client = Client::new(&settings()).unwrap();
    for _ in 0..3 {
        let (events, done) = exchange(&client, &request(&server.url()), None);
        assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    }
}

#[test]
fn the_debug_output_of_a_request_names_only_the_host() {
    let mut request = request("http://me:pw@host/v1?key=1");
    request.body = Bytes::from_static(b"private");
    let shown = format!("{request:?}");
    assert!(shown.contains("host"), "{shown}");
    for hidden in ["pw", "key", "private", "sk-secret"] {
        assert!(!shown.contains(hidden), "{shown}");
    }
}
