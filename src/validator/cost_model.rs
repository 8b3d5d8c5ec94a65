//! How much a look at a value is worth under a schema.
//!
//! A look takes some ten nanoseconds. What takes longer is worth more of them: reading a text,
//! the more so where a pattern can keep many ways open; computing with long numbers; copying
//! what the schema lists into an error.

use std::{borrow::Cow, ops::ControlFlow};

use serde_json::{Number, Value};

use super::{
    decimal::{Scale, scale_of},
    documents::Documents,
    patterns,
};

/// How much text one look reads.
pub(super) const BYTES: usize = 16;
/// Number of looks that any verdict may take.
pub(crate) const MAX_VISITS: usize = 2_000_000;
/// Number of looks that more a verdict may take for each value and for each [`BYTES`] of text.
const VISITS_PER_PART: usize = 32;
/// Number of looks that an explanation may take.
const EXPLANATION_VISITS: usize = 200_000;
/// Number of ways that that a pattern keeps open cost as much as one look.
const STATES_PER_VISIT: usize = 32;
/// Number of characters that a number may have whose arithmetic is as cheap as a look.
const CHEAP: usize = 64;
/// The same where the crate computes with fractions.
pub(super) const CHEAP_FRACTION: usize = 20;
/// Number of looks that a short fraction costs.
const FRACTION: usize = 8;

/// What looks are worth under one schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostModel {
    scale: Scale,
    /// Number of patterns for the names of members.
    name_patterns: usize,
    /// Number of ways that a pattern may keep open at most.
    max_states: usize,
    /// True if a pattern is matched by stepping back.
    backtracks: bool,
    /// Number of values that the longest `enum` or `const` has.
    listed: usize,
    /// True if names of members are judged like values.
    validates_names: bool,
}

impl CostModel {
    /// That of a schema which asks for nothing.
    pub(crate) const PLAIN: Self = Self {
        scale: Scale::PLAIN,
        name_patterns: 0,
        max_states: 0,
        backtracks: false,
        listed: 0,
        validates_names: false,
    };

    pub(super) fn of(documents: Documents<'_>) -> Self {
        let mut cost_model = Self { backtracks: patterns::any_backtracks(documents), ..Self::PLAIN };
        for (_, document) in documents.iter() {
            scale_of(&mut cost_model.scale, "", document);
        }
        let _ = documents.walk::<()>(|member| {
            match (member.key, member.value) {
                ("pattern", Value::String(pattern)) => {
                    cost_model.max_states = cost_model.max_states.max(patterns::max_states(pattern));
                }
                ("patternProperties", Value::Object(parts)) => {
                    cost_model.name_patterns += parts.len();
                    let max_states =
                        parts.keys().map(|pattern| patterns::max_states(pattern)).max();
                    cost_model.max_states = cost_model.max_states.max(max_states.unwrap_or(0));
                }
                ("enum" | "const", listed) => cost_model.listed = cost_model.listed.max(size(listed)),
                ("propertyNames", _) => cost_model.validates_names = true,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        cost_model
    }

    /// Return the number of looks that a verdict on a value of this weight may take.
    pub(super) fn verdict(weight: usize) -> usize {
        weight.saturating_mul(VISITS_PER_PART).saturating_add(MAX_VISITS)
    }

    /// Return the number of looks that reading a text or a number that is short takes at most, for
    /// each unit of its weight.
    pub(super) fn reading(&self) -> usize {
        let text = self.max_states.saturating_mul(BYTES) / STATES_PER_VISIT;
        text.saturating_add(self.arithmetic(CHEAP_FRACTION)).saturating_add(4)
    }

    /// Return the number of looks that an explanation may take. An error costs some thousand if the
    /// schema lists as many values, and there should be a few.
    pub(super) fn explanation(&self) -> usize {
        EXPLANATION_VISITS.max(self.error().saturating_mul(2))
    }

    /// Return true if a pattern is matched by stepping back.
    pub(crate) fn backtracks(&self) -> bool {
        self.backtracks
    }

    /// Return true if names of members are judged like values.
    pub(crate) fn validates_names(&self) -> bool {
        self.validates_names
    }

    /// Look for a text of `bytes`.
    pub(super) fn text(&self, bytes: usize) -> usize {
        let squares = if self.backtracks { bytes.saturating_mul(bytes) / 8 } else { 0 };
        1 + bytes / BYTES + bytes.saturating_mul(self.max_states) / STATES_PER_VISIT + squares
    }

    /// Look for the name of a member.
    pub(super) fn name(&self, bytes: usize) -> usize {
        if self.name_patterns == 0 { 1 } else { 1 + self.name_patterns * self.text(bytes) }
    }

    /// Look for an error.
    pub(super) fn error(&self) -> usize {
        1 + self.listed
    }

    /// Look for computing with a number of so many digits.
    pub(super) fn arithmetic(&self, digits: usize) -> usize {
        match (self.scale.decimals(), self.scale.constant()) {
            (0, ..=CHEAP_FRACTION) if digits <= CHEAP => 0,
            (0, ..=CHEAP_FRACTION) => digits.saturating_mul(digits) / CHEAP,
            // Fractions are compared by their least terms, which is dearer than integers are. So
            // is a long `const`: the crate makes a fraction of it each time.
            (decimals, constant) => match digits.max(decimals).max(constant) {
                ..=CHEAP_FRACTION => FRACTION,
                digits => digits.saturating_mul(digits) / 2,
            },
        }
    }

    /// Return a number to compute with in the place of `number`, and the looks for it.
    pub(super) fn number<'a>(&self, number: &'a Number) -> (Cow<'a, Number>, usize) {
        let length = number.as_str().len();
        let short = self.scale.shorten(number);
        let arithmetic = self.arithmetic(short.as_str().len());
        (short, 1 + length / BYTES + arithmetic)
    }
}

/// Return the number of values in `value`, long texts counted as more. The depth is known to be
/// sane.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / BYTES,
        Value::Number(number) => 1 + number.as_str().len() / BYTES,
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            1 + members
                .iter()
                .map(|(key, member)| 1 + key.len() / BYTES + size(member))
                .sum::<usize>()
        }
        _ => 1,
    }
}
