//! The golden cases of `tests/cases/native`: calls that a provider's own protocol carries.

use serde_json::Value;
use toolweave::calls::Reader;

use crate::calls;

#[test]
fn golden_native_calls() {
    let mut count = 0;
    for (file, content) in calls::cases("native") {
        let contracts = calls::contracts(&content["tools"]);
        for case in content["cases"].as_array().unwrap() {
            let (options, ending) = calls::options(&case["options"]);
            let reader = Reader::new(&contracts, options).unwrap();
            let [name, arguments] =
                ["name", "arguments"].map(|key| case["call"][key].as_str().unwrap());
            let event = reader.native(2, "id-7".to_owned(), name, arguments, ending);
            assert_eq!(
                calls::written(vec![event]),
                [case["event"].clone()],
                "{file}: {}",
                case["name"]
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_native_call_does_not_affect_the_open_reply() {
    let contracts = calls::contracts(&serde_json::json!([{"name": "Add"}]));
    let mut reader = Reader::new(&contracts, toolweave::calls::Options::default()).unwrap();
    let mut events = reader.push("<Add>{\"a\": ");
    let native =
        reader.native(0, "x".to_owned(), "Add", "{\"b\": 2}", toolweave::parser::Ending::Complete);
    events.extend(reader.push("1}</Add>"));
    let written = calls::written(events);
    assert_eq!(written.len(), 1);
    assert_eq!(written[0]["arguments"], serde_json::json!({"a": 1}));
    assert_eq!(calls::written(vec![native])[0]["arguments"], serde_json::json!({"b": 2}));
    assert_eq!(written[0]["name"], Value::from("Add"));
}
