//! Sampling of numbers within their bounds.

use serde_json::{Number, Value};

use super::{Sampler, conjunction::Conjunction, decimal::Decimal};

/// A bound, inclusive or exclusive.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: Decimal,
    inclusive: bool,
}

impl Sampler<'_, '_> {
    /// Draw a number; `variant` selects among the possible ones.
    pub(super) fn number(
        &mut self,
        conjunction: &Conjunction<'_>,
        integer: bool,
        variant: usize,
    ) -> Option<Value> {
        let lower =
            bound(conjunction, "minimum", "exclusiveMinimum", |new, old| old.less_than(new));
        let upper = bound(conjunction, "maximum", "exclusiveMaximum", Decimal::less_than);
        // A `not` may exclude the first ones.
        let variant = i128::try_from(variant + self.choose(4)).ok()?;
        let number = match step(conjunction, integer)? {
            Step::Of(step) => multiple(step, lower, upper, variant)?,
            Step::None => between(lower, upper, variant)?,
        };
        Some(Value::Number(number.to_json().parse::<Number>().ok()?))
    }
}

/// Return the tightest bound set by the two keywords.
fn bound(
    conjunction: &Conjunction<'_>,
    inclusive: &str,
    exclusive: &str,
    is_tighter: impl Fn(Decimal, Decimal) -> Option<bool>,
) -> Option<Bound> {
    let mut tightest: Option<Bound> = None;
    let mut tighten = |value: &Value, inclusive: bool| {
        let Value::Number(number) = value else { return };
        let Some(at) = Decimal::parse(number.as_str()) else { return };
        let is_tighter = match tightest {
            None => true,
            Some(known) => is_tighter(at, known.at) == Some(true) || (at == known.at && !inclusive),
        };
        if is_tighter {
            tightest = Some(Bound { at, inclusive });
        }
    };
    for part in &conjunction.parts {
        // In draft 4, the exclusive keyword is a flag.
        let is_flagged = part.get(exclusive) == Some(&Value::Bool(true));
        if let Some(value) = part.get(inclusive) {
            tighten(value, !is_flagged);
        }
        if let Some(value) = part.get(exclusive) {
            tighten(value, false);
        }
    }
    tightest
}

/// The step between possible numbers.
enum Step {
    None,
    Of(Decimal),
}

/// Return the smallest step that satisfies all parts; `None` if it cannot be computed.
fn step(conjunction: &Conjunction<'_>, integer: bool) -> Option<Step> {
    let mut step = if integer { Step::Of(Decimal::ONE) } else { Step::None };
    for multiple_of in conjunction.all("multipleOf") {
        let Value::Number(number) = multiple_of else { continue };
        let multiple_of = Decimal::parse(number.as_str()).filter(|number| number.is_positive())?;
        step = Step::Of(match step {
            Step::Of(known) => known.common_multiple(multiple_of)?,
            Step::None => multiple_of,
        });
    }
    Some(step)
}

fn multiple(
    step: Decimal,
    lower: Option<Bound>,
    upper: Option<Bound>,
    variant: i128,
) -> Option<Decimal> {
    let Some(lower) = lower else {
        let Some(upper) = upper else { return step.plus(step.times(variant)?) };
        let mut last = upper.at.down_to_multiple(step)?;
        if !upper.inclusive && !last.less_than(upper.at)? {
            last = last.minus(step)?;
        }
        let first = if last.less_than(step)? { last } else { step };
        let forth = first.plus(step.times(variant)?)?;
        return if last.less_than(forth)? {
            first.minus(step.times(variant)?)
        } else {
            Some(forth)
        };
    };
    let mut first = lower.at.up_to_multiple(step)?;
    if !lower.inclusive && !lower.at.less_than(first)? {
        first = first.plus(step)?;
    }
    first.plus(step.times(variant)?)
}

fn between(lower: Option<Bound>, upper: Option<Bound>, variant: i128) -> Option<Decimal> {
    let away = |bound: Bound| Decimal::ONE.times(variant + i128::from(!bound.inclusive));
    match (lower, upper) {
        (None, None) => Decimal::PLAIN.plus(Decimal::ONE.times(variant)?),
        (Some(lower), None) => lower.at.plus(away(lower)?),
        (None, Some(upper)) => upper.at.minus(away(upper)?),
        (Some(lower), Some(upper)) => {
            let steps = variant + i128::from(!lower.inclusive);
            let part = upper.at.minus(lower.at)?.times(steps % 16)?.sixteenth()?;
            lower.at.plus(part)
        }
    }
}
