//! Frames: they do not depend on the chunking, and every byte is in exactly one of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use toolweave::parser::{
    Dialect, Dialects, Discard, Ending, Excess, FoundCall, Frame, InCode, Limits, Options, Outcome,
    Parser, Sink,
};

use inputs::Input;

const TOOLS: [&[&str]; 4] = [
    &["GetWeather", "Get", "math.factorial", "a/b", "Émoji", "Sleep", "summary"],
    &["a", "ab", "abc", "A", "tool", "tool_", "tool_call2", "thin"],
    &["getweather", "GetWeather", "GETWEATHER", "Get", "get"],
    &[],
];

fuzz_target!(|data: &[u8]| {
    let mut input = Input::read(data);
    let tools = input.knob(&TOOLS);
    let ending = input.knob(&[Ending::Complete, Ending::Truncated]);
    let options = Options {
        dialects: Dialects::Named(vec![Dialect::NATURAL]),
        in_code: input.knob(&[InCode::Text, InCode::Call]),
        limits: Limits {
            max_tag_bytes: input.knob(&[512, 16, 40]),
            max_depth: input.knob(&[128, 1, 2, 5]),
            max_argument_bytes: input.knob(&[1 << 20, 8, 30, 200]),
            ..Limits::default()
        },
        ..Options::default()
    };
    let quiet = Options { deltas: false, ..options.clone() };
    let reply = input.text.as_str();

    let setting = Setting { tools, limits: options.limits, ending };
    let mut parser = Parser::new(tools.iter().copied(), options).expect("the tools are fine");
    let whole = setting.parse(&mut parser, reply, &[reply]);
    let cut = input.cut(reply);
    assert_eq!(setting.parse(&mut parser, reply, &cut), whole, "cut as {cut:?}");
    let chars: Vec<_> = reply.split_inclusive(|_| true).collect();
    assert_eq!(setting.parse(&mut parser, reply, &chars), whole, "cut into characters");

    let mut parser = Parser::new(tools.iter().copied(), quiet).expect("the tools are fine");
    let quiet = setting.parse(&mut parser, reply, &cut);
    let expected: Vec<_> =
        whole.into_iter().filter(|part| !matches!(part, Part::Delta(..))).collect();
    // Parts separated by a delta are adjacent now.
    assert_eq!(quiet, merged(expected), "without deltas");
});

/// A frame, or several consecutive ones of a kind.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Reasoning(String),
    Start(usize, String),
    Delta(usize, String),
    End { index: usize, name: String, raw: String, payload: String, outcome: Outcome, lone: bool },
    Discarded(Discard, String),
    Fabricated(Option<String>, String),
}

impl Part {
    /// Merge `next`, if the two parts were one piece; otherwise return it.
    fn take(&mut self, next: Self) -> Option<Self> {
        let (head, tail) = match (self, next) {
            (Self::Text(head), Self::Text(tail))
            | (Self::Reasoning(head), Self::Reasoning(tail)) => (head, tail),
            (Self::Delta(a, head), Self::Delta(b, tail)) if *a == b => (head, tail),
            (
                Self::Discarded(Discard::TooLarge, head),
                Self::Discarded(Discard::TooLarge, tail),
            ) => (head, tail),
            (_, next) => return Some(next),
        };
        head.push_str(&tail);
        None
    }
}

fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        let rest = match merged.last_mut() {
            Some(last) => last.take(part),
            None => Some(part),
        };
        merged.extend(rest);
    }
    merged
}

/// The settings that a witness needs.
struct Setting<'s> {
    tools: &'s [&'s str],
    limits: Limits,
    ending: Ending,
}

impl Setting<'_> {
    /// Return the parts of one reply, each checked when it is emitted.
    fn parse(&self, parser: &mut Parser, reply: &str, chunks: &[&str]) -> Vec<Part> {
        let mut witness =
            Witness { setting: self, reply, at: 0, calls: 0, open: None, parts: Vec::new() };
        let mut fed = 0;
        for chunk in chunks {
            parser.push(chunk, &mut witness);
            fed += chunk.len();
            assert_eq!(witness.at + parser.buffered(), fed, "what is not reported is held");
            witness.check_held(&reply[witness.at..fed]);
        }
        parser.finish(self.ending, &mut witness);
        assert_eq!(witness.at, reply.len(), "the end was lost");
        assert!(witness.open.is_none(), "a call never ended");
        assert_eq!(parser.buffered(), 0);
        merged(witness.parts)
    }
}

/// An open call.
struct Open {
    name: String,
    payload: String,
    /// The boundaries of its fragments.
    seams: Vec<usize>,
}

/// A checker of the frames of a reply.
struct Witness<'w> {
    setting: &'w Setting<'w>,
    reply: &'w str,
    /// The end of the checked part of the reply.
    at: usize,
    calls: usize,
    open: Option<Open>,
    parts: Vec<Part>,
}

impl Sink for Witness<'_> {
    fn take(&mut self, frame: Frame<'_>) {
        let part = match frame {
            Frame::Text(text) => {
                self.pass(text);
                Part::Text(text.to_owned())
            }
            Frame::Reasoning(text) => {
                self.pass(text);
                Part::Reasoning(text.to_owned())
            }
            Frame::CallStart { index, name, .. } => {
                assert_eq!(index, self.calls, "calls are counted");
                assert!(self.open.is_none(), "one call at a time");
                self.calls += 1;
                let (name, payload, seams) = (name.to_owned(), String::new(), Vec::new());
                self.open = Some(Open { name: name.clone(), payload, seams });
                Part::Start(index, name)
            }
            Frame::CallDelta { index, fragment } => {
                let open = self.open.as_mut().expect("a fragment belongs to an open call");
                assert_eq!(index + 1, self.calls);
                assert!(!fragment.is_empty());
                open.payload.push_str(fragment);
                open.seams.push(open.payload.len());
                Part::Delta(index, fragment.to_owned())
            }
            Frame::CallEnd(found) => self.end(&found),
            Frame::Discarded { raw, reason } => {
                self.pass(raw);
                Part::Discarded(reason, raw.to_owned())
            }
            Frame::Fabricated { name, raw } => {
                self.pass(raw);
                Part::Fabricated(name.map(str::to_owned), raw.to_owned())
            }
        };
        self.parts.push(part);
    }
}

impl Witness<'_> {
    /// Check that these are the next bytes of the reply.
    fn pass(&mut self, raw: &str) {
        assert!(!raw.is_empty(), "a frame about nothing");
        assert!(self.open.is_none(), "nothing comes between the start and the end of a call");
        assert!(self.reply[self.at..].starts_with(raw), "{raw:?} is not at {}", self.at);
        self.at += raw.len();
    }

    fn end(&mut self, found: &FoundCall<'_>) -> Part {
        let open = self.open.take().expect("a call starts before it ends");
        self.pass(found.raw);
        let &FoundCall { index, tool, name, written, raw, payload, outcome, .. } = found;
        assert_eq!(index + 1, self.calls);
        assert_eq!(open.name, name);
        let own_tag = raw.starts_with('<');
        if own_tag {
            assert!(raw.contains(written));
        } else {
            // Another object in the tag of the previous call.
            let object = raw.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}', ',']);
            assert!(object.starts_with('{') && self.calls > 1, "{raw:?}");
            let last = self.parts.iter().rev().find_map(|part| match part {
                Part::End { name, .. } => Some(name.as_str()),
                _ => None,
            });
            assert_eq!(last, Some(name));
        }
        match tool {
            Some(tool) => assert_eq!(self.setting.tools[tool], name),
            None => assert!(!self.setting.tools.contains(&written), "{written:?} is known"),
        }
        let tag = if own_tag { raw.find(['>', '/']).expect("a tag ends") } else { 0 };
        let inner = &raw[tag..];
        assert!(inner.contains(payload), "{payload:?} is not in {raw:?}");
        if !open.seams.is_empty() {
            assert_eq!(open.payload, payload, "fragments add up to the payload");
        }
        self.check_outcome(found);
        if matches!(outcome, Outcome::Whole { .. }) {
            for escape in escapes(payload) {
                let cut = open.seams.iter().find(|&&seam| escape.start < seam && seam < escape.end);
                assert_eq!(cut, None, "an escape was cut: {:?}", &payload[escape]);
            }
        }
        Part::End {
            index,
            name: name.to_owned(),
            raw: raw.to_owned(),
            payload: payload.to_owned(),
            outcome,
            lone: found.lone_surrogates,
        }
    }

    /// Compare the parser's outcome for a payload with a JSON parser's.
    fn check_outcome(&self, found: &FoundCall<'_>) {
        let limits = self.setting.limits;
        let payload = found.payload;
        let is_object = payload.starts_with('{') && is_json(payload);
        match found.outcome {
            Outcome::Empty => assert_eq!(payload.trim(), ""),
            Outcome::Whole { strict, implicit_close } => {
                assert!(payload.starts_with('{') && payload.ends_with('}'), "{payload:?}");
                assert!(payload.len() <= limits.max_argument_bytes, "too large");
                assert!(depth(payload) <= limits.max_depth, "too deep");
                assert_eq!(strict, is_object, "{payload:?}");
                if strict {
                    let lone = value(payload).is_none();
                    assert_eq!(found.lone_surrogates, lone, "{payload:?}");
                }
                let last = self.at == self.reply.len();
                if implicit_close && last {
                    assert_eq!(self.setting.ending, Ending::Complete, "an open call was completed");
                }
            }
            Outcome::Broken => assert!(!is_object, "{payload:?} is not broken"),
            Outcome::Prose => assert!(
                !payload.trim_start_matches(['\t', '\n', '\r', ' ']).starts_with('{'),
                "{payload:?}"
            ),
            Outcome::Unclosed => {
                if self.setting.ending == Ending::Complete {
                    assert!(!is_object, "{payload:?} could be closed");
                }
            }
            Outcome::TooLarge(Excess::Bytes) => {
                assert!(found.raw.len() > limits.max_argument_bytes);
            }
            Outcome::TooLarge(Excess::Depth) => {
                assert!(depth(payload) >= limits.max_depth, "{payload:?}");
            }
        }
    }

    /// Check that text is held back only while it could begin a tag.
    fn check_held(&self, held: &str) {
        let in_call = match self.parts.last() {
            Some(Part::End { outcome: Outcome::TooLarge(_), .. }) => true,
            Some(Part::Discarded(reason, _)) => *reason == Discard::TooLarge,
            _ => self.open.is_some(),
        };
        if in_call || held.is_empty() || held.starts_with("<tool_response") {
            return;
        }
        assert!(held.starts_with(['<', '`', '~']), "{held:?} is held");
        let most = 8 * self.setting.limits.max_tag_bytes;
        assert!(held.len() <= most, "{} bytes are held: {held:?}", held.len());
    }
}

/// Return true if `text` is JSON; lone surrogates are allowed.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Return the value of a JSON text, unless it contains lone surrogates.
fn value(text: &str) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).ok()
}

/// Return the maximum nesting depth of brackets outside of strings.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Return the ranges of the escapes in a payload; a surrogate pair is one.
fn escapes(payload: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = payload.as_bytes();
    let unit = |at: usize| {
        let digits = payload.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut escapes, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let length = match (bytes[at], unit(at)) {
            (b'\\', Some(0xd800..0xdc00)) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => 12,
            (b'\\', Some(_)) => 6,
            (b'\\', None) => 2,
            _ => 1,
        };
        if length > 1 {
            escapes.push(at..at + length);
        }
        at += length;
    }
    escapes
}
