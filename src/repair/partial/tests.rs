//! Laws of partial values: they only grow, however the text is cut, and end as repair and coercion
//! read the whole.

use std::sync::Arc;

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{
    ending::{Ending, Verdict},
    *,
};
use crate::{
    repair::{
        coerce,
        frames::Shape,
        lookahead::{StringContext, may_end},
        repair_json,
        tests::{Breaker, DAMAGES, document, is_prefix, loose_value, schema, text},
    },
    validator::Validator,
};

/// Return the value after each chunk.
fn snapshots<'t>(schema: &Value, chunks: impl Iterator<Item = &'t str>) -> Vec<PartialValue> {
    let mut reader = PartialReader::new(Arc::new(PartialSchema::new(schema.clone())), 128, 1 << 20);
    let mut partial = PartialValue::default();
    let snapshot = |chunk| {
        reader.push(chunk, &mut |edit| partial.apply(edit));
        partial.clone()
    };
    chunks.map(snapshot).collect()
}

fn by_char(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, ch)| &text[at..at + ch.len_utf8()])
}

/// Return the value of the whole text, if it is valid.
fn whole(schema: &Value, text: &str) -> Option<Value> {
    let value = serde_json::from_str(&repair_json(text)?.text).ok()?;
    let validator = Validator::new(schema).unwrap();
    Some(coerce(&value, schema, &|value| validator.is_valid(value))?.value)
}

/// Return true if the text has an object with a repeated key, after repair.
fn repeats_keys(text: &str) -> bool {
    let Some(repaired) = repair_json(text) else { return false };
    let kept = serde_json::from_str::<Value>(&repaired.text).unwrap().to_string();
    let colons = |text: &str| text.matches(':').count();
    colons(&kept) != colons(&repaired.text)
}

fn check(schema: &Value, text: &str) -> Result<(), TestCaseError> {
    let partials = snapshots(schema, by_char(text));
    let all = snapshots(schema, [text].into_iter());
    let last = partials.last().cloned().unwrap_or_default();
    prop_assert_eq!(&last, &all[0], "{}", text);
    for pair in partials.windows(2) {
        if let [Some(one), two] = [pair[0].value(), pair[1].value()] {
            prop_assert!(two.is_some_and(|two| is_prefix(one, two)), "{:?} {}", pair, text);
        }
        prop_assert!(open_text_is_last(&pair[0], &pair[1]), "{:?} {}", pair, text);
    }
    let Some(value) = all[0].value() else { return Ok(()) };
    if let Some(whole) = whole(schema, text) {
        prop_assert!(
            is_prefix(value, &whole) || repeats_keys(text),
            "{} of {} for {:?} by {}",
            value,
            whole,
            text,
            schema
        );
    }
    Ok(())
}

/// Return true if the only string that became longer is the open one.
fn open_text_is_last(one: &PartialValue, two: &PartialValue) -> bool {
    let pointer = |path: &[Value]| {
        path.iter().fold(String::new(), |pointer, step| match step {
            Value::String(key) => pointer + "/" + &key.replace('~', "~0").replace('/', "~1"),
            index => format!("{pointer}/{index}"),
        })
    };
    let (Some(first), Some(second)) = (one.value(), two.value()) else { return true };
    let mut found = Vec::new();
    longer(first, second, "", &mut found);
    found.is_empty() || one.open_path().map(pointer) == found.pop()
}

/// Find the strings that became longer, or changed.
fn longer(one: &Value, two: &Value, path: &str, found: &mut Vec<String>) {
    match (one, two) {
        (Value::String(_), Value::String(_)) if one != two => found.push(path.to_owned()),
        (Value::Array(one), Value::Array(two)) => {
            for (at, (one, two)) in one.iter().zip(two).enumerate() {
                longer(one, two, &format!("{path}/{at}"), found);
            }
        }
        (Value::Object(one), Value::Object(two)) => {
            for (key, one) in one {
                let key = key.replace('~', "~0").replace('/', "~1");
                longer(one, two.get(&key).unwrap_or(one), &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// Damaged text of a document.
fn broken(value: &Value, damage: Index, place: Index) -> String {
    let damage = DAMAGES[damage.index(DAMAGES.len())];
    let (_, places) = Breaker::write(value, damage, usize::MAX - 1);
    Breaker::write(value, damage, place.index(places.max(1))).0
}

const NOISE: &str = r#"[\{\}\[\]\(\),:"'`a1.+\\\-# /*tu\n“”‘’]{0,40}"#;

proptest! {
    #![proptest_config(crate::effort::cases(512))]

    #[test]
    fn quotes_end_where_repair_ends_them(
        text in NOISE,
        quote in prop::sample::select(&['"', '\'', '`', '“', '‘']),
        is_key in any::<bool>(),
        inside in any::<bool>(),
        outer in prop::option::of(any::<bool>()),
    ) {
        let of = |object: bool| if object { (Shape::Object, Container::Object) }
            else { (Shape::Array, Container::Array) };
        let (inside, outer) = (of(inside), outer.map(of));
        let mut ending = Ending::new(quote, is_key, inside.1, outer.map(|(_, outer)| outer));
        let verdict = text.chars().map(|ch| ending.read(ch)).find(|verdict| *verdict != Verdict::More);
        let context = StringContext {
            quote, is_key, shape: inside.0, outer: outer.map(|(outer, _)| outer),
        };
        if let Some(verdict) = verdict {
            let ends = may_end(&text, 0, context);
            prop_assert_eq!(verdict == Verdict::Ends, ends, "{:?} {:?}", text, context);
        }
    }

    #[test]
    fn noise_only_grows_to_the_value_of_the_whole(text in NOISE) {
        for text in [format!("{{{text}"), format!("{{\"a\": \"{text}\"}}"), format!("[{text}]"), text] {
            check(&json!(true), &text)?;
        }
    }

    #[test]
    fn documents_grow_to_their_value(value in document()) {
        let text = value.to_string();
        check(&json!(true), &text)?;
        let all = snapshots(&json!(true), [text.as_str()].into_iter());
        // Nothing is withheld: at most the last string and the brackets around it are open.
        prop_assert!(all[0].value() == Some(&value), "{:?} {}", all[0], value);
    }

    #[test]
    fn damaged_documents_only_grow(
        value in document(),
        damage in any::<Index>(),
        place in any::<Index>(),
        around in prop::sample::select(&[
            ("", ""), ("```json\n", "\n```"), ("Here {it} is: ", ""), ("", "\nThat's it."), ("'", "'"),
        ]),
        truncated in any::<Index>(),
    ) {
        let text = format!("{}{}{}", around.0, broken(&value, damage, place), around.1);
        check(&json!(true), &text)?;
        let chars: Vec<_> = text.chars().collect();
        let cut: String = chars[..truncated.index(chars.len())].iter().collect();
        check(&json!(true), &cut)?;
    }

    #[test]
    fn types_of_the_schema_are_respected(
        schemas in prop::collection::vec(schema(), 1..4),
        values in prop::collection::vec(loose_value(), 4),
        closed in any::<bool>(),
        union in any::<bool>(),
    ) {
        let object = |at: usize| json!({
            "type": "object",
            "properties": {"a": schemas[at], "b": schemas[0], "c": {"const": at}},
            "additionalProperties": !closed,
        });
        let one = object(schemas.len() - 1);
        let schema = if union { json!({"anyOf": [one, object(0), {"type": "null"}]}) } else { one };
        let keys = ["c", "a", "b", "x"];
        for count in 0..=keys.len() {
            let members: serde_json::Map<_, _> = keys.iter().zip(&values).take(count)
                .map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            let mut members = members;
            if union {
                members.insert("c".to_owned(), json!(schemas.len() - 1));
            }
            check(&schema, &Value::Object(members).to_string())?;
        }
        check(&json!({"items": schemas[0]}), &Value::Array(values).to_string())?;
    }

    #[test]
    fn escapes_are_read_as_repair_reads_them(
        text in text(),
        escapes in r#"(\\[uxU"'nq\\/][0-9a-fD8C]{0,8}|[a-z]){0,6}"#,
    ) {
        let text = text.replace(['"', '\\'], "");
        check(&json!(true), &format!("{{\"a\": \"{text}{escapes}\", \"b\": 1}}"))?;
        check(&json!(true), &format!("{{'a': '{escapes}{text}', b: 1}}"))?;
    }
}

#[test]
fn the_time_is_linear_for_hostile_text() {
    let schema = Arc::new(PartialSchema::any());
    for part in ["\"‘", "\" 'x", "\"}x", "\" ,", "{\"a\":", "[", "\\u", "/*", " ", "\"a\"", "'`"]
    {
        let text = format!("{{\"a\": \"x{}", part.repeat(100_000));
        let mut reader = PartialReader::new(Arc::clone(&schema), 128, 1 << 20);
        let mut edits = 0_usize;
        for chunk in by_char(&text) {
            reader.push(chunk, &mut |_| edits += 1);
        }
        assert!(reader.reads() <= 8 * text.len() + 8 * 128, "{part}");
        assert!(edits <= text.len(), "{part}");
    }
}
