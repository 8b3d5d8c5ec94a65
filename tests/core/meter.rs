//! Counts of JSON text equal those of the parsed value, for every split.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::meter::JsonMeter;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::from),
        r#"[\[{,:"\\\]} ]{0,9}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Return number of values, depth, and length of the longest number or word.
fn counts(value: &Value) -> (usize, usize, usize) {
    let inner: Vec<_> = match value {
        Value::Array(items) => items.iter().map(counts).collect(),
        Value::Object(members) => {
            members.values().map(counts).map(|(values, d, n)| (values + 1, d, n)).collect()
        }
        Value::String(_) => return (1, 0, 0),
        other => return (1, 0, other.to_string().len()),
    };
    inner
        .into_iter()
        .fold((1, 1, 0), |sum, each| (sum.0 + each.0, sum.1.max(each.1 + 1), sum.2.max(each.2)))
}

proptest! {
    #[test]
    fn counts_of_text_equal_those_of_its_value(
        value in any_json(), pretty: bool, splits in prop::collection::vec(1..9_usize, 1..9),
    ) {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let text = text.unwrap();
        let mut meter = JsonMeter::default();
        let (mut rest, mut sizes) = (text.as_bytes(), splits.iter().cycle());
        while !rest.is_empty() {
            let (piece, then) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            meter.push(piece);
            rest = then;
        }
        prop_assert_eq!((meter.values(), meter.depth(), meter.longest_number()), counts(&value));
    }

    #[test]
    fn counts_never_exceed_the_number_of_bytes(bytes: Vec<u8>) {
        let mut meter = JsonMeter::default();
        meter.push(&bytes);
        prop_assert!(meter.values().max(meter.depth()).max(meter.longest_number()) <= bytes.len());
    }
}
