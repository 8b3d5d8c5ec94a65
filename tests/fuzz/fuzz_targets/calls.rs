//! Events: arguments match their schema, and valid calls are unchanged.

#![no_main]

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex},
};

use inputs::Input;
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::{Value, json};
use toolweave::{
    calls::{Event, InvalidKind, Options, Reader, RepairMode},
    contract::FunctionContract,
    message::{RepairKind, ToolCall},
    parser::{self, Dialect, Dialects, Discard, Ending, InCode, Limits},
    validator::Validator,
};

static TOOLS: LazyLock<Vec<FunctionContract>> = LazyLock::new(|| {
    let schemas = [
        ("Get", Value::Null),
        (
            "GetWeather",
            json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string", "minLength": 1},
                    "unit": {"enum": ["celsius", "fahrenheit"]},
                    "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 7},
                },
                "required": ["city"],
                "additionalProperties": false,
            }),
        ),
        (
            "math.factorial",
            json!({
                "type": "object",
                "properties": {"n": {"type": "integer"}, "x": {"type": "number", "multipleOf": 0.5}},
                "required": ["n"],
            }),
        ),
        (
            "a/b",
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {"type": "number"}, "uniqueItems": true},
                    "b": {"type": "object", "properties": {"a": {"type": "boolean"}}},
                },
            }),
        ),
        (
            "Émoji",
            json!({
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "boolean"}, {"type": "array"}]}},
                "propertyNames": {"pattern": "^.$"},
            }),
        ),
        ("Sleep", json!({"type": "object"})),
        (
            "a",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"a": {"$ref": "#"}, "b": {"type": "string", "format": "date"}},
            }),
        ),
        (
            "summary",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}),
        ),
        ("ab", json!({"type": "object", "properties": {"a": false}, "minProperties": 1})),
    ];
    let contract = |(name, schema): (&str, Value)| {
        let contract = FunctionContract::new(name).expect("the name is fine");
        if schema.is_null() { Ok(contract) } else { contract.with_parameters(schema) }
    };
    schemas.into_iter().map(contract).collect::<Result<_, _>>().expect("the schemas are fine")
});

/// Validators other than those of the readers.
static VALIDATORS: LazyLock<HashMap<&str, Validator>> = LazyLock::new(|| {
    let schemas =
        TOOLS.iter().filter_map(|tool| Some((tool.name.as_str(), tool.parameters.as_ref()?)));
    schemas.map(|(name, schema)| (name, Validator::new(schema).expect("it is a schema"))).collect()
});

/// The number of readers that are cached, about a megabyte each.
const MAX_READERS: usize = 100;

static READERS: LazyLock<Mutex<HashMap<String, Reader>>> = LazyLock::new(Mutex::default);

fuzz_target!(|data: &[u8]| {
    let mut input = Input::read(data);
    let repair = input.knob(&[RepairMode::Schema, RepairMode::Syntax, RepairMode::None]);
    let ending = input.knob(&[Ending::Complete, Ending::Truncated]);
    let parser = parser::Options {
        dialects: Dialects::Named(vec![Dialect::NATURAL]),
        in_code: input.knob(&[InCode::Text, InCode::Call]),
        limits: Limits {
            max_tag_bytes: input.knob(&[512, 16, 40]),
            max_depth: input.knob(&[128, 1, 2, 5]),
            max_argument_bytes: input.knob(&[1 << 20, 8, 30, 200]),
            max_calls: input.knob(&[1000, 1, 2]),
            max_repair_bytes: input.knob(&[1 << 20, 16]),
        },
        ..parser::Options::default()
    };
    let options = Options { parser, repair };
    let reply = input.text.as_str();

    let whole = read(&options, &[reply], ending);
    let cut = input.cut(reply);
    assert_eq!(read(&options, &cut, ending), whole, "cut as {cut:?}");

    let accounted: String = whole.iter().map(raw).collect();
    assert_eq!(accounted, reply, "something was lost or moved");
    check_calls(&whole, &options);
    check_unrepaired(
        &whole,
        &read(&Options { repair: RepairMode::None, ..options }, &[reply], ending),
    );
});

/// Return the events of a reply, with consecutive deltas joined.
fn read(options: &Options, chunks: &[&str], ending: Ending) -> Vec<Event> {
    // Readers are reusable, and compile their schemas when created.
    let mut readers = READERS.lock().expect("no panic is survived");
    if readers.len() > MAX_READERS {
        readers.clear();
    }
    let reader = readers
        .entry(format!("{options:?}"))
        .or_insert_with(|| Reader::new(&TOOLS, options.clone()).expect("the tools are fine"));
    let mut events: Vec<Event> = Vec::new();
    let pushed = chunks.iter().map(|chunk| Some(*chunk)).chain([None]);
    for chunk in pushed {
        let next = match chunk {
            Some(chunk) => reader.push(chunk),
            None => reader.finish(ending),
        };
        for event in next {
            let (head, tail) = match (events.last_mut(), &event) {
                (Some(Event::Text(head)), Event::Text(tail))
                | (Some(Event::Reasoning(head)), Event::Reasoning(tail)) => (head, tail),
                (
                    Some(Event::ToolCallDelta { index, fragment }),
                    Event::ToolCallDelta { index: same, fragment: tail },
                ) if index == same => (fragment, tail),
                (
                    Some(Event::Discarded { raw, reason: Discard::TooLarge }),
                    Event::Discarded { raw: tail, reason: Discard::TooLarge },
                ) => (raw, tail),
                _ => {
                    events.push(event);
                    continue;
                }
            };
            head.push_str(tail);
        }
    }
    events
}

/// Return the bytes of the reply that an event accounts for.
fn raw(event: &Event) -> &str {
    match event {
        Event::Text(raw)
        | Event::Reasoning(raw)
        | Event::Discarded { raw, .. }
        | Event::FabricatedResult { raw, .. } => raw,
        Event::ToolCall(call) => &call.raw,
        Event::InvalidToolCall(call) => &call.raw,
        Event::ToolCallStart { .. } | Event::ToolCallDelta { .. } => "",
    }
}

/// Check that each call has one start, one end and the correct verdict.
fn check_calls(events: &[Event], options: &Options) {
    let mut open: Option<(usize, &str, &str)> = None;
    let mut payload = String::new();
    let mut count = 0;
    for event in events {
        match event {
            Event::ToolCallStart { index, id, name } => {
                assert!(open.is_none() && *index == count);
                count += 1;
                payload.clear();
                open = Some((*index, id, name));
            }
            Event::ToolCallDelta { index, fragment } => {
                assert!(open.is_some_and(|(open, ..)| open == *index));
                payload.push_str(fragment);
            }
            Event::ToolCall(call) => {
                assert_eq!(open.take(), Some((call.index, &*call.id, &*call.name)));
                assert!(call.index < options.parser.limits.max_calls);
                check_call(call, &payload, options);
            }
            Event::InvalidToolCall(call) => {
                assert_eq!(open.take(), Some((call.index, &*call.id, &*call.name)));
                assert!(!call.violations.is_empty());
                assert!(call.violations.iter().all(|violation| !violation.message.is_empty()));
                check_refusal(call.kind, call.index, &call.name, &payload, options);
            }
            _ => {
                assert!(open.is_none(), "a call was interrupted by {event:?}");
            }
        }
    }
    assert!(open.is_none(), "a call never ended");
}

fn tool(name: &str) -> Option<&'static FunctionContract> {
    TOOLS.iter().find(|tool| tool.name == name)
}

fn fits(tool: &FunctionContract, arguments: &Value) -> bool {
    VALIDATORS.get(tool.name.as_str()).is_none_or(|validator| validator.is_valid(arguments))
}

/// Return the arguments, if they are valid JSON.
fn strict(payload: &str) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_str(payload);
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value).filter(Value::is_object)
}

fn is_repaired(call: &ToolCall) -> bool {
    let framing = [RepairKind::ImplicitClose, RepairKind::NameCase];
    call.repairs.iter().any(|repair| !framing.contains(&repair.kind))
}

fn check_call(call: &ToolCall, payload: &str, options: &Options) {
    let tool = tool(&call.name).expect("a call that can be run is one of a tool");
    assert!(call.arguments.is_object());
    assert!(fits(tool, &call.arguments), "{call:?} does not fit");
    assert!(!(is_repaired(call) && options.repair == RepairMode::None), "{call:?} was repaired");
    let clean = if payload.trim().is_empty() { Some(json!({})) } else { strict(payload) };
    match clean.filter(|arguments| fits(tool, arguments)) {
        Some(arguments) => {
            assert!(!is_repaired(call), "{call:?} needed no repair");
            assert_eq!(call.arguments, arguments);
        }
        None => assert!(is_repaired(call), "{call:?} was repaired without a record"),
    }
    // Accepted calls are accepted again, without changes.
    let again = format!("<{0}>{1}</{0}>", call.name, call.arguments);
    let events = read(&natural(), &[&again], Ending::Complete);
    match &events[..] {
        [Event::ToolCallStart { .. }, Event::ToolCallDelta { .. }, Event::ToolCall(second)] => {
            assert_eq!(second.arguments, call.arguments);
            assert_eq!(second.repairs, []);
        }
        _ => panic!("{again:?} became {events:?}"),
    }
}

/// Return the default options for calls in natural form.
fn natural() -> Options {
    let mut options = Options::default();
    options.parser.dialects = Dialects::Named(vec![Dialect::NATURAL]);
    options
}

fn check_refusal(kind: InvalidKind, index: usize, name: &str, payload: &str, options: &Options) {
    let (tool, clean) = (tool(name), strict(payload));
    match kind {
        InvalidKind::UnknownTool => assert!(tool.is_none(), "{name} is known"),
        InvalidKind::TooMany => assert!(index >= options.parser.limits.max_calls),
        InvalidKind::InvalidJson => assert!(clean.is_none(), "{payload:?} is JSON"),
        InvalidKind::SchemaViolation => {
            let tool = tool.expect("only tools have schemas");
            let clean = if payload.trim().is_empty() { Some(json!({})) } else { clean };
            assert!(clean.is_none_or(|arguments| !fits(tool, &arguments)), "{payload:?} fits");
        }
        _ => {}
    }
}

/// Check that repair changes only what it records.
fn check_unrepaired(repaired: &[Event], unrepaired: &[Event]) {
    assert_eq!(repaired.len(), unrepaired.len());
    for (repaired, unrepaired) in repaired.iter().zip(unrepaired) {
        match (repaired, unrepaired) {
            (Event::ToolCall(call), _) if is_repaired(call) => {
                let Event::InvalidToolCall(refused) = unrepaired else {
                    panic!("{call:?} needed no repair: {unrepaired:?}");
                };
                assert_eq!(refused.raw, call.raw);
            }
            (Event::InvalidToolCall(one), Event::InvalidToolCall(two)) => {
                // Repair may get further before it fails.
                assert_eq!((one.index, &one.id, &one.name), (two.index, &two.id, &two.name));
                assert_eq!(one.raw, two.raw);
            }
            _ => assert_eq!(repaired, unrepaired),
        }
    }
}
