//! Bodies of requests to the proxy, valid or not: they are read or rejected, in each API, and what
//! is sent to the upstream is JSON.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use toolweave::{
    parser::Dialect,
    proxy::{
        ApiError, ChatRequest, Mode,
        chat::{self, ChatBody},
        messages, responses, upstream_body,
    },
};

fn check(read: Result<ChatRequest, ApiError>) {
    let request = match read {
        Ok(request) => request,
        Err(error) => return check_error(&error),
    };
    for dialect in [Dialect::NATURAL, Dialect::named("hermes").expect("a dialect")] {
        match upstream_body(&request, Mode::Natural, dialect) {
            Ok(body) => {
                let body: Map<String, Value> = serde_json::from_slice(&body).expect("JSON");
                assert!(!body.contains_key("tools") && body["messages"].is_array());
            }
            Err(error) => check_error(&error),
        }
    }
    let native = upstream_body(&request, Mode::Recover, Dialect::NATURAL).expect("a body");
    assert_eq!(native, request.native);
    let native: Map<String, Value> = serde_json::from_slice(&native).expect("JSON");
    // Where no calls are to come, the client's own names are sent in place of the aliases.
    if request.aliases.is_empty() {
        assert_eq!(native, request.body);
    }
}

fn check_error(error: &ApiError) {
    assert_eq!(error.status, 400, "{error:?}");
    assert!(!error.message.is_empty());
}

fuzz_target!(|data: &[u8]| {
    let body = Bytes::copy_from_slice(data);
    check(chat::read(body.clone()).map(|read| match read {
        ChatBody::Tools(request) | ChatBody::Plain { request, .. } => *request,
    }));
    check(messages::read(&body));
    check(responses::read(&body));
});
