//! Numbers are validated by their digits, with the same results as exact arithmetic.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use toolweave::validator::Validator;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Generate digits with many zeros and nines, where carrying and truncation are critical.
fn digits(limit: usize) -> impl Strategy<Value = String> {
    let digit = prop_oneof![Just('0'), Just('9'), prop::char::range('0', '9')];
    vec(digit, 1..=limit).prop_map(|digits| {
        let text: String = digits.into_iter().collect();
        let text = text.trim_start_matches('0');
        if text.is_empty() { "0".to_owned() } else { text.to_owned() }
    })
}

fn integer(limit: usize) -> impl Strategy<Value = String> {
    (any::<bool>(), digits(limit)).prop_map(
        |(negative, digits)| {
            if negative { format!("-{digits}") } else { digits }
        },
    )
}

fn decimal(whole: usize, decimals: usize) -> impl Strategy<Value = String> {
    (integer(whole), vec(prop::char::range('0', '9'), 1..=decimals))
        .prop_map(|(whole, decimals)| format!("{whole}.{}", decimals.iter().collect::<String>()))
}

fn limit() -> impl Strategy<Value = String> {
    prop_oneof![integer(5), integer(60), decimal(4, 4), decimal(30, 50), scientific()]
}

/// Generate numbers with an exponent that the crate would expand.
fn scientific() -> impl Strategy<Value = String> {
    (decimal(3, 6), -320..300_i32).prop_map(|(digits, exponent)| format!("{digits}e{exponent}"))
}

/// Generate numbers, some of them near a limit.
fn number(limit: String) -> impl Strategy<Value = String> {
    let adjacent = limit.clone();
    let longer = (0..80_usize, any::<bool>()).prop_map(move |(zeros, more)| {
        let (digits, exponent) =
            adjacent.find('e').map_or((&*adjacent, ""), |at| adjacent.split_at(at));
        let point = if digits.contains('.') { "" } else { "." };
        let last = if more { "1" } else { "0" };
        format!("{digits}{point}{}{last}{exponent}", "0".repeat(zeros))
    });
    prop_oneof![Just(limit), longer, integer(200), decimal(40, 90), decimal(200, 3), scientific()]
}

proptest! {
    #[test]
    fn long_numbers_are_compared_exactly_with_limits(
        (limit, value) in limit().prop_flat_map(|limit| (Just(limit.clone()), number(limit))),
        keyword in prop::sample::select(vec![
            "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const",
        ]),
    ) {
        let schema = json!({keyword: parse(&limit)});
        let value = parse(&value);
        let exact = jsonschema::validator_for(&schema).unwrap().is_valid(&value);
        prop_assert_eq!(Validator::new(&schema).unwrap().is_valid(&value), exact, "{}", value);
    }

    #[test]
    fn long_numbers_are_multiples_of_the_right_divisors(
        value in prop_oneof![integer(200), decimal(40, 6)],
        factor in 1..5_000_u32,
        divisor in prop::sample::select(vec!["0.01", "0.5", "0.003", "2.5", "0.0000007"]),
        is_multiple in any::<bool>(),
    ) {
        let schema = json!({"multipleOf": parse(divisor), "minimum": parse("-1e300")});
        let value = if is_multiple && !value.contains('.') {
            // An integer that ends in zero is a multiple of every divisor of ten. None begins with
            // a zero.
            let digits = value.strip_suffix('0').filter(|rest| rest.len() < 2);
            parse(&format!("{}{factor}0000000", digits.unwrap_or(&value)))
        } else {
            parse(&value)
        };
        let exact = jsonschema::validator_for(&schema).unwrap().is_valid(&value);
        prop_assert_eq!(Validator::new(&schema).unwrap().is_valid(&value), exact, "{}", value);
    }

    #[test]
    fn integer_divisors_are_exact(value in integer(300), divisor in 1..100_000_u64) {
        let schema = json!({"multipleOf": divisor});
        let rest = value.trim_start_matches('-').bytes().fold(0, |rest, digit| {
            (rest * 10 + u64::from(digit - b'0')) % divisor
        });
        let validator = Validator::new(&schema).unwrap();
        prop_assert_eq!(validator.is_valid(&parse(&value)), rest == 0);
    }

    #[test]
    fn equal_numbers_are_not_unique(
        number in decimal(30, 30),
        zeros in 0..50_usize,
        shift in 1..20_usize,
        others in vec(integer(40), 0..20),
    ) {
        let unique = Validator::new(&json!({"uniqueItems": true})).unwrap();
        let shifted = format!("{}{}e-{shift}", number.replace('.', ""), "0".repeat(shift));
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let shifted = shifted.replace(&format!("e-{shift}"), &format!("e-{}", shift + decimals));
        let shifted = shifted.trim_start_matches('-').trim_start_matches('0').to_owned();
        let shifted = if shifted.starts_with('e') { format!("0{shifted}") } else { shifted };
        let sign = if number.starts_with('-') { "-" } else { "" };
        for twin in [format!("{number}{}", "0".repeat(zeros)), format!("{sign}{shifted}")] {
            let pair: Value = [&number, &twin].map(|text| parse(text)).into_iter().collect();
            prop_assert!(!unique.is_valid(&pair), "{}", pair);
            let mut items = vec![json!({"a": [parse(&number)]})];
            items.extend(others.iter().enumerate().map(|(at, text)| json!([at, parse(text)])));
            prop_assert!(unique.is_valid(&Value::Array(items.clone())));
            items.push(json!({"a": [parse(&twin)]}));
            prop_assert!(!unique.is_valid(&Value::Array(items)));
        }
    }
}

#[test]
fn values_that_take_too_long_are_refused_with_a_message() {
    let listed: Value = (0..20_000).map(|at| json!([at])).chain([json!(1.5)]).take(900).collect();
    let validator = Validator::new(&json!({"items": {"items": {"enum": listed}}})).unwrap();
    let value: Value =
        (0..60).map(|_| (0..60).map(|at| json!([850 + at % 40])).collect::<Value>()).collect();
    let violations = validator.violations(&value);
    assert_eq!(violations.len(), 1);
    assert!(violations[0].message.contains("too long to check"), "{}", violations[0].message);
}
