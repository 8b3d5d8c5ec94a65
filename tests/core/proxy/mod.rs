//! The proxy: golden cases of its APIs, and whole servers in front of a scripted upstream.

mod aliases;
mod arguments;
mod client;
mod cuts;
mod faults;
mod golden;
mod guards;
#[cfg(target_os = "linux")]
mod keys;
mod laws;
mod learning;
mod leaving;
#[cfg(target_os = "linux")]
mod log;
mod order;
mod recording;
mod replies;
#[cfg(target_os = "linux")]
mod restarts;
#[cfg(target_os = "linux")]
mod serving;
#[cfg(target_os = "linux")]
mod unread;

use serde_json::{Value, json};
use toolweave::proxy::{Mode, Server, Settings};

use self::client::{Answer, post};
use super::endpoint::server::{Connection, Script, Server as Upstream};

/// Start a proxy in front of an upstream that answers one request with each script.
fn start(scripts: Vec<Script>, change: impl FnOnce(&mut Settings)) -> (Server, Upstream) {
    let upstream = Upstream::new(scripts);
    let url = upstream.url().replace("/chat/completions", "");
    let mut settings = Settings::new(url.parse().unwrap());
    settings.upstream_key = Some("sk-upstream-key".to_owned());
    change(&mut settings);
    (Server::start(settings).unwrap(), upstream)
}

fn natural(settings: &mut Settings) {
    settings.mode = Some(Mode::Natural);
}

/// Return the request for a reply with tools.
fn request(more: Value) -> Value {
    let mut request = json!({
        "model": "acme-1",
        "messages": [{"role": "user", "content": "Weather in Oslo?"}],
        "tools": [{"type": "function", "function": {
            "name": "get_weather",
            "description": "Current weather.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        }}],
    });
    let Value::Object(more) = more else { panic!("{more} should be an object") };
    request.as_object_mut().unwrap().extend(more);
    request
}

/// Return the requests of all APIs, with their paths.
fn requests(stream: bool) -> [(&'static str, Value); 3] {
    let chat = request(json!({"stream": stream}));
    let tool = chat["tools"][0]["function"].clone();
    let messages = chat["messages"].clone();
    let anthropic = json!({"name": tool["name"], "input_schema": tool["parameters"]});
    let mut function = tool;
    function["type"] = "function".into();
    [
        (
            MESSAGES,
            json!({
                "model": "m", "max_tokens": 9, "stream": stream, "messages": messages,
                "tools": [anthropic],
            }),
        ),
        (
            RESPONSES,
            json!({"model": "m", "stream": stream, "input": messages, "tools": [function]}),
        ),
        (CHAT, chat),
    ]
}

/// A call as models write it in text.
const CALL_TEXT: &str = "<get_weather>{\"city\": \"Oslo\"}</get_weather>";

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";

fn ask(server: &Server, more: Value) -> Answer {
    post(server.address(), CHAT, &request(more).to_string())
}

/// Return the chunk with a piece of text.
fn text(piece: &str) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
    format!("data: {chunk}\n\n")
}

/// Return the chunks that end a reply.
fn end(reason: &str) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = json!({
        "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    format!("data: {chunk}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

/// Return a script that streams a reply, in pieces of a few characters.
fn streams(reply: &str) -> Script {
    streams_in_pieces(reply, 4)
}

fn streams_in_pieces(reply: &str, size: usize) -> Script {
    let chars: Vec<char> = reply.chars().collect();
    let pieces: Vec<String> =
        chars.chunks(size).map(|piece| text(&piece.iter().collect::<String>())).collect();
    Box::new(move |connection: &mut Connection| {
        connection.stream(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
        connection.piece(&end("stop"));
        connection.end();
    })
}

/// Return a script that sends a whole response.
fn responds(status: &str, headers: &str, body: &str) -> Script {
    let response =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len());
    Box::new(move |connection: &mut Connection| connection.send(&response))
}

/// Return a script that sends a reply as one document.
fn completes(message: &Value) -> Script {
    let document = json!({
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    });
    responds("200 OK", "content-type: application/json\r\n", &document.to_string())
}

/// Return the body of a request that the upstream received.
fn received(upstream: &Upstream, number: usize) -> Value {
    serde_json::from_str(&upstream.requests()[number].body).unwrap()
}
