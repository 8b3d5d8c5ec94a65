//! Properties of schemas that are derived from examples.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::{contract::FunctionContract, cpu_time::cpu_time, prompt::sample_arguments};

/// Generate phrases from the usual words, in an order that may make sense.
fn phrase() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "integer",
        "number",
        "float",
        "boolean",
        "string",
        "list",
        "array",
        "object",
        "of",
        "between",
        "and",
        "or",
        "one of",
        "either",
        "(optional)",
        "required",
        "null",
        "0",
        "100",
        "-3",
        "1.5",
        "to",
        "at least",
        "at most",
        "less than",
        "greater than",
        "positive",
        "'a'",
        "'b'",
        "\"c\"",
        ",",
        ":",
        "|",
        "(",
        ")",
        "[",
        "]",
        "the name",
        "comma separated",
        "true",
        "false",
        "etc.",
        "über",
        "汤",
        "%",
        "number of",
    ]);
    prop_oneof![
        4 => prop::collection::vec(word, 0..8).prop_map(|words| words.join(" ")),
        1 => any::<String>(),
    ]
}

fn structure() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => phrase().prop_map(Value::String),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ];
    let key = prop_oneof![
        4 => "[a-z_]{1,6}",
        2 => prop::sample::select(vec![
            "score", "Score", "type", "properties", "$ref", "$id", "$schema", "required", "items",
            "a/b", "~", "",
        ]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            2 => prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn every_structure_gives_a_schema_with_a_valid_sample(structure in structure()) {
        for schema in [schema(&structure), reply_schema(Some(&structure))] {
            let validator = Validator::new(&schema);
            prop_assert!(validator.is_ok(), "{schema}: {validator:?}");
            let parameters = parameter_schema(&schema);
            prop_assert!(Validator::new(&parameters).is_ok(), "{parameters}");
            if schema["type"] != "object" {
                continue;
            }
            let contract =
                FunctionContract::new("tool").unwrap().with_parameters(schema.clone()).unwrap();
            let sample = sample_arguments(&contract);
            prop_assert!(sample.is_ok(), "{schema}: {sample:?}");
            prop_assert!(validator.unwrap().is_valid(&sample.unwrap()), "{schema}");
        }
    }

    #[test]
    fn a_schema_is_returned_unchanged(structure in structure()) {
        let members: Map<_, _> = [("a".to_owned(), structure)].into_iter().collect();
        let derived = schema(&members.into());
        prop_assert_eq!(schema(&derived), derived);
    }

    #[test]
    fn ranges_are_parsed_from_phrases(low in -1000_i64..1000, span in 0_i64..1000) {
        let high = low + span;
        for phrase in [
            format!("integer between {low} and {high}"),
            format!("an integer from {low} to {high}"),
            format!("integer, at least {low} and at most {high}"),
            format!("integer ({low} to {high})"),
        ] {
            let schema = schema(&json!({"n": phrase}));
            let read = &schema["properties"]["n"];
            prop_assert_eq!(&read["minimum"], &json!(low), "{}", phrase);
            prop_assert_eq!(&read["maximum"], &json!(high), "{}", phrase);
        }
    }

    #[test]
    fn quoted_options_become_an_enum(
        options in prop::collection::hash_set("[a-z]{1,8}( [a-z]{1,8})?", 2..6),
    ) {
        let quoted: Vec<_> = options.iter().map(|option| format!("'{option}'")).collect();
        for phrase in [quoted.join(", "), quoted.join(" or "), format!("one of {}", quoted.join("/"))] {
            let schema = schema(&json!({"n": phrase}));
            let mut expected: Vec<_> = options.iter().map(String::as_str).collect();
            let mut read: Vec<_> =
                schema["properties"]["n"]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            expected.sort_unstable();
            read.sort_unstable();
            prop_assert_eq!(read, expected, "{}", phrase);
        }
    }
}

#[test]
fn long_phrases_are_parsed_in_linear_time() {
    let pieces =
        ["integer ", "one of 'a', ", "(", "list of ", "a | ", "between 1 and ", "or null "];
    let (used, ()) = cpu_time(|| {
        for piece in pieces {
            let text = piece.repeat(1_000_000 / piece.len());
            let schema = schema(&json!({"p": text}));
            assert_eq!(schema["properties"]["p"]["description"], text.trim());
        }
    });
    assert!(used.as_secs() < 10);
}
