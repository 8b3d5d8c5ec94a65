//! An HTTP client of a few lines, which shows what is sent as it is.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::endpoint::server::TEST_TIMEOUT;

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// True if the body has its whole length.
    pub(super) is_whole: bool,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body should be JSON")
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Return the chunks of a stream; the last event must be `[DONE]`.
    pub(super) fn chunks(&self) -> Vec<Value> {
        let text = self.text();
        let rest = text.strip_suffix("data: [DONE]\n\n").expect(&text);
        let events = rest.split_terminator("\n\n");
        events
            .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
            .collect()
    }

    /// Return the text of a stream.
    pub(super) fn reply_text(&self) -> String {
        let chunks = self.chunks();
        let text =
            |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
        chunks.iter().filter_map(text).collect()
    }

    /// Return the reply that the chunks of a stream add up to: text, calls and finish reason.
    pub(super) fn reply(&self) -> (String, Vec<(String, String)>, String) {
        let (mut text, mut calls, mut finish) = (String::new(), Vec::new(), String::new());
        for chunk in self.chunks() {
            let Some(choice) = chunk["choices"].get(0) else { continue };
            text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
            for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
                assert_eq!(call["index"], calls.len());
                assert!(!call["id"].as_str().unwrap().is_empty());
                let part = |name: &str| call["function"][name].as_str().unwrap().to_owned();
                calls.push((part("name"), part("arguments")));
            }
            finish.push_str(choice["finish_reason"].as_str().unwrap_or_default());
        }
        (text, calls, finish)
    }
}

/// Send a request with further headers, each with its line break, and return the connection.
pub(super) fn open(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let host = if headers.to_lowercase().contains("host:") {
        String::new()
    } else {
        format!("host: {address}\r\n")
    };
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\n{host}{headers}content-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // The server may refuse the body.
    let _ = stream.write_all(body.as_bytes());
    BufReader::new(stream)
}

/// Send a request and return its response.
pub(super) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Answer {
    answer(&mut open(address, method, path, headers, body))
}

pub(super) fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    send(address, "POST", path, "content-type: application/json\r\n", body)
}

pub(super) fn get(address: SocketAddr, path: &str) -> Answer {
    send(address, "GET", path, "", "")
}

/// Read a response.
pub(super) fn answer(reader: &mut BufReader<TcpStream>) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "no response: {head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut answer = Answer { status, head, body: Vec::new(), is_whole: true };
    if let Some(length) = answer.header("content-length").map(|length| length.parse().unwrap()) {
        answer.body = vec![0; length];
        reader.read_exact(&mut answer.body).unwrap();
        return answer;
    }
    if answer.status == 204 {
        return answer;
    }
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            answer.is_whole = false;
            return answer;
        }
        let size = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).unwrap();
        if size == 0 {
            return answer;
        }
        answer.body.extend_from_slice(&chunk[..size]);
    }
}

/// Send a request whose body comes as one chunk.
pub(super) fn open_chunked(
    address: SocketAddr,
    path: &str,
    headers: &str,
    body: &str,
) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n{headers}\r\n");
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    stream.write_all((head + &chunk).as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Read until a text has arrived.
pub(super) fn read_until(reader: &mut BufReader<TcpStream>, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        assert_ne!(reader.read_line(&mut seen).unwrap(), 0, "{text:?} did not come: {seen}");
    }
}

/// Wait until a condition holds.
pub(super) fn eventually(holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < TEST_TIMEOUT, "the condition did not become true");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
