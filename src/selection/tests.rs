//! The laws of reading and ranking.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{score::score, *};
use crate::registry::structure;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[0-9.%a ]{0,6}".prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[a-c]|[sS]core|SCORE", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn reader() -> ReplyReader {
    let structure = json!({
        "score": "integer between 0 and 100",
        "a": "the a",
        "b": "integer from 0 to 9",
        "c": "list of strings",
    });
    ReplyReader::new(&structure::schema(&structure)).unwrap()
}

proptest! {
    #[test]
    fn a_number_is_a_score_in_every_spelling(number in 0_u32..=1000) {
        let wanted = f64::from(number) / 10.0;
        for parsed in [
            json!(wanted),
            json!(format!("{wanted}")),
            json!(format!("{wanted:.1}")),
            json!(format!(" {wanted} %\n")),
            json!(format!("{wanted:e}")),
        ] {
            let says_percent = parsed.as_str().is_some_and(|text| text.contains('%'));
            if !says_percent && wanted > 0.0 && wanted < 1.0 {
                let share = matches!(score(&parsed, false), Err(ScoreError::Fraction { .. }));
                prop_assert!(share, "{}", parsed);
                prop_assert_eq!(score(&parsed, true), Ok(100.0 * wanted));
            } else {
                prop_assert_eq!(score(&parsed, false), Ok(wanted));
            }
        }
        for parsed in ["about {}%", "~{} percent", "{} / 100", "{} out of 100", "approx. {} of 100"] {
            let parsed = json!(parsed.replace("{}", &wanted.to_string()));
            prop_assert_eq!(score(&parsed, false), Ok(wanted.min(100.0)), "{}", parsed);
        }
    }

    #[test]
    fn a_score_is_from_0_to_100_or_a_failure_with_a_reason(value in value()) {
        match score(&value, false) {
            Ok(score) => {
                prop_assert!((0.0..=100.0).contains(&score) && score.is_sign_positive());
                prop_assert!(value.is_number() || value.is_string());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("the score is ")),
        }
    }

    #[test]
    fn any_text_gives_a_reading(reply in any::<String>()) {
        let reading = reader().read(&reply);
        prop_assert_eq!(reading.score.is_err() || !reading.violations.is_empty(), reading.error().is_some());
    }

    #[test]
    fn what_is_around_a_reply_makes_no_difference(
        members in value().prop_filter_map("an object", |value| match value {
            Value::Object(members) => Some(members),
            _ => None,
        }),
        before in "[a-z .:\n]{0,12}",
        after in "[a-z .:\n]{0,12}",
    ) {
        let reader = reader();
        let reply = Value::Object(members);
        let plain = reader.read(&reply.to_string());
        prop_assert_eq!(&reader.read_value(reply.clone()), &plain);
        for text in [
            format!("{before}\n{reply}\n{after}"),
            format!("{before}\n```json\n{reply:#}\n```\n{after}"),
            format!("<think>{{\"score\": 1}}</think>{reply}"),
        ] {
            prop_assert_eq!(&reader.read(&text), &plain, "{}", text);
        }
    }

    #[test]
    fn no_beginning_of_a_reply_says_what_the_whole_does_not(
        members in prop::collection::vec(("[a-c]|score", value()), 1..4)
            .prop_map(|members| members.into_iter().collect::<Map<_, _>>()),
        pretty in any::<bool>(),
    ) {
        let reader = reader();
        let reply = Value::Object(members);
        let whole = reader.read_value(reply.clone());
        let text = if pretty { format!("{reply:#}") } else { reply.to_string() };
        for (end, _) in text.char_indices() {
            let begun = reader.read(&text[..end]);
            prop_assert!(begun.score.is_err() || begun.score == whole.score, "{}", &text[..end]);
            if begun.error().is_none() {
                for (name, value) in &begun.parameters {
                    prop_assert_eq!(Some(value), whole.parameters.get(name), "{}", &text[..end]);
                }
            }
        }
    }

    #[test]
    fn every_member_of_a_reply_is_accounted_for(value in value()) {
        let members = value.as_object().cloned().unwrap_or_default();
        let reading = reader().read_value(Value::Object(members.clone()));
        let score = structure::score_key(members.keys().map(String::as_str));
        for name in members.keys() {
            let places = usize::from(reading.parameters.contains_key(name))
                + usize::from(reading.ignored.contains(name))
                + usize::from(score == Some(name.as_str()));
            prop_assert_eq!(places, 1, "{}", name);
        }
        prop_assert!(reading.parameters.keys().all(|name| members.contains_key(name)));
    }

    #[test]
    fn parameters_without_violations_fit(value in value()) {
        let reader = reader();
        let members = value.as_object().cloned().unwrap_or_default();
        let reading = reader.read_value(Value::Object(members));
        let parameters = Value::Object(reading.parameters);
        let validator = crate::validator::Validator::new(reader.parameter_schema()).unwrap();
        prop_assert_eq!(validator.is_valid(&parameters), reading.violations.is_empty());
    }
}

/// Tools with a score each or none, and how specific they are.
fn tools() -> impl Strategy<Value = Vec<(Option<f64>, i64)>> {
    let score = prop_oneof![
        1 => Just(None),
        4 => prop::sample::select(vec![0.0, 50.0, 69.9, 70.0, 80.0, 80.5, 90.0, 95.0, 100.0])
            .prop_map(Some),
    ];
    prop::collection::vec((score, 0_i64..3), 0..8)
}

fn decide(
    tools: &[(Option<f64>, i64)],
    early_stop: Option<f64>,
    fallback: usize,
    turns: &[Vec<usize>],
) -> RankingResult {
    let names = (0..tools.len()).map(|number| number.to_string());
    let policy = Policy { early_stop, fallback: Some(fallback.to_string()), ..Policy::default() };
    let specificity = tools.iter().map(|(_, specificity)| *specificity).collect();
    let mut ranking = Ranking::new(names, policy).unwrap().with_specificity(specificity).unwrap();
    for turn in turns {
        if ranking.offer(turn.iter().map(|at| (*at, tools[*at].0))).unwrap() {
            break;
        }
    }
    ranking.finish()
}

/// All tools in some order, a few in each turn.
fn turns(tools: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let order = Just((0..tools).collect::<Vec<_>>()).prop_shuffle();
    (order, prop::collection::vec(1_usize..4, tools)).prop_map(|(order, widths)| {
        let mut rest = order.as_slice();
        let mut turns = Vec::new();
        for width in widths {
            let (turn, others) = rest.split_at(width.min(rest.len()));
            turns.push(turn.to_vec());
            rest = others;
        }
        turns
    })
}

proptest! {
    #[test]
    fn the_same_scores_give_the_same_result_in_every_order(
        (tools, one, other) in tools().prop_flat_map(|tools| {
            let (one, other) = (turns(tools.len()), turns(tools.len()));
            (Just(tools), one, other)
        }),
        fallback in 0_usize..8,
    ) {
        let waited = decide(&tools, None, fallback, &one);
        prop_assert_eq!(&waited, &decide(&tools, None, fallback, &other));

        let stopped = decide(&tools, Some(90.0), fallback, &one);
        if stopped.reason == Reason::EarlyStop {
            prop_assert!(stopped.winner.and_then(|at| tools[at].0) >= Some(90.0));
        } else {
            prop_assert_eq!(stopped.winner, waited.winner);
        }
    }

    #[test]
    fn the_winner_is_first_and_no_score_is_better(
        (tools, turns) in tools().prop_flat_map(|tools| {
            let turns = turns(tools.len());
            (Just(tools), turns)
        }),
        fallback in 0_usize..8,
    ) {
        let result = decide(&tools, None, fallback, &turns);
        let mut positions = result.order.clone();
        positions.sort_unstable();
        prop_assert_eq!(positions, (0..tools.len()).collect::<Vec<_>>());
        let best = tools.iter().filter_map(|(score, _)| *score).fold(None, |best: Option<f64>, score| {
            Some(best.map_or(score, |best| best.max(score)))
        });
        if let Some(best) = best.filter(|best| *best >= 70.0) {
            prop_assert_eq!(result.reason, Reason::Threshold);
            prop_assert_eq!(result.winner, result.order.first().copied());
            let same = tools.iter().filter(|(score, _)| *score == Some(best)).count();
            prop_assert_eq!(result.ties.len() + 1, same);
        } else if fallback < tools.len() {
            prop_assert_eq!((result.winner, result.reason), (Some(fallback), Reason::Fallback));
        } else {
            prop_assert_eq!((result.winner, result.reason), (None, Reason::None));
        }
    }
}

#[test]
fn what_cannot_be_ranked_is_refused_with_a_sentence() {
    let mut ranking = Ranking::new(["a", "b"], Policy::default()).unwrap();
    assert!(!ranking.offer([(0, Some(f64::NAN))]).unwrap());
    let refused = [ranking.offer([(2, None)]), ranking.offer([(0, Some(1.0))])];
    assert_eq!(
        refused.map(|result| result.unwrap_err().to_string()),
        [
            "there is no tool at position 2; the last of 2 is at 1",
            "the tool at position 0 has an outcome already",
        ]
    );
    let policy = Policy { threshold: f64::NAN, ..Policy::default() };
    let error = Ranking::new(["a"], policy).unwrap_err();
    assert_eq!(error.to_string(), "threshold is a finite number, not NaN");
    let error = ranking.with_specificity(vec![1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 tools, but 1 values of specificity; there has to be one for each"
    );
}

#[test]
fn one_parameter_that_cannot_be_mended_keeps_no_other_from_it() {
    let whole = reader().read(r#"{"c": [false], "score": 0, "a": []}"#);
    assert_eq!(Value::from(whole.parameters), json!({"c": ["false"], "a": []}));
    assert_eq!(whole.violations.len(), 1);
    assert_eq!(whole.repairs.len(), 1);
}

#[test]
fn no_outcome_costs_more_than_another() {
    const TOOLS: usize = 200_000;
    let names = (0..TOOLS).map(|number| number.to_string());
    let mut ranking =
        Ranking::new(names, Policy { early_stop: None, ..Policy::default() }).unwrap();
    let begin = std::time::Instant::now();
    for position in 0..TOOLS {
        ranking.offer([(position, Some(75.0))]).unwrap();
    }
    assert_eq!(ranking.finish().winner, Some(0));
    // With a look at all others for each, this would be minutes.
    assert!(begin.elapsed().as_secs() < 20);
}

#[test]
fn a_long_reply_is_refused_and_a_nested_one_read_in_time() {
    let reader = reader();
    let long = format!("{{\"score\": 85, \"a\": \"{}\"}}", "x".repeat(MAX_REPLY_BYTES));
    assert_eq!(reader.read(&long).score, Err(ScoreError::TooLong { limit: MAX_REPLY_BYTES }));
    let begin = std::time::Instant::now();
    for piece in ["{", "{\"a\":", "[", "{\"a\": 1} ", "{'", "{\"a\":\"", "```{", "{}", "\\\""] {
        let reply = piece.repeat(MAX_REPLY_BYTES / piece.len());
        assert!(reader.read(&reply).score.is_err(), "{piece}");
    }
    assert!(begin.elapsed().as_secs() < 20);
    let members: Map<_, _> = (0..10_000).map(|number| (format!("k{number}"), json!(1))).collect();
    assert_eq!(reader.read_value(members.into()).ignored.len(), 10_000);
}
