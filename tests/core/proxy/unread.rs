//! A thousand clients of the command `toolweave-serve` that never read.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    net::TcpSocket,
    runtime::{Builder, Runtime},
};

use super::{CHAT, client, request, serving::Serving, text};
use crate::endpoint::server::STREAM;

/// The number of clients.
const CLIENTS: usize = 1000;

/// The number of chunks of 1,000 bytes that the upstream has for each: many times what the proxy
/// keeps of a response.
const FLOOD: usize = 1000;

/// The time in which nothing is taken from the upstream once the proxy waits for its clients.
const STILL: Duration = Duration::from_secs(1);

/// The memory that a stream may take while its client does not read, in KiB: less than half of what
/// the upstream has for it. The client of the proxy doubles its buffer while reads fill it, up to 400
/// KiB, so a stream takes 60 if the upstream is slow, 100 to 160 in most runs, and up to 305.
const MAX_KIB: usize = 400;

/// Send a request on a connection that takes only a few bytes of the response.
fn ask(runtime: &Runtime, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = runtime.block_on(socket.connect(address)).unwrap().into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let body = request(json!({"stream": true})).to_string();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// The connections of an upstream, each with the number of bytes sent on it.
type Connections = Arc<Mutex<Vec<(TcpStream, usize)>>>;

/// Start an upstream that accepts all requests, on connections that hold little themselves.
fn accepting(runtime: &Runtime) -> (SocketAddr, Connections) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4096).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = runtime.block_on(async { socket.listen(1024) }).unwrap().into_std().unwrap();
    listener.set_nonblocking(false).unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Connections::default();
    let accepted = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 16 << 10];
            if stream.read(&mut head).unwrap_or(0) > 0 {
                stream.set_nonblocking(true).unwrap();
                accepted.lock().unwrap().push((stream, 0));
            }
        }
    });
    (address, connections)
}

/// Send a flood on all connections, until none takes any more. Return the bytes sent.
fn flood(connections: &Connections) -> usize {
    let piece = text(&"x".repeat(1000));
    let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
    let reply = STREAM.to_owned() + &chunk.repeat(FLOOD);
    let mut moved = Instant::now();
    while moved.elapsed() < STILL {
        for (stream, sent) in &mut *connections.lock().unwrap() {
            while let Ok(count @ 1..) = stream.write(&reply.as_bytes()[*sent..]) {
                *sent += count;
                moved = Instant::now();
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    connections.lock().unwrap().iter().map(|(_, sent)| sent).sum()
}

#[test]
fn clients_that_never_read_take_little_and_leave_nothing() {
    let runtime = Builder::new_current_thread().enable_io().build().unwrap();
    let (upstream, connections) = accepting(&runtime);
    let serving = Serving::new(
        &format!("http://{upstream}/v1"),
        &["--mode", "natural", "--max-concurrency", "2000", "--client-timeout", "300", "--quiet"],
        &[],
    );
    // What is made once, such as the parser of these tools.
    let first = ask(&runtime, serving.address);
    client::eventually(|| connections.lock().unwrap().len() == 1);
    flood(&connections);
    drop(first);
    client::eventually(|| serving.has_in_flight(0));
    connections.lock().unwrap().clear();
    let before = (serving.memory(), serving.count("fd"), serving.count("task"));
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| ask(&runtime, serving.address)).collect();
    client::eventually(|| connections.lock().unwrap().len() == CLIENTS);
    let sent = flood(&connections);
    assert!(serving.has_in_flight(CLIENTS));
    let each = serving.memory().saturating_sub(before.0) / CLIENTS;
    let sent = (sent >> 10) / CLIENTS;
    assert!(sent < FLOOD / 2, "{sent} KiB a stream were read from the upstream");
    assert!(each <= MAX_KIB, "{each} KiB a stream, after {sent} KiB");
    drop(clients);
    client::eventually(|| serving.has_in_flight(0));
    client::eventually(|| serving.count("fd") <= before.1 + 2);
    // A thread that had nothing more to do may have ended.
    let threads = serving.count("task");
    assert!(threads <= before.2, "{threads} threads, {} before", before.2);
}
