//! Number ranges, parsed from phrases.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::{compiled, typed};

const NUMBER: &str = r"(-?\d{1,15}(?:\.\d{1,6})?)";

fn pattern(before: &str) -> Regex {
    compiled(&format!("(?i){}", before.replace("NUMBER", NUMBER)))
}

/// A range such as "0 to 100" directly after the type, with or without brackets.
static AT_ONCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^[\s,:(\[]*NUMBER\s*%?\s*(?:and|to|through|,|–|—|-|\.\.\.?)\s*NUMBER")
});
/// A range such as "between 0 and 100" anywhere.
static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:between|from|range(?:\s+of)?|ranging from)[\s:(\[]*NUMBER\s*%?\s*(?:and|to|through|,|–|—|-|\.\.\.?)\s*NUMBER",
    )
});
static AT_LEAST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:\b(?:at least|min(?:imum)?(?:\s+of)?|no(?:t)? (?:less|fewer) than)\b:?|>=|≥)\s*NUMBER",
    )
});
static AT_MOST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:\b(?:at most|max(?:imum)?(?:\s+of)?|up to|no(?:t)? more than)\b:?|<=|≤)\s*NUMBER")
});
static MORE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[^\w]|\b)(?:(?:greater|more) than|above|over|>)\s*NUMBER"));
static LESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[^\w]|\b)(?:(?:less|fewer) than|below|under|<)\s*NUMBER"));
static POSITIVE: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?i)\bpositive\b"));
static NOT_NEGATIVE: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?i)\bnon-?negative\b"));

/// Return the schema of a number, from the words before and after the name of its type.
pub(super) fn number(is_whole: bool, sign: &str, rest: &str) -> Map<String, Value> {
    let mut schema = typed(if is_whole { "integer" } else { "number" });
    let limits = limits(sign, rest);
    if can_be_met(&limits, is_whole) {
        schema
            .extend(limits.into_iter().map(|(keyword, limit)| (keyword.to_owned(), limit.into())));
    }
    schema
}

fn limits(sign: &str, rest: &str) -> Vec<(&'static str, Number)> {
    let first = |pattern: &Regex| pattern.captures(rest)?[1].parse::<Number>().ok();
    let ranges = [&AT_ONCE, &BETWEEN];
    if let Some(found) = ranges.iter().find_map(|pattern| pattern.captures(rest))
        && let (Ok(low), Ok(high)) = (found[1].parse(), found[2].parse())
    {
        return vec![("minimum", low), ("maximum", high)];
    }
    let mut limits = Vec::new();
    let not_negative = NOT_NEGATIVE.is_match(sign) || NOT_NEGATIVE.is_match(rest);
    let positive = POSITIVE.is_match(sign) || POSITIVE.is_match(rest);
    if let Some(limit) = first(&AT_LEAST) {
        limits.push(("minimum", limit));
    } else if let Some(limit) = first(&MORE) {
        limits.push(("exclusiveMinimum", limit));
    } else if not_negative {
        limits.push(("minimum", 0.into()));
    } else if positive {
        limits.push(("exclusiveMinimum", 0.into()));
    }
    if let Some(limit) = first(&AT_MOST) {
        limits.push(("maximum", limit));
    } else if let Some(limit) = first(&LESS) {
        limits.push(("exclusiveMaximum", limit));
    }
    limits
}

/// Return true if any number satisfies the limits. Otherwise the phrase was misread.
fn can_be_met(limits: &[(&'static str, Number)], is_whole: bool) -> bool {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut is_open = false;
    for (keyword, limit) in limits {
        let Some(limit) = limit.as_f64() else { return false };
        match *keyword {
            "minimum" if is_whole => low = limit.ceil(),
            "exclusiveMinimum" if is_whole => low = limit.floor() + 1.0,
            "maximum" if is_whole => high = limit.floor(),
            "exclusiveMaximum" if is_whole => high = limit.ceil() - 1.0,
            "minimum" => low = limit,
            "maximum" => high = limit,
            "exclusiveMinimum" => (low, is_open) = (limit, true),
            _ => (high, is_open) = (limit, true),
        }
    }
    if is_open { low < high } else { low <= high }
}
