//! Tags of tools that are not well-formed calls: attempts at calls, prose, and tags with several
//! calls.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use toolweave::{
    calls::{Event, InvalidKind, Options, RepairMode},
    contract::FunctionContract,
    message::RepairKind,
    parser::{Discard, Ending, InCode},
};

use crate::calls::{pieces, read};

/// Names that HTML does not have; `HTML` has names of HTML elements.
const OWN: [&str; 3] = ["GetWeather", "book_table", "math.factorial"];
const HTML: [&str; 5] = ["summary", "Select", "BUTTON", "search", "h1"];

fn tools() -> Vec<FunctionContract> {
    OWN.iter().chain(&HTML).map(|name| FunctionContract::new(*name).unwrap()).collect()
}

/// Return the events of a reply, after checking that they do not depend on the split.
fn events(reply: &str, options: &Options) -> Vec<Event> {
    let whole = joined(read(&tools(), options, [reply], Ending::Complete));
    for size in [1, 3] {
        let cut = read(&tools(), options, pieces(reply, size), Ending::Complete);
        assert_eq!(joined(cut), whole, "{reply:?} by {size}");
    }
    whole
}

/// Return the events without starts and fragments of calls, with adjacent texts joined.
fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut joined: Vec<Event> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (_, Event::ToolCallStart { .. } | Event::ToolCallDelta { .. }) => {}
            (Some(Event::Text(head)), Event::Text(tail)) => head.push_str(&tail),
            (_, event) => joined.push(event),
        }
    }
    joined
}

/// Generate prose that cannot be mistaken for JSON or markup.
fn prose() -> impl Strategy<Value = String> {
    "[A-Za-zé.,:;=()\\[\\]\" \n-]{0,60}"
        .prop_filter("a body with something in it", |text| !text.trim().is_empty())
}

/// Generate whole lines without code, to precede a tag.
fn lines() -> impl Strategy<Value = String> {
    prop::collection::vec("[A-Za-z.,]{0,12}\n", 0..3).prop_map(|lines| lines.concat())
}

/// Text around JSON in a tag.
const FRAMES: [(&str, &str); 5] =
    [("", ""), ("\n", "\n"), ("\n```json\n", "\n```\n"), ("```\n", "```"), (" ", "\r\n")];

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::hash_map("[a-z]{1,4}", "[a-z<>{}/\"\\\\\n,`]{0,6}", 0..3)
        .prop_map(|members| json!(members))
}

proptest! {
    #![proptest_config(crate::effort::cases(128))]

    #[test]
    fn a_registered_tag_that_opens_its_line_and_is_closed_is_an_attempt(
        before in lines(),
        indent in 0..4usize,
        name in select(OWN.to_vec()),
        body in prose(),
        code in prop::sample::select(vec![InCode::Text, InCode::Call]),
    ) {
        let mut options = Options::default();
        options.parser.in_code = code;
        let tag = format!("<{name}>{body}</{name}>");
        let indent = " ".repeat(indent);
        let events = events(&format!("{before}{indent}{tag}\nSo."), &options);
        let Some(Event::InvalidToolCall(call)) =
            events.iter().find(|event| !matches!(event, Event::Text(_)))
        else {
            panic!("{tag:?} came to {events:?}");
        };
        prop_assert_eq!(call.kind, InvalidKind::InvalidJson);
        prop_assert_eq!((&call.name[..], &call.raw), (name, &tag));
    }

    #[test]
    fn a_tag_in_a_sentence_in_code_or_past_the_limit_is_text(
        before in "[A-Za-z.,-]{1,12}",
        name in select(OWN.to_vec()),
        body in prose(),
        place in 0..5usize,
    ) {
        let line = body.replace('\n', " ");
        let reply = match place {
            0 => format!("{before} <{name}>{body}</{name}>"),
            1 => format!("`<{name}>{line}</{name}>`"),
            2 => format!("```\n{before}\n<{name}>{body}</{name}>\n```\n"),
            3 => format!("<{name}>{body}{}</{name}>", "x".repeat(512)),
            _ => format!("<{name}>{body}"),
        };
        prop_assert_eq!(events(&reply, &Options::default()), [Event::Text(reply)]);
    }

    #[test]
    fn content_of_an_html_element_is_text_unless_it_parses_as_arguments(
        before in prop_oneof![Just(String::new()), lines(), "[a-z]{1,5} "],
        name in select(HTML.to_vec()),
        body in prop_oneof![
            prose(),
            "\\{[a-z.]{1,9}\\}",
            "\\{\\{[a-z\": .]{1,9}\\}\\}",
            select(vec![
                "{...props}", "{cond ? a : b}", "{x => ({a: 1})}", "{/* none */}", "{\"text\"}",
                "{label: string}", "{items.map(i => <li>{i}</li>)}", "<b>bold</b>", "{% if x %}",
            ]).prop_map(str::to_owned),
        ],
    ) {
        let reply = format!("{before}<{name}>{body}</{name}>\n");
        prop_assert_eq!(events(&reply, &Options::default()), [Event::Text(reply)]);
    }

    #[test]
    fn arguments_in_an_html_element_are_a_call(
        before in prop_oneof![lines(), "[a-z]{1,5} "],
        name in select(HTML.to_vec()),
        arguments in arguments(),
        (open, shut) in select(FRAMES.to_vec()),
        quotes in any::<bool>(),
    ) {
        let (payload, arguments) = if quotes {
            (arguments.to_string(), arguments)
        } else {
            // A key without quotes and a superfluous comma.
            let long = "words ".repeat(150);
            (format!("{{text: \"{long}\",}}"), json!({"text": long}))
        };
        let tag = format!("<{name}>{open}{payload}{shut}</{name}>");
        let events = events(&format!("{before}{tag}."), &Options::default());
        let calls: Vec<_> = events.iter().filter_map(|event| match event {
            Event::ToolCall(call) => Some((&call.raw, &call.arguments)),
            _ => None,
        }).collect();
        prop_assert_eq!(calls, [(&tag, &arguments)]);
    }

    #[test]
    fn several_objects_in_one_tag_are_several_calls(
        (open, shut) in select(vec![
            ("<book_table>", "</book_table>"),
            ("<summary>", "</summary>"),
            ("<tool_call name=\"BOOK_table\">", "</tool_call>"),
            ("<tool_call name='nope'>", "</tool_call>"),
        ]),
        (before, after) in select(FRAMES.to_vec()),
        between in select(vec!["", " ", "\n", "\r\n\r\n", ",", ", ", "\n,\n"]),
        all in prop::collection::vec(arguments(), 2..5),
        closed in any::<bool>(),
    ) {
        // For an HTML element, nothing is reported before a key.
        prop_assume!(open != "<summary>" || all[0] != json!({}));
        let written: Vec<_> = all.iter().map(Value::to_string).collect();
        let tags = format!("{open}{before}{}{after}{}", written.join(between), if closed { shut } else { "" });
        let events = events(&format!("Well. {tags}"), &Options::default());
        let mut raw = String::new();
        let mut found = Vec::new();
        for event in &events {
            match event {
                Event::ToolCall(call) => {
                    let repaired = call.repairs.iter().any(|repair| {
                        !matches!(repair.kind, RepairKind::ImplicitClose | RepairKind::NameCase)
                    });
                    prop_assert!(!repaired, "{call:?}");
                    let named = call.repairs.iter().any(|repair| repair.kind == RepairKind::NameCase);
                    prop_assert_eq!(named, open.contains("BOOK"));
                    raw.push_str(&call.raw);
                    found.push(call.arguments.clone());
                }
                Event::InvalidToolCall(call) => {
                    prop_assert_eq!(call.kind, InvalidKind::UnknownTool);
                    prop_assert_eq!(&call.name, "nope");
                    raw.push_str(&call.raw);
                }
                Event::Text(text) if raw.is_empty() => prop_assert_eq!(text, "Well. "),
                Event::Text(text) => prop_assert_eq!(text.trim(), ""),
                other => panic!("{other:?}"),
            }
        }
        prop_assert!(tags.starts_with(&raw) && (!closed || tags == raw), "{events:?}");
        if open.contains("nope") {
            prop_assert_eq!(events.len(), all.len() + 1 + usize::from(!closed && tags != raw));
        } else {
            prop_assert_eq!(found, all);
        }
    }

    #[test]
    fn a_fence_around_a_call_is_markup_only_if_it_names_no_code(
        label in select(vec![
            "", "json", "JSON", "jsonc", "jsonl", "xml", "yaml", "tool_call", "tool_calls", "tool_code",
            "function_call", " xml ", "json title=call", "python", "py", "jsx", "tsx", "html", "js", "vue",
            "markdown", "diff", "bash", "rust", "jsonnet", "xmlish", "c",
        ]),
        form in 0..3usize,
        mark in select(vec!["```", "~~~~"]),
    ) {
        const CODE: [&str; 13] = [
            "python", "py", "jsx", "tsx", "html", "js", "vue", "markdown", "diff", "bash", "rust",
            "jsonnet", "xmlish",
        ];
        let call = ["<GetWeather>{\"a\": 1}</GetWeather>", "<tool_call name=\"Select\">{}</tool_call>",
            "<h1>{\"a\": 1}</h1>"][form];
        let reply = format!("{mark}{label}\n{call}\n{mark}\n");
        let events = events(&reply, &Options::default());
        if CODE.contains(&label) || label == "c" {
            prop_assert_eq!(events, [Event::Text(reply)]);
        } else {
            let fences = [&events[0], events.last().unwrap()].map(|event| {
                matches!(event, Event::Discarded { reason: Discard::Fence, .. })
            });
            prop_assert_eq!(fences, [true, true], "{:?}", events);
            prop_assert!(matches!(&events[1], Event::ToolCall(found) if found.raw == call));
        }
    }

    #[test]
    fn a_result_counts_only_at_the_start_of_a_line(
        before in "[A-Za-z.,:-]{1,12} ?",
        body in prose(),
        name in select(vec!["", " name=\"GetWeather\"", " name='x' status=\"error\""]),
        lead in select(vec!["", "\n", "So.\n  ", "<GetWeather/>", "<GetWeather/> ", "<think>x</think>", "a <GetWeather/>"]),
        closed in any::<bool>(),
    ) {
        let result = format!("<tool_response{name}>{body}{}", if closed { "</tool_response>" } else { "" });
        let sentence = format!("{before}{result}");
        prop_assert_eq!(events(&sentence, &Options::default()), [Event::Text(sentence)]);
        // Nothing in it is a call, but the text after it may have calls.
        let line = format!("{before}<tool_response{name}>{{}} <GetWeather>{{}}</GetWeather>");
        let end = if closed { "</tool_response>" } else { "\n" };
        let reported = events(&format!("{line}{end}<GetWeather/>"), &Options::default());
        let [Event::Text(text), Event::ToolCall(call)] = &reported[..] else { panic!("{reported:?}") };
        prop_assert_eq!((text, &call.raw[..]), (&format!("{line}{end}"), "<GetWeather/>"));
        let events = events(&format!("{lead}{result}"), &Options::default());
        let Some(Event::FabricatedResult { raw, .. }) = events.last() else { panic!("{events:?}") };
        prop_assert_eq!(raw, &result);
    }
}

#[test]
fn repair_does_not_change_what_is_a_call() {
    for reply in [
        "<summary>{text: 'x'}</summary>",
        "<summary>{'text': oops}</summary>",
        "<search>{}</search>",
    ] {
        let [repaired, refused] = [RepairMode::Schema, RepairMode::None]
            .map(|repair| events(reply, &Options { repair, ..Options::default() }));
        assert_eq!(repaired.len(), 1);
        let is_call =
            |event: &Event| matches!(event, Event::ToolCall(_) | Event::InvalidToolCall(_));
        assert_eq!(
            repaired.iter().map(is_call).collect::<Vec<_>>(),
            refused.iter().map(is_call).collect::<Vec<_>>()
        );
    }
}

#[test]
fn an_empty_html_element_is_a_call_only_where_it_opens_its_line() {
    for empty in ["<summary/>", "<summary></summary>", "<summary>\n</summary>"] {
        let found = events(empty, &Options::default());
        assert!(matches!(&found[..], [Event::ToolCall(call)] if call.raw == empty), "{found:?}");
        let reply = format!("Put {empty} first.");
        assert_eq!(events(&reply, &Options::default()), [Event::Text(reply)]);
    }
}
