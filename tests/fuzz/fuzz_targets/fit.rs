//! Coerced values: valid by their schema, explained by the recorded repairs, and stable.

#![no_main]

use inputs::json;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolweave::{
    message::{Repair, RepairKind},
    repair::{Coerced, coerce},
    validator::Validator,
};

fuzz_target!(|data: &[u8]| {
    let Some((schema, value)) = json::pair(data) else { return };
    let Ok(validator) = Validator::new(&schema) else { return };
    let accepts = |value: &Value| validator.is_valid(value);

    let coerced = coerce(&value, &schema, &accepts);
    assert_eq!(coerced, coerce(&value, &schema, &accepts), "the same value, coerced twice");
    if accepts(&value) {
        assert_eq!(coerced, Some(Coerced { value, repairs: Vec::new() }));
        return;
    }
    let Some(coerced) = coerced else { return };
    assert!(accepts(&coerced.value), "{} was not accepted", coerced.value);
    assert!(!coerced.repairs.is_empty(), "changed without a record");
    let is_left_out = |path: &str| {
        let left_out = |repair: &Repair| repair.kind == RepairKind::NullMember;
        coerced.repairs.iter().any(|repair| left_out(repair) && repair.path == path)
    };
    for repair in &coerced.repairs {
        let stands = coerced.value.pointer(&repair.path).is_some();
        assert_ne!(stands, is_left_out(&repair.path), "{repair:?} is nowhere, or left out in vain");
        assert!(repair.before != repair.after || repair.kind == RepairKind::NullMember);
    }
    // The last repair of a location is in the value.
    let last = &coerced.repairs[coerced.repairs.len() - 1];
    let stands = coerced.value.pointer(&last.path);
    assert_eq!(stands, Some(&last.after).filter(|_| last.kind != RepairKind::NullMember));
    let again = coerce(&coerced.value, &schema, &accepts);
    assert_eq!(again, Some(Coerced { value: coerced.value, repairs: Vec::new() }));
});
