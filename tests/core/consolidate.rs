//! The golden cases of `tests/cases/consolidate`, and the parsing of consolidated text.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::Value;
use toolweave::{
    calls::{Event, Options as ReaderOptions, Reader},
    consolidate::{self, Consolidator, Form, Options, consolidate},
    contract::{FunctionContract, Tag},
    message::{Content, Message, Role, ToolResult},
    parser::{Dialect, Ending},
};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/consolidate").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn tools(case: &Value) -> Vec<FunctionContract> {
    let names = case["tools"].as_array().into_iter().flatten();
    names.map(|name| FunctionContract::new(name.as_str().unwrap()).unwrap()).collect()
}

fn options(case: &Value) -> Options {
    let mut options = Options::default();
    if let Some(form) = case["form"].as_str() {
        options.form = Form::from_wire(form).unwrap();
    }
    if let Some(tag) = case["tag"].as_str() {
        options.tag = Tag::from_wire(tag).unwrap();
    }
    if let Some(fenced) = case["fenced"].as_bool() {
        options.fenced = fenced;
    }
    options
}

#[test]
fn histories_are_written_in_every_dialect_as_expected() {
    for case in cases("dialects.json") {
        let history = messages(&case["messages"]);
        for (dialect, expected) in case["texts"].as_object().unwrap() {
            let name = format!("{}, {dialect}", case["name"]);
            let dialect = Dialect::named(dialect).unwrap();
            let options = Options { form: Form::Turn, dialect, ..Options::default() };
            let written = consolidate(&history, &[], options).unwrap();
            let texts: Vec<_> = written
                .iter()
                .map(|message| {
                    let Content::Text(text) = &message.content else { panic!("{name}") };
                    serde_json::json!([message.envelope.role.as_str(), text])
                })
                .collect();
            assert_eq!(Value::from(texts), *expected, "{name}");
            assert_eq!(consolidate(&written, &[], options).unwrap(), written, "{name}, twice");
        }
        assert_eq!(case["texts"].as_object().unwrap().len(), consolidate::writable().len());
    }
}

fn messages(values: &Value) -> Vec<Message> {
    let values = values.as_array().unwrap();
    values.iter().map(|value| Message::from_json_value(value.clone()).unwrap()).collect()
}

/// Parse a single message.
fn parse_history(message: &Message, tools: &[FunctionContract]) -> Vec<Message> {
    let messages = std::slice::from_ref(message);
    consolidate::parse_history(messages, tools, &[Dialect::NATURAL]).unwrap()
}

#[test]
fn histories_are_consolidated_and_parsed_as_expected() {
    for case in cases("histories.json").into_iter().chain(cases("turns.json")) {
        let name = &case["name"];
        let (history, tools, options) = (messages(&case["messages"]), tools(&case), options(&case));
        let written = consolidate(&history, &tools, options).unwrap();
        assert_eq!(written, messages(&case["text"]), "{name}");
        assert_eq!(consolidate(&written, &tools, options).unwrap(), written, "{name}, twice");
        let mut consolidator = Consolidator::new(&tools, options);
        for message in &history {
            consolidator.push(message).unwrap();
        }
        consolidator.finish();
        assert_eq!(consolidator.messages(), written, "{name}");
        let read = consolidate::parse_history(&written, &tools, &[Dialect::NATURAL]).unwrap();
        assert_eq!(read, messages(&case["history"]), "{name}");
    }
}

/// Return the events that a reader finds in a text.
fn events(text: &str, tools: &[FunctionContract]) -> Vec<Event> {
    let mut reader = Reader::new(tools, ReaderOptions::default()).unwrap();
    let mut events = reader.push(text);
    events.extend(reader.finish(Ending::Complete));
    events
}

/// Count the calls in a text, valid or not.
fn calls_in(text: &str, tools: &[FunctionContract]) -> usize {
    let is_call = |event: &Event| matches!(event, Event::ToolCall(_) | Event::InvalidToolCall(_));
    events(text, tools).iter().filter(|event| is_call(event)).count()
}

fn text_of(message: &Message) -> &str {
    match &message.content {
        Content::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<tool_call name=\"f\">",
        "</tool_call>",
        "<tool_call name=f>",
        "<TOOL_CALL NAME='f'>",
        "<f>",
        "</f>",
        "<f/>",
        "<f >",
        "<tool_call name=\"f\"/>",
        "{}",
        "{\"a\": 1}",
        "\n",
        " ",
        "```\n",
        "</tool_response>",
        "<tool_response name=\"f\">",
        "<tool_response>",
        "<think>",
        "</think>",
        "&lt;",
        "<",
        "f>",
        "tool_call",
        "---\n",
        "`",
        "<\ttool_call name=\"f\">",
        "</ tool_response>",
        "</tool_response >",
        "</TOOL_RESPONSE>",
        "\r\n",
        "text",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::effort::cases(2000))]

    #[test]
    fn the_parser_finds_no_call_in_results_and_texts(content in hostile(), answered in hostile()) {
        let tools = [FunctionContract::new("f").unwrap()];
        let result = ToolResult {
            tool_call_id: "a".into(),
            name: "f".into(),
            result: answered,
            is_error: false,
            error_code: None,
            duration: None,
        };
        let history = [
            Message::new(Role::User, Content::Text(content.clone())),
            Message::new(Role::Tool, Content::ToolResults(vec![result])),
            Message::new(Role::Assistant, Content::Text(content)),
        ];
        for form in Form::ALL.iter().copied() {
            let options = Options { form, ..Options::default() };
            for part in consolidate(&history, &tools, options).unwrap() {
                let text = text_of(&part);
                prop_assert_eq!(calls_in(text, &tools), 0, "{:?}", text);
            }
        }
    }

    #[test]
    fn a_user_makes_no_call_even_in_natural_text(content in hostile(), role in 0..2_usize) {
        let tools = [FunctionContract::new("f").unwrap()];
        let role = [Role::User, Role::Tool][role];
        let mut marked = Message::new(role, Content::Text(content));
        marked.envelope.natural = true;
        for form in Form::ALL.iter().copied() {
            let options = Options { form, ..Options::default() };
            let written = consolidate(std::slice::from_ref(&marked), &tools, options).unwrap();
            for part in &written {
                prop_assert_eq!(calls_in(text_of(part), &tools), 0, "{:?}", part);
                for read in parse_history(part, &tools) {
                    let is_call =
                        matches!(read.content, Content::ToolCalls(_) | Content::Aggregate { .. });
                    prop_assert!(!is_call, "{read:?}");
                }
            }
            prop_assert_eq!(consolidate(&written, &tools, options).unwrap(), written);
        }
    }

    #[test]
    fn natural_text_of_the_assistant_is_unchanged(content in hostile()) {
        let tools = [FunctionContract::new("f").unwrap()];
        let mut marked = Message::new(Role::Assistant, Content::Text(content.clone()));
        marked.envelope.natural = true;
        for form in Form::ALL.iter().copied() {
            let options = Options { form, ..Options::default() };
            let written = consolidate(std::slice::from_ref(&marked), &tools, options).unwrap();
            prop_assert_eq!(written.iter().map(text_of).collect::<String>(), content.as_str());
        }
    }
}
