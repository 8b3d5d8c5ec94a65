use serde_json::{Value, json};

use super::*;

fn fault(parameters: Value) -> String {
    let contract = FunctionContract::new("search").unwrap();
    contract.with_parameters(parameters).unwrap_err().to_string()
}

#[test]
fn a_mistake_in_a_schema_is_named_with_its_place() {
    let cases = [
        (json!([]), "at the top: a schema for an object is wanted, not a list"),
        (
            json!({"type": "string"}),
            "at /type: arguments are an object, so the type is \"object\", not \"string\"",
        ),
        (
            json!({"properties": []}),
            "at /properties: an object of schemas by name is wanted, not a list",
        ),
        (
            json!({"properties": {"a/b": {"items": {"type": "str"}}}}),
            "at /properties/a~1b/items/type: a type is one of array, boolean, integer, null, \
             number, object, string, not \"str\"",
        ),
        (
            json!({"properties": {"a": {"required": true}}}),
            "at /properties/a/required: names the properties that are needed, in a list beside \
             them; it is no flag on one of them",
        ),
        (
            json!({"anyOf": [{}, 1]}),
            "at /anyOf/1: a schema is an object, true or false, not a number",
        ),
    ];
    for (schema, message) in cases {
        assert_eq!(fault(schema), format!("parameters of tool \"search\": {message}"));
    }
}

#[test]
fn a_schema_that_is_too_deep_is_refused() {
    let mut schema = json!({});
    for _ in 0..=MAX_SCHEMA_DEPTH {
        schema = json!({"not": schema});
    }
    assert!(fault(schema).ends_with("nested deeper than 100 levels"));
}

#[test]
fn loose_schemas_are_valid() {
    for schema in [
        json!({}),
        json!({"type": ["null", "object"]}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": true}}),
        json!({"properties": {"any": true}, "dependencies": {"a": ["b"], "c": {}}}),
    ] {
        FunctionContract::new("search").unwrap().with_parameters(schema).unwrap();
    }
}

#[test]
fn names_must_be_usable_in_a_tag() {
    for name in ["f", "math.factorial", "mcp__a-b", "a/b", "Überblick", "工具"] {
        check_name(name).unwrap();
    }
    let long = "n".repeat(MAX_NAME_BYTES + 1);
    for name in ["", " ", "a b", "a>", "/a", "a/", "a\\n", "tool_call", "Tool_Response", &long] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn every_json_form_comes_back() {
    let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let contract = FunctionContract::new("search")
        .unwrap()
        .with_description("Finds things.")
        .with_parameters(parameters.clone())
        .unwrap();
    assert_eq!(FunctionContract::from_openai(&contract.to_openai()).unwrap(), contract);
    for key in ["parameters", "input_schema", "inputSchema"] {
        let definition = json!({"name": "search", "description": "Finds things.", key: parameters});
        assert_eq!(FunctionContract::from_openai(&definition).unwrap(), contract);
    }
    let contract = contract.with_returns(json!("A list of titles.")).unwrap();
    assert_eq!(FunctionContract::from_json(&contract.to_json()).unwrap(), contract);
}

#[test]
fn a_malformed_definition_names_the_expected_form() {
    let cases = [
        (json!(3), "tool definition: an object with a name is wanted, not a number"),
        (json!({"function": {}}), "tool definition: \"name\" is missing"),
        (json!({"name": 1}), "tool definition: \"name\" is a string, not a number"),
        (
            json!({"type": "web_search_20250305", "name": "web"}),
            "tool definition \"web\": type \"web_search_20250305\" is run by the provider; \
             only functions have a contract",
        ),
    ];
    for (definition, message) in cases {
        assert_eq!(FunctionContract::from_openai(&definition).unwrap_err().to_string(), message);
    }
    let error = FunctionContract::from_json(&json!({"name": "f", "paramters": {}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool definition \"f\": unknown key \"paramters\"; \
         known are name, description, parameters, returns"
    );
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let contracts = ["a", "b", "a"].map(|name| FunctionContract::new(name).unwrap());
    check_distinct(&contracts[..2]).unwrap();
    assert_eq!(
        check_distinct(&contracts).unwrap_err(),
        ContractError::Duplicate { name: "a".to_owned() }
    );
}
