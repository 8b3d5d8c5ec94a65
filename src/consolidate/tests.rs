use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    message::{Content, Envelope, ErrorCode, Role, ToolCall, ToolResult, Usage},
    parser::Dialect,
};

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    let (id, name) = (id.to_owned(), name.to_owned());
    ToolCall { id, name, arguments, raw: String::new(), index: 0, repairs: Vec::new() }
}

fn result(id: &str, name: &str, text: &str) -> ToolResult {
    ToolResult {
        tool_call_id: id.to_owned(),
        name: name.to_owned(),
        result: text.to_owned(),
        is_error: false,
        error_code: None,
        duration: None,
    }
}

fn message(role: Role, content: Content) -> Message {
    Message { envelope: Envelope::new(role), content }
}

fn text(role: Role, text: &str) -> Message {
    message(role, Content::Text(text.to_owned()))
}

fn aggregate(calls: Vec<ToolCall>, results: Vec<ToolResult>) -> Message {
    message(Role::Assistant, Content::Aggregate { calls, results })
}

fn text_of(message: &Message) -> &str {
    match &message.content {
        Content::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

/// Parse a single message.
fn parse_history(message: &Message, tools: &[FunctionContract]) -> Vec<Message> {
    super::parse_history(std::slice::from_ref(message), tools, &[Dialect::NATURAL]).unwrap()
}

/// Parse a text as the assistant's.
fn parse_text(bare: &str, tools: &[FunctionContract]) -> Vec<Message> {
    parse_history(&text(Role::Assistant, bare), tools)
}

fn single(messages: &[Message]) -> Message {
    consolidate(messages, &[], Options::default()).unwrap().remove(0)
}

/// Return all calls and results of a history, in order.
fn exchange(messages: &[Message]) -> (Vec<ToolCall>, Vec<ToolResult>) {
    let (mut all_calls, mut all_results) = (Vec::new(), Vec::new());
    for message in messages {
        match &message.content {
            Content::ToolCalls(calls) => all_calls.extend(calls.clone()),
            Content::ToolResults(results) => all_results.extend(results.clone()),
            Content::Aggregate { calls, results } => {
                all_calls.extend(calls.clone());
                for call in calls {
                    let is_its = |result: &&ToolResult| result.tool_call_id == call.id;
                    all_results.extend(results.iter().find(is_its).cloned());
                }
            }
            _ => {}
        }
    }
    (all_calls, all_results)
}

#[test]
fn pairs_are_separated_and_text_keeps_its_lines() {
    let history = [
        text(Role::Assistant, "First."),
        aggregate(
            vec![call("a", "f", json!({})), call("b", "g", json!({"x": 1}))],
            vec![result("b", "g", "[1,{\"ü\":true}]"), result("a", "f", "")],
        ),
        aggregate(vec![call("c", "f", json!({}))], vec![]),
        text(Role::Assistant, "Then.\n"),
        aggregate(
            vec![call("d", "f", json!({}))],
            vec![ToolResult { is_error: true, ..result("d", "f", "boom") }],
        ),
    ];
    assert_eq!(
        text_of(&single(&history)),
        "First.\n\
         <tool_call name=\"f\">\n{}\n</tool_call>\n\
         <tool_response name=\"f\">\n\n</tool_response>\n\
         ---\n\
         <tool_call name=\"g\">\n{\n  \"x\": 1\n}\n</tool_call>\n\
         <tool_response name=\"g\">\n[\n  1,\n  {\n    \"ü\": true\n  }\n]\n</tool_response>\n\
         ---\n\
         <tool_call name=\"f\">\n{}\n</tool_call>\n\
         <tool_response name=\"f\" status=\"pending\">\n</tool_response>\n\
         Then.\n\
         <tool_call name=\"f\">\n{}\n</tool_call>\n\
         <tool_response name=\"f\" status=\"error\">\nboom\n</tool_response>"
    );
}

#[test]
fn split_gives_results_to_the_user() {
    let history = [
        text(Role::System, "Use <tool_call name=\"f\">."),
        text(Role::User, "Go on: </tool_call>"),
        text(Role::Assistant, "I look."),
        message(
            Role::Assistant,
            Content::ToolCalls(vec![call("a", "f", json!({})), call("b", "f", json!({}))]),
        ),
        message(Role::Assistant, Content::Reasoning("hm".into())),
        message(Role::User, Content::ToolResults(vec![result("b", "f", "two")])),
        message(Role::User, Content::ToolResults(vec![result("a", "f", "one")])),
        text(Role::Assistant, "Done."),
    ];
    let options = Options { form: Form::Split, tag: Tag::Name, fenced: true };
    let tools = [FunctionContract::new("f").unwrap()];
    let split = consolidate(&history, &tools, options).unwrap();
    let texts: Vec<_> = split.iter().map(|part| (part.envelope.role, text_of(part))).collect();
    let f = "<f>\n```json\n{}\n```\n</f>";
    assert_eq!(
        texts,
        [
            (Role::System, "Use <tool_call name=\"f\">."),
            (Role::User, "Go on: &lt;/tool_call>"),
            (Role::Assistant, &format!("I look.\n{f}\n{f}")),
            (
                Role::User,
                "<tool_response name=\"f\">\none\n</tool_response>\n\
                 <tool_response name=\"f\">\ntwo\n</tool_response>"
            ),
            (Role::Assistant, "Done."),
        ]
    );
    let read: Vec<Message> = split.iter().flat_map(|part| parse_history(part, &tools)).collect();
    let (calls, results) = exchange(&read);
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(results, [result("a", "f", "one"), result("b", "f", "two")]);
}

#[test]
fn a_consolidator_writes_calls_once_they_have_results() {
    let mut consolidator = Consolidator::new(&[], Options::default());
    assert_eq!(consolidator.push(&text(Role::Assistant, "Look:")).unwrap(), "Look:");
    let calls = vec![call("a", "f", json!({})), call("b", "f", json!({}))];
    assert_eq!(
        consolidator.push(&message(Role::Assistant, Content::ToolCalls(calls))).unwrap(),
        ""
    );
    let answer = |id| message(Role::Tool, Content::ToolResults(vec![result(id, "f", id)]));
    assert_eq!(consolidator.push(&answer("b")).unwrap(), "");
    assert!(consolidator.push(&answer("a")).unwrap().starts_with("\n<tool_call name=\"f\">"));
    assert_eq!(
        consolidator.push(&answer("late")).unwrap(),
        "\n---\n<tool_response name=\"f\">\nlate\n</tool_response>"
    );
    assert_eq!(consolidator.finish(), "");
    assert_eq!(
        consolidator.push(&answer("x")).unwrap_err(),
        ConsolidateError::Finished { index: 5 }
    );
}

#[test]
fn envelopes_are_merged() {
    let envelope = |role, generation: Option<&str>, metadata: Value| Envelope {
        generation_id: generation.map(str::to_owned),
        from_agent: generation.map(|id| format!("agent of {id}")),
        id: Some("m".into()),
        metadata: metadata.as_object().unwrap().clone(),
        ..Envelope::new(role)
    };
    let answered = ToolResult {
        duration: Some(0.5),
        error_code: Some(ErrorCode::Timeout),
        is_error: true,
        ..result("a", "f", "{\"a\":1}")
    };
    let history = [
        Message {
            envelope: envelope(Role::Assistant, None, json!({"k": 1, "only": true})),
            content: Content::Text("t".into()),
        },
        Message {
            envelope: envelope(Role::Assistant, Some("g1"), json!({"k": 2})),
            content: Content::ToolCalls(vec![call("a", "f", json!({}))]),
        },
        Message {
            envelope: envelope(Role::Tool, Some("g2"), json!({"k": 3})),
            content: Content::ToolResults(vec![answered.clone()]),
        },
        message(Role::Assistant, Content::Usage(Usage::default())),
    ];
    let whole = single(&history);
    assert_eq!(whole.envelope.role, Role::Assistant);
    assert_eq!(whole.envelope.generation_id.as_deref(), Some("g1"));
    assert_eq!(whole.envelope.from_agent.as_deref(), Some("agent of g1"));
    assert_eq!(whole.envelope.id, None);
    assert_eq!(
        Value::Object(whole.envelope.metadata.clone()),
        json!({
            "k": 3,
            "only": true,
            "generation_ids": ["g1", "g2"],
            "message_ids": ["m"],
            "tool_calls": [{"id": "a", "name": "f", "duration": 0.5, "error_code": "timeout",
                "result": "{\"a\":1}"}],
        })
    );
    let read = parse_history(&whole, &[]);
    assert_eq!(exchange(&read).1, [answered]);
    assert_eq!(read[1].envelope.metadata, *json!({"k": 3, "only": true}).as_object().unwrap());
}

#[test]
fn each_message_has_the_role_of_its_party() {
    let results = || message(Role::Tool, Content::ToolResults(vec![result("a", "f", "x")]));
    let calls = || aggregate(vec![call("a", "f", json!({}))], vec![]);
    let (user, system) = (|| text(Role::User, "hi"), || text(Role::System, "be"));
    let assistant = || text(Role::Assistant, "so");
    let (u, a, s) = (Role::User, Role::Assistant, Role::System);
    // The roles of the forms in which results stand beside their calls, and follow them.
    let cases = [
        (vec![user()], vec![u], vec![u]),
        (vec![user(), user(), assistant(), assistant()], vec![u, a], vec![u, a]),
        (vec![system(), system(), user()], vec![s, s, u], vec![s, s, u]),
        (vec![results()], vec![u], vec![u]),
        (vec![results(), assistant()], vec![a], vec![u, a]),
        (vec![results(), user()], vec![u], vec![u]),
        (vec![user(), results(), assistant()], vec![u, a], vec![u, a]),
        (vec![user(), calls()], vec![u, a], vec![u, a, u]),
        (vec![user(), calls(), assistant()], vec![u, a], vec![u, a, u, a]),
        (vec![calls(), user(), assistant()], vec![a, u, a], vec![a, u, a]),
        (vec![user(), system(), user()], vec![u, s, u], vec![u, s, u]),
        (vec![assistant(), system(), assistant()], vec![a, s, a], vec![a, s, a]),
    ];
    for (history, beside, after) in cases {
        for (form, wanted) in
            [(Form::Single, beside), (Form::Turn, after.clone()), (Form::Split, after)]
        {
            let options = Options { form, ..Options::default() };
            let written = consolidate(&history, &[], options).unwrap();
            let roles: Vec<_> = written.iter().map(|part| part.envelope.role).collect();
            assert_eq!(roles, wanted, "{form:?} of {history:?}");
        }
    }
    for silent in [vec![], vec![text(Role::User, "")], vec![aggregate(vec![], vec![])]] {
        for form in Form::ALL.iter().copied() {
            let options = Options { form, ..Options::default() };
            assert_eq!(consolidate(&silent, &[], options).unwrap(), []);
        }
    }
}

#[test]
fn errors_name_the_message() {
    let deep = (0..300).fold(json!({}), |inner, _| json!({"a": inner}));
    let cases = [
        (
            aggregate(vec![call("a", "f", json!([]))], vec![]),
            "message 1: arguments of tool call \"a\" (f) must be a JSON object",
        ),
        (
            aggregate(vec![call("a", "f", deep)], vec![]),
            "message 1: arguments of tool call \"a\" (f) are nested deeper than 128 levels",
        ),
        (
            aggregate(vec![call("a", "f", json!({})), call("a", "g", json!({}))], vec![]),
            "message 1: ids of tool calls must be unique, got \"a\" twice",
        ),
        (
            aggregate(vec![call("a", "f", json!({}))], vec![result("b", "f", "")]),
            "message 1: a result belongs to tool call \"b\", which is not in the message",
        ),
        (
            message(
                Role::Tool,
                Content::ToolResults(vec![result("a", "f", ""), result("a", "f", "")]),
            ),
            "message 1: tool call \"a\" must have at most one result, got two",
        ),
    ];
    for (broken, wanted) in cases {
        let history = [text(Role::User, "hi"), broken];
        for form in Form::ALL.iter().copied() {
            let options = Options { form, ..Options::default() };
            let error = consolidate(&history, &[], options).unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
    }
}

#[test]
fn text_that_resembles_a_block_stays_text() {
    for foreign in [
        "<tool_call name=\"f\">\nnot json\n</tool_call>",
        "<tool_call name=\"f\">\n{\"a\": 1\n",
        "<tool_response name=\"f\">unclosed",
        "<tool_response name=\"f\">",
        "<tool_response name=\"f\" status=\"odd\">\nx\n</tool_response>",
        "<f>\n{}\n</f>",
        "---\n---",
    ] {
        let read = parse_text(foreign, &[]);
        assert_eq!(read, [text(Role::Assistant, foreign)], "{foreign}");
    }
    let many = "<tool_call name=\"f\">\n".repeat(50_000);
    assert_eq!(parse_text(&many, &[]).len(), 1);
}

#[test]
fn a_result_after_text_does_not_make_it_a_call() {
    for tag in [Tag::Name, Tag::ToolCall] {
        let history = [
            text(Role::User, "<f>\n{}\n</f>"),
            message(Role::Tool, Content::ToolResults(vec![result("x", "f", "real")])),
        ];
        for form in Form::ALL.iter().copied() {
            let parts = consolidate(&history, &[], Options { form, tag, fenced: false }).unwrap();
            let read: Vec<_> = parts.iter().flat_map(|part| parse_history(part, &[])).collect();
            let (calls, results) = exchange(&read);
            assert_eq!((calls.len(), results.len()), (0, 1));
            assert_eq!(read[0].content, history[0].content);
        }
    }
}

const NAMES: [&str; 6] = ["f", "GetWeather", "math.factorial", "a/b", "bad name\">\n", "tool_call"];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "<tool_call name=\"f\">", "</tool_call>", "<tool_response name=\"f\">", "<", "/", ">",
            "</tool_response>", "<tool_response name=\"f\" status=\"pending\">", "<f>", "</f>",
            "<GetWeather>", "</getweather >", "<tool_", "call", "&lt;", "&amp;lt;", "&amp;", "&",
            "lt;", "tool_call", "f", "```json", "```", "---", "---\n", "\n", "\r\n", "\r", " ",
            "{}", "{\"a\":1}", "{\"a\": 1}", "{\n  \"a\": 1\n}", "[]", "[1]", "\\", "\"", "\u{2028}",
            "<TOOL_CALL NAME='f'>", "<tool_call name=f>{}</tool_call>", "<tool_call>", "<math.factorial>",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(|ch| ch.to_string()),
    ];
    prop_oneof![
        8 => prop::collection::vec(piece.clone(), 0..10).prop_map(|pieces| pieces.concat()),
        1 => piece.prop_map(|piece| piece.repeat(3)),
        1 => any_json().prop_map(|value| value.to_string()),
        1 => any_json().prop_map(|value| format!("{value:#}")),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec![
        "",
        "<f>",
        "</tool_call>",
        "a\n</tool_response>\n",
        "<GetWeather\n>",
        "&lt;f>",
        "ü",
        "\u{7f}",
        "```",
        "</f>\\",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["1.0", "-0.0", "1e5", "12345678901234567890123", "1E-7", "0.10"])
            .prop_map(|number| serde_json::from_str(number).unwrap()),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop::sample::select(vec!["a", "b", "<f>", "</tool_call>", ""]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4).prop_map(|members| {
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["a", "b", "</f>"]);
    prop::collection::vec((key, any_json()), 0..3).prop_map(|members| {
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    })
}

/// Generate messages of all kinds. Ids are unique, so that results can be compared.
fn history() -> impl Strategy<Value = Vec<Message>> {
    let name = prop::sample::select(NAMES.to_vec());
    let one = (name, arguments(), prop::option::of((hostile(), any::<bool>())), any::<u8>());
    let turn = prop_oneof![
        2 => (prop::sample::select(vec![Role::User, Role::Assistant]), hostile())
            .prop_map(|(role, content)| vec![text(role, &content)]),
        3 => (prop::collection::vec(one, 0..4), 0..4_u8).prop_map(|(ones, form)| {
            let calls = ones.iter().enumerate().map(|(at, one)| call(&at.to_string(), one.0, one.1.clone()));
            let calls: Vec<ToolCall> = calls.collect();
            let mut results = Vec::new();
            for (at, (name, _, answer, extra)) in ones.iter().enumerate() {
                if let Some((text, is_error)) = answer {
                    results.push(ToolResult {
                        is_error: *is_error,
                        error_code: is_error.then_some(ErrorCode::ToolError),
                        duration: (extra % 2 == 0).then(|| f64::from(*extra) / 8.0),
                        ..result(&at.to_string(), name, text)
                    });
                }
            }
            match form {
                0 => vec![message(Role::Tool, Content::ToolResults(results))],
                1 => {
                    let calls = Content::ToolCalls(calls);
                    vec![message(Role::Assistant, calls), message(Role::Tool, Content::ToolResults(results))]
                }
                2 => {
                    results.reverse();
                    vec![aggregate(calls, results)]
                }
                _ => vec![aggregate(calls, results)],
            }
        }),
        1 => Just(vec![message(Role::Assistant, Content::Reasoning("<f>{}</f>".into()))]),
    ];
    prop::collection::vec(turn, 0..6).prop_map(|turns| {
        let mut messages = Vec::new();
        for (at, turn) in turns.into_iter().enumerate() {
            for mut message in turn {
                let (calls, results) = match &mut message.content {
                    Content::ToolCalls(calls) => (calls.as_mut_slice(), [].as_mut_slice()),
                    Content::ToolResults(results) => ([].as_mut_slice(), results.as_mut_slice()),
                    Content::Aggregate { calls, results } => {
                        (calls.as_mut_slice(), results.as_mut_slice())
                    }
                    _ => ([].as_mut_slice(), [].as_mut_slice()),
                };
                for call in calls {
                    call.id = format!("{at}.{}", call.id);
                }
                for result in results {
                    result.tool_call_id = format!("{at}.{}", result.tool_call_id);
                }
                messages.push(message);
            }
        }
        messages
    })
}

/// Return all texts of a history, in order, with consecutive ones joined by a line break.
fn texts_of(messages: &[Message]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut goes_on = false;
    for message in messages {
        match &message.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => {
                match texts.last_mut().filter(|_| goes_on) {
                    Some(last) => {
                        if !last.ends_with('\n') {
                            last.push('\n');
                        }
                        last.push_str(text);
                    }
                    None => texts.push(text.clone()),
                }
                goes_on = true;
            }
            Content::Reasoning(_) | Content::Usage(_) => {}
            Content::ToolCalls(calls) | Content::Aggregate { calls, .. } => {
                goes_on &= calls.is_empty();
            }
            Content::ToolResults(results) => goes_on &= results.is_empty(),
            Content::Unknown { .. } => unreachable!(),
        }
    }
    texts
}

fn options() -> impl Strategy<Value = Options> {
    let form = prop::sample::select(Form::ALL);
    let tag = prop::sample::select(vec![Tag::Name, Tag::ToolCall]);
    (form, tag, any::<bool>()).prop_map(|(form, tag, fenced)| Options { form, tag, fenced })
}

fn all_tools() -> Vec<FunctionContract> {
    NAMES.iter().filter_map(|name| FunctionContract::new(*name).ok()).collect()
}

/// Sort results in the order in which they are written: next to their calls, others in place.
fn by_id(results: Vec<ToolResult>) -> Vec<ToolResult> {
    let mut results = results;
    results.sort_by(|a, b| a.tool_call_id.cmp(&b.tool_call_id));
    results
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn calls_and_results_are_recovered(history in history(), options in options()) {
        let tools = all_tools();
        let written = consolidate(&history, &tools, options).unwrap();
        let read: Vec<_> = written.iter().flat_map(|part| parse_history(part, &tools)).collect();
        let (calls, results) = exchange(&history);
        let (read_calls, read_results) = exchange(&read);
        let summary = |calls: &[ToolCall]| -> Vec<(String, String, String)> {
            let one = |call: &ToolCall| (call.id.clone(), call.name.clone(), call.arguments.to_string());
            calls.iter().map(one).collect()
        };
        prop_assert_eq!(summary(&read_calls), summary(&calls));
        prop_assert_eq!(by_id(read_results), by_id(results));
    }

    #[test]
    fn calls_and_results_are_recovered_from_the_text_alone(history in history(), options in options()) {
        let tools = all_tools();
        let mut history = history;
        for message in &mut history {
            if let Content::Text(text) = &mut message.content {
                // Without notes, a call in a code block is an example.
                *text = text.replace('`', "'");
            }
        }
        let written = consolidate(&history, &tools, options).unwrap();
        // In one form, any tool may be called; in the other, the tool must be known.
        let known = if options.tag == Tag::Name { tools } else { Vec::new() };
        let read: Vec<_> =
            written.iter().flat_map(|part| parse_text(text_of(part), &known)).collect();
        let (mut calls, results) = exchange(&history);
        calls.retain(|call| known.is_empty() || known.iter().any(|tool| tool.name == call.name));
        let (read_calls, read_results) = exchange(&read);
        let summary = |calls: &[ToolCall]| -> Vec<(String, Value)> {
            calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect()
        };
        prop_assert_eq!(summary(&read_calls), summary(&calls));
        // JSON on several lines is recovered on one line, everything else unchanged.
        let summary = |results: &[ToolResult]| -> Vec<(String, bool, String)> {
            let mut sorted: Vec<_> = results
                .iter()
                .map(|result| {
                    let plain = super::layout::from_displayed(&super::layout::displayed(&result.result));
                    (result.name.clone(), result.is_error, plain)
                })
                .collect();
            sorted.sort();
            sorted
        };
        prop_assert_eq!(summary(&read_results), summary(&results));
    }

    #[test]
    fn texts_are_recovered(history in history()) {
        let tools = all_tools();
        let written = consolidate(&history, &tools, Options::default()).unwrap();
        let read: Vec<_> = written.iter().flat_map(|part| parse_history(part, &tools)).collect();
        // Parsed messages are consolidated to the same text.
        let again = consolidate(&read, &tools, Options::default()).unwrap();
        let texts = |messages: &[Message]| -> Vec<String> {
            messages.iter().map(|message| text_of(message).to_owned()).collect()
        };
        prop_assert_eq!(texts(&again), texts(&written));
        prop_assert_eq!(texts_of(&read), texts_of(&history));
    }

    #[test]
    fn message_by_message_gives_the_same_text(history in history(), options in options()) {
        let whole = consolidate(&history, &[], options).unwrap();
        let mut consolidator = Consolidator::new(&[], options);
        let mut joined = String::new();
        for message in &history {
            joined.push_str(&consolidator.push(message).unwrap());
        }
        joined.push_str(&consolidator.finish());
        prop_assert_eq!(consolidator.finish(), "");
        prop_assert_eq!(whole.iter().map(text_of).collect::<String>(), joined);
        prop_assert_eq!(consolidator.messages(), whole);
    }

    #[test]
    fn consolidation_is_idempotent(history in history(), options in options()) {
        let tools = all_tools();
        for tools in [&tools[..], &[]] {
            let once = consolidate(&history, tools, options).unwrap();
            prop_assert_eq!(consolidate(&once, tools, options).unwrap(), once);
        }
    }

    #[test]
    fn no_text_becomes_a_call(content in hostile(), results in prop::collection::vec(hostile(), 0..3)) {
        let tools = all_tools();
        let results: Vec<_> =
            results.iter().enumerate().map(|(at, text)| result(&at.to_string(), "f", text)).collect();
        let count = results.len();
        let history = [
            text(Role::User, &content),
            message(Role::Tool, Content::ToolResults(results)),
            text(Role::Assistant, &content),
        ];
        let written = consolidate(&history, &tools, Options::default()).unwrap();
        let read: Vec<_> = written.iter().flat_map(|part| parse_history(part, &tools)).collect();
        let (calls, results) = exchange(&read);
        prop_assert_eq!((calls.len(), results.len()), (0, count));
    }
}
