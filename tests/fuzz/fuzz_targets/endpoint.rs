//! Bodies of replies, valid or not: the events do not depend on the chunking, and a reply ends
//! once.

#![no_main]

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use inputs::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::json;
use toolweave::{
    calls::{CallOutcome, CallValidator, RepairMode, Tool},
    endpoint::{self, BodyFormat, CallParsing, Event, EventSink, Failure, Limits},
    parser::{Options, Parser},
    validator::Validator,
};

/// A sink that joins consecutive deltas of one kind.
#[derive(Default)]
struct JoinedReply(Vec<Event>);

impl EventSink for JoinedReply {
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

static READING: LazyLock<CallParsing> = LazyLock::new(|| {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let validator = Validator::new(&schema).expect("a schema");
    let tools = vec![
        Tool { name: "GetWeather".to_owned(), schema: None },
        Tool { name: "Get".to_owned(), schema: Some((schema, validator)) },
    ];
    let options = Options::default();
    CallParsing {
        validator: Arc::new(CallValidator::new(tools, RepairMode::Schema, options.limits)),
        parser: Parser::new(["GetWeather", "Get"], options).expect("names"),
        inline: true,
        recovered: false,
        deltas: true,
    }
});

fuzz_target!(|data: &[u8]| {
    let mut input = Input::read(data);
    let form = input.knob(&[BodyFormat::Events, BodyFormat::Document]);
    let reading = input
        .knob(&[None, Some(true), Some(false)])
        .map(|inline| CallParsing { inline, ..READING.clone() });
    let limits = Limits { line: input.knob(&[4096, 64]), body: input.knob(&[1 << 20, 300]) };

    let read = |pieces: &[&[u8]]| -> (Vec<Event>, Result<(), Failure>) {
        let mut joined = JoinedReply::default();
        let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece));
        let done = endpoint::read("m", form, pieces, limits, reading.clone(), &mut joined);
        (joined.0, done)
    };
    let (events, done) = read(&[input.raw]);
    let (same, same_done) = read(&input.cut_bytes(input.raw));
    assert_eq!(events, same);
    assert_eq!(done.as_ref().map_err(|f| f.kind), same_done.as_ref().map_err(|f| f.kind));
    ends(&events, &done);
    if reading.is_none() {
        let total: usize = events.iter().map(length).sum();
        // An object is converted to text, with a space after each comma and colon.
        assert!(total <= 2 * input.raw.len(), "{total}");
    }
});

/// Check that a reply ends once, and so does each of its calls.
fn ends(events: &[Event], done: &Result<(), Failure>) {
    let finishes = events.iter().filter(|event| matches!(event, Event::Finish { .. })).count();
    assert_eq!(finishes, usize::from(done.is_ok()));
    assert_eq!(done.is_ok(), matches!(events.last(), Some(Event::Finish { .. })));
    if let Err(failure) = done {
        assert!(failure.message.starts_with("m ") && failure.message.chars().count() < 1000);
        assert!(!failure.message.contains(char::is_control));
    }
    let mut open = Vec::new();
    for event in events {
        match event {
            Event::Start { index, .. } => open.push(*index),
            Event::Delta { index, .. } => assert!(open.contains(index)),
            Event::End { index, outcome, .. } => {
                assert!(open.contains(index));
                open.retain(|other| other != index);
                if let CallOutcome::Call { arguments, .. } = outcome {
                    assert!(arguments.is_object());
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn length(event: &Event) -> usize {
    match event {
        Event::Text(text) | Event::Reasoning(text) => text.len(),
        Event::Fragment(fragment) => {
            fragment.function_name.as_ref().map_or(0, String::len)
                + fragment.function_args.as_ref().map_or(0, String::len)
        }
        _ => 0,
    }
}
