//! The golden cases of `tests/cases/prompt`, and the contracts of real questions.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::{
    contract::{FunctionContract, Tag},
    parser::Dialect,
    prompt::{
        Layout, Style, dialect_prompt, present, render_contracts, sample_arguments, system_prompt,
    },
    validator::Validator,
};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/prompt").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn style(case: &Value) -> Style {
    let mut style = Style::default();
    if let Some(layout) = case["style"].as_str() {
        style.layout = Layout::from_wire(layout).unwrap();
    }
    if let Some(tag) = case["tag"].as_str() {
        style.tag = Tag::from_wire(tag).unwrap();
    }
    if let Some(fenced) = case["fenced"].as_bool() {
        style.fenced = fenced;
    }
    style
}

fn contracts(case: &Value) -> Vec<FunctionContract> {
    let tools = case["tools"].as_array().unwrap();
    tools.iter().map(|tool| FunctionContract::from_json(tool).unwrap()).collect()
}

#[test]
fn contracts_are_rendered_as_expected() {
    for case in cases("render.json") {
        let wanted = case["markdown"].as_str().unwrap();
        let tools = contracts(&case);
        assert_eq!(render_contracts(&tools, style(&case)), wanted, "{}", case["name"]);
    }
}

#[test]
fn system_prompts_are_written_as_expected() {
    for case in cases("system.json") {
        let (tools, style) = (contracts(&case), style(&case));
        let wanted = case["prompt"].as_str().unwrap();
        let prompt = system_prompt(&tools, case["existing"].as_str(), style);
        assert_eq!(prompt, wanted, "{}", case["name"]);
        assert_eq!(system_prompt(&tools, Some(&prompt), style), wanted, "{}", case["name"]);
    }
}

#[test]
fn tools_are_presented_in_dialects_as_expected() {
    for case in cases("dialects.json") {
        let tools = contracts(&case);
        let dialect = Dialect::named(case["dialect"].as_str().unwrap()).unwrap();
        let presentation = present(&tools, &dialect).unwrap();
        assert_eq!(presentation.text, case["list"], "{}", dialect.name);
        let found = presentation.simplifications.iter();
        let found: Value = found.map(|each| json!([each.tool, each.place, each.what])).collect();
        assert_eq!(found, case["simplifications"], "{}", dialect.name);
        let prompt = dialect_prompt(&tools, case["existing"].as_str(), &dialect).unwrap();
        assert_eq!(prompt, case["prompt"], "{}", dialect.name);
    }
}

/// Return the directory of data that is not part of the repository.
fn shared() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    env::var_os("TOOLWEAVE_SHARED").map_or(default, PathBuf::from)
}

#[test]
#[expect(clippy::print_stdout, reason = "prints why nothing was checked")]
fn contracts_of_real_questions_have_valid_examples() {
    let path = shared().join("data/bfcl/calls.jsonl");
    let Ok(questions) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let mut seen = BTreeSet::new();
    for question in questions.lines() {
        let question: Value = serde_json::from_str(question).unwrap();
        for function in question["functions"].as_array().unwrap() {
            if !seen.insert(function.to_string()) {
                continue;
            }
            let contract = FunctionContract::from_openai(function).unwrap();
            let arguments = sample_arguments(&contract).unwrap_or_else(|reason| {
                panic!("no example for {}: {reason}", contract.name);
            });
            let schema = contract.parameters.as_ref().unwrap();
            let violations = Validator::new(schema).unwrap().violations(&arguments);
            assert_eq!(violations, [], "{}", contract.name);
            let style = Style { layout: Layout::Full, ..Style::default() };
            let text = render_contracts(std::slice::from_ref(&contract), style);
            assert!(text.contains(&format!(">\n{arguments:#}\n</")));
            let text = system_prompt(&[contract], None, Style::default());
            let shown = text.split_once(", like this:\n\n").unwrap().1.lines().nth(1).unwrap();
            assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), arguments);
        }
    }
    assert!(seen.len() > 400);
}

/// Texts of prompts with tools, and any others.
const TEXT: &str = concat!(
    "(</?tools>|</description>|<tool\\|>|\\[/AVAILABLE_TOOLS\\]|<｜User｜>|",
    "# Tools\n\n|If no tool fits, answer in plain text\\.|[\"\\\\\n]|(?s:.)){0,8}"
);

proptest! {
    #![proptest_config(crate::effort::cases(24))]

    #[test]
    fn a_section_is_found_again_whatever_its_tools_say(
        description in TEXT,
        value in TEXT,
        before in TEXT,
    ) {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "string", "description": description, "enum": [value]},
                "b": {"type": "string", "default": value},
            },
            "required": ["a"],
        });
        let tool = FunctionContract::new("f").unwrap().with_description(description);
        let tools = [tool.with_parameters(schema).unwrap()];
        for dialect in Dialect::ALL.iter().filter(|dialect| dialect.teaching.is_some()) {
            let prompt = dialect_prompt(&tools, Some(&before), dialect).unwrap();
            prop_assert_eq!(&dialect_prompt(&tools, Some(&prompt), dialect).unwrap(), &prompt);
            prop_assert_eq!(&dialect_prompt(&[], Some(&prompt), dialect).unwrap(), &before);
        }
    }
}
