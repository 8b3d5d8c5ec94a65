use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn taught() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.iter().copied().filter(|dialect| dialect.teaching.is_some())
}

fn tool(description: &str, parameters: Value) -> FunctionContract {
    let tool = FunctionContract::new("f").unwrap().with_description(description);
    tool.with_parameters(parameters).unwrap()
}

fn left_out(parameters: Value, dialect: &str) -> Vec<String> {
    let dialect = Dialect::named(dialect).unwrap();
    let found = present(&[tool("Does it.", parameters)], &dialect).unwrap().simplifications;
    found.iter().map(Simplification::to_string).collect()
}

#[test]
fn what_is_not_shown_is_listed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "title": "A", "pattern": "^a", "minLength": 1},
            "b": {"type": "array", "items": {"type": "integer", "minimum": 3}},
            "c": {"anyOf": [{"type": "integer", "maximum": 4}, {"type": "string"}]},
        },
        "additionalProperties": false,
    });
    assert_eq!(left_out(schema.clone(), "hermes"), [""; 0]);
    assert_eq!(left_out(schema.clone(), "qwen3_coder"), [""; 0]);
    assert_eq!(
        left_out(schema.clone(), "gemma4"),
        [
            "tool \"f\": at the top: \"additionalProperties\" is not shown",
            "tool \"f\": at /properties/a: \"pattern\" is not shown",
            "tool \"f\": at /properties/a: \"minLength\" is not shown",
            "tool \"f\": at /properties/c: all of \"anyOf\" but the first is not shown",
            "tool \"f\": at /properties/c: \"maximum\" is not shown",
        ]
    );
    assert_eq!(
        left_out(schema, "harmony"),
        [
            "tool \"f\": at the top: \"additionalProperties\" is not shown",
            "tool \"f\": at /properties/a: \"pattern\" is not shown",
            "tool \"f\": at /properties/a: \"minLength\" is not shown",
            "tool \"f\": at /properties/b/items: \"minimum\" is not shown",
            "tool \"f\": at /properties/c/anyOf/0: \"maximum\" is not shown",
        ]
    );
}

#[test]
fn recursive_references_end() {
    let schema = json!({
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "all": {"type": "array", "items": {"$ref": "#"}}},
    });
    for dialect in taught() {
        let text = present(&[tool("", schema.clone())], &dialect).unwrap().text;
        assert!(text.len() < 200_000, "{}", dialect.name);
    }
}

#[test]
fn every_dialect_that_is_taught_is_written() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.teaching.is_some(), dialect.writing.is_some(), "{}", dialect.name);
    }
}

/// Texts of markup, and any others.
const TEXT: &str =
    r#"(</tools>|<\|"\|>|<tool\|>|\[/AVAILABLE_TOOLS\]|<｜User｜>|["\\\n]|(?s:.)){0,8}"#;

proptest! {
    #![proptest_config(crate::effort::cases(200))]

    #[test]
    fn json_is_neutralized_without_a_change_of_its_value(text in TEXT) {
        let value = json!({&text: [text]});
        let neutral = neutral::json(&value.to_string());
        prop_assert_eq!(serde_json::from_str::<Value>(&neutral).unwrap(), value);
        for marker in ["</tools>", "<\u{ff5c}"] {
            prop_assert!(!neutral.contains(marker));
        }
    }

    #[test]
    fn neutral_lines_contain_no_marker(text in TEXT) {
        let line = neutral::line(&text);
        prop_assert_eq!(neutral::line(&line), line.clone());
        for marker in ["</tools>", "<|", "<tool|>", "[/AVAILABLE_TOOLS]", "<\u{ff5c}", "\n"] {
            prop_assert!(!line.contains(marker));
        }
    }
}
