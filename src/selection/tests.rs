//! Properties of parsing and ranking.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{score::score, *};
use crate::{cpu_time::cpu_time, registry::structure};

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
    fn numbers_are_scores_in_every_form(number in 0_u32..=1000) {
        let expected = f64::from(number) / 10.0;
        for written in [
            json!(expected),
            json!(format!("{expected}")),
            json!(format!("{expected:.1}")),
            json!(format!(" {expected} %\n")),
            json!(format!("{expected:e}")),
        ] {
            let says_percent = written.as_str().is_some_and(|text| text.contains('%'));
            if !says_percent && expected > 0.0 && expected < 1.0 {
                let is_error = matches!(score(&written, false), Err(ScoreError::Fraction { .. }));
                prop_assert!(is_error, "{}", written);
                prop_assert_eq!(score(&written, true), Ok(100.0 * expected));
            } else {
                prop_assert_eq!(score(&written, false), Ok(expected));
            }
        }
        for written in ["about {}%", "~{} percent", "{} / 100", "{} out of 100", "approx. {} of 100"] {
            let written = json!(written.replace("{}", &expected.to_string()));
            prop_assert_eq!(score(&written, false), Ok(expected.min(100.0)), "{}", written);
        }
    }

    #[test]
    fn scores_are_from_0_to_100_or_errors_with_a_reason(value in value()) {
        match score(&value, false) {
            Ok(score) => {
                prop_assert!((0.0..=100.0).contains(&score) && score.is_sign_positive());
                prop_assert!(value.is_number() || value.is_string());
            }
            Err(error) => prop_assert!(error.to_string().starts_with("the score is ")),
        }
    }

    #[test]
    fn any_text_can_be_parsed(reply in any::<String>()) {
        let reading = reader().read(&reply);
        prop_assert_eq!(reading.score.is_err() || !reading.violations.is_empty(), reading.error().is_some());
    }

    #[test]
    fn text_around_an_object_makes_no_difference(
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
    fn a_truncated_reply_gives_no_other_values(
        members in prop::collection::vec(("[a-c]|score", value()), 1..4)
            .prop_map(|members| members.into_iter().collect::<Map<_, _>>()),
        pretty in any::<bool>(),
    ) {
        let reader = reader();
        let reply = Value::Object(members);
        let whole = reader.read_value(reply.clone());
        let text = if pretty { format!("{reply:#}") } else { reply.to_string() };
        for (end, _) in text.char_indices() {
            let truncated = reader.read(&text[..end]);
            prop_assert!(truncated.score.is_err() || truncated.score == whole.score, "{}", &text[..end]);
            if truncated.error().is_none() {
                for (name, value) in &truncated.parameters {
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

/// Generate tools, each with a specificity and an optional score.
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
    batches: &[Vec<usize>],
) -> RankingResult {
    let names = (0..tools.len()).map(|number| number.to_string());
    let policy = Policy { early_stop, fallback: Some(fallback.to_string()), ..Policy::default() };
    let specificity = tools.iter().map(|(_, specificity)| *specificity).collect();
    let mut ranking = Ranking::new(names, policy).unwrap().with_specificity(specificity).unwrap();
    for batch in batches {
        if ranking.offer(batch.iter().map(|at| (*at, tools[*at].0))).unwrap() {
            break;
        }
    }
    ranking.finish()
}

/// Generate batches of tools, in some order.
fn batches(tools: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let order = Just((0..tools).collect::<Vec<_>>()).prop_shuffle();
    (order, prop::collection::vec(1_usize..4, tools)).prop_map(|(order, widths)| {
        let mut rest = order.as_slice();
        let mut batches = Vec::new();
        for width in widths {
            let (batch, others) = rest.split_at(width.min(rest.len()));
            batches.push(batch.to_vec());
            rest = others;
        }
        batches
    })
}

proptest! {
    #[test]
    fn the_same_scores_give_the_same_result_in_every_order(
        (tools, one, other) in tools().prop_flat_map(|tools| {
            let (one, other) = (batches(tools.len()), batches(tools.len()));
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
        (tools, batches) in tools().prop_flat_map(|tools| {
            let batches = batches(tools.len());
            (Just(tools), batches)
        }),
        fallback in 0_usize..8,
    ) {
        let result = decide(&tools, None, fallback, &batches);
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
fn invalid_outcomes_and_limits_are_errors() {
    let mut ranking = Ranking::new(["a", "b"], Policy::default()).unwrap();
    assert!(!ranking.offer([(0, Some(f64::NAN))]).unwrap());
    let refused = [ranking.offer([(2, None)]), ranking.offer([(0, Some(1.0))])];
    assert_eq!(
        refused.map(|result| result.unwrap_err().to_string()),
        [
            "position must be less than 2, the number of tools, got 2",
            "the tool at position 0 already has an outcome",
        ]
    );
    let policy = Policy { threshold: f64::NAN, ..Policy::default() };
    let error = Ranking::new(["a"], policy).unwrap_err();
    assert_eq!(error.to_string(), "threshold must be a finite number, got NaN");
    let error = ranking.with_specificity(vec![1]).unwrap_err();
    assert_eq!(error.to_string(), "specificity must have one value for each of 2 tools, got 1");
}

#[test]
fn one_irreparable_parameter_does_not_prevent_other_repairs() {
    let whole = reader().read(r#"{"c": [false], "score": 0, "a": []}"#);
    assert_eq!(Value::from(whole.parameters), json!({"c": ["false"], "a": []}));
    assert_eq!(whole.violations.len(), 1);
    assert_eq!(whole.repairs.len(), 1);
}

#[test]
fn each_outcome_takes_constant_time() {
    const TOOLS: usize = 200_000;
    let names = (0..TOOLS).map(|number| number.to_string());
    let mut ranking =
        Ranking::new(names, Policy { early_stop: None, ..Policy::default() }).unwrap();
    let (used, ()) = cpu_time(|| {
        for position in 0..TOOLS {
            ranking.offer([(position, Some(75.0))]).unwrap();
        }
        assert_eq!(ranking.finish().winner, Some(0));
    });
    // With a comparison to all others for each outcome, this would take minutes.
    assert!(used.as_secs() < 20);
}

#[test]
fn long_replies_are_rejected_and_nested_ones_parsed_in_linear_time() {
    let reader = reader();
    let long = format!("{{\"score\": 85, \"a\": \"{}\"}}", "x".repeat(MAX_REPLY_BYTES));
    assert_eq!(reader.read(&long).score, Err(ScoreError::TooLong { limit: MAX_REPLY_BYTES }));
    let (used, ()) = cpu_time(|| {
        for piece in ["{", "{\"a\":", "[", "{\"a\": 1} ", "{'", "{\"a\":\"", "```{", "{}", "\\\""] {
            let reply = piece.repeat(MAX_REPLY_BYTES / piece.len());
            assert!(reader.read(&reply).score.is_err(), "{piece}");
        }
    });
    assert!(used.as_secs() < 20);
    let members: Map<_, _> = (0..10_000).map(|number| (format!("k{number}"), json!(1))).collect();
    assert_eq!(reader.read_value(members.into()).ignored.len(), 10_000);
}
