use std::collections::BTreeMap;

use proptest::{prelude::*, sample::select};

use super::*;
use crate::parser::{self, Discard, Ending, Frame, Limits, Outcome, Parser, work};

const TOOLS: [&str; 3] = ["Get", "Sleep", "Émoji"];

/// One update of a reply.
#[derive(Clone, Debug)]
enum Input {
    Text(String),
    Fragment { id: Option<String>, index: Option<usize>, name: Option<String>, arguments: String },
}

/// An owned copy of a frame.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Start {
        index: usize,
        id: Option<String>,
        name: String,
    },
    Delta(usize, String),
    End {
        index: usize,
        name: String,
        raw: String,
        payload: String,
        outcome: Outcome,
    },
    Discarded(String, Discard),
    /// Any other frame, with its kind.
    Other(&'static str, String),
}

use Seen::{Delta, Discarded, End, Other, Start};

fn own(frame: Frame<'_>) -> Seen {
    match frame {
        Frame::Text(text) => Other("text", text.into()),
        Frame::Reasoning(text) => Other("reasoning", text.into()),
        Frame::Fabricated { raw, .. } => Other("fabricated", raw.into()),
        Frame::CallStart { index, id, name, .. } => {
            Start { index, id: id.map(|id| id.text().into()), name: name.into() }
        }
        Frame::CallDelta { index, fragment } => Delta(index, fragment.into()),
        Frame::CallEnd(found) => End {
            index: found.index,
            name: found.name.into(),
            raw: found.raw.into(),
            payload: found.payload.into(),
            outcome: found.outcome,
        },
        Frame::Discarded { raw, reason } => Discarded(raw.into(), reason),
    }
}

/// The frames of a reply, by kind of call.
#[derive(Debug, Default, PartialEq)]
struct Read {
    inline: Vec<Seen>,
    native: Vec<Seen>,
    calls: usize,
}

fn read_with(limits: Limits, deltas: bool, input: &[Input], ending: Ending) -> Read {
    let options = parser::Options { deltas, limits, ..parser::Options::default() };
    let parser = Parser::new(TOOLS, options).unwrap();
    let mut reader = Reader::new(parser, Options { inline: true, recovered: false, deltas });
    let mut read = Read::default();
    for input in input {
        match input {
            Input::Text(text) => {
                reader.text(text, &mut |frame: Frame<'_>| read.inline.push(own(frame)));
            }
            Input::Fragment { id, index, name, arguments } => {
                let fragment = Fragment {
                    id: id.as_deref(),
                    index: *index,
                    name: name.as_deref(),
                    arguments: Some(arguments),
                };
                reader.fragment(fragment, &mut |frame: Frame<'_>| read.native.push(own(frame)));
            }
        }
    }
    let mut rest = Vec::new();
    reader.finish(ending, &mut |frame: Frame<'_>| rest.push(own(frame)));
    read.calls = reader.calls();
    // The open inline call ends before any native one.
    let is_native = |seen: &Seen| match seen {
        Start { index, .. } | Delta(index, _) | End { index, .. } => !read
            .inline
            .iter()
            .any(|seen| matches!(seen, Start { index: inline, .. } if inline == index)),
        _ => false,
    };
    let first = rest.iter().position(is_native).unwrap_or(rest.len());
    // A call that began at the very end is still inline.
    let natives = rest.split_off(first);
    read.inline.extend(rest);
    read.native.extend(natives);
    read
}

fn read(input: &[Input]) -> Read {
    read_with(Limits::default(), true, input, Ending::Complete)
}

/// Join neighbouring pieces of the same thing.
fn join(seen: Vec<Seen>) -> Vec<Seen> {
    let mut joined: Vec<Seen> = Vec::new();
    for seen in seen {
        match (joined.last_mut(), seen) {
            (Some(Other(a, head)), Other(b, tail)) if *a == b => head.push_str(&tail),
            (Some(Discarded(head, a)), Discarded(tail, b)) if *a == b => head.push_str(&tail),
            (Some(Delta(a, head)), Delta(b, tail)) if *a == b => head.push_str(&tail),
            (_, seen) => joined.push(seen),
        }
    }
    joined
}

fn joined(read: Read) -> Read {
    Read { inline: join(read.inline), native: join(read.native), calls: read.calls }
}

/// Return all text that the frames account for.
fn raw(seen: &[Seen]) -> String {
    seen.iter()
        .map(|seen| match seen {
            Other(_, raw) | Discarded(raw, _) | End { raw, .. } => raw.as_str(),
            Start { .. } | Delta(..) => "",
        })
        .collect()
}

/// Check that every call has one start, then deltas, then one end; return the indexes.
fn check_calls(seen: &[Seen], deltas: bool, native: bool) -> Vec<usize> {
    let mut open: BTreeMap<usize, String> = BTreeMap::new();
    let mut started = Vec::new();
    for seen in seen {
        match seen {
            Start { index, .. } => {
                assert!(!started.contains(index), "{index} begins twice");
                started.push(*index);
                open.insert(*index, String::new());
            }
            Delta(index, fragment) => {
                assert!(deltas && !fragment.is_empty());
                open.get_mut(index).expect("a delta belongs to an open call").push_str(fragment);
            }
            End { index, raw, payload, .. } => {
                let reported =
                    open.remove(index).expect("a call begins before it ends, and ends once");
                let whole = if native { raw } else { payload };
                assert!(!deltas || &reported == whole, "{reported:?} of {whole:?}");
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "calls without an end");
    started
}

fn check_laws(limits: Limits, deltas: bool, input: &[Input], ending: Ending) {
    let read = read_with(limits, deltas, input, ending);
    let text: String = input
        .iter()
        .map(|input| if let Input::Text(text) = input { text.as_str() } else { "" })
        .collect();
    assert_eq!(raw(&read.inline), text, "text was lost or moved");
    let sorted = |text: String| {
        let mut bytes = text.into_bytes();
        bytes.sort_unstable();
        bytes
    };
    let given: String =
        input
            .iter()
            .map(|input| {
                if let Input::Fragment { arguments, .. } = input { arguments.as_str() } else { "" }
            })
            .collect();
    assert_eq!(sorted(raw(&read.native)), sorted(given), "arguments were lost");
    let inline = check_calls(&read.inline, deltas, false);
    assert!(inline.is_sorted());
    let mut all = check_calls(&read.native, deltas, true);
    all.extend(inline);
    all.sort_unstable();
    assert_eq!(all, (0..read.calls).collect::<Vec<_>>(), "positions have gaps");
}

/// Cut every text and all arguments into pieces of the given sizes.
fn cut(input: &[Input], mut sizes: impl Iterator<Item = usize>) -> Vec<Input> {
    let mut cut = Vec::new();
    for input in input {
        let text = match input {
            Input::Text(text) => text,
            Input::Fragment { arguments, .. } => arguments,
        };
        let mut rest = text.as_str();
        for first in [true].into_iter().chain(std::iter::repeat(false)) {
            let size = sizes.next().unwrap_or(usize::MAX);
            let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
            let (piece, tail) = rest.split_at(end);
            rest = tail;
            cut.push(match input {
                Input::Text(_) => Input::Text(piece.into()),
                Input::Fragment { id, index, name, .. } => Input::Fragment {
                    id: id.clone(),
                    index: *index,
                    name: name.clone().filter(|_| first),
                    arguments: piece.into(),
                },
            });
            if rest.is_empty() {
                break;
            }
        }
    }
    cut
}

const PIECES: &[&str] = &[
    "<Get>",
    "</Get>",
    "<Get/>",
    "<tool_call name=\"Sleep\">",
    "</tool_call>",
    "<Émoji>{}</Émoji>",
    "<tool_response name=\"Get\">",
    "</tool_response>",
    "<think>",
    "</think>",
    "<",
    ">",
    "{}",
    "{\"a\": 1}",
    "{\"a\": \"",
    "\"}",
    "\\",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\u12",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "```\n",
    " ",
    "\n",
    "text",
    "é",
    "😀",
];

fn pieces(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..most).prop_map(|pieces| pieces.concat())
}

/// Generate updates in any order, with few ids and indexes, so that these repeat.
fn input() -> impl Strategy<Value = Vec<Input>> {
    let id = prop::option::of(select(vec!["", "a", "b", "c"]).prop_map(str::to_owned));
    let index = prop::option::of(0usize..3);
    let name =
        prop::option::of(select(vec!["", "Get", "get", "Sl", "eep"]).prop_map(str::to_owned));
    let arguments = prop_oneof![pieces(4), select(PIECES).prop_map(str::to_owned)];
    let fragment = (id, index, name, arguments)
        .prop_map(|(id, index, name, arguments)| Input::Fragment { id, index, name, arguments });
    let text = pieces(6).prop_map(Input::Text);
    prop::collection::vec(prop_oneof![text, fragment], 0..16)
}

fn limits() -> impl Strategy<Value = Limits> {
    let bytes = select(vec![1, 6, 1 << 20]);
    bytes.prop_map(|max_argument_bytes| Limits { max_argument_bytes, ..Limits::default() })
}

fn endings() -> impl Strategy<Value = Ending> {
    select(vec![Ending::Complete, Ending::Truncated])
}

proptest! {
    #![proptest_config(crate::effort::cases(600))]

    #[test]
    fn nothing_is_lost_and_every_call_has_one_start_and_one_end(
        input in input(), limits in limits(), deltas: bool, ending in endings(),
    ) {
        check_laws(limits, deltas, &input, ending);
    }

    #[test]
    fn every_split_gives_the_same_frames(
        input in input(),
        limits in limits(),
        ending in endings(),
        sizes in prop::collection::vec(1usize..6, 1..60),
    ) {
        let whole = joined(read_with(limits, true, &input, ending));
        let cut = cut(&input, sizes.into_iter().cycle());
        prop_assert_eq!(joined(read_with(limits, true, &cut, ending)), whole);
    }

    #[test]
    fn a_delta_never_ends_in_half_an_escape(
        escapes in prop::collection::vec(select(ESCAPES), 0..12),
        sizes in prop::collection::vec(1usize..5, 1..40),
    ) {
        let input = cut(&[fragment(Some("a"), Some("Get"), &escapes.concat())], sizes.into_iter().cycle());
        let mut inside = Vec::new();
        let mut at = 0;
        for escape in escapes {
            if escape.starts_with('\\') {
                inside.extend(at + 1..at + escape.len());
            }
            at += escape.len();
        }
        let mut reported = 0;
        for seen in &read(&input).native {
            if let Delta(_, fragment) = seen {
                reported += fragment.len();
                prop_assert!(!inside.contains(&reported), "{:?}", fragment);
            }
        }
        prop_assert_eq!(reported, at);
    }
}

/// Escapes, complete and incomplete.
const ESCAPES: &[&str] = &["\\\\", "\\n", "\\\"", "\\u00e9", "\\ud83d\\ude00", "u", "d83d", "x"];

fn fragment(id: Option<&str>, name: Option<&str>, arguments: &str) -> Input {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Input::Fragment { id: own(id), index: None, name: own(name), arguments: arguments.into() }
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

fn ends(seen: &[Seen]) -> Vec<(usize, &str, Outcome)> {
    seen.iter()
        .filter_map(|seen| match seen {
            End { index, raw, outcome, .. } => Some((*index, raw.as_str(), *outcome)),
            _ => None,
        })
        .collect()
}

const WHOLE: Outcome = Outcome::Whole { strict: true, implicit_close: false };

#[test]
fn calls_of_both_kinds_are_numbered_together() {
    let read = read(&[
        text("<Get>{}</Get>"),
        fragment(Some("x"), Some("Sleep"), "{}"),
        text("<Get>{\"a\":"),
        fragment(Some("y"), Some("sleep"), "{}"),
        text("1}</Get>"),
    ]);
    assert_eq!(
        ends(&read.inline),
        [(0, "<Get>{}</Get>", WHOLE), (2, "<Get>{\"a\":1}</Get>", WHOLE)]
    );
    assert_eq!(ends(&read.native), [(1, "{}", WHOLE), (3, "{}", WHOLE)]);
    let id = Some("y".to_owned());
    assert!(read.native.contains(&Start { index: 3, id, name: "Sleep".into() }));
}

#[test]
fn inline_calls_have_no_provider_id() {
    let read = read(&[text("<Get/>")]);
    assert_eq!(read.inline[0], Start { index: 0, id: None, name: "Get".into() });
}

#[test]
fn text_stays_text_without_inline_calls() {
    let parser = Parser::new(TOOLS, parser::Options::default()).unwrap();
    let mut reader = Reader::new(parser, Options { inline: false, recovered: false, deltas: true });
    let mut seen = Vec::new();
    let mut sink = |frame: Frame<'_>| seen.push(own(frame));
    for chunk in ["<Get>", "", "{}</Get> <"] {
        reader.text(chunk, &mut sink);
    }
    reader.finish(Ending::Complete, &mut sink);
    assert_eq!(seen, [Other("text", "<Get>".into()), Other("text", "{}</Get> <".into())]);
    assert_eq!(reader.calls(), 0);
}

#[test]
fn a_complete_call_ends_when_the_next_begins() {
    let input =
        [fragment(Some("a"), Some("Get"), "{}"), fragment(Some("b"), Some("Get"), "{\"a\"")];
    let cut_off = read_with(Limits::default(), true, &input, Ending::Truncated);
    assert_eq!(ends(&cut_off.native), [(0, "{}", WHOLE), (1, "{\"a\"", Outcome::Unclosed)]);
}

#[test]
fn a_late_id_is_an_alias_and_a_new_name_begins_a_call() {
    let at_0 = |id: Option<&str>, name: Option<&str>, arguments: &str| {
        let Input::Fragment { id, name, arguments, .. } = fragment(id, name, arguments) else {
            unreachable!()
        };
        Input::Fragment { id, index: Some(0), name, arguments }
    };
    let read = read(&[
        at_0(None, Some("Get"), "{"),
        at_0(Some("a"), None, "}"),
        fragment(Some("a"), None, " "),
        at_0(Some("b"), Some("Get"), "{}"),
    ]);
    assert_eq!(ends(&read.native), [(0, "{} ", WHOLE), (1, "{}", WHOLE)]);
    assert_eq!(read.native[0], Start { index: 0, id: None, name: "Get".into() });
}

#[test]
fn fragment_problems_are_reported() {
    let parser = Parser::new(TOOLS, parser::Options::default()).unwrap();
    let mut reader = Reader::new(parser, Options::default());
    let mut take = |id: &str, name: &str, arguments: &str| {
        let (id, name, arguments) = (Some(id), Some(name), Some(arguments));
        let fragment = Fragment { id, name, arguments, index: None };
        reader.fragment(fragment, &mut |_: Frame<'_>| {}).map(|oddity| format!("{oddity:?}"))
    };
    assert_eq!(take("a", "Get", "{"), None);
    assert_eq!(take("a", "Get", ""), None);
    let renamed = "Renamed { call: 0, id: Some(\"a\"), name: \"Get\", other: \"Sleep\" }";
    assert_eq!(take("a", "Sleep", "}").as_deref(), Some(renamed));
    assert_eq!(take("b", "Get", ""), None);
    assert_eq!(take("a", "", "}").as_deref(), Some("Late { call: 0, id: Some(\"a\") }"));
}

#[test]
fn endless_arguments_are_not_buffered_without_bound() {
    let limits = Limits { max_argument_bytes: 4, ..Limits::default() };
    let input: Vec<_> = ["{\"", "éé", "xx", "yy"]
        .into_iter()
        .map(|piece| fragment(Some("a"), Some("Get"), piece))
        .collect();
    let read = joined(read_with(limits, true, &input, Ending::Complete));
    let outcome = Outcome::TooLarge(parser::Excess::Bytes);
    assert_eq!(ends(&read.native), [(0, "{\"éé", outcome)]);
    assert_eq!(read.native.last(), Some(&Discarded("xxyy".into(), Discard::TooLarge)));
}

#[test]
fn work_is_linear_in_the_length_of_the_reply() {
    type Attack = (&'static str, fn(usize) -> Vec<Input>);
    let attacks: [Attack; 5] = [
        ("one call", |size| vec![fragment(Some("a"), Some("Get"), "{\"a\": 1, "); size]),
        ("calls", |size| vec![fragment(None, Some("Get"), "{\"a\": 1}"); size]),
        ("a long call and many after it", |size| {
            let mut input = vec![fragment(Some("a"), Some("Get"), &"[".repeat(size))];
            for at in 0..size {
                input.push(fragment(Some(&at.to_string()), Some("Get"), ""));
                input.push(fragment(Some("a"), None, "{"));
            }
            input
        }),
        ("escapes", |size| vec![fragment(Some("a"), Some("Get"), "\\\\\\"); size]),
        ("backslashes", |size| vec![fragment(Some("a"), Some("Get"), "\\"); size]),
    ];
    for (name, attack) in attacks {
        for deltas in [true, false] {
            let [once, twice] = [2000, 4000].map(|size| {
                work::take();
                read_with(Limits::default(), deltas, &attack(size), Ending::Complete);
                work::take()
            });
            assert!(twice <= 2 * once + 100 && once > 0, "{name}, {deltas}: {once}, {twice}");
        }
    }
}
