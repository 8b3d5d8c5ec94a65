//! Properties of messages.

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
    ("[A-Za-z.]{1,8}", object(), ".{0,10}", 0..5usize, vec(repair(), 0..3)).prop_map(
        move |(name, arguments, raw, index, repairs)| ToolCall {
            id: id.clone(),
            name,
            arguments: Value::Object(arguments),
            raw,
            index,
            repairs,
        },
    )
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

/// A complete piece of a reply.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Reasoning(String),
    Native(ToolCall),
    Parsed(ToolCall),
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = |number: usize| {
        let native = object().prop_map(move |arguments| {
            let arguments = Value::Object(arguments);
            Piece::Native(ToolCall {
                id: format!("call_{number}"),
                name: format!("tool{number}"),
                raw: arguments.to_string(),
                arguments,
                index: 0,
                repairs: Vec::new(),
            })
        });
        prop_oneof![
            ".{1,12}".prop_map(Piece::Text),
            "[ \n\u{1f}]{1,2}".prop_map(Piece::Text),
            ".{1,12}".prop_map(Piece::Reasoning),
            native,
            call(format!("call_{number}")).prop_map(Piece::Parsed),
        ]
    };
    (0..7usize).prop_flat_map(move |count| (0..count).map(piece).collect::<Vec<_>>())
}

/// Split a text at up to four positions.
fn cut(text: &str, cuts: &[Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    places.extend([0, chars.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect()
}

fn updates(pieces: &[Piece], cuts: &[Index], late_ids: bool) -> Vec<Update> {
    let mut updates = Vec::new();
    let mut index = 0;
    for piece in pieces {
        match piece {
            Piece::Text(text) => updates.extend(cut(text, cuts).into_iter().map(Update::Text)),
            Piece::Reasoning(text) => {
                updates.extend(cut(text, cuts).into_iter().map(Update::Reasoning));
            }
            Piece::Parsed(call) => updates.push(Update::ToolCall(call.clone())),
            Piece::Native(call) => {
                let fragments = cut(&call.raw, cuts);
                let with_id = if late_ids { fragments.len() - 1 } else { 0 };
                for (number, fragment) in fragments.into_iter().enumerate() {
                    updates.push(Update::ToolCallUpdate(ToolCallUpdate {
                        tool_call_id: (number == with_id).then(|| call.id.clone()),
                        index: Some(index),
                        function_name: (number == 0).then(|| call.name.clone()),
                        function_args: Some(fragment),
                    }));
                }
                index += 1;
            }
        }
    }
    updates
}

/// The visible content of a reply: all text, all reasoning, and what precedes each call. White
/// space between calls may come after them.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    text: String,
    reasoning: String,
    calls: Vec<(String, String, String)>,
}

impl Shown {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    fn call(&mut self, id: &str) {
        let before = self.text.replace(|ch: char| is_blank(ch.encode_utf8(&mut [0; 4])), "");
        self.calls.push((id.to_owned(), before, self.reasoning.clone()));
    }
}

fn join(updates: impl IntoIterator<Item = Update>) -> JoinedReply {
    let mut joiner = Joiner::new();
    for update in updates {
        joiner.push(update);
    }
    joiner.push(Update::Finish(FinishReason::Stop));
    joiner.finish()
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
    fn messages_do_not_depend_on_splitting_or_the_order_of_results(
        pieces in pieces(),
        cuts in vec(any::<Index>(), 0..4),
        places in vec(any::<Index>(), 7),
        late_ids in any::<bool>(),
        answered in vec(any::<bool>(), 7),
    ) {
        let whole = updates(&pieces, &[], false);
        let results: Vec<_> = pieces
            .iter()
            .zip(answered)
            .filter_map(|(piece, answered)| match piece {
                Piece::Native(call) | Piece::Parsed(call) if answered => {
                    Some(Update::ToolResult(ToolResult {
                        tool_call_id: call.id.clone(),
                        name: call.name.clone(),
                        result: format!("result of {}", call.id),
                        is_error: false,
                        error_code: None,
                        duration: None,
                    }))
                }
                _ => None,
            })
            .collect();
        let expected = join(whole.into_iter().chain(results.clone()));
        prop_assert!(expected.problems.is_empty(), "{:?}", expected.problems);

        let mut shuffled = updates(&pieces, &cuts, late_ids);
        for (result, place) in results.into_iter().zip(places) {
            let place = place.index(shuffled.len() + 1);
            shuffled.insert(place, result);
        }
        prop_assert_eq!(join(shuffled), expected);
    }

    #[test]
    fn messages_are_in_the_order_of_writing(
        pieces in pieces(),
        cuts in vec(any::<Index>(), 0..4),
        late_ids in any::<bool>(),
    ) {
        let joined = join(updates(&pieces, &cuts, late_ids));
        let mut shown = Shown::default();
        for message in &joined.messages {
            match &message.content {
                Content::Text(text) => shown.text(text),
                Content::Reasoning(text) => shown.reasoning(text),
                Content::ToolCalls(calls) => calls.iter().for_each(|call| shown.call(&call.id)),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let mut written = Shown::default();
        for piece in &pieces {
            match piece {
                Piece::Text(text) => written.text(text),
                Piece::Reasoning(text) => written.reasoning(text),
                Piece::Native(call) | Piece::Parsed(call) => written.call(&call.id),
            }
        }
        prop_assert_eq!(shown, written);
        for pair in joined.messages.windows(2) {
            let calls = |message: &Message| matches!(message.content, Content::ToolCalls(_));
            prop_assert!(!(calls(&pair[0]) && calls(&pair[1])), "calls are in two messages");
        }
    }

    #[test]
    fn content_between_calls_keeps_its_position_for_anthropic(
        pieces in pieces(),
        named in any::<bool>(),
    ) {
        let mut messages = join(updates(&pieces, &[], false)).messages;
        for message in &mut messages {
            message.envelope.generation_id = Some("msg".into());
        }
        let sent = to_anthropic(&messages, Dangling::Answer).unwrap().messages;
        let mut shown = Shown::default();
        for block in sent.first().into_iter().filter_map(|reply| reply["content"].as_array()).flatten() {
            match block["type"].as_str() {
                Some("text") => shown.text(block["text"].as_str().unwrap()),
                Some("tool_use") => shown.call(block["id"].as_str().unwrap()),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        let mut written = Shown::default();
        for message in &messages {
            match &message.content {
                Content::Text(text) if !text.trim().is_empty() => written.text(text),
                Content::ToolCalls(calls) => calls.iter().for_each(|call| written.call(&call.id)),
                _ => {}
            }
        }
        prop_assert_eq!(shown, written);

        let mut given = sent.clone();
        if let (true, Some(reply)) = (named, given.first_mut()) {
            reply["id"] = "msg".into();
        }
        let read = from_anthropic(given, None).unwrap();
        prop_assert_eq!(to_anthropic(&read, Dangling::Answer).unwrap().messages, sent);
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

#[test]
fn joining_takes_linear_time() {
    // Half a million fragments: quadratic work would take minutes.
    let mut joiner = Joiner::new();
    for number in 0..250_000 {
        joiner.push(Update::Text("x".into()));
        joiner.push(Update::ToolCallUpdate(ToolCallUpdate {
            index: Some(number % 1000),
            function_name: (number < 1000).then(|| "t".into()),
            ..ToolCallUpdate::default()
        }));
    }
    // Each of a thousand calls is preceded by text; everything after the last one is one text.
    assert_eq!(joiner.finish().messages.len(), 2000);
}

#[test]
fn white_space_between_calls_is_scanned_once() {
    // All of it becomes one text: scanning it again for each call would take minutes.
    let mut joiner = Joiner::new();
    joiner.push(Update::ToolCallUpdate(fragment(0)));
    joiner.push(Update::Text(" ".repeat(1_000_000)));
    for number in 1..100_000 {
        joiner.push(Update::ToolCallUpdate(fragment(number)));
        joiner.push(Update::Text("\n".into()));
    }
    assert_eq!(joiner.finish().messages.len(), 2);
}

fn fragment(index: usize) -> ToolCallUpdate {
    ToolCallUpdate {
        index: Some(index),
        function_name: Some("t".into()),
        function_args: Some("{}".into()),
        ..ToolCallUpdate::default()
    }
}

#[test]
fn a_call_within_a_reply_keeps_its_position() {
    let mut messages = vec![
        Message::new(Role::Assistant, Content::Text("Let me look. ".into())),
        Message::new(
            Role::Assistant,
            Content::ToolCalls(vec![ToolCall {
                id: "a".into(),
                name: "t".into(),
                arguments: json!({}),
                raw: String::new(),
                index: 0,
                repairs: Vec::new(),
            }]),
        ),
        Message::new(Role::Assistant, Content::Text("One moment.".into())),
    ];
    let dicts = to_openai(&messages, Options::default()).unwrap();
    assert_eq!(dicts.len(), 3, "a text without a generation id after calls begins the next reply");
    for message in &mut messages {
        message.envelope.generation_id = Some("g".into());
    }
    let dicts = to_openai(&messages, Options::default()).unwrap();
    assert_eq!(dicts.len(), 2);
    assert_eq!(dicts[0]["content"], "Let me look. One moment.");
    assert_eq!(dicts[1]["role"], "tool");
}
