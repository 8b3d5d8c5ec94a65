//! Histories in the dialects of models.

use proptest::prelude::*;

use super::*;
use crate::parser::Evidence;

fn dialects() -> Vec<Dialect> {
    let all = writable().into_iter().filter_map(Dialect::named);
    all.filter(|dialect| *dialect != Dialect::NATURAL).collect()
}

fn in_dialect(dialect: Dialect, form: Form) -> Options {
    Options { form, dialect, ..Options::default() }
}

/// Return messages as a client sends them who knows nothing of notes.
fn bare(written: &[Message]) -> Vec<Message> {
    written.iter().map(|message| text(message.envelope.role, text_of(message))).collect()
}

#[test]
fn a_dialect_without_markup_is_refused() {
    let react = Dialect::named("react").unwrap();
    let options = in_dialect(react, Form::Turn);
    let error = consolidate(&[text(Role::User, "a")], &[], options).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("dialect \"react\" cannot be written"), "{message}");
    assert!(message.contains("natural, qwen3_coder, hermes, gemma4"), "{message}");
    assert_eq!(writable().len(), 18);
}

#[test]
fn results_of_a_round_share_a_message_in_the_order_of_the_calls() {
    for dialect in dialects() {
        let calls = vec![call("a", "f", json!({"x": 1})), call("b", "g", json!({}))];
        let results = vec![result("b", "g", "second"), result("a", "f", "first")];
        let history = [
            text(Role::User, "Go."),
            text(Role::Assistant, "I look."),
            message(Role::Assistant, Content::ToolCalls(calls)),
            message(Role::Tool, Content::ToolResults(results)),
            text(Role::User, "Thanks."),
        ];
        let written = consolidate(&history, &[], in_dialect(dialect, Form::Turn)).unwrap();
        let name = dialect.name;
        let roles: Vec<_> = written.iter().map(|message| message.envelope.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User], "{name}");
        assert!(text_of(&written[1]).starts_with("I look."), "{name}");
        let answer = text_of(&written[2]);
        assert!(answer.find("first") < answer.find("second"), "{name}: {answer}");
        assert!(answer.ends_with("\nThanks."), "{name}: {answer}");
    }
}

#[test]
fn ids_are_those_of_the_family() {
    let history = |ids: [&str; 3]| {
        let one = |id| aggregate(vec![call(id, "f", json!({}))], vec![result(id, "f", "1")]);
        ids.map(one)
    };
    let texts = |dialect: &str, ids| -> String {
        let options = in_dialect(Dialect::named(dialect).unwrap(), Form::Turn);
        let written = consolidate(&history(ids), &[], options).unwrap();
        written.iter().map(text_of).collect::<Vec<_>>().join("\n")
    };
    let kimi = texts("kimi_k2", ["functions.f:0", "x", "call_9"]);
    for index in 0..3 {
        assert_eq!(kimi.matches(&format!("functions.f:{index}")).count(), 2, "{kimi}");
    }
    let mistral = texts("mistral", ["Ab3dE6gH9", "call_1", "call_2"]);
    assert_eq!(mistral.matches("\"Ab3dE6gH9\"").count(), 2, "{mistral}");
    assert!(!mistral.contains("call_1"), "{mistral}");
}

#[test]
fn a_pending_result_keeps_its_place() {
    for dialect in dialects() {
        let second = ToolCall { index: 1, ..call("b", "f", json!({})) };
        let calls = vec![call("a", "f", json!({})), second];
        let history = [aggregate(calls, vec![result("b", "f", "second")])];
        let options = in_dialect(dialect, Form::Turn);
        let written = consolidate(&history, &[], options).unwrap();
        let answer = text_of(&written[1]);
        assert!(answer.find("pending") < answer.find("second"), "{answer}");
        let read = super::super::parse_history(&written, &[], &[dialect]).unwrap();
        assert_eq!(exchange(&read), exchange(&history));
    }
}

#[test]
fn text_that_has_been_changed_is_read_like_a_reply() {
    let hermes = Dialect::named("hermes").unwrap();
    let history =
        [aggregate(vec![call("a", "f", json!({"x": "1"}))], vec![result("a", "f", "ok")])];
    let mut written = consolidate(&history, &[], in_dialect(hermes, Form::Turn)).unwrap();
    let changed = text_of(&written[0]).replace("\"1\"", "\"2\"");
    written[0].content = Content::Text(changed);
    let tools = [FunctionContract::new("f").unwrap()];
    let read = super::super::parse_history(&written, &tools, &[hermes]).unwrap();
    let (calls, _) = exchange(&read);
    assert_eq!(calls[0].arguments, json!({"x": "2"}));
    assert_eq!(calls[0].id, "call_0");
}

#[test]
fn a_client_cannot_pass_calls_off_as_results() {
    for dialect in dialects() {
        let history = [aggregate(vec![call("a", "f", json!({}))], vec![])];
        let mut written = consolidate(&history, &[], in_dialect(dialect, Form::Turn)).unwrap();
        // The text of a reply with all its notes, sent as the user's.
        written[0].envelope.role = Role::User;
        let again = consolidate(&written[..1], &[], in_dialect(dialect, Form::Turn)).unwrap();
        let read = super::super::parse_history(&again, &[], &[dialect]).unwrap();
        assert_eq!(exchange(&read).0, [], "{}", dialect.name);
    }
}

fn hostile() -> impl Strategy<Value = String> {
    let markers = dialects().into_iter().filter_map(|dialect| dialect.writing);
    let mut pieces: Vec<String> =
        markers.flat_map(|writing| writing.markers).map(|text| (*text).to_owned()).collect();
    // Whole calls as well.
    for dialect in dialects() {
        let history =
            [aggregate(vec![call("a", "f", json!({"x": 1}))], vec![result("a", "f", "1")])];
        let written = consolidate(&history, &[], in_dialect(dialect, Form::Turn)).unwrap();
        pieces.extend(written.iter().map(|message| text_of(message).to_owned()));
    }
    pieces.extend(
        ["\n", " ", "&", "&lt;", "&#91;", "amp;", "lt;", "f", "{", "}", ">", "\""]
            .map(str::to_owned),
    );
    let piece = prop_oneof![
        6 => prop::sample::select(pieces),
        1 => any::<char>().prop_map(|ch| ch.to_string()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::effort::cases(64))]

    #[test]
    fn foreign_text_never_becomes_a_call(texts in prop::collection::vec(hostile(), 3)) {
        let tools = [FunctionContract::new("f").unwrap()];
        for dialect in dialects() {
            let history = [
                text(Role::User, &texts[0]),
                aggregate(vec![call("a", "g", json!({"x": 1}))], vec![result("a", "g", &texts[1])]),
                text(Role::User, &texts[2]),
            ];
            let written = consolidate(&history, &tools, in_dialect(dialect, Form::Turn)).unwrap();
            for sent in [written.clone(), bare(&written)] {
                let read = super::super::parse_history(&sent, &tools, &[dialect]).unwrap();
                let (calls, results) = exchange(&read);
                prop_assert!(calls.iter().all(|call| call.name == "g"), "{}: {calls:?}", dialect.name);
                prop_assert!(results.len() <= 1, "{}: {results:?}", dialect.name);
            }
            let read = super::super::parse_history(&written, &tools, &[dialect]).unwrap();
            prop_assert_eq!(exchange(&read), exchange(&history));
        }
    }

    #[test]
    fn quoted_calls_of_the_assistant_stay_text(quoted in hostile()) {
        let tools = [FunctionContract::new("f").unwrap()];
        for dialect in dialects() {
            let history = [text(Role::Assistant, &quoted)];
            let written = consolidate(&history, &tools, in_dialect(dialect, Form::Turn)).unwrap();
            let read = super::super::parse_history(&written, &tools, &[dialect]).unwrap();
            prop_assert_eq!(exchange(&read).0, []);
            // What is a call by its shape alone is known as text by its notes alone.
            let marked = |block: &&crate::parser::Block| block.evidence == Evidence::Marked;
            let is_marked = dialect.blocks.iter().filter(marked).count() == dialect.blocks.len();
            if is_marked {
                let read = super::super::parse_history(&bare(&written), &tools, &[dialect]).unwrap();
                prop_assert_eq!(exchange(&read).0, []);
            }
        }
    }
}
