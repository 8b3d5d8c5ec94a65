//! The HTTP client of endpoints against local servers.

mod backpressure;
mod failures;
mod pooling;
mod replies;
pub(crate) mod server;

use std::time::Duration;

use bytes::Bytes;
use reqwest::{Url, header::HeaderMap};
use tokio::runtime::{Builder, Runtime};
use toolweave::{
    endpoint::{
        CallParsing, Client, Event, Failure, HttpVersion, Limits, ProxyChoice, Request, Retries,
        Settings, Timeouts, stream_reply,
    },
    message::FinishReason,
};

use self::server::{Server, TEST_TIMEOUT};

fn settings() -> Settings {
    Settings {
        connect_timeout: TEST_TIMEOUT,
        proxy: ProxyChoice::None,
        roots: None,
        http_version: HttpVersion::Auto,
        follow_redirects: false,
        max_header_bytes: 64 << 10,
    }
}

fn request(url: &str) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer sk-secret".parse().unwrap());
    Request {
        name: "acme".to_owned(),
        method: reqwest::Method::POST,
        url: Url::parse(url).unwrap(),
        headers,
        body: Bytes::from_static(b"{}"),
        timeouts: Timeouts { first_byte: TEST_TIMEOUT, idle: TEST_TIMEOUT, total: None },
        retries: Retries {
            limit: 2,
            initial_delay: Duration::from_millis(1),
            max_delay: Duration::from_secs(10),
        },
        limits: Limits { line: 1 << 20, body: 16 << 20 },
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Send a request and return its events and outcome.
fn exchange(
    client: &Client,
    request: &Request,
    parsing: Option<CallParsing>,
) -> (Vec<Event>, Result<(), Failure>) {
    let mut log: Vec<Event> = Vec::new();
    let done = runtime().block_on(stream_reply(client, request, parsing, &mut log));
    (log, done)
}

fn chunk(text: &str) -> String {
    format!("data: {{\"choices\": [{{\"delta\": {{\"content\": {text:?}}}}}]}}\n\n")
}

const STOP: &str = "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn text(events: &[Event]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn finish(events: &[Event]) -> Option<FinishReason> {
    match events.last() {
        Some(Event::Finish { reason, .. }) => Some(*reason),
        _ => None,
    }
}
