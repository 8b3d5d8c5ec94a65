use proptest::{prelude::*, sample::select};

use super::*;

mod dialects;

const TOOLS: [&str; 7] =
    ["GetWeather", "Get", "math.factorial", "a/b", "Émoji", "Sleep", "summary"];

/// A frame that outlives the chunk it came from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Text(String),
    Reasoning(String),
    Start(usize, String),
    Delta(usize, String),
    End { index: usize, tool: Option<usize>, raw: String, payload: String, outcome: Outcome },
    Discarded(String, Discard),
    Fabricated(Option<String>, String),
}

use Seen::{Delta, Discarded, End, Fabricated, Reasoning, Start, Text};

fn own(frame: Frame<'_>) -> Seen {
    match frame {
        Frame::Text(text) => Text(text.into()),
        Frame::Reasoning(text) => Reasoning(text.into()),
        Frame::CallStart { index, name, .. } => Start(index, name.into()),
        Frame::CallDelta { index, fragment } => Delta(index, fragment.into()),
        Frame::CallEnd(found) => End {
            index: found.index,
            tool: found.tool,
            raw: found.raw.into(),
            payload: found.payload.into(),
            outcome: found.outcome,
        },
        Frame::Discarded { raw, reason } => Discarded(raw.into(), reason),
        Frame::Fabricated { name, raw } => Fabricated(name.map(Into::into), raw.into()),
    }
}

/// Join neighbouring deltas, so that two parses can be compared.
fn join(frames: Vec<Seen>) -> Vec<Seen> {
    let mut joined: Vec<Seen> = Vec::new();
    for frame in frames {
        match (joined.last_mut(), frame) {
            (Some(Text(head)), Text(tail))
            | (Some(Reasoning(head)), Reasoning(tail))
            | (Some(Discarded(head, Discard::TooLarge)), Discarded(tail, Discard::TooLarge)) => {
                head.push_str(&tail);
            }
            (Some(Delta(a, head)), Delta(b, tail)) => {
                assert_eq!(*a, b, "a call ended without an end");
                head.push_str(&tail);
            }
            (_, frame) => joined.push(frame),
        }
    }
    joined
}

fn parse_with<'c>(
    options: &Options,
    chunks: impl IntoIterator<Item = &'c str>,
    ending: Ending,
) -> Vec<Seen> {
    let mut parser = Parser::new(TOOLS, options.clone()).unwrap();
    let mut frames = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut |frame: Frame<'_>| frames.push(own(frame)));
    }
    parser.finish(ending, &mut |frame: Frame<'_>| frames.push(own(frame)));
    frames
}

fn parse(reply: &str) -> Vec<Seen> {
    join(parse_with(&Options::default(), [reply], Ending::Complete))
}

fn chars(reply: &str) -> impl Iterator<Item = &str> {
    reply.split_inclusive(|_| true)
}

/// Return the bytes of the reply that a frame accounts for.
fn raw(frame: &Seen) -> &str {
    match frame {
        Text(raw) | Reasoning(raw) | Discarded(raw, _) | Fabricated(_, raw) | End { raw, .. } => {
            raw
        }
        Start(..) | Delta(..) => "",
    }
}

/// Check the laws that hold for every reply and every split of it.
fn check_laws(options: &Options, reply: &str, cuts: &[usize], ending: Ending) {
    let whole = parse_with(options, [reply], ending);
    let all: String = whole.iter().map(raw).collect();
    assert_eq!(all, reply, "something was lost or moved");
    let whole = join(whole);
    let mut open: Option<(usize, String)> = None;
    let mut next = 0;
    for frame in &whole {
        match frame {
            Start(index, _) => {
                assert!(open.is_none() && *index == next, "{whole:?}");
                next += 1;
                open = Some((*index, String::new()));
            }
            Delta(index, fragment) => {
                let open = open.as_mut().expect("a delta belongs to an open call");
                assert_eq!(open.0, *index);
                open.1.push_str(fragment);
            }
            End { index, payload, raw, .. } => {
                let (started, fragments) = open.take().expect("a call starts before it ends");
                assert_eq!((started, &fragments), (*index, payload));
                assert!(raw.contains(payload.as_str()));
            }
            _ => assert!(open.is_none() || matches!(frame, Discarded(_, Discard::TooLarge))),
        }
    }
    assert!(open.is_none());
    let mut at = 0;
    let mut chunks = Vec::new();
    for &cut in cuts {
        let mut cut = (at + cut).min(reply.len());
        while !reply.is_char_boundary(cut) {
            cut += 1;
        }
        chunks.push(&reply[at..cut]);
        at = cut;
    }
    chunks.push(&reply[at..]);
    let cut = parse_with(options, chunks.iter().copied(), ending);
    for pair in cut.windows(2) {
        if let [Delta(_, fragment), Delta(_, next)] = pair {
            assert!(
                !splits_escape(fragment, next) || whole.iter().any(cut_short),
                "{fragment:?} in {reply:?}"
            );
        }
    }
    assert_eq!(join(cut), whole, "cut as {chunks:?}");
    assert_eq!(join(parse_with(options, chars(reply), ending)), whole, "cut into characters");
}

fn cut_short(frame: &Seen) -> bool {
    matches!(frame, End { outcome: Outcome::Unclosed | Outcome::TooLarge(_), .. })
}

/// Return true if an escape begins in `text` and goes on in `next`.
fn splits_escape(text: &str, next: &str) -> bool {
    let bytes = text.as_bytes();
    let slashes = |end: usize| bytes[..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
    if slashes(bytes.len()) % 2 == 1 {
        // Nothing is escaped by a backslash in front of a tag.
        return !next.starts_with('<');
    }
    (2..=5.min(bytes.len())).any(|back| {
        let at = bytes.len() - back;
        bytes[at] == b'\\'
            && bytes[at + 1] == b'u'
            && bytes[at + 2..].iter().all(u8::is_ascii_hexdigit)
            && slashes(at) % 2 == 0
            && next.starts_with(|ch: char| ch.is_ascii_hexdigit())
    })
}

/// Pieces that replies are made of, the nasty ones more often than in life.
const PIECES: &[&str] = &[
    "<GetWeather>",
    "</GetWeather>",
    "<Get>",
    "</Get>",
    "<Get/>",
    "<Get >",
    "< Get>",
    "<Unknown>",
    "<tool_call name=\"GetWeather\">",
    "<tool_call name='get'>",
    "<tool_call name=Sleep id=1>",
    "<tool_call name=\"nope\">",
    "<tool_call name=\"Get\"/>",
    "<tool_call>",
    "</tool_call>",
    "</tool_call >",
    "<tool_response name=\"Get\">",
    "</tool_response>",
    "<tool_response/>",
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "<a/b>",
    "</a/b>",
    "<Émoji>",
    "</Émoji>",
    "<math.factorial>",
    "</math.factorial>",
    "<summary>",
    "</summary>",
    "<summary/>",
    "<",
    "</",
    ">",
    "<G",
    "etWeather>",
    "<tool_",
    "call",
    "{}",
    "{",
    "}",
    "{\"city\": \"Oslo\"}",
    "{\"a\": [1, -0.0, 1e5, null, true], \"b\": {}}",
    "{\"a\": \"",
    "\"}",
    "\"",
    ":",
    ",",
    "[",
    "]",
    "{'a': 'b'}",
    "{a: ",
    "{label}",
    "{\"a\": 1}, {\"b\": 2}",
    "{\"a\": 1,}",
    "{\"a\": \"x\ny\"}",
    "{\"a\": \"</GetWeather>\"}",
    "{\"a\": \"</tool_call>\n\"}",
    "{\"a\": \"\n</GetWeather>\n",
    "\\",
    "\\\\",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\u12",
    "\\x",
    "```",
    "```json",
    "``````````````````````````````````````````",
    "```json\n",
    "```jsx\n",
    "\n```\n",
    "``",
    "`",
    "~~~",
    "\n",
    "\r\n",
    " ",
    "    ",
    "\t",
    "text",
    "a < b",
    "é",
    "😀",
    "nul",
    "true",
    "12",
    "-",
    "// c\n",
    "---",
];

fn reply() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat())
}

/// Generate mostly valid replies: complete calls with unusual text in between.
fn plausible() -> impl Strategy<Value = String> {
    let open = select(vec![
        ("<GetWeather>", "</GetWeather>"),
        ("<Get>", "</Get>"),
        ("\n<Get>", "</Get>"),
        ("<summary>", "</summary>"),
        ("<tool_call name=\"Sleep\">", "</tool_call>"),
        ("<tool_call name=\"nope\">", "</tool_call>"),
    ]);
    let fence = select(vec![
        ("", ""),
        ("\n", "\n"),
        ("\n```json\n", "\n```\n"),
        ("```\n", "```"),
        ("\r\n```python\r\n", "\r\n```\r\n"),
    ]);
    let body = prop::collection::vec(select(PIECES), 0..6).prop_map(|p| p.concat());
    let close = any::<u8>();
    let call =
        (open, fence, body, close).prop_map(|((open, shut), (before, after), body, close)| {
            let body = match close % 4 {
                0 => body,
                1 => format!("{{\"a\": \"{body}\"}}"),
                _ => "{\"n\": 1}".into(),
            };
            let (after, shut) = match close / 4 % 4 {
                0 => ("", shut),
                1 => (after, ""),
                _ => (after, shut),
            };
            format!("{open}{before}{body}{after}{shut}")
        });
    let between = prop::collection::vec(select(PIECES), 0..3).prop_map(|pieces| pieces.concat());
    prop::collection::vec((call, between), 1..5)
        .prop_map(|parts| parts.into_iter().map(|(call, between)| call + &between).collect())
}

fn options() -> impl Strategy<Value = Options> {
    (
        any::<bool>(),
        select(vec![16, 40, 512]),
        select(vec![1, 2, 128]),
        select(vec![8, 30, 1 << 20]),
    )
        .prop_map(|(code, max_tag_bytes, max_depth, max_argument_bytes)| Options {
            in_code: if code { InCode::Call } else { InCode::Text },
            limits: Limits { max_depth, max_argument_bytes, max_tag_bytes, ..Limits::default() },
            ..Options::default()
        })
}

proptest! {
    #![proptest_config(crate::effort::cases(1500))]

    #[test]
    fn the_laws_hold_for_any_reply(
        reply in reply(),
        cuts in prop::collection::vec(1usize..9, 0..40),
        truncated: bool,
    ) {
        let ending = if truncated { Ending::Truncated } else { Ending::Complete };
        check_laws(&Options::default(), &reply, &cuts, ending);
    }

    #[test]
    fn the_laws_hold_for_plausible_replies(
        reply in plausible(),
        cuts in prop::collection::vec(1usize..40, 0..40),
        truncated: bool,
    ) {
        let ending = if truncated { Ending::Truncated } else { Ending::Complete };
        check_laws(&Options::default(), &reply, &cuts, ending);
    }

    #[test]
    fn the_laws_hold_under_tight_limits(
        options in options(),
        reply in prop_oneof![reply(), plausible()],
        cuts in prop::collection::vec(1usize..20, 0..40),
    ) {
        check_laws(&options, &reply, &cuts, Ending::Complete);
    }

    #[test]
    fn the_laws_hold_for_any_text(
        reply in "(?s)[<>/`~{}\"\\\\ntGe _=' \n\ré]{0,60}",
        cuts in prop::collection::vec(1usize..5, 0..40),
    ) {
        check_laws(&Options::default(), &reply, &cuts, Ending::Complete);
    }
}

/// Return replies that would take a careless parser quadratic time.
fn attacks(size: usize) -> Vec<(&'static str, String)> {
    let fill = |piece: &str| piece.repeat(size / piece.len() + 1);
    let after = |open: &str, piece: &str| format!("{open}{}", fill(piece));
    vec![
        ("text", fill("Some words, and a line.\n")),
        ("calls", fill("Now <Get>{\"a\": [1, \"b\"]}</Get> so.\n")),
        ("one string", after("<Get>{\"a\": \"", "line \\\"x\\\"\\n ")),
        ("one array", after("<Get>{\"a\": [", "{\"b\": 1.5, \"c\": null}, ")),
        ("angles", fill("<")),
        ("half tags", fill("<GetWeathe ")),
        ("opening tags", fill("<GetWeather>")),
        ("opening tags with a brace", fill("<GetWeather>{")),
        ("opening tags with a string", fill("<Get>{\"a\": \"")),
        ("named tags", fill("<tool_call name=\"Get\">")),
        ("named tags and prose", fill("<tool_call name=\"Get\"> x ")),
        ("tags and prose on lines", fill("\n<Get> x ")),
        ("tags and prose on lines, and their ends", fill("\n<Get> x </Get>")),
        ("long prose after tags", fill(&format!("\n<Get>{}", "x ".repeat(300)))),
        ("tags of pages", fill("<summary>")),
        ("tags of pages and expressions", fill("<summary>{x}</summary>")),
        ("tags of pages and half a key", fill(&format!("<summary>{{{}", "x".repeat(600)))),
        ("tags of pages and broken objects", fill("<summary>{x: 1,")),
        (
            "tags of pages and broken long objects",
            fill(&format!("<summary>{{x: {}", "y".repeat(600))),
        ),
        ("tags of pages and repaired objects", fill("<summary>{x: 1}</summary>")),
        ("tags of pages and half a string", after("<summary>{\"", "\\\"")),
        ("objects in one tag", after("<Get>", "{},")),
        ("objects in one named tag", after("<tool_call name='GET'>", "{\"a\": 1}\n")),
        ("objects and half a comma", fill(&format!("<Get>{{}},{}", " ".repeat(600)))),
        ("half named tags", fill("<tool_call name=\"")),
        ("closing tags", fill("</Get>")),
        ("empty calls", fill("<Get></Get>")),
        ("implicitly closed calls", fill("<Get>{}")),
        ("white space after a tag", after("<Get>", " \n")),
        ("white space after tags", fill(&format!("<Get>{}", " ".repeat(600)))),
        ("white space after payloads", fill(&format!("<Get>{{}}{}", " ".repeat(600)))),
        ("white space in a tag", after("<tool_call", " ")),
        ("closing tags in a string", after("<Get>{\"a\": \"", "</Get>")),
        ("half closing tags in a string", after("<Get>{\"a\": \"", "</Ge")),
        ("closing tags that end in white space", after("<Get>{\"a\": \"", "</Get\n\n\n")),
        ("closing tags on lines", after("<Get>{\"a\": \"", "\n  </Get> x")),
        ("lines of white space before closing tags", after("<Get>{\"a\": \"", "\n         </Get>")),
        ("strings that run on into calls", fill("<Get>{\"a\": \"x</Get> <Get>{\"a\": 1}</Get>")),
        ("backslashes", after("<Get>{\"a\": \"", "\\")),
        ("high surrogates", after("<Get>{\"a\": \"", "\\ud83d")),
        ("broken, then tags", after("<Get>{'a': '", "<GetW")),
        ("broken, then backslashes", after("<Get>{'a': '", "\\")),
        ("broken, then closing tags of others", after("<Get>{'a': '", "</Sleep>")),
        ("brackets", after("<Get>{\"a\": ", "[")),
        ("braces", after("<Get>", "{\"a\":")),
        ("backticks", fill("` `` ``` ")),
        ("long runs of backticks", fill("``````````````` \n")),
        ("fence lines", fill("```\n")),
        ("fence lines and white space", fill(&format!("```\n{}", " ".repeat(600)))),
        ("fences around what is no call", fill("```\n<Get>\n```json\n\n")),
        ("labels", fill("```aaaa")),
        ("results in sentences", fill("a <tool_response> </tool_respons ")),
        ("results on lines", fill("a <tool_response> b\n")),
        ("results", after("<tool_response name=\"Get\">", "</tool_respons")),
        ("reasoning", fill("<think></thin</think>")),
    ]
}

/// Check that the work for each reply grows like its length.
fn check_work(
    options: &Options,
    attacks: impl Fn(usize) -> Vec<(&'static str, String)>,
    size: usize,
    per_byte: usize,
) {
    // The work when a number of bytes is pushed, when all are, and at the end.
    let work = |chunks: &[&str], small: usize| {
        let mut parser = Parser::new(TOOLS, options.clone()).unwrap();
        let (mut pushed, mut done, mut once) = (0, 0, None);
        work::take();
        for chunk in chunks {
            parser.push(chunk, &mut |_: Frame<'_>| {});
            pushed += chunk.len();
            done += work::take();
            if pushed >= small {
                once = once.or(Some(done));
            }
        }
        parser.finish(Ending::Complete, &mut |_: Frame<'_>| {});
        (once.unwrap_or(done), done, done + work::take())
    };
    for ((name, small), (_, large)) in attacks(size).iter().zip(&attacks(2 * size)) {
        assert!(large.starts_with(small), "{name}");
        let characters: Vec<&str> = chars(large).collect();
        let (once, twice, most) = work(&characters, small.len());
        let whole = (work(&[small], small.len()).2, work(&[large], large.len()).2);
        let ratio = large.len() * 1000 / small.len();
        for (once, twice) in [(once, twice), whole] {
            // What is held back in the middle is worked on later.
            assert!(twice * 1000 <= once * (ratio + 200), "{name}: {once}, {twice}");
        }
        let most = most.max(whole.1);
        assert!(most <= large.len() * per_byte, "{name}: {most} for {}", large.len());
    }
}

#[test]
fn work_is_linear_in_the_length_of_the_reply() {
    check_work(&Options::default(), attacks, 20_000, 16);
}

#[test]
fn an_unclosed_string_does_not_swallow_the_next_call() {
    let reply = "<Get>{\"a\": \"1}</Get> and <Get>{\"a\": 1}</Get>";
    let ends: Vec<_> =
        parse(reply).into_iter().filter(|frame| matches!(frame, End { .. })).collect();
    let [End { outcome: Outcome::Broken, .. }, End { outcome, .. }] = &ends[..] else {
        panic!("{ends:?}")
    };
    assert_eq!(*outcome, Outcome::Whole { strict: true, implicit_close: false });
}

#[test]
fn endless_marks_are_not_buffered_without_bound() {
    for mark in ["`", "~"] {
        let reply = format!("{}\n<Get/>", mark.repeat(2000));
        let mut parser = Parser::new(TOOLS, Options::default()).unwrap();
        for piece in chars(&reply) {
            parser.push(piece, &mut |_: Frame<'_>| {});
            let buffered = parser.buffered();
            assert!(buffered <= 2 * Limits::default().max_tag_bytes, "{buffered}");
        }
        check_laws(&Options::default(), &reply, &[7, 600, 1, 1300], Ending::Complete);
        assert!(parse(&reply).iter().any(|frame| matches!(frame, End { .. })), "{mark}");
    }
}
