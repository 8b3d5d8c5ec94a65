//! Properties of messages.

mod joining;

use proptest::{collection::vec, option, prelude::*, sample::Index};
use serde_json::{Map, Value, json};

use super::{
    anthropic::{from_anthropic, to_anthropic},
    openai::{Options, from_openai, to_openai},
    *,
};

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        "-?[1-9][0-9]{0,30}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?"
            .prop_map(|text| serde_json::from_str(&text).unwrap()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((".{0,6}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((".{0,6}", value()), 0..4).prop_map(|members| members.into_iter().collect())
}

fn foreign() -> impl Strategy<Value = Map<String, Value>> {
    vec(("x_[a-z]{0,4}", value()), 0..3).prop_map(|members| members.into_iter().collect())
}

fn repair() -> impl Strategy<Value = Repair> {
    (".{0,6}", any::<Index>(), value(), value()).prop_map(|(path, kind, before, after)| Repair {
        path,
        kind: *kind.get(RepairKind::ALL),
        before,
        after,
    })
}

fn call(id: String) -> impl Strategy<Value = ToolCall> {
    (
        "[A-Za-z.]{1,8}",
        object(),
        ".{0,10}",
        0..5usize,
        vec(repair(), 0..3),
        "natural|native|[a-z]{1,3}",
        any::<bool>(),
    )
        .prop_map(move |(name, arguments, raw, index, repairs, dialect, recovered)| ToolCall {
            id: id.clone(),
            name,
            arguments: Value::Object(arguments),
            raw,
            index,
            repairs,
            dialect: dialect.into(),
            recovered,
        })
}

fn calls() -> impl Strategy<Value = Vec<ToolCall>> {
    (0..4usize).prop_flat_map(|count| {
        (0..count).map(|number| call(format!("call_{number}"))).collect::<Vec<_>>()
    })
}

fn result(call: &ToolCall) -> impl Strategy<Value = ToolResult> + use<> {
    let (id, name) = (call.id.clone(), call.name.clone());
    (".{0,12}", any::<bool>(), option::of(any::<Index>()), option::of(0.0..1e9)).prop_map(
        move |(result, is_error, code, duration)| ToolResult {
            tool_call_id: id.clone(),
            name: name.clone(),
            result,
            is_error: is_error || code.is_some(),
            error_code: code.map(|code| *code.get(ErrorCode::ALL)),
            duration,
        },
    )
}

fn some_results(calls: &[ToolCall]) -> impl Strategy<Value = Vec<ToolResult>> + use<> {
    let each: Vec<_> = calls.iter().map(|call| option::of(result(call))).collect();
    each.prop_map(|results| results.into_iter().flatten().collect())
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        ".{0,20}".prop_map(Content::Text),
        ".{0,20}".prop_map(Content::Reasoning),
        calls().prop_map(Content::ToolCalls),
        calls().prop_flat_map(|calls| some_results(&calls)).prop_map(Content::ToolResults),
        calls().prop_flat_map(|calls| {
            some_results(&calls)
                .prop_map(move |results| Content::Aggregate { calls: calls.clone(), results })
        }),
        (any::<u64>(), any::<u64>(), any::<u64>(), option::of(0.0..1e6)).prop_map(
            |(input_tokens, output_tokens, cached_input_tokens, cost)| {
                Content::Usage(Usage { input_tokens, output_tokens, cached_input_tokens, cost })
            }
        ),
        ("y_[a-z]{0,5}", foreign()).prop_map(|(kind, fields)| Content::Unknown { kind, fields }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let texts = vec(option::of(".{0,6}"), 5);
    (content(), any::<Index>(), texts, any::<bool>(), object(), foreign()).prop_map(
        |(content, role, mut texts, natural, metadata, extra)| {
            let mut text = || texts.pop().flatten();
            let unknown = matches!(content, Content::Unknown { .. });
            let envelope = Envelope {
                role: *role.get(Role::ALL),
                id: text(),
                from_agent: text(),
                generation_id: text(),
                run_id: text(),
                chat_id: text(),
                natural: natural && matches!(content, Content::Text(_)),
                metadata,
                // All fields of an unknown kind are in its content.
                extra: if unknown { Map::new() } else { extra },
            };
            Message { envelope, content }
        },
    )
}

/// Generate conversations that native protocols represent without loss.
fn plain_conversation() -> impl Strategy<Value = Vec<Message>> {
    #[derive(Clone, Debug)]
    enum Turn {
        User(String),
        Reply(Option<String>, Vec<Map<String, Value>>, Vec<String>),
    }
    let text = "[a-z<&\"é ]{0,10}[a-z]";
    let turn = prop_oneof![
        text.prop_map(Turn::User),
        (option::of(text), vec(object(), 0..3), vec(text, 3))
            .prop_map(|(text, calls, results)| Turn::Reply(text, calls, results)),
    ];
    vec(turn, 0..6).prop_map(|all| {
        let mut messages = Vec::new();
        let mut number = 0;
        for turn in all {
            match turn {
                Turn::User(text) => messages.push(Message::new(Role::User, Content::Text(text))),
                Turn::Reply(text, arguments, results) => {
                    let text = text.or_else(|| arguments.is_empty().then(|| "done".to_owned()));
                    messages.extend(
                        text.map(|text| Message::new(Role::Assistant, Content::Text(text))),
                    );
                    if arguments.is_empty() {
                        continue;
                    }
                    let mut calls = Vec::new();
                    for (index, arguments) in arguments.into_iter().enumerate() {
                        let arguments = Value::Object(arguments);
                        calls.push(ToolCall {
                            id: format!("call_{number}"),
                            name: format!("tool{index}"),
                            raw: arguments.to_string(),
                            arguments,
                            index,
                            repairs: Vec::new(),
                            dialect: NATURAL,
                            recovered: false,
                        });
                        number += 1;
                    }
                    let results = calls.iter().zip(results).map(|(call, result)| ToolResult {
                        tool_call_id: call.id.clone(),
                        name: call.name.clone(),
                        result,
                        is_error: false,
                        error_code: None,
                        duration: None,
                    });
                    let results = results.collect();
                    let content = Content::Aggregate { calls, results };
                    messages.push(Message::new(Role::Assistant, content));
                }
            }
        }
        messages
    })
}

/// Generate JSON that resembles messages.
fn lookalike() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "kind",
        "role",
        "text",
        "toolCalls",
        "toolResults",
        "toolCallId",
        "name",
        "arguments",
        "content",
        "tool_calls",
        "id",
        "type",
        "function",
        "tool_call_id",
        "tool_use_id",
        "input",
        "metadata",
        "thinking",
        "result",
        "index",
        "repairs",
    ]);
    let words = prop::sample::select(vec![
        "text",
        "tools_call",
        "tools_aggregate",
        "usage",
        "user",
        "assistant",
        "tool",
        "system",
        "function",
        "tool_use",
        "tool_result",
        "thinking",
        "{}",
        "a",
    ]);
    let leaf = prop_oneof![
        3 => words.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => number(),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec((names.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

/// Return all paths in a value, as JSON Pointers.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while next < found.len() {
        let at = found[next].clone();
        match value.pointer(&at) {
            Some(Value::Array(items)) => {
                found.extend((0..items.len()).map(|index| format!("{at}/{index}")));
            }
            Some(Value::Object(members)) => found.extend(
                members
                    .keys()
                    .map(|name| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))),
            ),
            _ => {}
        }
        next += 1;
    }
    found
}

/// Replace one value in a list by another.
fn damage(items: Vec<Value>, place: Index, other: Value) -> Vec<Value> {
    let mut value = Value::Array(items);
    let places = pointers(&value);
    let place: &String = place.get(&places);
    *value.pointer_mut(place).unwrap() = other;
    value.as_array().cloned().unwrap_or_default()
}

/// Check that messages of a provider are equal after a round trip.
fn check_providers(openai: Vec<Value>, anthropic: Vec<Value>) -> Result<(), TestCaseError> {
    if let Ok(messages) = from_openai(openai) {
        let options = Options { dangling: Dangling::Answer, reasoning: true };
        let dicts = to_openai(&messages, options).unwrap();
        let again = from_openai(dicts.clone()).unwrap();
        prop_assert_eq!(to_openai(&again, options).unwrap(), dicts);
    }
    if let Ok(messages) = from_anthropic(anthropic, None) {
        let request = to_anthropic(&messages, Dangling::Answer).unwrap();
        let again = from_anthropic(request.messages.clone(), None).unwrap();
        prop_assert_eq!(to_anthropic(&again, Dangling::Answer).unwrap(), request);
    }
    Ok(())
}

#[test]
fn an_empty_text_with_calls_is_dropped() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let read = from_openai(vec![
        json!({"role": "assistant", "text": 0}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "a"}),
    ]);
    let dicts = to_openai(&read.unwrap(), Options::default()).unwrap();
    assert_eq!(dicts[0]["content"], Value::Null);
    let again = from_openai(dicts.clone()).unwrap();
    assert_eq!(to_openai(&again, Options::default()).unwrap(), dicts);
}

proptest! {
    #[test]
    fn messages_round_trip_as_json(message in message()) {
        let value = message.to_json_value();
        prop_assert_eq!(value.as_object().unwrap().keys().next().unwrap(), "kind");
        prop_assert_eq!(Message::from_json_value(value).unwrap(), message.clone());
        prop_assert_eq!(Message::from_json(&message.to_json()).unwrap(), message);
    }

    #[test]
    fn openai_messages_round_trip(messages in plain_conversation()) {
        let dicts = to_openai(&messages, Options::default()).unwrap();
        prop_assert_eq!(from_openai(dicts).unwrap(), messages);
    }

    #[test]
    fn anthropic_messages_round_trip(mut messages in plain_conversation()) {
        let request = to_anthropic(&messages, Dangling::Answer).unwrap();
        for message in &mut messages {
            if let Content::Aggregate { calls, .. } = &mut message.content {
                // Anthropic's arguments are not text.
                for call in calls {
                    call.raw.clear();
                }
            }
        }
        prop_assert_eq!(from_anthropic(request.messages, request.system).unwrap(), messages);
    }

    #[test]
    fn parsed_messages_round_trip(value in lookalike()) {
        if let Ok(message) = Message::from_json_value(value.clone()) {
            prop_assert_eq!(Message::from_json(&message.to_json()).unwrap(), message);
        }
        let list = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        check_providers(list.clone(), list)?;
    }

    #[test]
    fn damaged_messages_are_parsed_or_rejected(
        messages in plain_conversation(),
        message in message(),
        place in any::<Index>(),
        other in lookalike(),
    ) {
        let openai = to_openai(&messages, Options::default()).unwrap();
        let anthropic = to_anthropic(&messages, Dangling::Answer).unwrap().messages;
        check_providers(
            damage(openai, place, other.clone()),
            damage(anthropic, place, other.clone()),
        )?;
        for value in damage(vec![message.to_json_value()], place, other) {
            if let Ok(message) = Message::from_json_value(value) {
                prop_assert_eq!(Message::from_json(&message.to_json()).unwrap(), message);
            }
        }
    }
}

#[test]
fn depth_is_limited_when_parsing() {
    let deep = format!(r#"{{"kind":"text","role":"user","text":"","x":{}}}"#, "[".repeat(100_000));
    assert!(matches!(Message::from_json(&deep), Err(MessageError::Json { .. })));
}
