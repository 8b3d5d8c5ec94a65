//! The golden cases of `tests/cases/dialects`, and the laws of the parser over them.

use std::{fs, path::Path};

use serde_json::{Value, json};
use toolweave::{
    calls::{Event, Options, Reader},
    parser::{Dialect, Dialects, Ending},
};

use crate::{calls::contracts, golden::cases};

/// The parts of a reply, joined, so that they do not depend on how it was cut.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    text: String,
    reasoning: String,
    calls: Vec<Value>,
    invalid: Vec<Value>,
    /// The dialects of all calls.
    dialects: Vec<String>,
    /// The spans of the reply, joined.
    spans: String,
    deltas: Vec<String>,
}

/// The expectation of a golden case.
#[derive(Debug)]
struct Expected<'c> {
    text: &'c str,
    reasoning: &'c str,
    calls: Value,
    invalid: Value,
    /// The dialect of all calls, if the case names it.
    dialect: Option<&'c str>,
}

impl Expected<'_> {
    fn matches(&self, seen: &Seen) -> bool {
        self.text == seen.text
            && self.reasoning == seen.reasoning
            && self.calls == json!(seen.calls)
            && self.invalid == json!(seen.invalid)
            && self.dialect.is_none_or(|dialect| seen.dialects.iter().all(|seen| seen == dialect))
    }
}

fn reader(options: Options) -> Reader {
    let tools = Value::Array(cases("dialects/tools.json"));
    Reader::new(&contracts(&tools), options).unwrap()
}

fn read<'c>(
    reader: &mut Reader,
    chunks: impl IntoIterator<Item = &'c str>,
    ending: Ending,
) -> Seen {
    let mut events: Vec<Event> = chunks.into_iter().flat_map(|chunk| reader.push(chunk)).collect();
    events.extend(reader.finish(ending));
    let mut seen = Seen::default();
    for event in events {
        match event {
            Event::Text(text) => {
                seen.spans.push_str(&text);
                seen.text.push_str(&text);
            }
            Event::Reasoning(text) => {
                seen.spans.push_str(&text);
                seen.reasoning.push_str(&text);
            }
            Event::ToolCallStart { index, .. } => {
                assert_eq!(index, seen.deltas.len());
                seen.deltas.push(String::new());
            }
            Event::ToolCallDelta { index, fragment } => seen.deltas[index].push_str(&fragment),
            Event::ToolCall(call) => {
                seen.spans.push_str(&call.raw);
                seen.dialects.push(call.dialect.to_string());
                let mut shown = json!({"name": call.name, "arguments": call.arguments});
                if call.id != format!("call_{}", call.index) {
                    shown["id"] = call.id.into();
                }
                seen.calls.push(shown);
            }
            Event::InvalidToolCall(call) => {
                seen.spans.push_str(&call.raw);
                seen.dialects.push(call.dialect.to_owned());
                seen.invalid.push(json!({"name": call.name, "kind": call.kind.as_str()}));
            }
            Event::Discarded { raw, .. } | Event::FabricatedResult { raw, .. } => {
                seen.spans.push_str(&raw);
            }
        }
    }
    seen
}

fn options(dialects: &str) -> Options {
    let mut options = Options::default();
    options.parser.dialects = match dialects {
        "auto" => Dialects::Auto,
        name => Dialects::Named(vec![Dialect::named(name).expect(name)]),
    };
    options
}

fn characters(reply: &str) -> impl Iterator<Item = &str> {
    reply.split_inclusive(|_| true)
}

/// Return the names of the files with cases.
pub(crate) fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/dialects");
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "tools.json")
        .collect();
    names.sort();
    names
}

/// Check the laws for every split of a reply into two (every fourth for a change), and for single
/// characters.
fn check_laws(what: &str, reader: &mut Reader, reply: &str, ending: Ending) {
    let whole = read(reader, [reply], ending);
    assert_eq!(whole.spans, reply, "{what}: something was lost or moved");
    assert_eq!(read(reader, characters(reply), ending), whole, "{what}: cut into characters");
    let step = crate::step();
    for (at, _) in reply.char_indices().skip(1 + reply.len() % step).step_by(step) {
        let (head, tail) = reply.split_at(at);
        assert_eq!(read(reader, [head, tail], ending), whole, "{what}: cut at {at}");
    }
}

#[test]
fn golden_cases_of_dialects() {
    let mut failures = Vec::new();
    for file in files() {
        for case in cases(&format!("dialects/{file}")) {
            let reply = case["reply"].as_str().unwrap();
            for dialects in case["read_by"].as_array().unwrap() {
                let dialects = dialects.as_str().unwrap();
                let what = format!("{file}: {}, read by {dialects}", case["name"]);
                let mut options = options(dialects);
                if let Some(limits) = case["options"]["limits"].as_object() {
                    let given = crate::calls::options(&json!({"limits": limits})).0;
                    options.parser.limits = given.parser.limits;
                }
                options.parser.starts_in_reasoning =
                    case["options"]["starts_in_reasoning"].as_bool().unwrap_or_default();
                let ending = match case["options"]["truncated"].as_bool() {
                    Some(true) => Ending::Truncated,
                    _ => Ending::Complete,
                };
                let mut reader = reader(options);
                let seen = read(&mut reader, [reply], ending);
                let expected = Expected {
                    text: case["text"].as_str().unwrap_or_default(),
                    reasoning: case["reasoning"].as_str().unwrap_or_default(),
                    calls: case["calls"].clone(),
                    invalid: json!(case["invalid"].as_array().cloned().unwrap_or_default()),
                    // A parser for one dialect calls it by that.
                    dialect: match dialects {
                        "auto" => case["dialect"].as_str(),
                        name => Some(name),
                    },
                };
                if !expected.matches(&seen) {
                    failures.push(format!("{what}\n  expected {expected:?}\n  but {seen:?}"));
                }
                check_laws(&what, &mut reader, reply, ending);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Cut every golden reply short at every character (at every fourth for a change), and read it in every dialect.
#[test]
fn beginnings_of_replies_keep_the_laws() {
    for file in files() {
        for case in cases(&format!("dialects/{file}")) {
            let reply = case["reply"].as_str().unwrap();
            for dialects in case["read_by"].as_array().unwrap() {
                let mut reader = reader(options(dialects.as_str().unwrap()));
                let what = format!("{file}: {}, read by {dialects}", case["name"]);
                let heads = reply.char_indices().step_by(crate::step());
                for (number, (at, _)) in heads.enumerate() {
                    let head = &reply[..at];
                    for (which, ending) in [Ending::Complete, Ending::Truncated].iter().enumerate()
                    {
                        let whole = read(&mut reader, [head], *ending);
                        assert_eq!(whole.spans, head, "{what}: something was lost or moved");
                        // Reading characters takes most of the time, so each ending gets half of
                        // the beginnings.
                        if number % 2 == which {
                            let cut = read(&mut reader, characters(head), *ending);
                            assert_eq!(cut, whole, "{what}: {head:?}");
                        }
                    }
                }
            }
        }
    }
}

/// The names of tools that the negative replies are about.
const NAMES: [&str; 9] = [
    "get_weather",
    "add",
    "search",
    "summary",
    "send_mail",
    "math.factorial",
    "book_table",
    "Select",
    "Button",
];

/// Check that all of a reply is text, in whatever pieces it arrives.
fn check_text(what: &str, reader: &mut Reader, reply: &str) {
    for size in [1, 7, usize::MAX] {
        let characters: Vec<&str> = characters(reply).collect();
        let chunks = characters.chunks(size.min(reply.len().max(1))).map(<[&str]>::concat);
        let chunks: Vec<String> = chunks.collect();
        let seen = read(reader, chunks.iter().map(String::as_str), Ending::Complete);
        assert_eq!(seen.text, reply, "{what}, in pieces of {size}: {seen:?}");
        assert_eq!((seen.calls, seen.invalid), (vec![], vec![]), "{what}, in pieces of {size}");
    }
}

fn reader_for_names() -> Reader {
    let tools = NAMES.map(|name| json!({"name": name, "parameters": {"type": "object"}}));
    Reader::new(&contracts(&Value::from(tools.to_vec())), options("auto")).unwrap()
}

/// Read replies about calls, code and markup in which nothing is called.
#[test]
fn a_reply_that_calls_nothing_is_text() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/negatives.jsonl");
    let replies = fs::read_to_string(path).unwrap();
    let mut reader = reader_for_names();
    for line in replies.lines() {
        let reply: Value = serde_json::from_str(line).unwrap();
        let what = reply["id"].as_str().unwrap();
        check_text(what, &mut reader, reply["text"].as_str().unwrap());
    }
    assert_eq!(replies.lines().count(), 200);
}

#[test]
fn openers_in_prose_are_text() {
    let mut reader = reader_for_names();
    for dialect in Dialect::ALL {
        for text in dialect.blocks.iter().flat_map(|block| block.open.iter().chain(block.close)) {
            let text = text.replace("{name}", "search");
            for reply in [
                format!("A call begins with {text} and ends somewhere."),
                format!("A call begins with {text}, {text} or nothing."),
                format!("| marker | meaning |\n| --- | --- |\n| {text} | search |\n"),
                format!("`{text}` or \"{text}\", as you like; «{text}»."),
                format!("What is {text}"),
            ] {
                check_text(dialect.name, &mut reader, &reply);
            }
        }
    }
}
