//! Samples of schemas.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    FULL, contract,
    schemas::{any_schema, satisfiable_schema},
};
use crate::{
    prompt::{SampleError, Style, render_contracts, sample::sample_object, system_prompt},
    validator::Validator,
};

/// Generate the sample of a schema, and check it.
fn sampled(schema: &Value) -> Value {
    let value = sample_object(schema).unwrap_or_else(|reason| panic!("{reason}: {schema:#}"));
    let violations = Validator::new(schema).unwrap().violations(&value);
    assert_eq!(violations, [], "{value}");
    value
}

fn sampled_property(schema: impl Into<Value>) -> Value {
    let schema = schema.into();
    sampled(&json!({"properties": {"p": schema}, "required": ["p"]}))["p"].take()
}

#[test]
fn numbers_are_within_their_bounds() {
    let cases = [
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "number"}), json!(1.5)),
        (json!({"type": "integer", "minimum": 18}), json!(18)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "exclusiveMinimum": 2.5}), json!(3)),
        (json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), json!(0.0625)),
        (json!({"type": "number", "multipleOf": 0.05, "minimum": 0.33}), json!(0.35)),
        (json!({"type": "integer", "multipleOf": 7, "minimum": 50}), json!(56)),
        (json!({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}), json!(12)),
        (json!({"type": "integer", "minimum": 5, "not": {"const": 5}}), json!(6)),
    ];
    for (schema, expected) in cases {
        assert_eq!(sampled_property(schema), expected);
    }
    let large = r#"{"type": "integer", "minimum": 12345678901234567890123}"#;
    let value = sampled_property(serde_json::from_str::<Value>(large).unwrap());
    assert_eq!(value.to_string(), "12345678901234567890123");
}

#[test]
fn strings_match_their_format_pattern_and_length() {
    for schema in [
        json!({"type": "string", "minLength": 12}),
        json!({"type": "string", "maxLength": 2}),
        json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"}),
        json!({"type": "string", "pattern": "^(foo|ba[rz])+\\.(com|org)$"}),
        json!({"type": "string", "pattern": "^\\+?[1-9]\\d{1,14}$", "minLength": 9}),
        json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{6,}$", "examples": ["Secret1"]}),
        json!({"type": "string", "allOf": [{"pattern": "[a-z]"}, {"pattern": "[0-9]"}]}),
        json!({"type": "string", "pattern": "^[^@\\s]+@[^@\\s]+$"}),
        json!({"type": "string", "pattern": "^\\p{Lu}\\p{L}*$"}),
    ] {
        sampled_property(schema);
    }
    for format in [
        "date",
        "date-time",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uri-template",
        "uuid",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "unheard-of",
    ] {
        sampled_property(json!({"type": "string", "format": format}));
        let strict = json!({"$schema": "http://json-schema.org/draft-07/schema#", "required": ["p"],
            "properties": {"p": {"type": "string", "format": format}}});
        sampled(&strict);
        let several = json!({"type": "array", "uniqueItems": true, "minItems": 3,
            "items": {"type": "string", "format": format}});
        sampled_property(several);
    }
}

#[test]
fn objects_and_arrays_match_their_keywords() {
    for schema in [
        json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true, "minItems": 3}),
        json!({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 2}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
        json!({"type": "array", "contains": {"const": 7}, "minContains": 2, "items": {"type": "integer"}}),
        json!({"type": "array", "contains": {"const": 7}, "maxContains": 1, "minItems": 3}),
        json!({"type": "array", "maxItems": 0}),
        json!({"type": "object", "minProperties": 3}),
        json!({"type": "object", "propertyNames": {"pattern": "^x-"}, "minProperties": 2}),
        json!({"type": "object", "patternProperties": {"^id_\\d+$": {"type": "integer"}},
            "additionalProperties": false, "minProperties": 1}),
        json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 2,
            "required": ["c"]}),
        json!({"type": "object", "properties": {"card": {}, "address": {}},
            "dependentRequired": {"card": ["address", "zip"]}}),
        json!({"type": "object", "properties": {"card": {}},
            "dependentSchemas": {"card": {"required": ["x"], "properties": {"x": {"type": "null"}}}}}),
        json!({"properties": {"a": {}}, "dependencies": {"a": ["b"], "b": {"required": ["c"]}}}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": {"type": "integer"}, "b": false}}),
    ] {
        sampled_property(schema);
    }
}

#[test]
fn branches_are_tried_until_one_fits() {
    for schema in [
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
        json!({"oneOf": [
            {"required": ["a"], "properties": {"a": {"type": "string"}}},
            {"required": ["b"], "properties": {"b": {"type": "string"}}},
        ], "properties": {"a": {}, "b": {}}}),
        json!({"allOf": [{"minLength": 3}, {"type": "string"}, {"maxLength": 4}]}),
        json!({"not": {"type": "string"}}),
        json!({"not": {"required": ["a"]}, "properties": {"a": {}, "b": {}}}),
        json!({"not": {"anyOf": [{"type": "string"}, {"type": "object"}]}}),
        json!({"properties": {"kind": {"enum": ["circle", "square"]}},
            "if": {"properties": {"kind": {"const": "circle"}}},
            "then": {"required": ["radius"]}, "else": {"required": ["side"]}, "required": ["kind"]}),
        json!({"if": {"type": "string"}, "else": {"minimum": 5}, "type": "integer"}),
        json!({"anyOf": [false, {"type": "array", "minItems": 100_000}, {"const": "last"}]}),
    ] {
        sampled_property(schema);
    }
}

#[test]
fn references_are_followed_and_recursion_terminates() {
    let tree = json!({
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                },
                "required": ["value", "next"],
            },
        },
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
    });
    assert_eq!(sampled(&tree), json!({"root": {"value": 1, "next": {"value": 1, "next": null}}}));
    sampled(&json!({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}}));
    let endless =
        json!({"type": "object", "properties": {"child": {"$ref": "#"}}, "required": ["child"]});
    assert_eq!(sample_object(&endless), Err(SampleError::NotFound));
    let cyclic = json!({"$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    let _ = sample_object(&cyclic);
    sampled(&json!({"properties": {"p": {"$ref": "#here"}}, "required": ["p"],
        "$defs": {"x": {"$anchor": "here", "const": "there"}}}));
}

#[test]
fn schemas_without_a_sample_have_no_example() {
    for schema in [
        json!({"required": ["a"], "properties": {"a": false}}),
        json!({"required": ["a"], "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}}),
        json!({"required": ["a"], "properties": {"a": {"type": "array", "minItems": 1_000_000}}}),
        json!({"required": ["a"], "properties": {"a": {"type": "string", "pattern": "^(.)\\1\\1b$"}}}),
    ] {
        assert_eq!(sample_object(&schema), Err(SampleError::NotFound), "{schema}");
        let tools = [contract(schema)];
        let text = render_contracts(&tools, FULL);
        assert!(
            text.ends_with("Example: none (no value was found that fits the schema)\n"),
            "{text}"
        );
        let text = system_prompt(&tools, None, Style::default());
        assert!(text.contains(" as a JSON object.\n\n## tool\n"), "{text}");
    }
    let invalid = json!({"properties": {"a": {"pattern": "("}}});
    assert!(matches!(sample_object(&invalid), Err(SampleError::Schema(_))));
}

#[test]
fn examples_and_defaults_of_the_schema_come_first() {
    let schema = json!({"properties": {
        "city": {"type": "string", "examples": ["Paris"], "default": "Rome"},
        "unit": {"type": "string", "default": "celsius"},
        "note": {"type": "string", "default": ""},
        "wrong": {"type": "integer", "default": "7"},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    }, "required": ["city", "unit", "note", "wrong", "tags"]});
    assert_eq!(
        sampled(&schema),
        json!({"city": "Paris", "unit": "celsius", "note": "value", "wrong": 1, "tags": ["value"]})
    );
}

proptest! {
    #![proptest_config(crate::effort::cases(300))]

    #[test]
    fn every_sample_is_valid(schema in any_schema()) {
        if let Ok(value) = sample_object(&schema) {
            prop_assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&value));
        }
    }

    #[test]
    fn satisfiable_schemas_have_a_sample(schema in satisfiable_schema()) {
        let whole = json!({"properties": {"p": schema}, "required": ["p"]});
        sampled(&whole);
    }
}
