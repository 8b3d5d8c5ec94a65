//! The golden cases of `tests/cases/consolidate`, and what the parser makes of consolidated text.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::Value;
use toolweave::{
    calls::{Event, Options as ReaderOptions, Reader},
    consolidate::{Consolidator, Form, Options, consolidate, parse_history},
    contract::{FunctionContract, Tag},
    message::{Content, Message, Role, ToolResult},
    parser::Ending,
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

fn messages(values: &Value) -> Vec<Message> {
    let values = values.as_array().unwrap();
    values.iter().map(|value| Message::from_json_value(value.clone()).unwrap()).collect()
}

#[test]
fn histories_are_written_and_read_as_the_cases_say() {
    for case in cases("histories.json") {
        let name = &case["name"];
        let (history, tools, options) = (messages(&case["messages"]), tools(&case), options(&case));
        let written = consolidate(&history, &tools, options).unwrap();
        assert_eq!(written, messages(&case["text"]), "{name}");
        if options.form == Form::Single {
            let mut consolidator = Consolidator::new(&tools, options.tag, options.fenced);
            for message in &history {
                consolidator.push(message).unwrap();
            }
            consolidator.finish();
            assert_eq!(consolidator.message().into_iter().collect::<Vec<_>>(), written, "{name}");
        }
        let read: Vec<_> = written.iter().flat_map(|part| parse_history(part, &tools)).collect();
        assert_eq!(read, messages(&case["history"]), "{name}");
    }
}

/// What the reader of replies makes of a text.
fn events(text: &str, tools: &[FunctionContract]) -> Vec<Event> {
    let mut reader = Reader::new(tools, ReaderOptions::default()).unwrap();
    let mut events = reader.push(text);
    events.extend(reader.finish(Ending::Complete));
    events
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
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_parser_finds_no_call_in_results_and_texts(said in hostile(), answered in hostile()) {
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
            Message::new(Role::User, Content::Text(said.clone())),
            Message::new(Role::Tool, Content::ToolResults(vec![result])),
            Message::new(Role::Assistant, Content::Text(said)),
        ];
        for form in [Form::Single, Form::Split] {
            let options = Options { form, ..Options::default() };
            for part in consolidate(&history, &tools, options).unwrap() {
                let Content::Text(text) = &part.content else { unreachable!() };
                for event in events(text, &tools) {
                    let is_call = matches!(event, Event::ToolCall(_) | Event::InvalidToolCall(_));
                    prop_assert!(!is_call, "{event:?} in {text:?}");
                }
            }
        }
    }
}
