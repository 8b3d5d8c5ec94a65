//! Golden cases of repair and coercion, and their cost.

use serde_json::{Value, json};
use toolweave::{
    message::{Repair, RepairKind},
    repair::{coerce, coerce_partially, repair_json, replace_lone_surrogates},
    validator::Validator,
};

use crate::golden::cases;

fn plain(repairs: &[Repair]) -> Value {
    repairs
        .iter()
        .map(|repair| {
            json!({
                "path": repair.path,
                "kind": repair.kind.as_str(),
                "before": repair.before,
                "after": repair.after,
            })
        })
        .collect()
}

#[test]
fn golden_texts_are_repaired() {
    for case in cases("repair/mend.json") {
        let repaired = repair_json(case["text"].as_str().unwrap());
        let text = repaired.as_ref().map(|repaired| repaired.text.as_str());
        assert_eq!(text, case["mended"].as_str(), "{}", case["name"]);
        let repairs = repaired.map(|repaired| plain(&repaired.repairs)).unwrap_or(json!([]));
        assert_eq!(repairs, case["repairs"], "{}", case["name"]);
    }
}

#[test]
fn golden_values_are_coerced() {
    for case in cases("repair/fit.json") {
        let validator = Validator::new(&case["schema"]).unwrap();
        let coerced = coerce(&case["value"], &case["schema"], &|value| validator.is_valid(value));
        // Compared as text: 4 and 4.0 are equal in JSON Schema, but not here.
        let value = coerced.as_ref().map(|coerced| coerced.value.to_string());
        let wanted = case.get("fitted").map(Value::to_string);
        assert_eq!(value, wanted, "{}", case["name"]);
        let kinds: Value = coerced
            .iter()
            .flat_map(|coerced| &coerced.repairs)
            .map(|repair| json!([repair.path, repair.kind.as_str()]))
            .collect();
        assert_eq!(&kinds, case.get("repairs").unwrap_or(&json!([])), "{}", case["name"]);
    }
}

#[test]
fn a_change_of_type_is_recorded_with_both_values() {
    let schema = json!({"properties": {"days": {"type": "integer"}}});
    let validator = Validator::new(&schema).unwrap();
    let coerced =
        coerce(&json!({"days": "4"}), &schema, &|value| validator.is_valid(value)).unwrap();
    let repair = Repair {
        path: "/days".to_owned(),
        kind: RepairKind::Type,
        before: json!("4"),
        after: json!(4),
    };
    assert_eq!(coerced.repairs, [repair]);
}

#[test]
fn only_lone_surrogates_are_replaced() {
    let repaired = replace_lone_surrogates(r#"{"a": ["\ud83d\ude00", "\ud83d"]}"#).unwrap();
    assert_eq!(repaired.text, r#"{"a": ["\ud83d\ude00", "\uFFFD"]}"#);
    assert_eq!((repaired.repairs.len(), repaired.repairs[0].path.as_str()), (1, "/a/1"));
    assert!(replace_lone_surrogates(r#"{"a": "\ud83d\ude00"}"#).is_none());
    assert!(replace_lone_surrogates(r#"{"a": "\ud83d",}"#).is_none());
}

#[test]
fn depth_is_limited() {
    let deep = "[".repeat(100_000);
    assert!(repair_json(&deep).is_none());
    assert!(repair_json(&format!("{{\"a\":{deep}")).is_none());
    assert!(repair_json(&format!("{}1,{}", "[".repeat(127), "]".repeat(127))).is_some());
    assert!(repair_json(&format!("{}1,{}", "[".repeat(128), "]".repeat(128))).is_none());
}

/// Check the time, the best of three attempts; quadratic cost would take thirty times as long for
/// eight times the text.
#[test]
fn repair_takes_linear_time() {
    let broken = [
        ("{'a': [", "'x', ", "1]}"),
        ("{\"a\": [", "1 ", "1]}"),
        ("{\"a\": \"", "say \"hi\" ", "\"}"),
        ("{\"a\": \"", "\" ", "\"}"),
        ("{\"a\": \"", "\"'", "\"}"),
        ("{\"a\": \"", "\", \"", "\"}"),
        ("{\"a\": \"", "\"} ", "\"}"),
        ("{\"a\": \"", "\\", "\"}"),
        ("{\"a\": [", "],[", "1,]}"),
        ("{\"a\": [", "{}} ", "1]}"),
        ("{\"a\": 1,", "        ", "}"),
        ("{\"a\": 1", " ,  , ", "}"),
        ("{\"a\": 1", "}", ""),
        ("{\"a\": 1,", "// x\n", "}"),
        ("{\"a\": 1,", "/*", "}"),
        ("{", "a", ":1}"),
        ("{\"a\":", "1_0", "}"),
        ("", "`", "{'a':1}"),
        ("{\"a\": (", "(),", ")}"),
    ];
    for (start, middle, end) in broken {
        let time = |times: usize| {
            let text = format!("{start}{}{end}", middle.repeat(times));
            let measure = || {
                let begin = std::time::Instant::now();
                let repaired = repair_json(&text);
                let size = repaired.map_or(0, |repaired| repaired.text.len());
                assert!(size <= 8 * text.len() + 64, "{start}{middle}");
                begin.elapsed().as_secs_f64()
            };
            (0..3).map(|_| measure()).fold(f64::MAX, f64::min)
        };
        // A busy machine may slow down one attempt, or three; quadratic cost fails them all.
        let fair = |_| {
            let (small, large) = (time(2_000), time(16_000));
            large < 30.0 * small + 0.01
        };
        assert!((0..10).any(fair), "{start}{middle}");
    }
}

#[test]
fn a_long_key_around_many_repairs_is_repeated_a_bounded_number_of_times() {
    let text = format!("{{\"{}\": [{}]}}", "k".repeat(100_000), "'x',".repeat(100_000));
    assert!(repair_json(&text).is_none());
}

#[test]
fn golden_values_are_coerced_partially() {
    for case in cases("repair/partly.json") {
        let name = case["name"].as_str().unwrap();
        let validator = Validator::new(&case["schema"]).unwrap();
        let accepts = |value: &Value| validator.is_valid(value);
        assert_eq!(coerce(&case["value"], &case["schema"], &accepts), None, "{name}");
        let faults = |value: &Value| validator.violations(value).len();
        let repaired = coerce_partially(&case["value"], &case["schema"], &faults).value;
        assert_eq!(repaired.to_string(), case["mended"].to_string(), "{name}");
        let reported: Value =
            validator.violations(&repaired).into_iter().map(|violation| violation.path).collect();
        assert_eq!(reported, case["told"], "{name}");
    }
}
