//! Validation cost: linear in the size of the value, for any keyword and any shape of value.

#![no_main]

use std::{
    fs,
    time::{Duration, Instant},
};

use inputs::json;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolweave::validator::Validator;

/// Maximum size of the text of a value.
const BYTES: usize = 100_000;
/// The constant part of the limit: two million visits.
const CONSTANT: Duration = Duration::from_millis(200);
/// The part of the limit for each byte.
const EACH: Duration = Duration::from_nanos(1_000);
/// Maximum number of measurements, for machines under load.
const TRIES: usize = 5;

fuzz_target!(|data: &[u8]| {
    let Some((schema, value)) = json::pair(data) else { return };
    for schema in [json!({"items": schema}), json!({"uniqueItems": true, "items": schema})] {
        let Ok(validator) = Validator::new(&schema) else { return };
        let value = many(&value);
        let limit = CONSTANT + EACH * u32::try_from(value.to_string().len()).unwrap_or(u32::MAX);
        let least =
            (0..TRIES).map(|_| time(|| validator.is_valid(&value))).find(|taken| *taken <= limit);
        assert!(least.is_some(), "more than {limit:?} for {schema}");
    }
});

/// Repeat a value many times with variations that lengthen its long parts.
fn many(value: &Value) -> Value {
    let mut items = Vec::new();
    let mut bytes = 0;
    while bytes < BYTES && items.len() < BYTES / 4 {
        let item = varied(value, items.len());
        bytes += item.to_string().len() + 1;
        items.push(item);
    }
    Value::Array(items)
}

fn varied(value: &Value, at: usize) -> Value {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let longer = match text.find(['e', 'E']) {
                Some(mark) => format!("{}{at}{}", &text[..mark], &text[mark..]),
                None => format!("{text}{at}"),
            };
            serde_json::from_str(&longer).unwrap_or_else(|_| value.clone())
        }
        Value::String(text) => format!("{text}{at}").into(),
        Value::Array(items) => items.iter().map(|item| varied(item, at)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), varied(member, at))).collect()
        }
        _ => value.clone(),
    }
}

/// Measure the CPU time of this thread, if the system provides it.
fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let before = on_processor();
    run();
    match (before, on_processor()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    }
}

fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
