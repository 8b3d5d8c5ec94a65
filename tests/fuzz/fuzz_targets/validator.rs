//! Verdicts: all ways to validate agree, and violations refer to existing locations.

#![no_main]

use inputs::json;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolweave::validator::{MAX_VIOLATIONS, Validator, Violation};

fuzz_target!(|data: &[u8]| {
    let Some((schema, value)) = json::pair(data) else { return };
    let validator = match Validator::new(&schema) {
        Ok(validator) => validator,
        Err(err) => {
            assert!(!err.to_string().is_empty());
            assert!(schema.pointer(err.path()).is_some(), "{err} is nowhere in {schema}");
            return;
        }
    };
    let is_valid = validator.is_valid(&value);
    assert_eq!(is_valid, Validator::new(&schema).expect("it was a schema").is_valid(&value));

    let violations = validator.violations(&value);
    assert_eq!(violations.is_empty(), is_valid, "{violations:?}");
    assert!(violations.len() <= MAX_VIOLATIONS);
    for violation in &violations {
        check(violation, &value);
    }

    let text = value.to_string();
    match validator.validate_json(&text) {
        Ok(read) => {
            assert!(is_valid);
            assert_eq!(read, value);
        }
        Err(found) if found.len() == 1 && found[0].message.contains("not JSON") => {
            assert!(serde_json::from_str::<Value>(&text).is_err());
        }
        Err(found) => assert_eq!(found, violations),
    }
});

fn check(violation: &Violation, value: &Value) {
    let place = value.pointer(&violation.path);
    assert!(place.is_some(), "{violation:?} is nowhere");
    assert!(!violation.keyword.is_empty());
    assert!(!violation.message.is_empty() && violation.message.len() < 4096, "{violation:?}");
}
