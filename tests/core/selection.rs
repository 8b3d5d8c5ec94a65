//! Parsing of replies and ranking of tools, by golden cases.

use serde_json::{Value, json};
use toolweave::{
    registry::structure,
    selection::{Policy, Ranking, ReplyReader},
};

use crate::golden::cases;

#[test]
fn golden_replies_are_parsed() {
    for group in cases("selection/replies.json") {
        let reader = match &group["structure"] {
            Value::Null => ReplyReader::of_anything(),
            structure => ReplyReader::new(&structure::schema(structure)),
        };
        let reader = reader.unwrap();
        for case in group["replies"].as_array().unwrap() {
            let reading = reader.read(case["reply"].as_str().unwrap());
            let name = &case["name"];
            assert_eq!(reading.score.as_ref().ok().copied(), case["score"].as_f64(), "{name}");
            assert_eq!(reading.error(), case["error"].as_str().map(str::to_owned), "{name}");
            assert_eq!(json!(reading.parameters), case["parameters"], "{name}");
            assert_eq!(json!(reading.ignored), case["ignored"], "{name}");
            let kinds: Value = reading.repairs.iter().map(|repair| repair.kind.as_str()).collect();
            assert_eq!(kinds, case["repairs"], "{name}");
        }
    }
}

fn policy(options: &Value) -> Policy {
    let default = Policy::default();
    Policy {
        threshold: options["threshold"].as_f64().unwrap_or(default.threshold),
        early_stop: match options.get("early_stop") {
            Some(limit) => limit.as_f64(),
            None => default.early_stop,
        },
        fallback: match options.get("fallback") {
            Some(name) => name.as_str().map(str::to_owned),
            None => default.fallback,
        },
    }
}

#[test]
fn golden_rankings_are_decided() {
    for case in cases("selection/rankings.json") {
        let name = &case["name"];
        let tools = case["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap());
        let mut ranking = Ranking::new(tools, policy(&case["policy"])).unwrap();
        if let Value::Array(specificity) = &case["specificity"] {
            let specificity = specificity.iter().map(|value| value.as_i64().unwrap()).collect();
            ranking = ranking.with_specificity(specificity).unwrap();
        }
        let mut decided = Vec::new();
        for turn in case["turns"].as_array().unwrap() {
            let outcomes: Vec<(usize, Option<f64>)> = serde_json::from_value(turn.clone()).unwrap();
            decided.push(ranking.offer(outcomes).unwrap());
        }
        assert_eq!(json!(decided), case["decided"], "{name}");
        let result = ranking.finish();
        assert_eq!(json!(result.winner), case["winner"], "{name}");
        assert_eq!(json!(result.order), case["order"], "{name}");
        assert_eq!(result.reason.as_str(), case["reason"], "{name}");
        assert_eq!(json!(result.ties), case["ties"], "{name}");
    }
}
