//! Fitted values: accepted by their schema, reached by the changes that are told, and left alone
//! from then on.

#![no_main]

use inputs::json;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolweave::{
    message::{Repair, RepairKind},
    repair::{Fitted, fit},
    validator::Validator,
};

fuzz_target!(|data: &[u8]| {
    let Some((schema, value)) = json::pair(data) else { return };
    let Ok(validator) = Validator::new(&schema) else { return };
    let accepts = |value: &Value| validator.is_valid(value);

    let fitted = fit(&value, &schema, &accepts);
    assert_eq!(fitted, fit(&value, &schema, &accepts), "the same value, fitted twice");
    if accepts(&value) {
        assert_eq!(fitted, Some(Fitted { value, repairs: Vec::new() }));
        return;
    }
    let Some(fitted) = fitted else { return };
    assert!(accepts(&fitted.value), "{} was not accepted", fitted.value);
    assert!(!fitted.repairs.is_empty(), "changed in secret");
    let is_left_out = |path: &str| {
        let left_out = |repair: &Repair| repair.kind == RepairKind::NullMember;
        fitted.repairs.iter().any(|repair| left_out(repair) && repair.path == path)
    };
    for repair in &fitted.repairs {
        let stands = fitted.value.pointer(&repair.path).is_some();
        assert_ne!(stands, is_left_out(&repair.path), "{repair:?} is nowhere, or left out in vain");
        assert!(repair.before != repair.after || repair.kind == RepairKind::NullMember);
    }
    // The last change of a place is what stands there.
    let last = &fitted.repairs[fitted.repairs.len() - 1];
    let stands = fitted.value.pointer(&last.path);
    assert_eq!(stands, Some(&last.after).filter(|_| last.kind != RepairKind::NullMember));
    let again = fit(&fitted.value, &schema, &accepts);
    assert_eq!(again, Some(Fitted { value: fitted.value, repairs: Vec::new() }));
});
