//! Replies that come as one JSON document.

use bytes::Bytes;
use serde_json::json;

use super::{
    super::{BodyFormat, CallParsing, Event, Failure, FailureKind, read},
    JoinedReply, LIMITS, parsing, written,
};

fn whole(document: &str, parsing: Option<CallParsing>) -> (Vec<Event>, Result<(), Failure>) {
    let mut joined = JoinedReply::default();
    let pieces = document.as_bytes().chunks(7).map(Bytes::copy_from_slice);
    let done = read("m", BodyFormat::Document, pieces, LIMITS, parsing, &mut joined);
    (joined.0, done)
}

#[test]
fn a_reply_that_comes_as_one_document_gives_the_same_events() {
    let document = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant",
            "reasoning_content": "hm",
            "content": "Hi",
            "refusal": null,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "Add", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "Add", "arguments": "{}"}},
            ],
        }}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let (events, done) = whole(&document.to_string(), None);
    assert_eq!(done, Ok(()));
    let written: Vec<_> = events.iter().map(written).collect();
    let fragment = |id: &str, index: usize| json!({"fragment": {"id": id, "index": index, "name": "Add", "arguments": "{}"}});
    assert_eq!(
        written,
        [
            json!({"reasoning": "hm"}),
            json!({"text": "Hi"}),
            fragment("c1", 0),
            fragment("c2", 1),
            json!({"usage": [1, 2, 0]}),
            json!({"finish": "tool_calls"}),
        ]
    );
    let (events, _) = whole(&document.to_string(), Some(parsing(true)));
    let ends = events.iter().filter(|event| matches!(event, Event::End { .. })).count();
    assert_eq!(ends, 2);
}

#[test]
fn documents_that_are_not_replies_are_distinguished_from_invalid_json() {
    for (document, kind) in [
        ("{}", FailureKind::Protocol),
        ("[]", FailureKind::Protocol),
        ("{\"detail\": \"Not Found\"}", FailureKind::Protocol),
        ("{\"choices\": [", FailureKind::Chunk),
        ("", FailureKind::Chunk),
        ("{\"error\": {\"message\": \"no\"}}", FailureKind::Status),
    ] {
        let (events, done) = whole(document, None);
        assert_eq!((events, done.unwrap_err().kind), (Vec::new(), kind), "{document}");
    }
}
