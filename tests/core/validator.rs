//! Results of validation, for hostile schemas and values as well.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolweave::validator::{MAX_DEPTH, MAX_VIOLATIONS, Resources, Validator};

use crate::{cpu_time::cpu_time, golden::cases};

#[test]
fn golden_violations_agree() {
    for case in cases("validator/violations.json") {
        let found: Value = Validator::new(&case["schema"])
            .unwrap()
            .violations(&case["value"])
            .iter()
            .map(|violation| {
                json!({
                    "path": violation.path,
                    "keyword": violation.keyword,
                    "message": violation.message,
                    "expected": violation.expected,
                    "actual": violation.actual,
                })
            })
            .collect();
        assert_eq!(found, case["violations"], "{}", case["name"]);
    }
}

#[test]
fn golden_schema_errors_agree() {
    for case in cases("validator/schemas.json") {
        let resources: Resources = case
            .get("resources")
            .map(|resources| serde_json::from_value(resources.clone()).unwrap())
            .unwrap_or_default();
        let err = Validator::with_resources(&case["schema"], &resources).unwrap_err();
        let found = json!({"path": err.path(), "message": err.to_string()});
        assert_eq!(found, case["error"], "{}", case["name"]);
    }
}

#[test]
fn references_resolve_to_resources_only() {
    let schema = json!({"$ref": "http://example.com/number"});
    let resources = [("http://example.com/number".to_owned(), json!({"type": "number"}))].into();
    let validator = Validator::with_resources(&schema, &resources).unwrap();
    assert!(validator.is_valid(&json!(1)));
    assert!(!validator.is_valid(&json!("1")));
}

#[test]
fn text_is_parsed_and_validated() {
    let validator = Validator::new(&json!({"type": "object"})).unwrap();
    assert_eq!(validator.validate_json("{\"a\": 1.0}").unwrap().to_string(), "{\"a\":1.0}");
    let refused = validator.validate_json("{\"a\": }").unwrap_err();
    assert_eq!(refused[0].keyword, "json");
    assert_eq!(validator.validate_json("[]").unwrap_err()[0].keyword, "type");
}

fn nested(depth: usize, innermost: Value) -> Value {
    (0..depth).fold(innermost, |value, _| json!({ "a": value }))
}

#[test]
fn depth_is_limited_in_values_and_schemas() {
    let anything = Validator::new(&json!(true)).unwrap();
    assert!(anything.is_valid(&nested(MAX_DEPTH, json!(1))));
    let deep = nested(MAX_DEPTH + 1, json!(1));
    assert!(!anything.is_valid(&deep));
    assert!(anything.violations(&deep)[0].message.contains("nested too deep"));
    let deep = (0..MAX_DEPTH).fold(json!({}), |schema, _| json!({ "not": schema }));
    assert!(Validator::new(&json!({ "not": deep })).unwrap_err().to_string().contains("too deep"));
}

#[test]
fn numbers_with_huge_exponents_are_refused() {
    let validator = Validator::new(&json!({"items": {"multipleOf": 3}})).unwrap();
    for number in ["1e999999999", "1e400", "1e-999999", &"9".repeat(5_000)] {
        let value: Value = serde_json::from_str(&format!("[3, {number}]")).unwrap();
        assert!(!validator.is_valid(&value));
        let violation = &validator.violations(&value)[0];
        assert_eq!((violation.path.as_str(), violation.keyword.as_str()), ("/1", "json"));
    }
    let schema: Value = serde_json::from_str("{\"multipleOf\": 1e999999999}").unwrap();
    assert_eq!(Validator::new(&schema).unwrap_err().path(), "/multipleOf");
}

/// Return a schema of `levels` definitions, each of which references the next one twice.
fn doubling(levels: usize, step: impl Fn(Value) -> Value) -> Value {
    let next = |level| json!({"$ref": format!("#/$defs/a{level}")});
    let mut defs: Map<String, Value> = (0..levels)
        .map(|level| {
            let next = step(next(level + 1));
            (format!("a{level}"), json!({"anyOf": [next.clone(), next]}))
        })
        .collect();
    defs.insert(format!("a{levels}"), json!({"type": "null"}));
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

/// Return a schema in which every definition references every definition.
fn fully_connected(size: usize) -> Value {
    let all: Value = (0..size).map(|at| json!({"$ref": format!("#/$defs/a{at}")})).collect();
    let definition = json!({"anyOf": all, "type": "null"});
    let defs: Map<_, _> = (0..size).map(|at| (format!("a{at}"), definition.clone())).collect();
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

/// Return a chain of definitions that evaluates one level of the value and starts over.
fn chain(length: usize) -> Value {
    let mut defs: Map<_, _> = (0..length)
        .map(|at| (format!("a{at}"), json!({"$ref": format!("#/$defs/a{}", at + 1)})))
        .collect();
    defs.insert(format!("a{length}"), json!({"properties": {"a": {"$ref": "#/$defs/a0"}}}));
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

/// Return nested alternatives that are equal, so that every level doubles the errors.
fn tree() -> Value {
    json!({"$ref": "#/$defs/node", "$defs": {"node": {"anyOf": [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}, "b": {}}, "required": ["a"]},
        {"type": "integer"},
    ]}}})
}

#[test]
fn hostile_schemas_and_values_are_bounded() {
    // Without limits, each of these would run forever or overflow the stack.
    let mut schemas =
        vec![tree(), json!({"pattern": "^(a+)+\\1$"}), json!({"pattern": "(?=(a*)*b)a"})];
    schemas.extend([8, 11, 40].map(|levels| doubling(levels, |next| next)));
    schemas
        .extend([8, 40].map(|levels| doubling(levels, |next| json!({"properties": {"a": next}}))));
    schemas.extend([6, 40].map(fully_connected));
    schemas.extend([30, 60, 200, 5_000].map(chain));
    let values =
        [nested(120, json!("bad")), json!("a".repeat(500)), (0..1_000).map(Value::from).collect()];
    for schema in schemas {
        let (used, ()) = cpu_time(|| {
            let Ok(validator) = Validator::new(&schema) else { return };
            for value in &values {
                let violations = validator.violations(value);
                assert_eq!(violations.is_empty(), validator.is_valid(value));
                assert!(violations.len() <= MAX_VIOLATIONS);
            }
        });
        assert!(used < Duration::from_secs(10), "{schema}");
    }
}

#[test]
fn values_that_take_too_long_to_explain_are_refused() {
    let validator = Validator::new(&tree()).unwrap();
    let violations = validator.violations(&nested(100, json!("bad")));
    assert_eq!(violations.len(), 1);
    assert!(violations[0].message.len() < 5_000, "{}", violations[0].message);
}

#[test]
fn backtracking_patterns_are_refused_on_long_texts() {
    let validator = Validator::new(&json!({"pattern": "(?=(a*)*b)a"})).unwrap();
    assert!(validator.is_valid(&json!("aab")));
    let long = json!({"text": "a".repeat(1 << 20)});
    assert!(!validator.is_valid(&long));
    assert_eq!(validator.violations(&long)[0].keyword, "pattern");
    let plain = Validator::new(&json!({"additionalProperties": {"pattern": "^(a+)+$"}})).unwrap();
    assert!(plain.is_valid(&long));
}
