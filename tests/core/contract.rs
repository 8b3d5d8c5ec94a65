//! The golden cases of `tests/cases/contract`.

use std::{fs, path::Path};

use serde_json::Value;
use toolweave::contract::FunctionContract;

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/contract").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn golden_definitions() {
    for case in cases("definitions.json") {
        let contract = FunctionContract::from_openai(&case["definition"]).unwrap();
        assert_eq!(contract.to_json(), case["contract"], "{}", case["name"]);
        assert_eq!(contract.to_openai(), case["openai"], "{}", case["name"]);
        assert_eq!(FunctionContract::from_json(&case["contract"]).unwrap(), contract);
    }
}

#[test]
fn golden_mistakes() {
    for case in cases("errors.json") {
        let error = FunctionContract::from_openai(&case["definition"]).unwrap_err();
        assert_eq!(error.to_string(), case["error"].as_str().unwrap());
    }
}
