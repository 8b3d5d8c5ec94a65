//! Properties of stream events.

mod chats;
mod schema;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    sync::LazyLock,
};

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Map, Value, json};

use self::chats::{START, chat, lookalike};
use super::{CallState, RunStatus, Snapshot, StreamEvent, StreamReducer};
use crate::message::{MessageKind, spelling::is_misspelling_of};

static EVENTS: LazyLock<jsonschema::Validator> = LazyLock::new(|| schema("stream-events.json"));
static SNAPSHOTS: LazyLock<jsonschema::Validator> = LazyLock::new(|| schema("snapshot.json"));

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
    let schema = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn reduce(events: &[StreamEvent]) -> StreamReducer {
    let mut reducer = StreamReducer::with_pending_timeout(Some(500));
    for event in events {
        reducer.push(event.clone()).unwrap();
    }
    reducer
}

fn snapshot(events: &[StreamEvent]) -> Snapshot {
    reduce(events).snapshot(Some(START + 1000))
}

/// Misspell a name in a typical way.
fn misspell(name: &str, slip: u8) -> String {
    match slip {
        0 => name.chars().fold(String::new(), |mut snake, letter| {
            if letter.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
            snake
        }),
        1 => name.to_ascii_uppercase(),
        _ if name.len() < 5 => format!("{name}-"),
        2 => name[1..].to_owned(),
        _ => format!("{name}s"),
    }
}

proptest! {
    #[test]
    fn snapshots_do_not_depend_on_order_repetition_or_earlier_snapshots(
        events in chat(),
        order in vec((any::<Index>(), prop::bool::weighted(0.1)), 0..60),
    ) {
        let mut reducer = StreamReducer::with_pending_timeout(Some(500));
        let mut known = BTreeMap::new();
        for (index, look) in order.iter().filter(|_| !events.is_empty()) {
            let event = index.get(&events);
            let fresh = known.insert(event.head.sequence_number, event.clone()).is_none();
            prop_assert_eq!(reducer.push(event.clone()), Ok(fresh));
            if *look {
                let known: Vec<_> = known.values().cloned().collect();
                prop_assert_eq!(reducer.snapshot(Some(START + 1000)), snapshot(&known));
                prop_assert_eq!(reducer.messages(None), reduce(&known).messages(None));
            }
        }
        for event in events.iter().rev() {
            reducer.push(event.clone()).unwrap();
        }
        let expected = snapshot(&events);
        prop_assert_eq!(expected.last_sequence_number, events.len() as u64);
        prop_assert_eq!(&expected.missing, &[]);
        prop_assert_eq!(reducer.snapshot(Some(START + 1000)), expected);
        prop_assert_eq!(reducer.messages(None), reduce(&events).messages(None));
    }

    #[test]
    fn events_after_a_gap_are_applied_as_if_there_was_none(
        events in chat(),
        lost in vec(any::<Index>(), 0..5),
    ) {
        let mut kept = events.clone();
        for index in lost {
            if !kept.is_empty() {
                kept.remove(index.index(kept.len()));
            }
        }
        // The same without gaps in the numbers.
        let closed: Vec<_> = kept.iter().cloned().zip(1..).map(|(mut event, number)| {
            event.head.sequence_number = Some(number);
            event
        }).collect();
        let (gapped, closed) = (snapshot(&kept), snapshot(&closed));
        let missing: u64 = gapped.missing.iter().map(|(first, last)| last - first + 1).sum();
        let last = kept.last().and_then(|event| event.head.sequence_number).unwrap_or(0);
        prop_assert_eq!(missing + kept.len() as u64, last);
        prop_assert_eq!(gapped.runs, closed.runs);
        prop_assert_eq!(gapped.raw, closed.raw);
        prop_assert_eq!(gapped.messages.len(), closed.messages.len());
        for (left, mut right) in gapped.messages.into_iter().zip(closed.messages) {
            right.sequence_number = left.sequence_number;
            if right.unknown.is_some() || right.kind == "error" {
                right.message_id.clone_from(&left.message_id);
            }
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn no_text_is_lost(events in chat()) {
        let mut texts: HashMap<(String, String), String> = HashMap::new();
        let chat = events.first().and_then(|event| event.head.chat_id.clone());
        for event in events.iter().filter(|event| event.head.chat_id == chat) {
            let value = event.to_json_value();
            let kind = event.body.kind();
            if kind == MessageKind::Text.as_str() || kind == MessageKind::Reasoning.as_str() {
                let id = event.head.message_id.clone().unwrap();
                let text = texts.entry((kind.to_owned(), id)).or_default();
                text.push_str(value["delta"].as_str().unwrap());
            }
        }
        let shown = snapshot(&events).messages.into_iter().filter_map(|message| {
            Some(((message.kind, message.message_id), message.text?))
        });
        prop_assert_eq!(shown.collect::<HashMap<_, _>>(), texts);
    }

    #[test]
    fn calls_of_finished_runs_have_final_states(events in chat()) {
        let shown = snapshot(&events);
        for message in &shown.messages {
            let run = shown.runs.iter().find(|run| Some(&run.run_id) == message.run_id.as_ref());
            let Some(run) = run.filter(|run| run.status == RunStatus::Finished) else { continue };
            for call in message.tool_calls.iter().flatten() {
                let waits =
                    matches!(call.state, CallState::AwaitingApproval | CallState::AwaitingAnswer);
                let deferred = call.state == CallState::Deferred;
                let resumes = run.stop_reason.as_deref() == Some("deferred");
                prop_assert!(call.state.is_final() || deferred || (waits && resumes), "{:?}", call);
            }
        }
    }

    #[test]
    fn calls_with_results_have_the_matching_state(events in chat()) {
        for message in snapshot(&events).messages {
            for call in message.tool_calls.into_iter().flatten() {
                prop_assert_eq!(call.result.is_some(), call.is_error.is_some());
                if call.result.is_some() {
                    prop_assert!(call.state.is_final(), "{:?}", call);
                    prop_assert_eq!(call.is_error == Some(false), call.state == CallState::Success);
                }
                prop_assert!(call.progress.len() <= 20);
            }
        }
    }

    #[test]
    fn call_ids_and_sequence_numbers_are_unique(events in chat()) {
        let messages = snapshot(&events).messages;
        let numbers: Vec<_> = messages.iter().map(|message| message.sequence_number).collect();
        prop_assert!(numbers.is_sorted_by(|a, b| a < b), "{:?}", numbers);
        for message in messages {
            let calls = message.tool_calls.unwrap_or_default();
            let mut ids: Vec<_> = calls.iter().map(|call| &call.tool_call_id).collect();
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), calls.len());
        }
    }

    #[test]
    fn each_event_in_order_is_applied_once(events in chat(), looks in vec(any::<bool>(), 40)) {
        let mut reducer = StreamReducer::new();
        for (event, look) in events.iter().zip(looks) {
            reducer.push(event.clone()).unwrap();
            if look {
                reducer.snapshot(None);
            }
        }
        prop_assert_eq!(reducer.applied_count(), events.len());

        // The same holds for events after a gap that stays open.
        let mut reducer = StreamReducer::new();
        for event in events.iter().skip(1) {
            reducer.push(event.clone()).unwrap();
            reducer.snapshot(None);
        }
        prop_assert_eq!(reducer.applied_count(), events.len().saturating_sub(1));
    }

    #[test]
    fn parsed_events_round_trip_and_match_the_schema(value in lookalike()) {
        if let Ok(event) = StreamEvent::from_json_value(value) {
            let written = event.to_json_value();
            prop_assert_eq!(&StreamEvent::from_json_value(written.clone()).unwrap(), &event);
            prop_assert_eq!(&StreamEvent::from_json(&event.to_json()).unwrap(), &event);
            // Fields of unknown kinds may be null; in the schema, common fields may not.
            prop_assert!(EVENTS.is_valid(&written), "{}", written);
        }
    }

    #[test]
    fn a_misspelled_field_is_always_rejected(
        events in chat(),
        which in any::<Index>(),
        field in any::<Index>(),
        slip in 0..4_u8,
    ) {
        prop_assume!(!events.is_empty());
        let event = which.get(&events);
        let mut value = event.to_json_value();
        let mut objects = vec![String::new()];
        for list in ["toolCallUpdates", "toolCalls", "toolResults", "ranking"] {
            let items = value[list].as_array().map_or(0, Vec::len);
            objects.extend((0..items).map(|item| format!("/{list}/{item}")));
        }
        let object = value.pointer_mut(field.get::<String>(&objects)).unwrap();
        let object = object.as_object_mut().unwrap();
        // The own fields of unknown kinds are not known, nor faults of calls that have run.
        let foreign = |name: &&String| match event.body.kind() {
            "hologram" => *name == "beams",
            "tools_aggregate" => *name == "invalid",
            _ => false,
        };
        let names: Vec<_> = object.keys().filter(|name| !foreign(name)).cloned().collect();
        let name = field.get::<String>(&names);
        let other = misspell(name, slip);
        prop_assume!(!object.contains_key(&other) && other != *name);
        let taken = object.remove(name).unwrap();
        object.insert(other, taken);
        let read = StreamEvent::from_json_value(value.clone());
        prop_assert!(read.is_err(), "{} was read", value);
    }

    #[test]
    fn events_and_snapshots_match_their_schemas(events in chat()) {
        for event in &events {
            prop_assert!(EVENTS.is_valid(&event.to_json_value()), "{}", event.to_json());
        }
        let shown = snapshot(&events).to_json_value();
        prop_assert!(SNAPSHOTS.is_valid(&shown), "{}", shown);
        prop_assert!(!shown.to_string().contains(":null,"), "{}", shown);
    }

    #[test]
    fn messages_can_be_filtered_by_run(events in chat()) {
        let mut reducer = reduce(&events);
        let all = reducer.messages(None);
        for run in ["run_g", "run_h"] {
            let of_run: Vec<_> = all
                .iter()
                .filter(|message| message.envelope.run_id.as_deref() == Some(run))
                .cloned()
                .collect();
            prop_assert_eq!(reducer.messages(Some(run)), of_run);
        }
    }
}

fn fragments(count: u64) -> impl Iterator<Item = StreamEvent> {
    (1..=count).map(|number| {
        let event = if number % 2 == 0 {
            json!({"kind": "text", "messageId": "m", "sequenceNumber": number, "delta": "x"})
        } else {
            json!({
                "kind": "tools_call_update", "messageId": "c", "sequenceNumber": number,
                "toolCallUpdates": [{"index": number % 1000, "functionArgs": "x"}],
            })
        };
        StreamEvent::from_json_value(event).unwrap()
    })
}

#[test]
fn reducing_takes_linear_time() {
    // Quadratic work would take minutes, in either order.
    let mut reducer = StreamReducer::new();
    for event in fragments(50_000) {
        reducer.push(event).unwrap();
    }
    let expected = reducer.snapshot(None);
    assert_eq!(expected.messages.len(), 2);

    let mut reducer = StreamReducer::new();
    let events: Vec<_> = fragments(50_000).collect();
    for event in events.into_iter().rev() {
        reducer.push(event).unwrap();
    }
    assert_eq!(reducer.snapshot(None), expected);
    assert_eq!(reducer.applied_count(), 50_000);
}

#[test]
fn the_number_of_reported_problems_is_limited() {
    let result = |number: u64| {
        StreamEvent::from_json_value(json!({
            "kind": "tool_result", "toolCallId": format!("c{number}"), "result": "", "done": true,
            "sequenceNumber": 3 * number,
        }))
        .unwrap()
    };
    let mut reducer = StreamReducer::new();
    for number in 1..=1000 {
        reducer.push(result(number)).unwrap();
        let mut other = result(number);
        other.head.done = Some(false);
        assert!(!reducer.push(other).unwrap());
    }
    let shown = reducer.snapshot(None);
    assert_eq!(shown.missing.len(), 100);
    assert_eq!(shown.problems.len(), 100);
    // Two problems at each number: the missing call, and the conflicting event.
    assert_eq!(shown.problems[99].sequence_number, 150);
}

#[test]
fn depth_is_limited_when_parsing() {
    let deep = format!(r#"{{"kind":"new","x":{}}}"#, "[".repeat(100_000));
    assert!(StreamEvent::from_json(&deep).is_err());
}

#[test]
fn unknown_fields_are_preserved_everywhere() {
    let written = json!({
        "kind": "tools_call", "messageId": "m", "mood": {"x": 1},
        "toolCalls": [
            {"toolCallId": "a", "name": "t", "index": 0, "arguments": {}, "lane": 3},
            {"toolCallId": "b", "name": "t", "index": 1, "invalid": {"reason": "r", "message": "m", "hint": [1]}},
        ],
    });
    let event = StreamEvent::from_json_value(written.clone()).unwrap();
    assert_eq!(event.to_json_value(), written);
    let written = json!({
        "kind": "tools_aggregate", "messageId": "m", "sequenceNumber": 1,
        "toolCalls": [{
            "toolCallId": "a", "name": "t", "arguments": {}, "index": 0,
            "repairs": [{"path": "", "kind": "polished"}],
        }],
        "toolResults": [{
            "toolCallId": "a", "name": "t", "result": "", "isError": true, "errorCode": "cosmic",
        }],
    });
    let event = StreamEvent::from_json_value(written.clone()).unwrap();
    assert_eq!(event.to_json_value(), written);
    let mut reducer = StreamReducer::new();
    reducer.push(event).unwrap();
    let call = &reducer.snapshot(None).messages[0].tool_calls.clone().unwrap()[0];
    assert_eq!(call.error_code.as_deref(), Some("cosmic"));
    assert_eq!(call.repairs, Some(vec![json!({"path": "", "kind": "polished"})]));
}

#[test]
fn the_order_of_members_makes_no_conflict() {
    let text = |json: &str| StreamEvent::from_json(json).unwrap();
    let mut reducer = StreamReducer::new();
    let one = r#"{"kind":"new","sequenceNumber":1,"a":{"x":1,"y":2},"b":[1]}"#;
    let same = r#"{"b":[1],"a":{"y":2,"x":1},"sequenceNumber":1,"kind":"new","chatId":null}"#;
    assert!(reducer.push(text(one)).unwrap());
    assert!(!reducer.push(text(same)).unwrap());
    assert_eq!(reducer.snapshot(None).problems, []);
    let other = r#"{"kind":"new","sequenceNumber":1,"a":{"x":1,"y":2},"b":[2]}"#;
    assert!(!reducer.push(text(other)).unwrap());
    assert_eq!(reducer.snapshot(None).problems.len(), 1);
}

#[test]
fn messages_are_in_the_order_of_a_run() {
    let mut reducer = StreamReducer::new();
    let call = json!({"toolCallId": "a", "name": "t", "arguments": {"x": 1}, "index": 0});
    for (number, mut event) in (1..).zip([
        json!({"kind": "text", "messageId": "u", "role": "user", "delta": "Hi", "done": true}),
        json!({"kind": "text", "messageId": "g.0", "generationId": "g", "delta": "\n"}),
        json!({"kind": "tools_call", "messageId": "g.calls", "generationId": "g", "toolCalls": [call]}),
        json!({"kind": "usage", "messageId": "g.usage", "generationId": "g", "inputTokens": 3}),
        json!({"kind": "text", "messageId": "g.0", "generationId": "g", "delta": "Wait"}),
        json!({"kind": "tool_result", "messageId": "g.calls_result_a", "toolCallId": "a",
            "result": "r", "isError": true, "errorCode": "denied", "done": true}),
        json!({"kind": "error", "message": "no"}),
    ]) {
        event["sequenceNumber"] = number.into();
        event["runId"] = "r".into();
        reducer.push(StreamEvent::from_json_value(event).unwrap()).unwrap();
    }
    let written: Vec<_> =
        reducer.messages(Some("r")).iter().map(crate::message::Message::to_json_value).collect();
    let head = |kind: &str, id: &str| -> Map<String, Value> {
        let head = json!({"kind": kind, "role": "assistant", "messageId": id, "runId": "r", "generationId": "g"});
        head.as_object().unwrap().clone()
    };
    let with = |mut head: Map<String, Value>, more: Value| {
        head.extend(more.as_object().unwrap().clone());
        Value::Object(head)
    };
    let result = json!({"toolCallId": "a", "name": "t", "result": "r", "isError": true, "errorCode": "denied"});
    assert_eq!(
        written,
        [
            json!({"kind": "text", "role": "user", "messageId": "u", "runId": "r", "text": "Hi"}),
            with(head("text", "g.0"), json!({"text": "\nWait"})),
            with(
                head("tools_aggregate", "g.calls"),
                json!({"toolCalls": [call], "toolResults": [result]})
            ),
            with(
                head("usage", "g.usage"),
                json!({"inputTokens": 3, "outputTokens": 0, "cachedInputTokens": 0})
            ),
        ]
    );
    assert!(reducer.messages(Some("other")).is_empty());
}

/// Check that field names differ enough that a future field is not mistaken for a misspelling.
#[test]
fn no_field_looks_like_a_misspelling_of_another() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/stream-events.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut pairs = 0;
    for (of, definition) in schema["$defs"].as_object().unwrap() {
        let Some(fields) = definition["properties"].as_object() else { continue };
        for one in fields.keys() {
            for other in fields.keys().filter(|other| *other != one) {
                assert!(!is_misspelling_of(one, other), "{of} has {one} and {other}");
                pairs += 1;
            }
        }
    }
    assert!(pairs > 1000);
}
