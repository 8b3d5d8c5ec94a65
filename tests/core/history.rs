//! Parsing of transcripts: assistants' texts are parsed like replies, other texts never contain
//! calls, and consolidated text is recovered.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::{
    calls::{Event, Options as ReaderOptions, read},
    consolidate::{Form, Options, consolidate, parse_history},
    contract::{FunctionContract, Tag},
    message::{Content, Message, NATURAL, Role, ToolCall, ToolResult},
    parser::{Dialect, Discard},
};

fn tools() -> Vec<FunctionContract> {
    let mut add = FunctionContract::new("Add").unwrap();
    add.parameters = Some(json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
    }));
    vec![add, FunctionContract::new("f").unwrap()]
}

fn parsed(messages: &[Message], tools: &[FunctionContract]) -> Vec<Message> {
    parse_history(messages, tools, &[Dialect::NATURAL]).unwrap()
}

fn text(role: Role, text: &str) -> Message {
    Message::new(role, Content::Text(text.to_owned()))
}

fn calls(messages: &[Message]) -> Vec<ToolCall> {
    let calls = messages.iter().filter_map(|message| match &message.content {
        Content::ToolCalls(calls) | Content::Aggregate { calls, .. } => Some(calls.clone()),
        _ => None,
    });
    calls.flatten().collect()
}

fn results(messages: &[Message]) -> Vec<ToolResult> {
    let results = messages.iter().filter_map(|message| match &message.content {
        Content::ToolResults(results) | Content::Aggregate { results, .. } => Some(results.clone()),
        _ => None,
    });
    results.flatten().collect()
}

#[test]
fn transcripts_are_parsed_as_expected() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/consolidate/transcripts.json");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let messages = |values: &Value| -> Vec<Message> {
        let values = values.as_array().unwrap().iter();
        values.map(|value| Message::from_json_value(value.clone()).unwrap()).collect()
    };
    for case in cases {
        let known = case["tools"].as_array().into_iter().flatten();
        let known: Vec<_> =
            known.map(|name| FunctionContract::new(name.as_str().unwrap()).unwrap()).collect();
        let read = parsed(&messages(&case["transcript"]), &known);
        assert_eq!(read, messages(&case["history"]), "{}", case["name"]);
    }
}

#[test]
fn invalid_tools_are_errors() {
    let twice = [FunctionContract::new("f").unwrap(), FunctionContract::new("f").unwrap()];
    let error = parse_history(&[], &twice, &[Dialect::NATURAL]).unwrap_err();
    assert_eq!(error.to_string(), "tool \"f\" is given twice");
    let error = parse_history(&[], &[], &[]).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("no dialect given; known ones are: natural, qwen3_coder, "));
    assert!(message.ends_with(", react"), "{message}");
    let mut broken = FunctionContract::new("f").unwrap();
    broken.parameters = Some(json!({"type": 7}));
    let error = parse_history(&[], &[broken], &[Dialect::NATURAL]).unwrap_err();
    assert!(error.to_string().starts_with("parameters of tool \"f\": "), "{error}");
}

/// The markup that the parser knows, complete and in pieces.
const PIECES: &[&str] = &[
    "<tool_call name=\"f\">",
    "</tool_call>",
    "<tool_call name=f>{}</tool_call>",
    "<tool_call name=\"g\">{}</tool_call>",
    "<tool_call name='F' id='1'>",
    "<f>{}</f>",
    "<f>",
    "</f>",
    "<f/>",
    "<Add>{\"a\": \"1\",}</Add>",
    "<Add>{\"b\": 1}</Add>",
    "<Add>",
    "{}",
    "{\"a\": 1}",
    "{\"a\": [1, }",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "```\n",
    "```json\n",
    "`",
    "<think>",
    "</think>",
    "&lt;f>",
    "<",
    "---\n",
    "text",
    "not JSON",
];

/// Results, complete and in pieces.
const RESULTS: &[&str] = &[
    "<tool_response name=\"f\">\nok\n</tool_response>",
    "<tool_response name=\"f\" status=\"pending\">\n</tool_response>",
    "<tool_response name=\"f\" status=\"error\">boom</tool_response>",
    "<tool_response name=\"g\">\n<f>{}</f>\n</tool_response>",
    "<tool_response>",
    "<tool_response name=\"f\">",
    "</tool_response>",
];

fn natural(pieces: Vec<&'static str>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..10).prop_map(|pieces| pieces.concat())
}

fn anything() -> impl Strategy<Value = String> {
    natural([PIECES, RESULTS].concat())
}

/// Remove everything that separates blocks from a text.
fn squeezed(text: &str) -> String {
    text.replace("---", "").split_whitespace().collect()
}

fn restored(text: &str) -> String {
    // The only escaped text in `PIECES`.
    text.replace("&lt;f>", "<f>")
}

proptest! {
    #![proptest_config(crate::effort::cases(1000))]

    #[test]
    fn an_assistants_text_is_parsed_like_a_reply(reply in natural(PIECES.to_vec())) {
        let events = read(&reply, &tools(), ReaderOptions::default()).unwrap();
        let history = parsed(&[text(Role::Assistant, &reply)], &tools());
        let (mut content, mut reasoning, mut expected) = (String::new(), String::new(), Vec::new());
        for event in events {
            match event {
                Event::Text(text) => content.push_str(&restored(&text)),
                Event::Reasoning(text) => reasoning.push_str(&text),
                Event::ToolCall(call) => expected.push(call),
                // Nothing is lost: invalid calls stay text.
                Event::InvalidToolCall(call) => content.push_str(&call.raw),
                Event::FabricatedResult { .. } => unreachable!("none was written"),
                Event::Discarded { reason, .. } => prop_assert_ne!(reason, Discard::TooLarge),
                Event::ToolCallStart { .. } | Event::ToolCallDelta { .. } => {}
            }
        }
        let (mut read_content, mut read_reasoning) = (String::new(), String::new());
        for message in &history {
            match &message.content {
                Content::Text(text) => read_content.push_str(text),
                Content::Reasoning(text) => read_reasoning.push_str(text),
                _ => {}
            }
        }
        let mut read_calls = calls(&history);
        for (position, (call, original)) in read_calls.iter_mut().zip(&expected).enumerate() {
            // Ids and positions do not count invalid calls.
            prop_assert_eq!(call.index, position);
            prop_assert_eq!(&call.id, &format!("call_{position}"));
            (call.index, call.id) = (original.index, original.id.clone());
        }
        prop_assert_eq!(read_calls, expected);
        prop_assert_eq!(squeezed(&read_content), squeezed(&content));
        prop_assert_eq!(read_reasoning, reasoning);
    }

    #[test]
    fn only_assistants_make_calls(
        turns in prop::collection::vec((0..3_u8, anything()), 0..6),
    ) {
        let roles = [Role::User, Role::Tool, Role::System];
        let messages: Vec<_> =
            turns.iter().map(|(role, content)| text(roles[usize::from(*role)], content)).collect();
        let history = parsed(&messages, &tools());
        prop_assert_eq!(calls(&history), []);
        // No call is waiting for a result, either.
        prop_assert_eq!(results(&history), []);
    }

    #[test]
    fn results_belong_to_open_calls(
        names in prop::collection::vec(prop::sample::select(vec!["f", "g", "Add"]), 0..4),
        answers in prop::collection::vec(anything(), 1..3),
        late in anything(),
    ) {
        let mut transcript: Vec<_> = names
            .iter()
            .map(|name| {
                let call = format!("<tool_call name=\"{name}\">{{\"a\": 1}}</tool_call>");
                text(Role::Assistant, &call)
            })
            .collect();
        transcript.extend(answers.iter().map(|answer| text(Role::User, answer)));
        transcript.push(text(Role::Assistant, "So."));
        transcript.push(text(Role::User, &late));
        let history = parsed(&transcript, &[]);
        let made = calls(&history);
        prop_assert_eq!(made.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), names);
        let given = results(&history);
        let mut ids: Vec<_> = given.iter().map(|result| &result.tool_call_id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), given.len(), "a call has two results");
        for result in given {
            prop_assert!(made.iter().any(|call| call.id == result.tool_call_id && call.name == result.name));
        }
        // Text after the turn directly following the calls is unchanged.
        let last = history.last().unwrap();
        let content = match &last.content {
            Content::Text(content) => content.as_str(),
            other => { prop_assert!(late.is_empty(), "{other:?}"); "" }
        };
        if !late.is_empty() {
            prop_assert_eq!(content, restored(&late));
        }
    }

    #[test]
    fn consolidated_histories_are_recovered(
        turns in prop::collection::vec(
            (
                anything(),
                prop::collection::vec((anything(), prop::option::of(anything())), 0..3),
                anything(),
            ),
            0..4,
        ),
        form in prop::sample::select(vec![Form::Single, Form::Turn, Form::Split]),
        tag in prop::sample::select(vec![Tag::Name, Tag::ToolCall]),
        fenced in any::<bool>(),
    ) {
        let mut history = Vec::new();
        for (at, (reasoning, exchanges, content)) in turns.iter().enumerate() {
            let id = |of: usize| format!("{at}.{of}");
            let made = exchanges.iter().enumerate().map(|(of, (argument, _))| ToolCall {
                id: id(of),
                name: if of % 2 == 0 { "f" } else { "Add" }.to_owned(),
                arguments: json!({"text": argument}),
                raw: String::new(),
                index: of,
                repairs: Vec::new(),
                dialect: NATURAL,
                recovered: false,
            });
            let calls: Vec<_> = made.collect();
            let answered = exchanges.iter().zip(&calls).filter_map(|((_, answer), call)| {
                Some(ToolResult {
                    tool_call_id: call.id.clone(),
                    name: call.name.clone(),
                    result: answer.clone()?,
                    is_error: false,
                    error_code: None,
                    duration: Some(0.5),
                })
            });
            let results = answered.collect();
            history.push(text(Role::Assistant, reasoning));
            if !calls.is_empty() {
                history.push(Message::new(Role::Assistant, Content::Aggregate { calls, results }));
            }
            history.push(text(if form == Form::Single { Role::Assistant } else { Role::User }, content));
        }
        let written = consolidate(&history, &tools(), Options { form, tag, fenced, ..Options::default() }).unwrap();
        for known in [vec![], tools()] {
            let back = parsed(&written, &known);
            prop_assert_eq!(summary(&back), summary(&history));
            prop_assert_eq!(results(&back), results(&history));
        }
    }
}

/// Return the texts and calls in order, with consecutive texts of one role joined by a line break.
fn summary(messages: &[Message]) -> Vec<(Role, String)> {
    let mut summary: Vec<(Role, String)> = Vec::new();
    let mut continues = false;
    for message in messages {
        let role = message.envelope.role;
        match &message.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => match summary.last_mut() {
                Some((last_role, last)) if continues && *last_role == role => {
                    if !last.ends_with('\n') {
                        last.push('\n');
                    }
                    last.push_str(text);
                }
                _ => {
                    summary.push((role, text.clone()));
                    continues = true;
                }
            },
            Content::ToolCalls(calls) | Content::Aggregate { calls, .. } => {
                for ToolCall { id, name, arguments, .. } in calls {
                    summary.push((role, format!("{id} {name} {arguments}")));
                }
                continues = false;
            }
            Content::ToolResults(_) => continues = false,
            other => panic!("unexpected {other:?}"),
        }
    }
    summary
}

#[test]
fn hostile_transcripts_take_linear_time() {
    let many = crate::effort::size(40_000);
    let shapes = [
        "<tool_call name=\"f\">\n",
        "<tool_call name=\"f\">{}</tool_call><tool_response name=\"f\">",
        "<f>{}</f>text",
        "<tool_response name=\"f\">\n",
        "<tool_response name=\"f\">x</tool_response>\n",
        "<think>",
        "&lt;f>",
        "---\n",
        "<f>{\"a\": ",
        "```\n<f>",
    ];
    for shape in shapes {
        let long = shape.repeat(many);
        let asked = "<f>{}</f>\n".repeat(many);
        let transcript =
            [text(Role::Assistant, &long), text(Role::Assistant, &asked), text(Role::User, &long)];
        parsed(&transcript, &tools());
    }
    // Many open calls, and many turns of others.
    let names = 0..many;
    let mut turns: Vec<_> = names
        .map(|at| text(Role::Assistant, &format!("<tool_call name=\"f{at}\">{{}}</tool_call>")))
        .collect();
    turns
        .extend((0..many).map(|_| text(Role::User, "<tool_response name=\"g\">x</tool_response>")));
    assert_eq!(calls(&parsed(&turns, &[])).len(), many);
    let turns: Vec<_> =
        (0..many).map(|at| text([Role::Assistant, Role::User][at % 2], "<f>{}</f>")).collect();
    assert_eq!(calls(&parsed(&turns, &tools())).len(), many / 2);
}
