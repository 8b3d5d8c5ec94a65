//! The golden cases of `tests/cases/calls`, whole and cut into pieces, and the recorded replies.

use std::{fs, path::Path};

use proptest::prelude::*;
use serde_json::{Value, json};
use toolweave::{
    calls::{Event, Options, Reader, RepairMode},
    contract::FunctionContract,
    message::Repair,
    parser::{Dialect, Dialects, Ending, InCode},
    validator::Validator,
};

pub(crate) fn contracts(tools: &Value) -> Vec<FunctionContract> {
    let contract = |tool: &Value| {
        let mut contract = FunctionContract::new(tool["name"].as_str().unwrap()).unwrap();
        contract.description = tool["description"].as_str().map(str::to_owned);
        contract.parameters = tool.get("parameters").cloned();
        contract
    };
    tools.as_array().unwrap().iter().map(contract).collect()
}

/// Return the options of a case, from their Python names, and the ending of its reply.
pub(crate) fn options(given: &Value) -> (Options, Ending) {
    let mut options = Options::default();
    options.parser.dialects = Dialects::Named(vec![Dialect::NATURAL]);
    let mut ending = Ending::Complete;
    for (name, value) in given.as_object().into_iter().flatten() {
        match name.as_str() {
            "truncated" => ending = Ending::Truncated,
            "repair" => options.repair = RepairMode::from_wire(value.as_str().unwrap()).unwrap(),
            "in_code" => {
                assert_eq!(value, "call");
                options.parser.in_code = InCode::Call;
            }
            "reasoning_tags" => {
                options.parser.reasoning_tags = serde_json::from_value(value.clone()).unwrap();
            }
            "limits" => {
                let limits = &mut options.parser.limits;
                for (name, value) in value.as_object().unwrap() {
                    let limit = match name.as_str() {
                        "max_depth" => &mut limits.max_depth,
                        "max_argument_bytes" => &mut limits.max_argument_bytes,
                        "max_repair_bytes" => &mut limits.max_repair_bytes,
                        "max_tag_bytes" => &mut limits.max_tag_bytes,
                        "max_calls" => &mut limits.max_calls,
                        other => panic!("unknown limit {other}"),
                    };
                    *limit = usize::try_from(value.as_u64().unwrap()).unwrap();
                }
            }
            other => panic!("unknown option {other}"),
        }
    }
    (options, ending)
}

pub(crate) fn read<'c>(
    contracts: &[FunctionContract],
    options: &Options,
    chunks: impl IntoIterator<Item = &'c str>,
    ending: Ending,
) -> Vec<Event> {
    let mut reader = Reader::new(contracts, options.clone()).unwrap();
    let mut events: Vec<Event> = chunks.into_iter().flat_map(|chunk| reader.push(chunk)).collect();
    events.extend(reader.finish(ending));
    events
}

/// Return the events in the format of the cases: adjacent deltas joined, without starts and
/// fragments.
pub(crate) fn written(events: Vec<Event>) -> Vec<Value> {
    let mut written: Vec<Value> = Vec::new();
    for event in events {
        let event = match event {
            Event::ToolCallStart { .. } | Event::ToolCallDelta { .. } => continue,
            Event::Text(text) => json!({"event": "text_delta", "text": text}),
            Event::Reasoning(text) => json!({"event": "reasoning_delta", "text": text}),
            Event::ToolCall(call) => json!({
                "event": "tool_call",
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "raw": call.raw,
                "index": call.index,
                "repairs": call.repairs.iter().map(repair).collect::<Vec<_>>(),
            }),
            Event::InvalidToolCall(call) => json!({
                "event": "invalid_tool_call",
                "index": call.index,
                "id": call.id,
                "name": call.name,
                "kind": call.kind.as_str(),
                "raw": call.raw,
                "violations": call.violations.iter().map(|violation| json!({
                    "path": violation.path,
                    "keyword": violation.keyword,
                    "message": violation.message,
                })).collect::<Vec<_>>(),
            }),
            Event::Discarded { raw, reason } => {
                json!({"event": "discarded", "raw": raw, "reason": reason.as_str()})
            }
            Event::FabricatedResult { name, raw } => {
                json!({"event": "fabricated_result", "name": name, "raw": raw})
            }
        };
        match written.last_mut() {
            Some(last) if joins(last, &event) => {
                let field = if event["event"] == "discarded" { "raw" } else { "text" };
                let joined = [&*last, &event].map(|event| event[field].as_str().unwrap()).concat();
                last[field] = joined.into();
            }
            _ => written.push(event),
        }
    }
    written
}

fn joins(last: &Value, next: &Value) -> bool {
    last["event"] == next["event"]
        && (matches!(next["event"].as_str(), Some("text_delta" | "reasoning_delta"))
            || last["reason"] == "too_large" && next["reason"] == "too_large")
}

fn repair(repair: &Repair) -> Value {
    json!({
        "path": repair.path,
        "kind": repair.kind.as_str(),
        "before": repair.before,
        "after": repair.after,
    })
}

pub(crate) fn pieces(reply: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = reply;
    while !rest.is_empty() {
        let cut = rest.char_indices().map(|(at, _)| at).nth(size).unwrap_or(rest.len());
        let (piece, tail) = rest.split_at(cut);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// Return the files of a folder below `tests/cases`, with their paths.
pub(crate) fn cases(folder: &str) -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |path: &Path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    files.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

#[test]
fn golden_cases_hold_for_every_split() {
    let mut count = 0;
    for (file, content) in cases("calls") {
        let contracts = contracts(&content["tools"]);
        for case in content["cases"].as_array().unwrap() {
            count += 1;
            let (options, ending) = options(&case["options"]);
            let reply = case["reply"].as_str().unwrap();
            for size in [usize::MAX, 1, 2, 3, 5, 8, 13] {
                let events = read(&contracts, &options, pieces(reply, size), ending);
                let expected = case["events"].as_array().unwrap();
                assert_eq!(&written(events), expected, "{file}: {}, by {size}", case["name"]);
            }
        }
    }
    assert!(count > 50, "only {count} cases found");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no such number", |n| n.is_finite())
            .prop_map(Value::from),
        "(?s).{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "</Any>",
            "</tool_call>\n",
            "```\n",
            "<Any>{",
            "\\",
            "\"",
            "<think>"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("(?s).{0,6}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(crate::effort::cases(256))]

    #[test]
    fn well_formed_calls_come_back_equal_without_repairs(
        members in prop::collection::hash_map("(?s).{0,6}", json_value(), 0..4),
        form in 0..4usize,
        pretty: bool,
        cut in 1..9usize,
    ) {
        let arguments = Value::Object(members.into_iter().collect());
        let written = if pretty {
            serde_json::to_string_pretty(&arguments).unwrap()
        } else {
            arguments.to_string()
        };
        let call = match form {
            0 => format!("<Any>{written}</Any>"),
            1 => format!("<Any>\n```json\n{written}\n```\n</Any>"),
            2 => format!("<tool_call name=\"Any\">\n{written}\n</tool_call>"),
            _ => format!("<tool_call name='Any'>```\n{written}\n```</tool_call>"),
        };
        let contract = FunctionContract::new("Any").unwrap();
        for repair in [RepairMode::Schema, RepairMode::None] {
            let options = Options { repair, ..Options::default() };
            let reply = format!("Well. {call} So.");
            let events = read(std::slice::from_ref(&contract), &options, pieces(&reply, cut), Ending::Complete);
            let calls: Vec<_> = events.iter().filter_map(|event| match event {
                Event::ToolCall(call) => Some(call),
                Event::InvalidToolCall(call) => panic!("{call:?}"),
                _ => None,
            }).collect();
            let [found] = calls[..] else { panic!("{calls:?}") };
            prop_assert_eq!(&found.arguments, &arguments);
            prop_assert_eq!(&found.raw, &call);
            prop_assert!(found.repairs.is_empty());
        }
    }

    #[test]
    fn valid_calls_always_match_their_schema(
        a in json_value(),
        b in "[-0-9.e\"'truefalsnN, \\[\\]]{0,8}",
        broken: bool,
    ) {
        let mut contract = FunctionContract::new("Add").unwrap();
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": 0},
                "b": {"type": "array", "items": {"type": "boolean"}},
            },
            "required": ["a"],
            "additionalProperties": false,
        });
        contract.parameters = Some(schema.clone());
        let validator = Validator::new(&schema).unwrap();
        let b = if broken { b } else { "[true]".to_owned() };
        let reply = format!("<Add>{{\"a\": {a}, \"b\": {b}}}</Add>");
        for event in read(&[contract], &Options::default(), [reply.as_str()], Ending::Complete) {
            if let Event::ToolCall(call) = event {
                prop_assert!(validator.is_valid(&call.arguments), "{:?}", call);
            }
        }
    }
}
