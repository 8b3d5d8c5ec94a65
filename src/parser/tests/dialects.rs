use super::*;
use std::collections::BTreeSet;

use crate::parser::markers::Lead;

const JSON: Envelopes = Envelopes { separators: b";", ..Envelopes::OPENAI };
const LIST: Envelopes = Envelopes { list: true, ..Envelopes::OPENAI };

/// A dialect with openers of all kinds.
const MANY: Dialect = Dialect {
    name: "many",
    forms: &[],
    blocks: &[
        block(Evidence::Shaped, &["{"], &[], JSON),
        block(Evidence::Shaped, &["["], &[], LIST),
        block(Evidence::Stripped, &["<plain>{name}"], &[], JSON),
        block(Evidence::Marked, &["[TOOL_CALLS]"], &[], LIST),
        block(Evidence::Marked, &["functools"], &[], LIST),
        block(Evidence::Marked, &["]<]mark[>[<calls>"], &["]<]mark[>[</calls>"], JSON),
        block(Evidence::Marked, &["<tool_call>"], &["</tool_call>"], JSON),
        block(Evidence::Marked, &["<|begin|>"], &["<|end|>"], JSON),
    ],
    response: None,
    writing: None,
    teaching: None,
};

const fn block(
    evidence: Evidence,
    open: &'static [&'static str],
    close: &'static [&'static str],
    body: Envelopes,
) -> Block {
    Block { evidence, open, close, body: Body::Envelopes(body) }
}

fn options_for(dialects: &[Dialect]) -> Options {
    Options { dialects: Dialects::Named(dialects.to_vec()), ..Options::default() }
}

/// Return the options for all dialects at once, for each of them, and for some together.
fn all_options() -> Vec<Options> {
    let mut all = vec![
        Options { dialects: Dialects::Auto, ..Options::default() },
        options_for(&[MANY]),
        options_for(&[Dialect::NATURAL, MANY]),
    ];
    // A dialect may be unable to write the names of these tools.
    let usable = |dialect: &Dialect| Parser::new(TOOLS, options_for(&[*dialect])).is_ok();
    let named = Dialect::ALL.iter().filter(|dialect| usable(dialect));
    all.extend(named.map(|dialect| options_for(&[*dialect])));
    all.push(options_for(
        Dialect::ALL.iter().copied().filter(usable).collect::<Vec<_>>().as_slice(),
    ));
    all
}

fn outline(options: &Options, reply: &str) -> (String, Vec<String>) {
    let frames = parse_with(options, [reply], Ending::Complete);
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut name = String::new();
    for frame in frames {
        match frame {
            Text(part) => text.push_str(&part),
            Start(_, called) => name = called,
            End { payload, .. } => calls.push(format!("{name}{payload}")),
            _ => {}
        }
    }
    (text, calls)
}

/// Check the text and the calls of a reply, and the laws for it.
#[track_caller]
fn check(dialects: &[Dialect], reply: &str, text: &str, calls: &[&str]) {
    let options = options_for(dialects);
    let (seen, called) = outline(&options, reply);
    assert_eq!(
        (seen.as_str(), called.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
        (text, calls)
    );
    for size in [1, 2, 3, 7] {
        check_laws(&options, reply, &vec![size; reply.len() / size], Ending::Complete);
    }
}

const GET: &str = "{\"name\": \"Get\", \"arguments\": {\"a\": 1}}";

#[test]
fn openers_in_brackets_are_found_anywhere() {
    check(
        &[MANY],
        &format!("So [x] [TOOL_CALLS] [{GET}] b [TOOL"),
        "So [x]  b [TOOL",
        &["Get{\"a\": 1}"],
    );
    check(&[MANY], "[TOOL_CALLS] is a token", "[TOOL_CALLS] is a token", &[]);
    check(&[MANY], &format!("`[TOOL_CALLS] [{GET}]`"), &format!("`[TOOL_CALLS] [{GET}]`"), &[]);
}

#[test]
fn an_opener_may_begin_before_its_angle() {
    let call = format!("]<]mark[>[<calls>{GET}]<]mark[>[</calls>");
    check(&[MANY], &format!("a[1] {call}b"), "a[1] b", &["Get{\"a\": 1}"]);
    check(&[MANY], &format!("x{}", &call[1..]), &format!("x{}", &call[1..]), &[]);
    check(&[MANY], "a[1]]<]mark[>[<calls> no", "a[1]]<]mark[>[<calls> no", &[]);
}

#[test]
fn other_openers_count_on_lines_only() {
    check(&[MANY], &format!("x\nfunctools[{GET}]"), "x\n", &["Get{\"a\": 1}"]);
    let inside = format!("x functools[{GET}]");
    check(&[MANY], &inside, &inside, &[]);
    check(&[MANY], "functools.partial(x)", "functools.partial(x)", &[]);
}

#[test]
fn shaped_blocks_stand_alone_on_their_lines() {
    let two = ["Get{\"a\": 1}", "Get{\"a\": 1}"];
    check(&[MANY], GET, "", &two[..1]);
    check(&[MANY], &format!("\n \t {GET};{GET}\nDone"), "\n \t \nDone", &two);
    check(&[MANY], &format!("{GET}\n\n{GET}{GET}"), "", &["Get{\"a\": 1}"; 3]);
    check(&[MANY], &format!("{GET} is a call"), &format!("{GET} is a call"), &[]);
    check(&[MANY], &format!("As in {GET}"), &format!("As in {GET}"), &[]);
    check(&[MANY], &format!("> {GET}"), &format!("> {GET}"), &[]);
    check(&[MANY], &format!("\"{GET}\""), &format!("\"{GET}\""), &[]);
    let unknown = GET.replace("Get", "Nope");
    check(&[MANY], &format!("[{unknown}]\n{GET}"), &format!("[{unknown}]\n"), &two[..1]);
    check(&[MANY], &format!("{{\n{GET}"), "{\n", &two[..1]);
    check(&[MANY], &format!("<{GET}"), &format!("<{GET}"), &[]);
}

#[test]
fn a_fence_may_be_around_a_shaped_block_alone() {
    check(&[MANY], &format!("```json\n{GET}\n```\nDone"), "\nDone", &["Get{\"a\": 1}"]);
    check(&[MANY], &format!("```\n[{GET}]```"), "", &["Get{\"a\": 1}"]);
    check(&[MANY], &format!("```json\n{GET}"), "", &["Get{\"a\": 1}"]);
    for reply in [
        format!("```json\n{GET}\n{GET},\n```"),
        format!("```json\n{{\"a\": {GET}}}\n```"),
        format!("```python\n{GET}\n```"),
        format!("```json\n{GET}\n# x\n```"),
    ] {
        check(&[MANY], &reply, &reply, &[]);
    }
}

#[test]
fn quoted_markers_are_text() {
    let call = format!("<tool_call>{GET}</tool_call>");
    for (before, after) in
        [("> ", "\n"), ("| x | ", " |"), ("\"", "\""), ("„", "“"), ("«", "»"), ("a '", "")]
    {
        let reply = format!("x\n{before}{call}{after}");
        check(&[Dialect::NATURAL, MANY], &reply, &reply, &[]);
        let reply = format!("x\n{before}<|begin|>\n <tool_call>{GET}</tool_call>{after}");
        check(&[MANY], &reply, &reply, &[]);
        let reply = format!("x\n{before}{call} {call}{after}");
        check(&[MANY], &reply, &reply, &[]);
    }
    let lines = format!("\"<tool_call>\n{GET}\n</tool_call>\n{call}\n");
    check(&[MANY], &format!("{lines}{call}\""), &format!("{lines}{call}\""), &[]);
    check(&[MANY], &format!("{lines}\"\n{call}"), &format!("{lines}\"\n"), &["Get{\"a\": 1}"]);
    check(
        &[MANY],
        &format!("a \"<tool_call>\": {call}"),
        "a \"<tool_call>\": ",
        &["Get{\"a\": 1}"],
    );
    check(&[MANY], &format!("> x\n{call}"), "> x\n", &["Get{\"a\": 1}"]);
    check(&[MANY], &format!("\"x\" {call}"), "\"x\" ", &["Get{\"a\": 1}"]);
    check(&[Dialect::NATURAL, MANY], "> <Get>{}</Get>", "> ", &["Get{}"]);
}

#[test]
fn closers_of_a_block_that_was_left_are_discarded() {
    let call = format!("<tool_call>{GET}");
    check(&[MANY], &format!("{call} x\n</tool_call>\ny"), " x\n\ny", &["Get{\"a\": 1}"]);
    check(&[MANY], &format!("{call}</tool_call></tool_call>"), "", &["Get{\"a\": 1}"]);
    check(
        &[MANY],
        &format!("{call} a </tool_call> tag"),
        " a </tool_call> tag",
        &["Get{\"a\": 1}"],
    );
    check(&[MANY], "</tool_call> and <|end|>", "</tool_call> and <|end|>", &[]);
    check(
        &[MANY],
        &format!("<|begin|>{GET}\n<|end|><|end|>\n</tool_call>"),
        "\n</tool_call>",
        &["Get{\"a\": 1}"],
    );
}

#[test]
fn names_that_a_dialect_cannot_write_are_errors() {
    let new = |name: &str, tools: &[&str]| {
        let options = options_for(&[Dialect::named(name).unwrap()]);
        Parser::new(tools.iter().copied(), options).map(|_| ())
    };
    assert_eq!(new("pythonic", &["a.b", "Émoji"]), Ok(()));
    let (name, dialect) = ("a/b".to_owned(), "pythonic");
    assert_eq!(new("pythonic", &["a/b"]), Err(GrammarError::DialectName { name, dialect }));
    let (name, other) = ("functions.a".to_owned(), "a".to_owned());
    let err = GrammarError::DialectNames { name, other, dialect: "kimi_k2" };
    assert_eq!(new("kimi_k2", &["a", "functions.a"]), Err(err));
    assert_eq!(new("natural", &["a", "functions.a", "a/b"]), Ok(()));
}

#[test]
fn no_opener_hides_another() {
    for options in all_options() {
        let grammar = Grammar::new(TOOLS.map(str::to_owned).to_vec(), options).unwrap();
        for lead in [Lead::Angle, Lead::Bracket, Lead::Line] {
            let markers = grammar.markers(lead);
            let literal = (0..markers.len()).filter(|&at| markers.is_literal(at));
            for at in literal {
                let name = markers.name(at);
                let hides = |other: usize| other != at && markers.name(other).starts_with(name);
                let hidden = (0..markers.len()).find(|&other| hides(other));
                assert_eq!(hidden.map(|at| markers.name(at)), None, "{name}");
            }
        }
    }
}

/// Return markup of all dialects, in pieces.
#[expect(clippy::too_many_lines, reason = "a list")]
fn markup() -> Vec<String> {
    let mut pieces: Vec<String> = [
        "\n",
        "\n\n",
        " ",
        "\"",
        "'",
        "«",
        "> ",
        "| ",
        "`",
        "```\n",
        "```json\n",
        "\n```\n",
        "<think>",
        "</think>",
        "text",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        ":",
        "\\",
        "{}",
        "{\"a\": 1}",
        "{\"a\": \"",
        "\"name\": ",
        "\"Get\"",
        "\"parameters\": ",
        "\"arguments\": {",
        "{\"name\": \"Get\", \"arguments\": {\"a\": \"x\"}}",
        "[{\"name\": \"Get\", \"arguments\": {}}]",
        "{\"name\": \"nope\", \"arguments\": {}}",
        "{\"tool_name\": \"Get\", \"parameters\": {}}",
        "{\"name\":",
        "Get",
        "nope",
        "Get(a=1)",
        "[Get(a='x')]",
        "a=",
        "Get a=1",
        "Get\na=\"x\" ",
        "<tool_name>",
        "</tool_name>",
        "<parameter>a>",
        ", \"id\": \"Ab3dE6gH9\"}",
        "\n```<|end|>",
        "\n```<|close|>response<|sep|>",
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        "functions.Get:0",
        "functions.",
        "functionGet",
        "call:Get{a:1}",
        "call:Get{",
        "Get{\"a\": 1}",
        "Get\n",
        "\nAction: Get\n",
        "Action Input: ",
        "Action Input: {\"a\": 1}\n",
        "Thought: hm\n",
        "\nObservation: 1\n",
        "Final Answer: ",
        "functools[",
        "[ARGS]",
        "[CALL_ID]abcdefghi",
        "[TOOL_CALLS]",
        "<function=Get>",
        "<function=nope>",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "<parameter name=\"a\">",
        "<invoke name=\"Get\">",
        "</invoke>",
        "<arg_key>a</arg_key>",
        "<arg_value>1</arg_value>",
        "<arg_key>",
        "</arg_value>",
        "<tool_sep>",
        "<|\"|>",
        "<escape>",
        "<｜tool▁sep｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜DSML｜invoke name=\"Get\">",
        "</｜DSML｜invoke>",
        "<｜DSML｜parameter name=\"a\" string=\"true\">",
        "</｜DSML｜parameter>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<|channel|>commentary to=functions.Get <|constrain|>json<|message|>",
        "<|message|>",
        "<|call|>",
        "<|end|>",
        "<|start|>assistant",
        "<|open|>call tool=\"Get\" index=\"1\"<|sep|>",
        "<|sep|>",
        "<|close|>call<|sep|>",
        "]<]minimax[>[",
        "<invoke",
        "<Get>",
        "</Get>",
        "<tool_call name=\"Get\">",
        "<",
        "</",
        "<|",
        "｜",
        "é",
        "😀",
    ]
    .map(str::to_owned)
    .to_vec();
    for dialect in Dialect::ALL.iter().chain([&MANY]) {
        for block in dialect.blocks.iter().chain(dialect.also()) {
            let texts = block.open.iter().chain(block.close);
            pieces.extend(texts.map(|text| text.replace("{name}", "Get")));
        }
    }
    pieces.sort();
    pieces.dedup();
    pieces
}

fn mixed() -> impl Strategy<Value = String> {
    let any = prop::collection::vec(select(markup()), 0..20);
    (any, prop::collection::vec(select(PIECES), 0..4)).prop_map(|(mut pieces, others)| {
        for (at, other) in others.into_iter().enumerate() {
            pieces.insert((at * 5).min(pieces.len()), other.to_owned());
        }
        pieces.concat()
    })
}

/// Generate the markup of one block in a sensible order, with pieces of others inside.
fn blocks() -> impl Strategy<Value = String> {
    let all: Vec<Block> =
        Dialect::ALL.iter().chain([&MANY]).flat_map(|dialect| dialect.blocks).copied().collect();
    let opened = (select(all), any::<u8>()).prop_map(|(block, at)| {
        let pick = |texts: &[&str]| {
            texts
                .get(usize::from(at) % texts.len().max(1))
                .copied()
                .unwrap_or("")
                .replace("{name}", "Get")
        };
        (pick(block.open), pick(block.close))
    });
    let body = prop::collection::vec(select(markup()), 0..8).prop_map(|pieces| pieces.concat());
    let call = (opened, body, any::<bool>()).prop_map(|((open, close), body, closed)| {
        if closed { open + &body + &close } else { open + &body }
    });
    prop::collection::vec(call, 1..4).prop_map(|calls| calls.concat())
}

proptest! {
    #![proptest_config(crate::effort::cases(800))]

    #[test]
    fn the_laws_hold_in_all_dialects(
        options in select(all_options()),
        limits in options(),
        tight: bool,
        reply in prop_oneof![mixed(), blocks()],
        cuts in prop::collection::vec(1usize..9, 0..40),
        truncated: bool,
    ) {
        let ending = if truncated { Ending::Truncated } else { Ending::Complete };
        let mut options = options;
        if tight {
            options = Options { dialects: options.dialects, ..limits };
        }
        check_laws(&options, &reply, &cuts, ending);
    }
}

/// Return replies that are full of what may begin a block.
fn floods(size: usize) -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len() + 1);
    let after = |open: &str, piece: &str| format!("{open}{}", fill(piece));
    let mut floods = vec![
        ("text", fill("Some words, and a line.\n")),
        ("brackets", fill("[")),
        ("both brackets", fill("]<][<")),
        ("half brackets", fill("[TOOL_CALL")),
        ("half brackets and text", fill("[TOOL_CALL, some words that no marker begins with, ")),
        ("half brackets in code", after("`", "[TOOL_CALL, ")),
        ("braces", fill("{")),
        ("braces on lines", fill("{\n")),
        ("brackets on lines", fill("[\n")),
        ("brackets and braces on lines", fill("[{\"name\":\n")),
        ("half envelopes", fill("{\"name\": \"Get\", \"arguments\": {\"a\": [\n")),
        ("half strings", fill("{\"name\": \"Get\", \"arguments\": {\"a\": \"\n")),
        ("envelopes that go on", fill("{\"name\": \"Get\", \"arguments\": {}}\n")),
        ("envelopes in prose", fill("{\"name\": \"Get\", \"arguments\": {}} x\n")),
        ("envelopes and blanks", fill(&format!("{GET}{}", " ".repeat(600)))),
        ("one array", after("[", "{\"name\": \"Get\", \"arguments\": {}},\n")),
        ("one array on lines", after("[", "\n[{\"name\": \"Get\", \"arguments\": {}},")),
        ("fences around braces", fill("```json\n{\n")),
        ("fences around envelopes", fill(&format!("```json\n{GET}\n"))),
        ("half fences around envelopes", fill(&format!("```json\n{GET}\n``"))),
        ("blanks at the beginning", fill(" ")),
        ("lines at the beginning", fill("\n ")),
        ("actions", fill("Action: Get\n")),
        ("actions and input", fill("Action: Get\nAction Input: x\n")),
        ("one input", after("Action: Get\nAction Input: ", "x\n")),
        ("one input of heads", after("Action: Get\nAction Input: ", "Observ\n")),
        ("one broken input", after("Action: Get\nAction Input: {", "x\nActio")),
        ("blanks before input", fill(&format!("Action: Get{}\n", " ".repeat(600)))),
        ("thoughts", fill("Thought: x\n")),
        ("results", after("Action: Get\nAction Input: x\n", "Observation: y\n")),
        ("assignments", fill("<tool_call>Get a=\"")),
        ("one assignment", after("<tool_call>Get a=", "\"</tool_call>")),
        ("keys without tags", fill("<tool_call>Get a ")),
        ("ends of messages", after("<|channel|>final<|message|>", "\n```<|end|>")),
        ("boundaries", fill("<|close|>response<|sep|> ")),
        (
            "late ids",
            after("[TOOL_CALLS] [", "{\"name\": \"Get\", \"arguments\": {}, \"id\": \"x\"},"),
        ),
        ("one late id", after("[TOOL_CALLS] [{\"name\": \"Get\", \"arguments\": {\"a\": \"", "x")),
        ("quoted markers", fill("\"<tool_call>\n")),
        ("quoted markers and blanks", fill(&format!("\"<tool_call>{}", " ".repeat(600)))),
    ];
    let general = floods.len();
    // Dialects share tags.
    let mut seen = BTreeSet::new();
    for dialect in Dialect::ALL.iter().chain([&MANY]) {
        for block in dialect.blocks {
            for text in block.open.iter().filter(|text| seen.insert((**text, block.close))) {
                let text = text.replace("{name}", "Get");
                floods.extend([
                    (dialect.name, fill(&text)),
                    (dialect.name, fill(&format!("{text}\n"))),
                    (dialect.name, fill(&format!("\n{text} {GET}"))),
                    (dialect.name, fill(&format!("{text}{}", " ".repeat(600)))),
                    (dialect.name, fill(&format!("{text}{}", "x".repeat(600)))),
                    (dialect.name, fill(&format!("\n{text}{{"))),
                    (dialect.name, after(&text, GET)),
                    (dialect.name, after(&format!("{text}{GET}"), " ")),
                    (dialect.name, after(&format!("{text}{GET}"), "<")),
                ]);
                for close in block.close {
                    floods.push((dialect.name, fill(&format!("{text}{GET}{close}"))));
                    floods.push((dialect.name, after(&format!("{text}{GET}"), close)));
                }
            }
        }
    }
    // For a change a third of those with tags: each tag in some floods, each flood with some tags.
    let step = if crate::effort::size(3) < 3 { 3 } else { 1 };
    let tagged = floods.split_off(general);
    floods.extend(tagged.into_iter().step_by(step));
    floods
}

/// The looks at a byte: an opener is read again with each character of a short header.
const MOST_WORK: usize = 100;

/// Return the bytes of a flood, which are several of its longest pieces.
fn flood_size() -> usize {
    crate::effort::size(16_000).max(4_000)
}

#[test]
fn work_is_linear_in_all_dialects_at_once() {
    let options = Options { dialects: Dialects::Auto, ..Options::default() };
    check_work(&options, floods, flood_size(), MOST_WORK);
}

#[test]
fn work_is_linear_in_named_dialects() {
    let named = [Dialect::NATURAL, MANY, Dialect::named("react").unwrap()];
    check_work(&options_for(&named), floods, flood_size(), MOST_WORK);
}
