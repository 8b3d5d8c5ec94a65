//! Laws and examples of joining updates.

use super::*;

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
                dialect: NATURAL,
                recovered: false,
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

proptest! {
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
                dialect: NATURAL,
                recovered: false,
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
