//! The cost of validation is linear in the bytes of the value, for every keyword and shape.
//!
//! The unit is the time of parsing the same text, so that neither the machine nor the build profile
//! matters.

use std::{fmt::Write, time::Duration};

use serde_json::{Value, json};
use toolweave::validator::Validator;

use crate::cpu_time::cpu_time;

/// Length of a value's text.
const BYTES: usize = 6_000;
/// Maximum time of validation, as a multiple of the time of parsing the text.
const FACTOR: u32 = 40;
/// Additional time allowed for any value.
const CONSTANT: Duration = Duration::from_millis(500);
/// Additional time allowed for an explanation, which has a fixed budget of visits.
const EXPLANATION: Duration = Duration::from_millis(500);
/// Number of attempts of a measurement that exceeds its limit, for busy machines.
const TRIES: usize = 4;
/// Number of failing pairs of schema and value that are shown.
const SHOWN: usize = 5;

/// Return an array of about [`BYTES`] bytes, with unique items.
fn items(item: impl Fn(usize) -> String) -> String {
    let mut text = String::from("[");
    for at in 0.. {
        let item = item(at);
        if text.len() + item.len() >= BYTES && at > 1 {
            break;
        }
        write!(text, "{}{item}", if at == 0 { "" } else { "," }).unwrap();
    }
    text + "]"
}

/// Return nested arrays without leaves, a different shape for each `at`: its bits are the brackets.
fn shape(at: usize) -> String {
    (0..14).fold(String::from("[]"), |inner, bit| {
        if at >> bit & 1 == 0 { format!("[{inner}]") } else { format!("[{inner},[]]") }
    })
}

fn shapes() -> Vec<(&'static str, String)> {
    let digits = |at: usize, length: usize| format!("1{at:0>0$}", length - 1);
    vec![
        ("small integers", items(|at| at.to_string())),
        ("integers of 26 digits", items(|at| digits(at, 26))),
        ("integers of 401 digits", items(|at| digits(at, 401))),
        ("integers of 4000 digits", items(|at| digits(at, 4_000))),
        ("floats", items(|at| format!("{at}.25"))),
        ("decimals of 26 digits", items(|at| format!("0.{}", digits(at, 26)))),
        ("decimals of 4000 digits", items(|at| format!("{at}.{}", digits(at, 3_990)))),
        ("one and zeros", items(|at| format!("1{}.0{}", "0".repeat(at % 250), "0".repeat(at)))),
        ("large exponents", items(|at| format!("1.{at}e+290"))),
        ("small exponents", items(|at| format!("{at}.5e-900"))),
        ("strings", items(|at| format!("\"item {at}\""))),
        ("equal beginnings", items(|at| format!("\"{:a<600}{at}\"", ""))),
        ("nested arrays", items(shape)),
        ("equal keys", items(|at| format!("{{\"a\":1,\"b\":{at}}}"))),
        ("swapped members", items(|at| format!("{{\"a{at}\":{at},\"b{at}\":{at}}}"))),
        ("numbers within", items(|at| format!("{{\"a\":[{}]}}", digits(at, 401)))),
        ("empty objects", items(|_| "{}".to_owned())),
        ("one long string", format!("[\"{}\"]", "ab ".repeat(BYTES / 3))),
        (
            "members",
            format!("{{{}}}", items(|at| format!("\"k{at}\":{at}")).trim_matches(['[', ']'])),
        ),
    ]
}

/// Return a schema that applies `schema` to every item and every member.
fn each(schema: &Value) -> Value {
    json!({"items": schema, "additionalProperties": schema})
}

fn keywords() -> Vec<Value> {
    let long: Value = serde_json::from_str(&"7".repeat(400)).unwrap();
    let fraction: Value = serde_json::from_str(&format!("0.{}", "7".repeat(400))).unwrap();
    let many: Value = (0..60)
        .map(|at| match at % 4 {
            0 => json!(at),
            1 => json!(f64::from(at) + 0.5),
            2 => serde_json::from_str(&format!("{at}{}", "3".repeat(90))).unwrap(),
            _ => json!({"a": at}),
        })
        .collect();
    let each_of = [
        json!({"type": "integer"}),
        json!({"minimum": -7}),
        json!({"maximum": 3.5}),
        json!({"exclusiveMinimum": long}),
        json!({"exclusiveMaximum": fraction}),
        json!({"multipleOf": 7}),
        json!({"multipleOf": 0.01}),
        json!({"multipleOf": long}),
        json!({"const": 1.5}),
        json!({"const": long}),
        json!({"const": {"a": [1, 2]}}),
        json!({"enum": many}),
        json!({"enum": [1, 2, 3]}),
        json!({"not": {"type": "integer", "maximum": 3}}),
        json!({"if": {"type": "integer"}, "then": {"minimum": 0.5}, "else": {"maxLength": 5}}),
        json!({"anyOf": [{"const": 1}, {"multipleOf": 0.5}, {"maxLength": 3}, {"type": "object"}]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0.5}]}),
        json!({"pattern": "^(a+)+b$"}),
        json!({"minLength": 700}),
        json!({"required": ["a", "b"], "dependentRequired": {"a": ["b", "c"], "b": ["a"]}}),
        json!({"propertyNames": {"pattern": "^[a-z]+[0-9]*$", "maxLength": 5}}),
        json!({"patternProperties": {"^a": {"minimum": 1}, "b$": {"multipleOf": 0.1}}}),
        json!({"properties": {"a": {"minimum": 1}}, "additionalProperties": false}),
        json!({"uniqueItems": true}),
    ];
    let formats = [
        "date-time",
        "email",
        "hostname",
        "ipv6",
        "uri",
        "iri",
        "uri-template",
        "json-pointer",
        "regex",
        "uuid",
        "duration",
    ];
    let mut schemas: Vec<_> = each_of.iter().map(each).collect();
    schemas.extend(formats.map(|format| {
        let schema = json!({"format": format, "contentMediaType": "application/json"});
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": schema})
    }));
    schemas.extend([
        json!({"uniqueItems": true}),
        json!({"contains": {"multipleOf": 0.5}, "minContains": 3, "maxContains": 5}),
        json!({"prefixItems": [{"const": 1}], "unevaluatedItems": {"maximum": 1.5}}),
        json!({"propertyNames": {"pattern": "^[a-z]+[0-9]*$"}, "unevaluatedProperties": {"minimum": 0.5}}),
        json!({"patternProperties": {"^k": {"maximum": 1.5}}, "unevaluatedProperties": false}),
    ]);
    schemas
}

/// Repeat `measure` until it keeps to `limit`, at most [`TRIES`] times.
fn within_limit(limit: Duration, mut measure: impl FnMut() -> Duration) -> Result<(), Duration> {
    let mut least = Duration::MAX;
    for _ in 0..TRIES {
        least = least.min(measure());
        if least <= limit {
            return Ok(());
        }
        if least > limit * 8 {
            break;
        }
    }
    Err(least)
}

#[test]
fn validation_cost_is_linear_in_the_bytes() {
    let mut over = Vec::new();
    let schemas: Vec<_> =
        keywords().into_iter().map(|schema| (Validator::new(&schema).unwrap(), schema)).collect();
    for (name, text) in shapes() {
        let (parse, value) = cpu_time(|| serde_json::from_str::<Value>(&text).unwrap());
        let parse = parse.min(cpu_time(|| serde_json::from_str::<Value>(&text).unwrap()).0);
        for (validator, schema) in &schemas {
            if over.len() == SHOWN {
                break;
            }
            let limit = CONSTANT + parse * FACTOR;
            let mut is_valid = true;
            let verdict = within_limit(limit, || {
                let (used, verdict) = cpu_time(|| validator.is_valid(&value));
                is_valid = verdict;
                used
            });
            if let Err(used) = verdict {
                over.push(format!("{used:?} instead of {limit:?}: {name}, {schema}"));
            } else if !is_valid {
                let limit = limit + EXPLANATION;
                if let Err(used) =
                    within_limit(limit, || cpu_time(|| validator.violations(&value)).0)
                {
                    over.push(format!("{used:?} to explain: {name}, {schema}"));
                }
            }
        }
    }
    assert!(over.is_empty(), "{} too dear:\n{}", over.len(), over.join("\n"));
}
