//! Properties that hold for all bodies.

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    super::{BodyFormat, Event, Limits, read},
    LIMITS, body, joined, parsing, text_chunk, text_of,
};

/// Generate valid and invalid pieces of bodies.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let line_end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let text = prop_oneof![
        prop::sample::select(vec![
            "<Add>",
            "{\"a\": 1}",
            "</Add>",
            "<",
            "Add",
            "é😀",
            "\u{0}",
            "\\"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    let event = (text, line_end.clone(), any::<bool>()).prop_map(|(text, end, ascii)| {
        let mut json = text_chunk(&text).to_string();
        if ascii {
            json = json.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00");
        }
        format!("data: {json}{end}{end}").into_bytes()
    });
    let other = prop::sample::select(vec![
        &b": waiting\n\n"[..],
        b"\n",
        b"\r",
        b"\r\n",
        b"data: ",
        b"data",
        b": ",
        b"data: {}\n\n",
        b"data: {\"choices\": [{\"finish_reason\": \"stop\"}]}\n\n",
        b"data: {\"usage\": {\"prompt_tokens\": 3}}\n\n",
        b"data: {\"error\": \"x\"}\n\n",
        b"data: [DONE]\n\n",
        b"{\"choices\":",
        b"\xff",
        b"\xc3",
        "\u{feff}".as_bytes(),
    ]);
    prop_oneof![8 => event, 1 => (other, line_end).prop_map(|(bytes, _)| bytes.to_vec())]
}

fn cut<'b>(body: &'b [u8], widths: &[usize]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut rest = body;
    for width in widths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*width).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

proptest! {
    #[test]
    fn the_events_do_not_depend_on_the_chunking(
        body in prop::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat()),
        widths in prop::collection::vec(1_usize..40, 1..6),
        (line, limit) in (60_usize..400, 200_u64..2000),
        parsed in any::<Option<bool>>(),
    ) {
        let limits = Limits { line, body: limit };
        let parsing = || parsed.map(parsing);
        let (events, done) = joined(&[&body], limits, parsing());
        let (same, same_done) = joined(&cut(&body, &widths), limits, parsing());
        prop_assert_eq!(&events, &same);
        prop_assert_eq!(done.as_ref().err().map(|f| f.kind), same_done.err().map(|f| f.kind));
        let finishes = events.iter().filter(|event| matches!(event, Event::Finish { .. })).count();
        prop_assert_eq!(finishes, usize::from(done.is_ok()));
    }

    #[test]
    fn no_text_is_lost(
        texts in prop::collection::vec("\\PC{0,8}", 0..10),
        widths in prop::collection::vec(1_usize..40, 1..6),
    ) {
        let chunks: Vec<_> = texts.iter().map(|text| text_chunk(text)).collect();
        let body = body(&chunks);
        let (events, done) = joined(&cut(body.as_bytes(), &widths), LIMITS, None);
        prop_assert_eq!(done, Ok(()));
        prop_assert_eq!(text_of(&events), texts.concat());
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        body in prop::collection::vec(any::<u8>(), 0..400),
        form in prop::sample::select(vec![BodyFormat::Events, BodyFormat::Document]),
    ) {
        let mut log: Vec<Event> = Vec::new();
        let pieces = body.chunks(9).map(Bytes::copy_from_slice);
        let _ = read("m", form, pieces, LIMITS, Some(parsing(true)), &mut log);
    }
}
