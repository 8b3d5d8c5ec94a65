//! Transcripts come in: what assistants wrote is read as the reader of replies reads it, what
//! others wrote is never a call, and what `consolidate` wrote comes back.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::{
    calls::{Event, Options as ReaderOptions, read},
    consolidate::{Form, Options, consolidate, parse_history},
    contract::{FunctionContract, Tag},
    message::{Content, Message, Role, ToolCall, ToolResult},
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
fn transcripts_are_read_as_the_cases_say() {
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
fn what_cannot_be_read_for_is_an_error() {
    let twice = [FunctionContract::new("f").unwrap(), FunctionContract::new("f").unwrap()];
    let error = parse_history(&[], &twice, &[Dialect::NATURAL]).unwrap_err();
    assert_eq!(error.to_string(), "tool \"f\" is given twice");
    let error = parse_history(&[], &[], &[]).unwrap_err();
    assert_eq!(error.to_string(), "no dialect given; known ones are: natural");
    let mut broken = FunctionContract::new("f").unwrap();
    broken.parameters = Some(json!({"type": 7}));
    let error = parse_history(&[], &[broken], &[Dialect::NATURAL]).unwrap_err();
    assert!(error.to_string().starts_with("parameters of tool \"f\": "), "{error}");
}

/// All that the parser knows, whole and in pieces.
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

/// Results, whole and in pieces.
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

/// A text without what sets blocks apart.
fn squeezed(text: &str) -> String {
    text.replace("---", "").split_whitespace().collect()
}

fn restored(text: &str) -> String {
    // Of what is in `PIECES`.
    text.replace("&lt;f>", "<f>")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn an_assistants_text_is_read_as_a_reply_is(reply in natural(PIECES.to_vec())) {
        let events = read(&reply, &tools(), ReaderOptions::default()).unwrap();
        let history = parsed(&[text(Role::Assistant, &reply)], &tools());
        let (mut said, mut thought, mut made) = (String::new(), String::new(), Vec::new());
        for event in events {
            match event {
                Event::Text(text) => said.push_str(&restored(&text)),
                Event::Reasoning(text) => thought.push_str(&text),
                Event::ToolCall(call) => made.push(call),
                // Nothing is lost: what is no call stays text.
                Event::InvalidToolCall(call) => said.push_str(&call.raw),
                Event::FabricatedResult { .. } => unreachable!("none was written"),
                Event::Discarded { reason, .. } => prop_assert_ne!(reason, Discard::TooLarge),
                Event::ToolCallStart { .. } | Event::ToolCallDelta { .. } => {}
            }
        }
        let (mut read_said, mut read_thought) = (String::new(), String::new());
        for message in &history {
            match &message.content {
                Content::Text(text) => read_said.push_str(text),
                Content::Reasoning(text) => read_thought.push_str(text),
                _ => {}
            }
        }
        let mut read_calls = calls(&history);
        for (position, (call, made)) in read_calls.iter_mut().zip(&made).enumerate() {
            // Ids and positions do not count calls that are none.
            prop_assert_eq!(call.index, position);
            prop_assert_eq!(&call.id, &format!("call_{position}"));
            (call.index, call.id) = (made.index, made.id.clone());
        }
        prop_assert_eq!(read_calls, made);
        prop_assert_eq!(squeezed(&read_said), squeezed(&said));
        prop_assert_eq!(read_thought, thought);
    }

    #[test]
    fn nobody_else_makes_a_call(
        said in prop::collection::vec((0..3_u8, anything()), 0..6),
    ) {
        let roles = [Role::User, Role::Tool, Role::System];
        let messages: Vec<_> =
            said.iter().map(|(role, said)| text(roles[usize::from(*role)], said)).collect();
        let history = parsed(&messages, &tools());
        prop_assert_eq!(calls(&history), []);
        // And nobody has asked for a result.
        prop_assert_eq!(results(&history), []);
    }

    #[test]
    fn results_are_of_calls_that_wait(
        asked in prop::collection::vec(prop::sample::select(vec!["f", "g", "Add"]), 0..4),
        answers in prop::collection::vec(anything(), 1..3),
        later in anything(),
    ) {
        let mut transcript: Vec<_> = asked
            .iter()
            .map(|name| {
                let call = format!("<tool_call name=\"{name}\">{{\"a\": 1}}</tool_call>");
                text(Role::Assistant, &call)
            })
            .collect();
        transcript.extend(answers.iter().map(|answer| text(Role::User, answer)));
        transcript.push(text(Role::Assistant, "So."));
        transcript.push(text(Role::User, &later));
        let history = parsed(&transcript, &[]);
        let made = calls(&history);
        prop_assert_eq!(made.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), asked);
        let given = results(&history);
        let mut ids: Vec<_> = given.iter().map(|result| &result.tool_call_id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), given.len(), "a call has two results");
        for result in given {
            prop_assert!(made.iter().any(|call| call.id == result.tool_call_id && call.name == result.name));
        }
        // Whatever is said after the turn right after the calls stays as it is.
        let last = history.last().unwrap();
        let said = match &last.content {
            Content::Text(said) => said.as_str(),
            other => { prop_assert!(later.is_empty(), "{other:?}"); "" }
        };
        if !later.is_empty() {
            prop_assert_eq!(said, restored(&later));
        }
    }

    #[test]
    fn what_was_consolidated_comes_back_turn_by_turn(
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
        for (at, (thought, exchanges, said)) in turns.iter().enumerate() {
            let id = |of: usize| format!("{at}.{of}");
            let made = exchanges.iter().enumerate().map(|(of, (argument, _))| ToolCall {
                id: id(of),
                name: if of % 2 == 0 { "f" } else { "Add" }.to_owned(),
                arguments: json!({"text": argument}),
                raw: String::new(),
                index: of,
                repairs: Vec::new(),
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
            history.push(text(Role::Assistant, thought));
            if !calls.is_empty() {
                history.push(Message::new(Role::Assistant, Content::Aggregate { calls, results }));
            }
            history.push(text(if form == Form::Single { Role::Assistant } else { Role::User }, said));
        }
        let written = consolidate(&history, &tools(), Options { form, tag, fenced }).unwrap();
        for known in [vec![], tools()] {
            let back = parsed(&written, &known);
            prop_assert_eq!(told(&back), told(&history));
            prop_assert_eq!(results(&back), results(&history));
        }
    }
}

/// Texts and calls in their order; neighbouring texts of one speaker are one, on lines of their
/// own.
fn told(messages: &[Message]) -> Vec<(Role, String)> {
    let mut told: Vec<(Role, String)> = Vec::new();
    let mut goes_on = false;
    for message in messages {
        let role = message.envelope.role;
        match &message.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => match told.last_mut() {
                Some((last_role, last)) if goes_on && *last_role == role => {
                    if !last.ends_with('\n') {
                        last.push('\n');
                    }
                    last.push_str(text);
                }
                _ => {
                    told.push((role, text.clone()));
                    goes_on = true;
                }
            },
            Content::ToolCalls(calls) | Content::Aggregate { calls, .. } => {
                for ToolCall { id, name, arguments, .. } in calls {
                    told.push((role, format!("{id} {name} {arguments}")));
                }
                goes_on = false;
            }
            Content::ToolResults(_) => goes_on = false,
            other => panic!("nobody wrote {other:?}"),
        }
    }
    told
}

#[test]
fn hostile_transcripts_cost_no_more_than_their_length() {
    let many = 20_000;
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
    // Many calls wait while many others speak.
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
