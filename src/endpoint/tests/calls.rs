//! Calls in replies, including replies that end within a call.

use serde_json::json;

use super::{
    super::{Event, FailureKind},
    LIMITS, body, chunk, joined, parsing, text_chunk,
};
use crate::{
    calls::{CallOutcome, InvalidKind},
    message::FinishReason,
};

#[test]
fn calls_are_found_in_text_and_judged() {
    let body = body(&[
        text_chunk("So <Ad"),
        text_chunk("d>{'a': 1}</Add>"),
        chunk(&json!({}), Some("stop")),
    ]);
    let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(parsing(true)));
    assert_eq!(done, Ok(()));
    let [Event::Text(text), Event::Start { index: 0, id: None, name, .. }, .., end, finish] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((text.as_str(), name.as_str()), ("So ", "Add"));
    let Event::End { index: 0, name, raw, dialect: "natural", recovered: false, outcome } = end
    else {
        panic!("{events:?}")
    };
    let CallOutcome::Call { arguments, repairs } = outcome else { panic!("{events:?}") };
    assert_eq!((name.as_str(), raw.as_str()), ("Add", "<Add>{'a': 1}</Add>"));
    assert_eq!((arguments, repairs.is_empty()), (&json!({"a": 1}), false));
    assert_eq!(finish, &Event::Finish { reason: FinishReason::ToolCalls, unknown: None });
}

#[test]
fn text_stays_text_where_calls_are_not_inline() {
    let body = body(&[text_chunk("<Add>{}</Add>"), chunk(&json!({}), Some("stop"))]);
    let (events, _) = joined(&[body.as_bytes()], LIMITS, Some(parsing(false)));
    let finish = Event::Finish { reason: FinishReason::Stop, unknown: None };
    assert_eq!(events, [Event::Text("<Add>{}</Add>".to_owned()), finish]);
}

#[test]
fn native_calls_are_judged_as_well() {
    let fragment = |arguments: &str| {
        let call = json!({"index": 0, "id": "c1",
            "function": {"name": "Add", "arguments": arguments}});
        chunk(&json!({"tool_calls": [call]}), None)
    };
    let body = body(&[fragment("{\"a\""), fragment(": 1}"), chunk(&json!({}), Some("stop"))]);
    let (events, _) = joined(&[body.as_bytes()], LIMITS, Some(parsing(false)));
    let Event::Start { id, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(id, &Some(crate::parser::CallId::Provided("c1".to_owned())));
    assert_eq!(events[1], Event::Delta { index: 0, fragment: "{\"a\": 1}".to_owned() });
    let Event::End { outcome: CallOutcome::Call { arguments, .. }, .. } = &events[2] else {
        panic!("{events:?}")
    };
    assert_eq!(arguments, &json!({"a": 1}));
    assert_eq!(events[3], Event::Finish { reason: FinishReason::ToolCalls, unknown: None });
}

#[test]
fn a_call_that_the_reply_ends_in_is_unclosed() {
    for (last, reason) in [
        (chunk(&json!({}), Some("length")), FinishReason::Length),
        (chunk(&json!({}), Some("content_filter")), FinishReason::ContentFilter),
        (json!({}), FinishReason::Missing),
    ] {
        let call = json!({"index": 0, "function": {"name": "Add", "arguments": "{}"}});
        let native = chunk(&json!({"tool_calls": [call]}), None);
        for beginning in [text_chunk("<Add>{}"), native] {
            let body = body(&[beginning, last.clone()]);
            let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(parsing(true)));
            assert_eq!(done, Ok(()));
            let [.., Event::End { outcome: CallOutcome::Invalid { kind, .. }, .. }, finish] =
                &events[..]
            else {
                panic!("{events:?}")
            };
            assert_eq!(kind, &InvalidKind::Unclosed);
            assert_eq!(finish, &Event::Finish { reason, unknown: None });
        }
    }
}

#[test]
fn events_before_a_failure_are_kept_and_open_calls_are_unclosed() {
    let body = body(&[text_chunk("<Add>{}")]) + "data: {\n\n";
    let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(parsing(true)));
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Chunk);
    assert!(failure.transient);
    assert_eq!(failure.received, body.len() as u64);
    assert!(failure.message.starts_with("m sent a chunk that cannot be read: "), "{failure}");
    let Some(Event::End { outcome: CallOutcome::Invalid { kind, .. }, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(kind, &InvalidKind::Unclosed);
}
