//! Laws of repair, for documents that are broken in a known way.

use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value, json};

use super::*;

/// Text that a model may write, with quotes and unusual characters.
pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,8}",
        r#"[a-c"'\\/,:{}\[\]()#`\n\t é“”’]{0,10}"#,
        Just("it's".to_owned()),
        Just("a, b".to_owned()),
        Just("http://x/?a=1#b".to_owned()),
        any::<String>().prop_map(|text| text.chars().take(6).collect()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        prop_oneof![Just("1.0"), Just("-0.0"), Just("1e5"), Just("12345678901234567890123")]
            .prop_map(|number| Value::Number(number.parse().unwrap())),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            members(inner),
        ]
    })
}

fn members(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), inner), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z_][a-z0-9_]{0,6}", 1 => text()]
}

pub(super) fn document() -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), value()), 1..4)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

/// One way to break a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Damage {
    TrailingComma,
    MissingComma,
    LineComment,
    HashComment,
    BlockComment,
    SingleQuotes,
    CurlyQuotes,
    BareKey,
    PythonLiteral,
    PlusSign,
    RawControl,
    PythonEscape,
    WrongCloser,
    ExtraCloser,
    Tuple,
}

pub(super) const DAMAGES: [Damage; 15] = [
    Damage::TrailingComma,
    Damage::MissingComma,
    Damage::LineComment,
    Damage::HashComment,
    Damage::BlockComment,
    Damage::SingleQuotes,
    Damage::CurlyQuotes,
    Damage::BareKey,
    Damage::PythonLiteral,
    Damage::PlusSign,
    Damage::RawControl,
    Damage::PythonEscape,
    Damage::WrongCloser,
    Damage::ExtraCloser,
    Damage::Tuple,
];

/// A writer of JSON with one flaw, at the `target`th possible place.
pub(super) struct Breaker {
    damage: Damage,
    target: usize,
    seen: usize,
    out: String,
}

impl Breaker {
    pub(super) fn write(value: &Value, damage: Damage, target: usize) -> (String, usize) {
        let mut breaker = Self { damage, target, seen: 0, out: String::new() };
        breaker.value(value);
        breaker.out.push('\n');
        (breaker.out, breaker.seen)
    }

    fn hits(&mut self, damage: Damage) -> bool {
        if damage != self.damage {
            return false;
        }
        self.seen += 1;
        self.seen == self.target + 1
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => self.array(items),
            Value::Object(members) => self.object(members),
            Value::String(text) => self.string(text),
            Value::Null if self.hits(Damage::PythonLiteral) => self.out.push_str("None"),
            Value::Bool(true) if self.hits(Damage::PythonLiteral) => self.out.push_str("True"),
            Value::Number(number) => {
                if !number.as_str().starts_with('-') && self.hits(Damage::PlusSign) {
                    self.out.push('+');
                }
                self.out.push_str(number.as_str());
            }
            _ => self.out.push_str(&value.to_string()),
        }
    }

    fn comma(&mut self) {
        let comma = if self.hits(Damage::MissingComma) { " " } else { ", " };
        self.out.push_str(comma);
        if self.hits(Damage::LineComment) {
            self.out.push_str("// a \"comment\", {\n");
        }
        if self.hits(Damage::HashComment) {
            self.out.push_str("# it's a comment: }\n");
        }
        if self.hits(Damage::BlockComment) {
            self.out.push_str("/* a\n\"comment\" */");
        }
    }

    fn array(&mut self, items: &[Value]) {
        let tuple = items.len() != 1 && self.hits(Damage::Tuple);
        self.out.push(if tuple { '(' } else { '[' });
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.comma();
            }
            self.value(item);
        }
        if !items.is_empty() && self.hits(Damage::TrailingComma) {
            self.out.push(',');
        }
        if tuple { self.out.push(')') } else { self.closer(']', '}') }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.out.push('{');
        for (index, (key, member)) in members.iter().enumerate() {
            if index > 0 {
                self.comma();
            }
            let is_word = key.starts_with(|ch: char| ch.is_ascii_lowercase())
                && key.chars().all(|ch| ch.is_ascii_alphanumeric());
            if is_word && self.hits(Damage::BareKey) {
                self.out.push_str(key);
            } else {
                self.string(key);
            }
            self.out.push_str(": ");
            self.value(member);
        }
        if !members.is_empty() && self.hits(Damage::TrailingComma) {
            self.out.push(',');
        }
        self.closer('}', ']');
    }

    fn closer(&mut self, right: char, wrong: char) {
        if self.hits(Damage::ExtraCloser) {
            self.out.push(wrong);
        }
        let wrong_one = self.hits(Damage::WrongCloser);
        self.out.push(if wrong_one { wrong } else { right });
    }

    fn quoted(&mut self, open: char, inside: &str, close: char) {
        self.out.push(open);
        self.out.push_str(inside);
        self.out.push(close);
    }

    fn string(&mut self, text: &str) {
        let json = Value::from(text).to_string();
        let inside = &json[1..json.len() - 1];
        if self.hits(Damage::SingleQuotes) {
            let inside = inside.replace("\\\"", "\"").replace('\'', "\\'");
            self.quoted('\'', &inside, '\'');
        } else if !text.contains(['“', '”', '"']) && self.hits(Damage::CurlyQuotes) {
            self.quoted('“', inside, '”');
        } else if text.contains(['\n', '\t']) && self.hits(Damage::RawControl) {
            // Only where the backslash is not itself escaped.
            let raw = text.replace('\\', "\\\\").replace('"', "\\\"");
            let raw: String =
                raw.chars().filter(|ch| *ch >= ' ' || matches!(ch, '\n' | '\t')).collect();
            self.quoted('"', &raw, '"');
        } else if text.contains('\'') && self.hits(Damage::PythonEscape) {
            self.out.push_str(&json.replace('\'', "\\'"));
        } else {
            self.out.push_str(&json);
        }
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #![proptest_config(crate::effort::cases(512))]

    #[test]
    fn text_is_accepted_exactly_if_it_is_json(
        document in document(),
        cut in any::<Index>(),
        with in prop::sample::select(vec!["", ",", "1", "\"", "]", "\\ud800", "-0.e", "\u{1}"]),
    ) {
        let mut text = document.to_string();
        let at = text.char_indices().map(|(at, _)| at).nth(cut.index(text.chars().count())).unwrap();
        text.insert_str(at, with);
        let is_read = serde_json::from_str::<Value>(&text).is_ok();
        prop_assert_eq!(is_json(&text), is_read, "{}", text);
        let deep = "[".repeat(130) + &"]".repeat(130);
        prop_assert_eq!(is_json(&deep), serde_json::from_str::<Value>(&deep).is_ok());
    }

    #[test]
    fn repaired_text_is_json_and_stays_unchanged(text in r#"[\{\}\[\]\(\),:"'`a1.+\\\-# /*tu\n“”‘’]{0,40}"#) {
        for text in [format!("{{{text}"), format!("{{\"a\": {text}}}"), text] {
            if let Some(repaired) = repair_json(&text) {
                prop_assert!(is_json(&repaired.text));
                let again = repair_json(&repaired.text).unwrap();
                prop_assert_eq!(&again.text, &repaired.text);
                prop_assert!(again.repairs.is_empty());
            }
        }
    }

    #[test]
    fn json_comes_back_unchanged(value in value(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let repaired = repair_json(&text).unwrap();
        prop_assert_eq!(repaired.text, text);
        prop_assert!(repaired.repairs.is_empty());
    }

    #[test]
    fn a_single_flaw_is_repaired_to_the_same_value(
        value in document(),
        damage in prop::sample::select(&DAMAGES),
        place in any::<Index>(),
    ) {
        let (_, places) = Breaker::write(&value, damage, usize::MAX - 1);
        if places == 0 {
            return Ok(());
        }
        let (broken, _) = Breaker::write(&value, damage, place.index(places));
        match repair_json(&broken) {
            Some(repaired) => prop_assert_eq!(parse(&repaired.text), value, "{}", broken),
            // A wrong or missing bracket may have two interpretations.
            None => prop_assert!(
                matches!(damage, Damage::WrongCloser | Damage::ExtraCloser),
                "{}", broken
            ),
        }
    }

    #[test]
    fn missing_closers_are_added_at_the_end(value in document(), place in any::<Index>()) {
        let text = value.to_string();
        let closers = text.len() - text.trim_end_matches(['}', ']']).len();
        let kept = text.len() - 1 - place.index(closers);
        let repaired = repair_json(&format!("{}\n", &text[..kept])).unwrap();
        prop_assert_eq!(parse(&repaired.text), value);
        prop_assert_eq!(repaired.repairs.len(), text.len() - kept);
    }

    #[test]
    fn text_around_the_document_is_dropped(
        value in document(),
        around in prop::sample::select(&[
            ("```json\n", "\n```"), ("```\n", "\n```\n"), ("Here it is: ", ""), ("", "\nThat's it."),
            ("arguments = ", ";"), ("\u{FEFF}", ""), ("'", "'"), ("\u{A0}", "\u{A0}"), ("", "\n\u{B}\n"),
        ]),
    ) {
        let repaired = repair_json(&format!("{}{value}{}", around.0, around.1)).unwrap();
        prop_assert_eq!(parse(&repaired.text), value);
        prop_assert!(repaired.repairs.iter().all(|repair| repair.kind == RepairKind::Debris));
    }

    #[test]
    fn a_truncated_document_keeps_all_complete_parts(value in document(), truncated in any::<Index>()) {
        let text = value.to_string();
        let truncated = (0..=truncated.index(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let Some(repaired) = repair_json(&text[..truncated]) else { return Ok(()) };
        prop_assert!(is_prefix(&parse(&repaired.text), &value), "{} of {}", repaired.text, text);
    }
}

/// Return true if `part` is `whole`, cut off.
pub(super) fn is_prefix(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len()
                && part.iter().zip(whole).all(|(one, two)| is_prefix(one, two))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|two| is_prefix(value, two)))
        }
        _ => part == whole,
    }
}

pub(super) fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::subsequence(
            vec!["string", "integer", "number", "boolean", "null", "array", "object"],
            1..3
        )
        .prop_map(|types| json!({"type": types})),
        Just(json!({"enum": ["Low", "high", 3]})),
        Just(json!({"const": "Fixed"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|any| json!({"anyOf": any})),
            prop::collection::vec(inner, 1..3).prop_map(|all| json!({"allOf": all})),
        ]
    })
}

pub(super) fn loose_value() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(&[
        "\"4\"",
        "4",
        "4.0",
        "\"true\"",
        "true",
        "\"LOW\"",
        "\"fixed\"",
        "\"null\"",
        "null",
        "\"x\"",
        "\"[1, \\\"2\\\"]\"",
        "\"{\\\"a\\\": \\\"4\\\"}\"",
    ])
    .prop_map(parse);
    leaf.prop_recursive(2, 8, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "b": b})),
        ]
    })
}

proptest! {
    #![proptest_config(crate::effort::cases(256))]

    #[test]
    fn coerced_values_are_accepted_and_stay_unchanged(schema in schema(), value in loose_value()) {
        let validator = crate::validator::Validator::new(&schema).unwrap();
        let accepts = |value: &Value| validator.is_valid(value);
        let coerced = coerce(&value, &schema, &accepts);
        if accepts(&value) {
            prop_assert_eq!(coerced, Some(Coerced { value, repairs: Vec::new() }));
        } else if let Some(coerced) = coerced {
            prop_assert!(accepts(&coerced.value));
            prop_assert!(!coerced.repairs.is_empty());
            let again = coerce(&coerced.value, &schema, &accepts).unwrap();
            prop_assert_eq!(again.value, coerced.value);
        }
    }

    #[test]
    fn an_invalid_part_does_not_prevent_coercion_of_others(
        parts in prop::collection::vec((schema(), loose_value()), 1..5),
    ) {
        let object = |parts: &[(usize, &(Value, Value))]| -> (Value, Value) {
            let (schemas, values): (Map<_, _>, Map<_, _>) = parts
                .iter()
                .map(|(at, (schema, value))| {
                    ((format!("p{at}"), schema.clone()), (format!("p{at}"), value.clone()))
                })
                .unzip();
            (json!({"properties": schemas}), Value::Object(values))
        };
        let fit_alone = |parts: &[(usize, &(Value, Value))]| {
            let (schema, value) = object(parts);
            let validator = crate::validator::Validator::new(&schema).unwrap();
            coerce(&value, &schema, &|value| validator.is_valid(value))
        };
        let all: Vec<_> = parts.iter().enumerate().collect();
        let (whole, broken): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|part| fit_alone(&[*part]).is_some());
        let (schema, value) = object(&all);
        let validator = crate::validator::Validator::new(&schema).unwrap();
        let faults = |value: &Value| validator.violations(value).len();
        let repaired = coerce_partially(&value, &schema, &faults).value;

        // Exactly the parts that cannot be coerced are reported.
        let found = validator.violations(&repaired);
        prop_assume!(found.len() < crate::validator::MAX_VIOLATIONS);
        let reported: std::collections::BTreeSet<_> =
            found.iter().map(|violation| violation.path.split('/').nth(1).unwrap()).collect();
        let left: Vec<_> = broken.iter().map(|(at, _)| format!("p{at}")).collect();
        prop_assert_eq!(reported.into_iter().collect::<Vec<_>>(), left, "{} {}", schema, value);
        // After the reported violations are corrected, the value is valid.
        if !whole.is_empty() {
            let corrected = fit_alone(&whole);
            let (_, value) = object(&whole);
            prop_assert!(corrected.is_some(), "{} {}", schema, value);
        }
    }
}
