//! Prompt templates and example structures, by golden cases.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolweave::{
    contract::FunctionContract,
    prompt::sample_arguments,
    registry::{structure, template::Template},
    validator::Validator,
};

use crate::golden::cases;

#[test]
fn golden_templates_are_filled() {
    for case in cases("registry/templates.json") {
        let template = Template::parse(case["text"].as_str().unwrap());
        let names: Value = template.placeholders().collect();
        assert_eq!(names, case["placeholders"], "{}", case["name"]);
        let values: BTreeMap<String, String> =
            serde_json::from_value(case["values"].clone()).unwrap();
        let rendered = template.render(|name| values.get(name).map(|value| value.as_str().into()));
        assert_eq!(rendered, case["rendered"], "{}", case["name"]);
    }
}

#[test]
fn golden_phrases_are_parsed() {
    for case in cases("registry/phrases.json") {
        let schema = structure::schema(&json!({"p": case["phrase"]}));
        assert_eq!(schema["properties"]["p"], case["schema"], "{}", case["phrase"]);
        let required = schema["required"] == json!(["p"]);
        assert_eq!(required, case["required"] == true, "{}", case["phrase"]);
    }
}

#[test]
fn golden_structures_become_schemas() {
    for case in cases("registry/structures.json") {
        let schema = structure::schema(&case["structure"]);
        // Compared as text, since the order of properties must be that of the structure.
        assert_eq!(schema.to_string(), case["schema"].to_string(), "{}", case["name"]);
        assert!(Validator::new(&schema).is_ok(), "{}", case["name"]);
    }
}

#[test]
fn samples_of_golden_structures_are_valid() {
    for case in cases("registry/structures.json") {
        let schema = structure::schema(&case["structure"]);
        if schema["type"] == "object" {
            let contract = FunctionContract::new("tool").unwrap().with_parameters(schema).unwrap();
            assert!(sample_arguments(&contract).is_ok(), "{}", case["name"]);
        }
    }
}

#[test]
fn replies_have_a_score_for_every_structure() {
    for case in cases("registry/structures.json") {
        let schema = structure::reply_schema(Some(&case["structure"]));
        let properties = schema["properties"].as_object().unwrap();
        let score = structure::score_key(properties.keys().map(String::as_str)).unwrap();
        assert!(properties[score].is_object(), "{}", case["name"]);
        assert!(Validator::new(&schema).is_ok(), "{}", case["name"]);
        let parameters = structure::parameter_schema(&schema);
        assert!(parameters["properties"].get(score).is_none(), "{}", case["name"]);
    }
    let alone = structure::reply_schema(None);
    assert_eq!(alone["required"], json!(["score"]));
    assert_eq!(structure::parameter_schema(&alone)["required"], Value::Null);
}
