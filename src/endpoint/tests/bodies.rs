//! Properties of bodies: event formats, size limits, and content other than a reply.

use serde_json::json;

use super::{
    super::{Event, FailureKind, Limits},
    LIMITS, body, chunk, joined, text_chunk, text_of,
};
use crate::message::FinishReason;

#[test]
fn errors_after_the_finish_reason_are_ignored() {
    for rest in ["data: {\n\n", "data: \u{0}\n\n", "data: {\"error\": \"no\"}\n\n"] {
        let body = body(&[text_chunk("Hi"), chunk(&json!({}), Some("stop"))]) + rest;
        let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
        assert_eq!(done, Ok(()));
        assert_eq!(events[1..], [Event::Finish { reason: FinishReason::Stop, unknown: None }]);
    }
}

#[test]
fn nothing_is_read_after_the_end_marker() {
    let body = body(&[text_chunk("Hi")]) + "data: [DONE]\n\ndata: {\n\n";
    let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
    assert_eq!(done, Ok(()));
    assert_eq!(events[1..], [Event::Finish { reason: FinishReason::Missing, unknown: None }]);
}

#[test]
fn all_formats_of_events_are_read() {
    let hi = text_chunk("Hi");
    for body in [
        format!("data: {hi}"),
        format!("data: {hi}\n"),
        format!("data:{hi}\r\n\r\n"),
        format!("data: {hi}\r\r"),
        format!("\u{feff}data: {hi}\n\n"),
        format!(": waiting\n\n:\nid: 1\nevent: chunk\nretry: 5\nx: y\ndata: {hi}\n\n"),
        format!("data: {}\n\n", hi.to_string().replace(':', ":\ndata: ")),
        format!("event: ping\n\ndata: {hi}\n\n"),
        format!("data\n\ndata:\n\ndata:  \n\ndata: \ndata: \n\ndata: {hi}\n\n"),
    ] {
        let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
        assert_eq!((text_of(&events).as_str(), done), ("Hi", Ok(())), "{body:?}");
    }
}

#[test]
fn a_body_without_events_is_not_a_reply() {
    let utf16: Vec<_> = format!("data: {}\n\n", text_chunk("Hi"))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for body in [&utf16[..], b"\x1f\x8b\x08 \n\n \r", b"hello", b"\n\nhello\n\n", b":\n\nx: y\n"] {
        let (events, done) = joined(&[body], LIMITS, None);
        let failure = done.unwrap_err();
        assert_eq!((events.len(), failure.kind), (0, FailureKind::Protocol), "{body:?}");
        let after = format!("after {} bytes of the reply", body.len());
        assert_eq!(failure.message, format!("m sent nothing that can be read as a reply, {after}"));
    }
    for body in ["", "\n", ": waiting\n\n:\n\n", ":\r\r:x\r\n", "event: ping\n\n", "data\n\n"] {
        let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
        assert_eq!(done, Ok(()), "{body:?}");
        assert_eq!(events, [Event::Finish { reason: FinishReason::Missing, unknown: None }]);
    }
}

#[test]
fn an_event_and_a_reply_have_limits() {
    let hi = body(&[text_chunk("Hi")]);
    let endless = "x".repeat(100);
    for rest in [
        format!("data: {endless}"),
        endless.clone(),
        "data: x\n".repeat(50),
        format!(": {endless}"),
        "data: x\r\n".repeat(50),
    ] {
        let limits = Limits { line: 90, ..LIMITS };
        let (events, done) = joined(&[format!("{hi}{rest}").as_bytes()], limits, None);
        let failure = done.unwrap_err();
        assert_eq!((text_of(&events).as_str(), failure.kind), ("Hi", FailureKind::TooLarge));
        assert!(failure.message.starts_with("m sent an event that is larger than 90 bytes"));
        assert!(!failure.transient);
    }
    let many = hi.repeat(20);
    let limits = Limits { line: 90, body: hi.len() as u64 * 10 + 5 };
    let (events, done) = joined(&[many.as_bytes()], limits, None);
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge);
    assert_eq!(failure.received, limits.body);
    assert_eq!(text_of(&events), "Hi".repeat(10));
    let whole = Limits { line: 90, body: many.len() as u64 };
    assert_eq!(joined(&[many.as_bytes()], whole, None).1, Ok(()));
}

#[test]
fn an_error_in_place_of_a_chunk_has_the_message_of_the_server() {
    for (error, message, status, code) in [
        (
            json!({"message": "no\n more", "code": 503}),
            "m answered with status 503: no more",
            503,
            None,
        ),
        (json!("too bad"), "m sent an error: too bad", 0, None),
        (json!({"type": "overloaded"}), "m sent an error: overloaded", 0, Some("overloaded")),
        (json!({"code": "x", "type": "y"}), "m sent an error: x", 0, Some("x")),
        (json!(true), "m sent an error: no details given", 0, None),
    ] {
        let body = body(&[text_chunk("Hi"), json!({"error": error})]);
        let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
        let failure = done.unwrap_err();
        assert_eq!(text_of(&events), "Hi");
        let after = format!("{message}, after {} bytes of the reply", body.len());
        assert_eq!(failure.message, after);
        assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::Status, code));
        assert_eq!(failure.status.unwrap_or(0), status);
        assert_eq!(failure.transient, status == 503);
    }
    let none = body(&[json!({"error": null}), json!({"error": {}}), json!({"error": ""})]);
    assert_eq!(joined(&[none.as_bytes()], LIMITS, None).1, Ok(()));
}

#[test]
fn lone_surrogates_become_replacement_characters() {
    let body = "data: {\"choices\": [{\"delta\": {\"content\": \"a\\ud83d b\\u00e9\"}}]}\n\n";
    let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
    assert_eq!((text_of(&events).as_str(), done), ("a\u{fffd} bé", Ok(())));
}

#[test]
fn depth_overflows_no_stack() {
    let deep = "[".repeat(300_000) + &"]".repeat(300_000);
    let objects = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
    for nested in [&deep, &objects] {
        for (field, read) in [("x", true), ("arguments", false)] {
            let body = format!(
                "data: {{\"choices\": [{{\"delta\": {{\"content\": \"Hi\", \"tool_calls\": \
                 [{{\"function\": {{\"{field}\": {{\"a\": {nested}}}}}}}]}}}}]}}\n\n"
            );
            let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
            assert_eq!(done.is_ok(), read);
            assert_eq!(text_of(&events) == "Hi", read);
        }
    }
    // A lone surrogate sends the text through the repairing parser.
    let body = format!("data: {{\"x\": {deep}, \"choices\": \"\\ud83d\"}}\n\n");
    assert_eq!(joined(&[body.as_bytes()], LIMITS, None).1.unwrap_err().kind, FailureKind::Chunk);
}
