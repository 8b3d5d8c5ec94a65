//! Golden cases of values that are still being written.

use std::sync::Arc;

use serde_json::{Value, json};
use toolweave::{
    calls::{CallOutcome, CallValidator, JsonValues, RepairMode},
    parser::{Ending, Limits},
    repair::{PartialReader, PartialSchema, PartialValue},
    validator::Validator,
};

use crate::golden::cases;

#[test]
fn golden_texts_grow_step_by_step() {
    for case in cases("partial/snapshots.json") {
        let (name, schema) = (&case["name"], case.get("schema"));
        let limits = Limits::default();
        let partial = schema.cloned().map_or_else(PartialSchema::any, PartialSchema::new);
        let mut reader =
            PartialReader::new(Arc::new(partial), limits.max_depth, limits.max_argument_bytes);
        let mut value = PartialValue::default();
        let mut text = String::new();
        for step in case["steps"].as_array().unwrap() {
            let chunk = step[0].as_str().unwrap();
            text.push_str(chunk);
            reader.push(chunk, &mut |edit| value.apply(edit));
            assert_eq!(value.value().unwrap_or(&Value::Null), &step[1], "{name} {text}");
            assert_eq!(json!(value.open_path()), step[2], "{name} {text}");
        }
        let schema = schema.map(|schema| (schema.clone(), Validator::new(schema).unwrap()));
        let validator = CallValidator::for_value(schema, RepairMode::Schema, limits);
        match validator.validate_value(&JsonValues, &text, Ending::Complete) {
            CallOutcome::Call { arguments, .. } => assert_eq!(arguments, case["value"], "{name}"),
            CallOutcome::Invalid { violations, .. } => {
                let keywords: Vec<_> =
                    violations.iter().map(|violation| violation.keyword.as_str()).collect();
                assert_eq!(json!(keywords), case["error"], "{name}");
            }
        }
    }
}

#[test]
fn a_truncated_reply_has_no_value() {
    let validator =
        CallValidator::<Validator>::for_value(None, RepairMode::Schema, Limits::default());
    let outcome = validator.validate_value(&JsonValues, "{\"a\": 1}", Ending::Truncated);
    let CallOutcome::Invalid { violations, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(violations[0].keyword, "unclosed");
    assert_eq!(violations[0].message, "the reply was cut off");
}
