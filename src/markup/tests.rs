//! The laws of writing, for all dialects.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Call, Markup};
use crate::{
    calls::{Event, Options, Reader},
    contract::FunctionContract,
    parser::{ArgumentMarkup, Dialect, Dialects, Ending, IdForm},
};

/// The writers of all dialects that have one.
fn all() -> impl Iterator<Item = Markup> {
    Dialect::ALL.iter().filter_map(Markup::new)
}

/// Return a schema that these arguments alone satisfy: the types are what the wire lacks.
fn schema(arguments: &Value) -> Value {
    match arguments {
        Value::Object(members) => {
            let properties: Map<_, _> =
                members.iter().map(|(key, value)| (key.clone(), schema(value))).collect();
            json!({"type": "object", "properties": properties})
        }
        Value::Array(_) => json!({"type": "array"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Null => json!({"type": "null"}),
    }
}

/// Read calls back: the text before them, and the calls with their ids.
fn read(
    dialect: &str,
    calls: &[(&str, &Value)],
    text: &str,
) -> (String, Vec<(String, Value, String)>) {
    let contracts: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| {
            FunctionContract::new(*name).unwrap().with_parameters(schema(arguments)).unwrap()
        })
        .collect();
    let mut options = Options::default();
    options.parser.dialects = Dialects::Named(vec![Dialect::named(dialect).unwrap()]);
    let mut reader = Reader::new(&contracts, options).unwrap();
    let mut events = reader.push(text);
    events.extend(reader.finish(Ending::Complete));
    let (mut text, mut calls) = (String::new(), Vec::new());
    for event in events {
        match event {
            Event::Text(delta) => text.push_str(&delta),
            Event::ToolCall(call) => calls.push((call.name, call.arguments, call.id)),
            Event::InvalidToolCall(call) => panic!("{dialect}: {call:?}"),
            _ => {}
        }
    }
    (text, calls)
}

/// Generate text from pieces of the markup of all dialects.
fn hostile() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = all()
        .flat_map(|markup| markup.writing.markers.iter().map(|text| (*text).to_owned()))
        .collect();
    let other = [
        "<",
        ">",
        "&",
        "lt;",
        "&lt;",
        "&amp;",
        "amp;",
        "&#91;",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "\"",
        "'",
        "\\",
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        ",",
        ":",
        "=",
        "/",
        "```",
        "\n```",
        "json",
        "name",
        "</function>",
        "</parameter>",
        "</tool_response>",
        "< / tool_response >",
        "</invoke>",
        "</arg_value>\n<arg_key>",
        "<parameter=a>",
        "[/TOOL_RESULTS]",
        "<|\"|>",
        "True",
        "null",
        "5",
        "}<tool_call|>",
        "\u{0}",
        "é",
        "🦀",
        "｜",
        "▁",
        ">",
        "\"}",
        "})]",
        "]<|tool_call_end|>",
    ];
    pieces.extend(other.map(str::to_owned));
    let piece = prop_oneof![
        5 => prop::sample::select(pieces),
        1 => any::<char>().prop_map(|ch| ch.to_string()),
        1 => "[a-zA-Z]{1,6}",
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "[ a-zA-Z0-9.]{0,12}".prop_map(Value::from),
        hostile().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop_oneof!["[a-z_]{1,6}", hostile()], inner, 0..3)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Generate arguments. With `plain`, their keys are words.
fn arguments(plain: bool) -> impl Strategy<Value = Value> {
    let word = "[a-z][a-z_]{0,6}";
    let key = if plain { word.boxed() } else { prop_oneof![2 => word, 1 => hostile()].boxed() };
    prop::collection::btree_map(key, value(), 0..4)
        .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into())
}

/// Check that a round of calls is read back, behind a text.
fn check_round(markup: &Markup, text: &str, arguments: &[Value]) {
    let names = ["GetWeather", "ping", "files.read"];
    let mut ids = markup.ids();
    let written_ids: Vec<_> =
        (0..arguments.len()).map(|at| ids.next(&format!("call_{at}"), names[at], at)).collect();
    let calls: Vec<_> = arguments
        .iter()
        .enumerate()
        .map(|(at, arguments)| Call { name: names[at], arguments, id: &written_ids[at] })
        .collect();
    let known: Vec<_> = calls.iter().map(|call| (call.name, call.arguments)).collect();
    let lead = if text.is_empty() { "" } else { markup.call_markup().lead };
    let written = format!("{text}{lead}{}", markup.calls(&calls));
    let (before, read) = read(markup.dialect(), &known, &written);
    let name = markup.dialect();
    assert_eq!(before.trim_end(), text, "{name}: {written}");
    assert_eq!(read.len(), calls.len(), "{name}: {written}");
    for (call, (name, arguments, id)) in calls.iter().zip(read) {
        assert_eq!(call.name, name, "{written}");
        assert_eq!(*call.arguments, arguments, "{}: {written}", markup.dialect());
        // Mistral writes ids after the arguments, when the call has begun with another.
        if markup.writing.ids == IdForm::Counted {
            assert_eq!(call.id, id, "{written}");
        }
    }
}

#[test]
fn seventeen_dialects_are_written_and_natural_text_elsewhere() {
    assert_eq!(all().count(), 17);
    assert!(Markup::new(&Dialect::NATURAL).is_none());
}

#[test]
fn every_text_of_the_markup_is_a_marker() {
    for markup in all() {
        let name = markup.dialect();
        // A lead within a marker would cut it.
        for text in markup.writing.markers {
            assert!(markup.markers().are_in(text), "{name}: {text}");
        }
        let (calls, results) = (markup.call_markup(), markup.result_markup());
        let texts = [calls.open, calls.before, calls.after, calls.close, results.open];
        for text in texts.into_iter().chain([results.before, results.after, results.close]) {
            for tag in text.split_inclusive(['>', ']', '\n']).filter(|tag| tag.contains('<')) {
                let tag = &tag[tag.find('<').unwrap()..];
                assert!(markup.markers().are_in(tag), "{name}: {tag} of {text}");
            }
        }
    }
}

#[test]
fn rounds_of_simple_calls_come_back() {
    for markup in all() {
        for text in ["", "Let me see."] {
            let one = json!({"city": "Oslo", "days": 3, "unit": null, "ok": true});
            let two = json!({"path": {"a": [1, 2.5, "x"]}});
            check_round(&markup, text, std::slice::from_ref(&one));
            check_round(&markup, text, &[json!({})]);
            check_round(&markup, text, &[one, json!({}), two]);
        }
    }
}

proptest! {
    #![proptest_config(crate::effort::cases(96))]

    #[test]
    fn calls_come_back(
        arguments in prop::collection::vec(arguments(false), 1..4),
        plain in prop::collection::vec(arguments(true), 1..4),
    ) {
        for markup in all() {
            // A keyword of Python is a word.
            let is_python = markup.call_markup().arguments == ArgumentMarkup::Python;
            check_round(&markup, "", if is_python { &plain } else { &arguments });
        }
    }

    #[test]
    fn foreign_text_contains_no_marker_and_comes_back(text in hostile()) {
        for markup in all() {
            let markers = markup.markers();
            let safe = markers.neutralise(&text);
            prop_assert!(!markers.are_in(&safe), "{}: {safe}", markup.dialect());
            prop_assert_eq!(markers.restore(&safe), &*text);
            let secured = markers.secure(&text);
            prop_assert!(!markers.are_in(&secured));
            prop_assert_eq!(markers.secure(&secured), secured);
            prop_assert_eq!(markers.secure(&safe), safe);
        }
    }

    #[test]
    fn foreign_text_in_pieces_is_the_same(pieces in prop::collection::vec(hostile(), 0..5)) {
        for markup in all() {
            let whole = pieces.concat();
            let (mut neutraliser, mut written) = (super::Neutraliser::default(), String::new());
            for ch in whole.split_inclusive(|_| true) {
                neutraliser.push(ch, markup.markers(), &mut written);
            }
            neutraliser.finish(&mut written);
            prop_assert_eq!(&*written, markup.markers().neutralise(&whole));
        }
    }

    #[test]
    fn a_result_does_not_close_its_block(text in hostile()) {
        for markup in all() {
            let written = markup.result("GetWeather", "id", &text);
            let empty = markup.result("GetWeather", "id", "");
            let markers = |text: &str| {
                let leads = text.char_indices().filter(|(_, ch)| "<[]#".contains(*ch));
                leads.filter(|(at, ch)| markup.markers().are_in(&text[*at..]) && {
                    let rest = &text[at + ch.len_utf8()..];
                    !markup.markers().are_in(rest)
                        || markup.markers().secure(&text[*at..]).starts_with('&')
                }).count()
            };
            prop_assert_eq!(markers(&written), markers(&empty), "{}: {}", markup.dialect(), written);
        }
    }
}
