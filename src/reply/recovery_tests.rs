//! Calls in the text of a reply to a request with native tools.

use super::{Fragment, Options, Reader};
use crate::parser::{self, Ending, Frame, Parser};

/// Return what a reader reports: texts, and the name and origin of calls.
fn report(frame: &Frame<'_>) -> Option<(String, Option<bool>)> {
    match frame {
        Frame::Text(text) => Some(((*text).to_owned(), None)),
        Frame::CallStart { name, recovered, .. } => Some(((*name).to_owned(), Some(*recovered))),
        Frame::CallEnd(found) => Some((found.payload.to_owned(), Some(found.recovered))),
        _ => None,
    }
}

#[test]
fn only_calls_in_the_text_are_recovered_and_text_stays_before_native_calls() {
    let parser = Parser::new(["Get"], parser::Options::default()).unwrap();
    let options = Options { inline: true, recovered: true, deltas: false };
    let mut reader = Reader::new(parser, options);
    let mut seen = Vec::new();
    let mut sink = |frame: Frame<'_>| seen.extend(report(&frame));
    reader.text("<Get>{}</Get>1 <", &mut sink);
    let (name, arguments) = (Some("Get"), Some("{\"a\": 1}"));
    reader.fragment(Fragment { id: Some("a"), index: Some(0), name, arguments }, &mut sink);
    reader.text("2", &mut sink);
    reader.flush_text(&mut sink);
    reader.finish(Ending::Complete, &mut sink);
    let expected = [
        ("Get", Some(true)),
        ("{}", Some(true)),
        ("1 ", None),
        ("<", None),
        ("Get", Some(false)),
        ("2", None),
        ("{\"a\": 1}", Some(false)),
    ];
    let seen: Vec<_> = seen.iter().map(|(text, origin)| (text.as_str(), *origin)).collect();
    assert_eq!(seen, expected);
}
