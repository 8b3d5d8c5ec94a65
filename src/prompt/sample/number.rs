//! Sampling of numbers within their bounds.

use std::cmp::Reverse;

use serde_json::Value;

use super::{Sampler, conjunction::Conjunction};

/// The largest number, in units; the sampler ignores larger ones.
const MAX_UNITS: i128 = 10_i128.pow(32);

impl Sampler<'_, '_> {
    /// Draw a number; `variant` selects among the possible ones.
    pub(super) fn number(
        &mut self,
        conjunction: &Conjunction<'_>,
        integer: bool,
        variant: usize,
    ) -> Option<Value> {
        // Numbers are exact, in units that divide all bounds, and sixteenths of their distance.
        let numbers = |keyword| {
            let texts = conjunction.all(keyword).filter_map(Value::as_number);
            texts.filter_map(|number| decimal(number.as_str()))
        };
        let keywords = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"];
        let decimals = keywords.into_iter().flat_map(numbers).map(|(_, decimals)| decimals).max();
        let scale = decimals.unwrap_or(0).max(0) + 4;
        let one = power(scale)?;
        let units = |keyword| {
            numbers(keyword).filter_map(move |(digits, decimals)| {
                let units = digits.checked_mul(power(scale - decimals)?)?;
                (units.checked_abs()? <= MAX_UNITS).then_some(units)
            })
        };
        // The flag is true if the bound itself is excluded.
        let lower = units("minimum").map(|at| (at, false));
        let lower = lower.chain(units("exclusiveMinimum").map(|at| (at, true))).max();
        let upper = units("maximum").map(|at| (at, false));
        let upper = upper
            .chain(units("exclusiveMaximum").map(|at| (at, true)))
            .min_by_key(|(at, excluded)| (*at, Reverse(*excluded)));
        let mut step = integer.then_some(one);
        for units in units("multipleOf").filter(|units| *units > 0) {
            step = Some(step.map_or(Some(units), |step| common_multiple(step, units))?);
        }
        let (start, step) = match (step, lower, upper) {
            (Some(step), Some((at, excluded)), _) => {
                let at = at + i128::from(excluded);
                (at + (-at).rem_euclid(step), step)
            }
            (Some(step), None, Some((at, excluded))) => {
                let at = at - i128::from(excluded);
                let last = at - at.rem_euclid(step);
                if last < step { (last, -step) } else { (step, step) }
            }
            (Some(step), None, None) => (step, step),
            (None, Some((at, excluded)), upper) => {
                let step = upper.map_or(one, |(upper, _)| (upper - at) / 16);
                (at + i128::from(excluded) * step, step)
            }
            (None, None, Some((at, excluded))) => (at - i128::from(excluded) * one, -one),
            (None, None, None) => (one * 3 / 2, one),
        };
        // A `not` may exclude the first ones.
        let units = start + step * i128::try_from(variant + self.choose(4)).ok()?;
        let sign = if units < 0 { "-" } else { "" };
        let (whole, part) = (units.abs() / one, units.abs() % one);
        let text = format!("{sign}{whole}.{part:0width$}", width = scale.unsigned_abs() as usize);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        Some(Value::Number(text.parse().ok()?))
    }
}

/// Parse a JSON number as digits and the count of decimals among them; `None` if it is too long.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    (decimals <= 20).then_some((format!("{whole}{fraction}").parse().ok()?, decimals))
}

fn power(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

fn common_multiple(a: i128, b: i128) -> Option<i128> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b).filter(|multiple| *multiple <= MAX_UNITS)
}
