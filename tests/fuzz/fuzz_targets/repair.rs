//! Repaired JSON: valid, stable, and unchanged if it was valid before.

#![no_main]

use inputs::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolweave::{
    message::RepairKind,
    repair::{RepairedJson, repair_json, replace_lone_surrogates},
};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::read(data);
    let (before, after) = input.knob(&[
        ("", ""),
        ("{\"a\": ", "}"),
        ("{\"a\": \"", "\"}"),
        ("{", ""),
        ("```json\n{", "}\n```"),
    ]);
    // A text that takes too long is repeated in many inputs.
    let times = input.knob(&[1, 1, 1, 2, 64]);
    let text = format!("{before}{}{after}", input.text.repeat(times));

    let was_json = is_json(&text);
    let repaired = repair_json(&text);
    assert_eq!(repaired, repair_json(&text), "the same text, repaired twice");
    if was_json {
        assert_eq!(repaired, Some(RepairedJson { text: text.clone(), repairs: Vec::new() }));
    }
    let surrogates = replace_lone_surrogates(&text);
    if let Some(replaced) = &surrogates {
        assert!(!was_json);
        assert_eq!(repaired.as_ref(), Some(replaced));
        assert_eq!(replaced.text.len(), text.len(), "an escape is as long as another");
        assert!(replaced.repairs.iter().all(|repair| repair.kind == RepairKind::LoneSurrogate));
    }
    let Some(repaired) = repaired else { return };
    assert!(is_json(&repaired.text), "{:?} is no JSON", repaired.text);
    assert_eq!(repaired.repairs.is_empty(), was_json, "{:?}", repaired.repairs);
    if !was_json {
        assert!(
            repaired.text.trim_start().starts_with(['{', '[']),
            "{:?} is neither object nor array",
            repaired.text
        );
    }
    for repair in &repaired.repairs {
        assert!(repair.path.is_empty() || repair.path.starts_with('/'), "{repair:?}");
    }
    let again = repair_json(&repaired.text).expect("JSON needs no repair");
    assert_eq!(again, RepairedJson { text: repaired.text, repairs: Vec::new() });
});

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}
