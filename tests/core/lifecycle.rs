//! Golden cases for stream events.

use serde_json::{Number, Value, json};
use toolweave::{
    lifecycle::{StreamEvent, StreamReducer},
    validator::Validator,
};

use crate::golden::cases;

const FILES: [&str; 8] = ["text", "gaps", "calls", "results", "states", "runs", "kinds", "mixed"];

fn all() -> impl Iterator<Item = Value> {
    FILES.iter().flat_map(|file| cases(&format!("lifecycle/{file}.json")))
}

fn events(case: &Value) -> Vec<StreamEvent> {
    let events = case["events"].as_array().unwrap().iter().cloned();
    events.map(|event| StreamEvent::from_json_value(event).unwrap()).collect()
}

/// Normalize numbers, so that equal ones are written the same way.
fn numbers_alike(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            Value::Number(number.as_f64().and_then(Number::from_f64).unwrap_or(number))
        }
        Value::Array(items) => items.into_iter().map(numbers_alike).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, numbers_alike(value))).collect()
        }
        other => other,
    }
}

fn schema(name: &str) -> Validator {
    let path = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    Validator::new(&serde_json::from_str(&text).expect(&path)).unwrap()
}

#[test]
fn events_are_reduced_as_expected() {
    let schema = schema("snapshot");
    for case in all() {
        let name = case["name"].as_str().unwrap();
        let pending_timeout =
            case.get("pendingTimeoutMs").map_or(60_000, |ms| ms.as_u64().unwrap());
        let mut reducer = StreamReducer::with_pending_timeout(Some(pending_timeout));
        for event in events(&case) {
            reducer.push(event).unwrap();
        }
        let found = reducer.snapshot(case.get("now").and_then(Value::as_u64)).to_json_value();
        assert!(schema.is_valid(&found), "{name}: {found}");
        let expected = numbers_alike(case["snapshot"].clone());
        assert_eq!(numbers_alike(found), expected, "{name}");
    }
}

#[test]
fn events_round_trip() {
    let schema = schema("stream-events");
    for case in all() {
        for (written, event) in case["events"].as_array().unwrap().iter().zip(events(&case)) {
            let name = case["name"].as_str().unwrap();
            let again = event.to_json_value();
            assert!(schema.is_valid(&again), "{name}: {again}");
            assert_eq!(StreamEvent::from_json(&event.to_json()).unwrap(), event, "{name}");
            // Other events lack fields that are always written, or have null fields.
            if schema.is_valid(written) {
                let written = numbers_alike(written.clone());
                assert_eq!(numbers_alike(again), written, "{name}");
            }
        }
    }
}

#[test]
fn invalid_events_are_rejected_with_a_location() {
    let schema = schema("stream-events");
    for case in cases("lifecycle/invalid.json") {
        let name = case["name"].as_str().unwrap();
        let err = StreamEvent::from_json_value(case["event"].clone()).unwrap_err();
        assert_eq!(err.place().path, case["path"].as_str().unwrap(), "{name}: {err}");
        assert!(err.to_string().starts_with("event"), "{name}: {err}");
        // A schema does not know what an unknown field may have meant.
        let fits = case["schema"] == "fits";
        assert_eq!(schema.is_valid(&case["event"]), fits, "{name} and the schema");
    }
}

#[test]
fn events_without_a_number_are_rejected() {
    let draft = json!({"kind": "raw", "delta": "a"});
    let draft = StreamEvent::from_json_value(draft).unwrap();
    let err = StreamReducer::new().push(draft).unwrap_err();
    assert_eq!(err.to_string(), "event at /sequenceNumber is missing; expected a number from 1 up");
}
