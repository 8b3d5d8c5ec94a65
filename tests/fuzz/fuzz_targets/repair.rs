//! Mended JSON: JSON comes out, comes back unchanged, and was not touched if it was JSON before.

#![no_main]

use inputs::Input;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolweave::{
    message::RepairKind,
    repair::{Mended, mend_json, replace_lone_surrogates},
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
    // A text that takes more than its share of time takes it many times over.
    let times = input.knob(&[1, 1, 1, 2, 64]);
    let text = format!("{before}{}{after}", input.text.repeat(times));

    let was_json = is_json(&text);
    let mended = mend_json(&text);
    assert_eq!(mended, mend_json(&text), "the same text, mended twice");
    if was_json {
        assert_eq!(mended, Some(Mended { text: text.clone(), repairs: Vec::new() }));
    }
    let surrogates = replace_lone_surrogates(&text);
    if let Some(replaced) = &surrogates {
        assert!(!was_json);
        assert_eq!(mended.as_ref(), Some(replaced));
        assert_eq!(replaced.text.len(), text.len(), "an escape is as long as another");
        assert!(replaced.repairs.iter().all(|repair| repair.kind == RepairKind::LoneSurrogate));
    }
    let Some(mended) = mended else { return };
    assert!(is_json(&mended.text), "{:?} is no JSON", mended.text);
    assert_eq!(mended.repairs.is_empty(), was_json, "{:?}", mended.repairs);
    if !was_json {
        assert!(
            mended.text.trim_start().starts_with(['{', '[']),
            "{:?} is neither object nor array",
            mended.text
        );
    }
    for repair in &mended.repairs {
        assert!(repair.path.is_empty() || repair.path.starts_with('/'), "{repair:?}");
    }
    let again = mend_json(&mended.text).expect("JSON needs no mending");
    assert_eq!(again, Mended { text: mended.text, repairs: Vec::new() });
});

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}
