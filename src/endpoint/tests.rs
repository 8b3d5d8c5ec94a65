//! Bodies of replies, read without a socket.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Event, Failure, FailureKind, Form, Limits, Outlet, Reading, read};
use crate::{
    calls::{InvalidKind, Judge, RepairMode, Tool, Verdict},
    message::FinishReason,
    parser::{self, Parser},
};

const LIMITS: Limits = Limits { line: 1 << 20, body: 1 << 24 };

/// Keeps what it is given, neighbours of one kind joined.
#[derive(Default)]
struct Joined(Vec<Event>);

impl Outlet for Joined {
    fn put(&mut self, event: Event) {
        match (self.0.last_mut(), event) {
            (Some(Event::Text(text)), Event::Text(more))
            | (Some(Event::Reasoning(text)), Event::Reasoning(more)) => text.push_str(&more),
            (
                Some(Event::Delta { index, fragment }),
                Event::Delta { index: same, fragment: more },
            ) if *index == same => {
                fragment.push_str(&more);
            }
            (_, event) => self.0.push(event),
        }
    }

    async fn room(&mut self) {}
}

/// Keeps what it is given.
#[derive(Default)]
struct Kept(Vec<Event>);

impl Outlet for Kept {
    fn put(&mut self, event: Event) {
        self.0.push(event);
    }

    async fn room(&mut self) {}
}

/// A reading for calls of `Add`.
fn reading(inline: bool) -> Reading {
    let tools = vec![Tool { name: "Add".to_owned(), schema: None }];
    let options = parser::Options::default();
    Reading {
        judge: Judge::new(tools, RepairMode::Schema, options.limits).into(),
        parser: Parser::new(["Add"], options).unwrap(),
        inline,
        deltas: true,
    }
}

/// What is read in a body that comes in these pieces.
fn joined(
    pieces: &[&[u8]],
    limits: Limits,
    reading: Option<Reading>,
) -> (Vec<Event>, Result<(), Failure>) {
    let mut joined = Joined::default();
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
    let done = read("m", Form::Events, pieces, limits, reading, &mut joined);
    (joined.0, done)
}

fn written(event: &Event) -> Value {
    match event {
        Event::Text(text) => json!({"text": text}),
        Event::Reasoning(text) => json!({"reasoning": text}),
        Event::Fragment(update) => json!({"fragment": {
            "id": update.tool_call_id,
            "index": update.index,
            "name": update.function_name,
            "arguments": update.function_args,
        }}),
        Event::Usage(usage) => {
            json!({"usage": [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens]})
        }
        Event::Finish(reason) => json!({"finish": reason}),
        other => json!(format!("{other:?}")),
    }
}

/// The golden cases of `tests/cases/completions`, which the reader in Python comes out of as well.
fn cases() -> Vec<(String, Vec<Value>, Vec<Value>)> {
    let mut cases = Vec::new();
    for name in ["calls", "finish", "text", "usage"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/completions");
        let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
        for case in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
            let list = |key: &str| case[key].as_array().unwrap().clone();
            cases.push((case["name"].to_string(), list("chunks"), list("updates")));
        }
    }
    cases
}

fn body(chunks: &[Value]) -> String {
    let events: Vec<_> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.concat()
}

#[test]
fn chunks_come_out_as_written() {
    let cases = cases();
    assert!(cases.len() > 60, "{}", cases.len());
    for (name, chunks, updates) in cases {
        let mut kept = Kept::default();
        let body = Bytes::from(body(&chunks));
        let done = read("m", Form::Events, [body], LIMITS, None, &mut kept);
        assert_eq!(done, Ok(()), "{name}");
        let events: Vec<_> = kept.0.iter().map(written).collect();
        assert_eq!(events, updates, "{name}");
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn said(text: &str) -> Value {
    chunk(&json!({"content": text}), None)
}

fn text_of(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Event::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn calls_are_found_in_text_and_judged() {
    let body = body(&[said("So <Ad"), said("d>{'a': 1}</Add>"), chunk(&json!({}), Some("stop"))]);
    let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(reading(true)));
    assert_eq!(done, Ok(()));
    let [Event::Text(text), Event::Start { index: 0, id: None, name }, .., end, finish] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((text.as_str(), name.as_str()), ("So ", "Add"));
    let Event::End { index: 0, name, raw, verdict: Verdict::Call { arguments, repairs } } = end
    else {
        panic!("{events:?}")
    };
    assert_eq!((name.as_str(), raw.as_str()), ("Add", "<Add>{'a': 1}</Add>"));
    assert_eq!((arguments, repairs.is_empty()), (&json!({"a": 1}), false));
    assert_eq!(finish, &Event::Finish(FinishReason::ToolCalls));
}

#[test]
fn text_stays_text_where_calls_are_not_inline() {
    let body = body(&[said("<Add>{}</Add>"), chunk(&json!({}), Some("stop"))]);
    let (events, _) = joined(&[body.as_bytes()], LIMITS, Some(reading(false)));
    let finish = Event::Finish(FinishReason::Stop);
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
    let (events, _) = joined(&[body.as_bytes()], LIMITS, Some(reading(false)));
    let Event::Start { id, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(id.as_deref(), Some("c1"));
    assert_eq!(events[1], Event::Delta { index: 0, fragment: "{\"a\": 1}".to_owned() });
    let Event::End { verdict: Verdict::Call { arguments, .. }, .. } = &events[2] else {
        panic!("{events:?}")
    };
    assert_eq!(arguments, &json!({"a": 1}));
    assert_eq!(events[3], Event::Finish(FinishReason::ToolCalls));
}

#[test]
fn a_call_that_the_reply_ends_in_is_not_completed() {
    for (last, reason) in [
        (chunk(&json!({}), Some("length")), FinishReason::Length),
        (chunk(&json!({}), Some("content_filter")), FinishReason::ContentFilter),
        (json!({}), FinishReason::Missing),
    ] {
        let call = json!({"index": 0, "function": {"name": "Add", "arguments": "{}"}});
        let native = chunk(&json!({"tool_calls": [call]}), None);
        for beginning in [said("<Add>{}"), native] {
            let body = body(&[beginning, last.clone()]);
            let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(reading(true)));
            assert_eq!(done, Ok(()));
            let [.., Event::End { verdict: Verdict::Invalid { kind, .. }, .. }, finish] =
                &events[..]
            else {
                panic!("{events:?}")
            };
            assert_eq!(kind, &InvalidKind::Unclosed);
            assert_eq!(finish, &Event::Finish(reason));
        }
    }
}

#[test]
fn what_came_before_a_failure_is_told_and_no_call_is_completed() {
    let body = body(&[said("<Add>{}")]) + "data: {\n\n";
    let (events, done) = joined(&[body.as_bytes()], LIMITS, Some(reading(true)));
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Chunk);
    assert!(failure.transient);
    assert_eq!(failure.received, body.len() as u64);
    assert!(failure.message.starts_with("m sent a chunk that cannot be read: "), "{failure}");
    let Some(Event::End { verdict: Verdict::Invalid { kind, .. }, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!(kind, &InvalidKind::Unclosed);
}

#[test]
fn a_reply_whose_end_was_said_is_whole_whatever_comes_then() {
    for rest in ["data: {\n\n", "data: \u{0}\n\n", "data: {\"error\": \"no\"}\n\n"] {
        let body = body(&[said("Hi"), chunk(&json!({}), Some("stop"))]) + rest;
        let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
        assert_eq!(done, Ok(()));
        assert_eq!(events[1..], [Event::Finish(FinishReason::Stop)]);
    }
}

#[test]
fn what_comes_after_the_last_chunk_is_not_read() {
    let body = body(&[said("Hi")]) + "data: [DONE]\n\ndata: {\n\n";
    let (events, done) = joined(&[body.as_bytes()], LIMITS, None);
    assert_eq!(done, Ok(()));
    assert_eq!(events[1..], [Event::Finish(FinishReason::Missing)]);
}

#[test]
fn events_are_read_however_they_are_written() {
    let hi = said("Hi");
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
fn an_event_and_a_reply_have_limits() {
    let hi = body(&[said("Hi")]);
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
fn an_error_in_place_of_a_chunk_says_what_the_server_said() {
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
        (json!(true), "m sent an error: it says no more than that", 0, None),
    ] {
        let body = body(&[said("Hi"), json!({"error": error})]);
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
fn halves_of_characters_become_marks() {
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
    // Half a character sends the text through another reader.
    let body = format!("data: {{\"x\": {deep}, \"choices\": \"\\ud83d\"}}\n\n");
    assert_eq!(joined(&[body.as_bytes()], LIMITS, None).1.unwrap_err().kind, FailureKind::Chunk);
}

fn whole(document: &str, reading: Option<Reading>) -> (Vec<Event>, Result<(), Failure>) {
    let mut joined = Joined::default();
    let pieces = document.as_bytes().chunks(7).map(Bytes::copy_from_slice);
    let done = read("m", Form::Document, pieces, LIMITS, reading, &mut joined);
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
    let (events, _) = whole(&document.to_string(), Some(reading(true)));
    let ends = events.iter().filter(|event| matches!(event, Event::End { .. })).count();
    assert_eq!(ends, 2);
}

#[test]
fn a_document_that_is_no_reply_is_told_from_one_that_is_broken() {
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

/// Pieces of bodies, sound and unsound.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line_end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let text = prop_oneof![
        prop::sample::select(vec![
            "<Add>",
            "{\"a\": 1}",
            "</Add>",
            "<",
            "Add",
            "é😀",
            "\u{0}",
            "\\"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    let event = (text, line_end.clone(), any::<bool>()).prop_map(|(text, end, ascii)| {
        let mut json = said(&text).to_string();
        if ascii {
            json = json.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00");
        }
        format!("data: {json}{end}{end}").into_bytes()
    });
    let other = prop::sample::select(vec![
        &b": waiting\n\n"[..],
        b"\n",
        b"\r",
        b"\r\n",
        b"data: ",
        b"data",
        b": ",
        b"data: {}\n\n",
        b"data: {\"choices\": [{\"finish_reason\": \"stop\"}]}\n\n",
        b"data: {\"usage\": {\"prompt_tokens\": 3}}\n\n",
        b"data: {\"error\": \"x\"}\n\n",
        b"data: [DONE]\n\n",
        b"{\"choices\":",
        b"\xff",
        b"\xc3",
        "\u{feff}".as_bytes(),
    ]);
    prop_oneof![8 => event, 1 => (other, line_end).prop_map(|(bytes, _)| bytes.to_vec())]
}

fn cut<'b>(body: &'b [u8], widths: &[usize]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut rest = body;
    for width in widths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*width).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

proptest! {
    #[test]
    fn however_a_body_is_cut_the_same_is_read(
        body in prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat()),
        widths in prop::collection::vec(1_usize..40, 1..6),
        (line, most) in (60_usize..400, 200_u64..2000),
        parsed in any::<Option<bool>>(),
    ) {
        let limits = Limits { line, body: most };
        let reading = || parsed.map(reading);
        let (events, done) = joined(&[&body], limits, reading());
        let (same, same_done) = joined(&cut(&body, &widths), limits, reading());
        prop_assert_eq!(&events, &same);
        prop_assert_eq!(done.as_ref().err().map(|f| f.kind), same_done.err().map(|f| f.kind));
        let finishes = events.iter().filter(|event| matches!(event, Event::Finish(_))).count();
        prop_assert_eq!(finishes, usize::from(done.is_ok()));
    }

    #[test]
    fn no_text_is_lost(
        texts in prop::collection::vec("\\PC{0,8}", 0..10),
        widths in prop::collection::vec(1_usize..40, 1..6),
    ) {
        let chunks: Vec<_> = texts.iter().map(|text| said(text)).collect();
        let body = body(&chunks);
        let (events, done) = joined(&cut(body.as_bytes(), &widths), LIMITS, None);
        prop_assert_eq!(done, Ok(()));
        prop_assert_eq!(text_of(&events), texts.concat());
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        body in prop::collection::vec(any::<u8>(), 0..400),
        form in prop::sample::select(vec![Form::Events, Form::Document]),
    ) {
        let mut kept = Kept::default();
        let pieces = body.chunks(9).map(Bytes::copy_from_slice);
        let _ = read("m", form, pieces, LIMITS, Some(reading(true)), &mut kept);
    }
}
