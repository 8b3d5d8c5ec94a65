//! Cost: a verdict takes a time in proportion to the bytes of the value, for any keyword and any
//! shape of value.

#![no_main]

use std::{
    fs,
    time::{Duration, Instant},
};

use inputs::json;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolweave::validator::Validator;

/// How long the text of a value is made, at most.
const BYTES: usize = 100_000;
/// What any verdict may take: its two million looks.
const CONSTANT: Duration = Duration::from_millis(200);
/// What a verdict may take beside, for each byte.
const EACH: Duration = Duration::from_nanos(1_000);
/// How often a measurement is repeated, on a machine that has more to do.
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

/// Many values after the pattern of one, all different: what is long in it gets longer.
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

/// Time of this thread on a processor, where the system tells.
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
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
