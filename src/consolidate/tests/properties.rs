//! Laws of consolidation, for histories of all kinds.

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 6] = ["f", "GetWeather", "math.factorial", "a/b", "bad name\">\n", "tool_call"];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "<tool_call name=\"f\">", "</tool_call>", "<tool_response name=\"f\">", "<", "/", ">",
            "</tool_response>", "<tool_response name=\"f\" status=\"pending\">", "<f>", "</f>",
            "<GetWeather>", "</getweather >", "<tool_", "call", "&lt;", "&amp;lt;", "&amp;", "&",
            "lt;", "tool_call", "f", "```json", "```", "---", "---\n", "\n", "\r\n", "\r", " ",
            "{}", "{\"a\":1}", "{\"a\": 1}", "{\n  \"a\": 1\n}", "[]", "[1]", "\\", "\"", "\u{2028}",
            "<|tool_call>", "<|\"|>", "[TOOL_CALLS]", "[", "&#91;", "## Return of ", "<|call|>", "<|im_end|>",
            "<function=f>", "</parameter>", "</arg_value>", "<｜tool▁call▁end｜>", "<｜DSML｜", "<|open|>",
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

fn natural_options() -> impl Strategy<Value = Options> {
    let form = prop::sample::select(Form::ALL);
    let tag = prop::sample::select(vec![Tag::Name, Tag::ToolCall]);
    let dialect = Dialect::NATURAL;
    (form, tag, any::<bool>()).prop_map(move |(form, tag, fenced)| Options {
        form,
        tag,
        fenced,
        dialect,
    })
}

/// Return options for any dialect.
fn options() -> impl Strategy<Value = Options> {
    let dialects: Vec<_> = writable().into_iter().filter_map(Dialect::named).collect();
    let dialect = prop_oneof![Just(Dialect::NATURAL), prop::sample::select(dialects)];
    (natural_options(), dialect).prop_map(|(options, dialect)| Options { dialect, ..options })
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
    #![proptest_config(crate::effort::cases(150))]

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
    fn calls_and_results_are_recovered_from_the_text_alone(
        history in history(),
        options in natural_options(),
    ) {
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
    fn texts_are_recovered(history in history(), options in options()) {
        let options = Options { dialect: options.dialect, ..Options::default() };
        let tools = all_tools();
        let written = consolidate(&history, &tools, options).unwrap();
        let read: Vec<_> = written.iter().flat_map(|part| parse_history(part, &tools)).collect();
        // Parsed messages are consolidated to the same text.
        let again = consolidate(&read, &tools, options).unwrap();
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
    fn text_in_another_dialect_stays_as_it_is(
        history in history(),
        first in options(),
        then in options(),
    ) {
        let written = consolidate(&history, &[], first).unwrap();
        let once = consolidate(&written, &[], then).unwrap();
        prop_assert_eq!(consolidate(&once, &[], then).unwrap(), once);
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
