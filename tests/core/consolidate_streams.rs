//! Replies that stream: the pieces of natural text, joined, equal the consolidated reply.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::{
    consolidate::{Consolidator, Form, Options, consolidate, writable},
    contract::{FunctionContract, Tag},
    message::{
        Content, Envelope, FinishReason, Message, NATURAL, Role, ToolCall, ToolCallUpdate,
        ToolResult, Update,
    },
    parser::Dialect,
};

/// A piece of a reply, in the order of writing.
#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Thought,
    Call { arguments: Value, result: Option<String> },
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let text = prop::collection::vec(
        prop::sample::select(vec![
            "<f>",
            "</f>",
            "<",
            "f",
            ">",
            "&lt;",
            "&",
            "amp;",
            "lt;",
            "---",
            "\n",
            "---\n",
            " ",
            "tool_call",
            "</tool_response>",
            "ü",
            "text",
            "[TOOL_CALLS]",
            "[TOOL",
            "<|im_end|>",
            "#93;",
            "<tool_call name=\"f\">{}</tool_call>",
        ]),
        1..5,
    );
    let arguments = prop::sample::select(vec![
        json!({}),
        json!({"a": 1}),
        json!({"a": "</f>\n<tool_call name=\"f\">", "b": [1.50, {"ü": null}]}),
    ]);
    let result = prop::option::of(prop::sample::select(vec![
        "",
        "one",
        "<f>{}</f>",
        "</tool_response>",
        "{\"a\":1}",
        "---\n",
        "&lt;f>",
    ]));
    let piece = prop_oneof![
        4 => text.prop_map(|pieces| Piece::Text(pieces.concat())),
        1 => Just(Piece::Thought),
        4 => (arguments, result).prop_map(|(arguments, result)| Piece::Call {
            arguments,
            result: result.map(str::to_owned),
        }),
    ];
    prop::collection::vec(piece, 0..8)
}

fn call(at: usize, arguments: &Value) -> ToolCall {
    ToolCall {
        id: format!("id{at}"),
        name: "f".into(),
        arguments: arguments.clone(),
        raw: String::new(),
        index: at,
        repairs: Vec::new(),
        dialect: NATURAL,
        recovered: false,
    }
}

fn result(at: usize, text: &str) -> ToolResult {
    ToolResult {
        tool_call_id: format!("id{at}"),
        name: "f".into(),
        result: text.to_owned(),
        is_error: false,
        error_code: None,
        duration: None,
    }
}

/// Return the reply as messages of one generation, in the order of writing.
fn messages(pieces: &[Piece]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        // White space between calls is moved behind them.
        let is_blank = |message: &Message| matches!(&message.content, Content::Text(text) if text.trim().is_empty());
        let between = messages.last().is_some_and(is_blank)
            && matches!(piece, Piece::Call { .. })
            && matches!(
                messages.iter().nth_back(1).map(|message| &message.content),
                Some(Content::Aggregate { .. })
            );
        let blank = if between { messages.pop() } else { None };
        let content = match (piece, messages.last_mut().map(|message| &mut message.content)) {
            (Piece::Text(text), Some(Content::Text(known))) => {
                known.push_str(text);
                continue;
            }
            (Piece::Text(text), _) => Content::Text(text.clone()),
            (Piece::Thought, _) => Content::Reasoning("Hm.".into()),
            (Piece::Call { arguments, result: text }, known) => {
                let results = text.iter().map(|text| result(at, text));
                if let Some(Content::Aggregate { calls, results: known }) = known {
                    calls.push(call(at, arguments));
                    known.extend(results);
                    messages.extend(blank);
                    continue;
                }
                Content::Aggregate { calls: vec![call(at, arguments)], results: results.collect() }
            }
        };
        let envelope =
            Envelope { generation_id: Some("g".into()), ..Envelope::new(Role::Assistant) };
        messages.push(Message { envelope, content });
    }
    messages
}

/// The way in which calls arrive.
#[derive(Clone, Copy, Debug)]
enum Calls {
    /// Complete, as the parser finds them.
    Whole,
    /// Announced first, as by readers of replies.
    Announced,
    /// In fragments, complete at the end of the reply.
    Fragments,
}

#[derive(Clone, Copy, Debug)]
enum Results {
    /// Directly after their calls.
    AtOnce,
    /// After the end of the reply, in another order.
    AtTheEnd,
    /// Before the end of the reply, in messages with all calls.
    InMessages,
}

/// Split a text into chunks of a few characters.
fn chunks(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<_> = text.chars().collect();
    chars.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}

fn feed(joined: &mut String, consolidator: &mut Consolidator, update: Update) {
    joined.push_str(&consolidator.push_update(update).unwrap());
}

fn streamed(
    pieces: &[Piece],
    options: Options,
    (calls, results, size): (Calls, Results, usize),
) -> (String, Vec<Message>) {
    let tools = [FunctionContract::new("f").unwrap()];
    let mut consolidator = Consolidator::new(&tools, options);
    let mut joined = String::new();
    let mut late = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => {
                for chunk in chunks(text, size) {
                    feed(&mut joined, &mut consolidator, Update::Text(chunk));
                }
            }
            Piece::Thought => feed(&mut joined, &mut consolidator, Update::Reasoning("Hm.".into())),
            Piece::Call { arguments, result: text } => {
                let whole = call(at, arguments);
                match calls {
                    Calls::Whole => feed(&mut joined, &mut consolidator, Update::ToolCall(whole)),
                    Calls::Announced => {
                        joined.push_str(&consolidator.announce(&whole.id).unwrap());
                        feed(&mut joined, &mut consolidator, Update::ToolCall(whole));
                    }
                    Calls::Fragments => {
                        let fragment = Update::ToolCallUpdate;
                        feed(
                            &mut joined,
                            &mut consolidator,
                            fragment(ToolCallUpdate {
                                tool_call_id: Some(whole.id.clone()),
                                index: Some(at),
                                function_name: Some("f".into()),
                                function_args: None,
                            }),
                        );
                        for chunk in chunks(&arguments.to_string(), size) {
                            feed(
                                &mut joined,
                                &mut consolidator,
                                fragment(ToolCallUpdate {
                                    index: Some(at),
                                    function_args: Some(chunk),
                                    ..ToolCallUpdate::default()
                                }),
                            );
                        }
                    }
                }
                match (results, text) {
                    (Results::AtOnce, Some(text)) => {
                        feed(&mut joined, &mut consolidator, Update::ToolResult(result(at, text)));
                    }
                    (Results::AtTheEnd, Some(text)) => late.push(result(at, text)),
                    _ => {}
                }
            }
        }
    }
    if matches!(results, Results::InMessages) {
        for message in messages(pieces) {
            if matches!(message.content, Content::Aggregate { .. }) {
                joined.push_str(&consolidator.push(&message).unwrap());
            }
        }
    }
    let finish = Update::Finish(FinishReason::Stop);
    joined.push_str(&consolidator.push_update(finish).unwrap());
    for result in late.into_iter().rev() {
        joined.push_str(&consolidator.push_update(Update::ToolResult(result)).unwrap());
    }
    joined.push_str(&consolidator.finish());
    (joined, consolidator.messages())
}

fn texts<'m>(messages: &'m [Message]) -> Vec<(Role, &'m str)> {
    let one = |message: &'m Message| match &message.content {
        Content::Text(text) => (message.envelope.role, text.as_str()),
        other => panic!("no text: {other:?}"),
    };
    messages.iter().map(one).collect()
}

/// Return the dialects in which a history can be written.
fn written() -> Vec<Dialect> {
    writable().into_iter().filter_map(Dialect::named).collect()
}

proptest! {
    #![proptest_config(crate::effort::cases(500))]

    #[test]
    fn streaming_gives_the_same_text(
        pieces in pieces(),
        form in prop::sample::select(Form::ALL),
        tag in prop::sample::select(vec![Tag::Name, Tag::ToolCall]),
        calls in prop::sample::select(vec![Calls::Whole, Calls::Announced, Calls::Fragments]),
        results in prop::sample::select(vec![Results::AtOnce, Results::AtTheEnd, Results::InMessages]),
        size in 1..9_usize,
        dialect in prop_oneof![Just(Dialect::NATURAL), prop::sample::select(written())],
    ) {
        let options = Options { form, tag, fenced: false, dialect };
        let tools = [FunctionContract::new("f").unwrap()];
        let whole = consolidate(&messages(&pieces), &tools, options).unwrap();
        let (joined, written) = streamed(&pieces, options, (calls, results, size));
        let wanted: String = texts(&whole).into_iter().map(|(_, text)| text).collect();
        prop_assert_eq!(joined, wanted);
        prop_assert_eq!(texts(&written), texts(&whole));
    }
}
