//! The cost of visits to a value under a schema.
//!
//! A visit takes about ten nanoseconds. Slower operations count as several visits: reading a text,
//! depending on the states of patterns; computing with long numbers; copying the options of a
//! schema into an error.

use std::{borrow::Cow, ops::ControlFlow};

use serde_json::{Number, Value};

use super::{
    decimal::{Scale, scale_of},
    documents::Documents,
    patterns,
};

/// Number of bytes of text read in one visit.
pub(super) const BYTES: usize = 16;
/// Number of visits allowed for any value.
pub(crate) const MAX_VISITS: usize = 2_000_000;
/// Number of additional visits allowed for each value and for each [`BYTES`] of text.
const VISITS_PER_PART: usize = 32;
/// Number of visits allowed for an explanation.
const EXPLANATION_VISITS: usize = 200_000;
/// Number of pattern states that cost as much as one visit.
const STATES_PER_VISIT: usize = 32;
/// Length of a number up to which arithmetic costs one visit, in characters.
const CHEAP: usize = 64;
/// The same where the crate computes with fractions.
pub(super) const CHEAP_FRACTION: usize = 20;
/// Number of visits for a short fraction.
const FRACTION: usize = 8;

/// The cost of operations under one schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostModel {
    scale: Scale,
    /// Number of patterns for the names of members.
    name_patterns: usize,
    /// Maximum number of simultaneous states of a pattern.
    max_states: usize,
    /// True if a pattern needs backtracking.
    backtracks: bool,
    /// Number of values in the longest `enum` or `const`.
    listed: usize,
    /// True if names of members are validated like values.
    validates_names: bool,
}

impl CostModel {
    /// The cost model of a schema without expensive keywords.
    pub(crate) const PLAIN: Self = Self {
        scale: Scale::PLAIN,
        name_patterns: 0,
        max_states: 0,
        backtracks: false,
        listed: 0,
        validates_names: false,
    };

    pub(super) fn of(documents: Documents<'_>) -> Self {
        let mut cost_model =
            Self { backtracks: patterns::any_backtracks(documents), ..Self::PLAIN };
        for (_, document) in documents.iter() {
            scale_of(&mut cost_model.scale, "", document);
        }
        let _ = documents.walk::<()>(|member| {
            let max_states = member.patterns().map(patterns::max_states).max();
            cost_model.max_states = cost_model.max_states.max(max_states.unwrap_or(0));
            match (member.key, member.value) {
                ("patternProperties", Value::Object(parts)) => {
                    cost_model.name_patterns += parts.len();
                }
                ("enum" | "const", listed) => {
                    cost_model.listed = cost_model.listed.max(size(listed));
                }
                ("propertyNames", _) => cost_model.validates_names = true,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        cost_model
    }

    /// Return the number of visits allowed for a value of this weight.
    pub(super) fn verdict(weight: usize) -> usize {
        weight.saturating_mul(VISITS_PER_PART).saturating_add(MAX_VISITS)
    }

    /// Return the maximum number of visits for reading a text or a short number, for each unit of
    /// its weight.
    pub(super) fn reading(&self) -> usize {
        let text = self.max_states.saturating_mul(BYTES) / STATES_PER_VISIT;
        text.saturating_add(self.arithmetic(CHEAP_FRACTION)).saturating_add(4)
    }

    /// Return the number of visits allowed for an explanation. An error costs some thousand visits
    /// if the schema lists as many values, and several errors should be possible.
    pub(super) fn explanation(&self) -> usize {
        EXPLANATION_VISITS.max(self.error().saturating_mul(2))
    }

    /// Return true if a pattern needs backtracking.
    pub(crate) fn backtracks(&self) -> bool {
        self.backtracks
    }

    /// Return true if names of members are validated like values.
    pub(crate) fn validates_names(&self) -> bool {
        self.validates_names
    }

    /// Return the visits for a text of `bytes` bytes.
    pub(super) fn text(&self, bytes: usize) -> usize {
        let squares = if self.backtracks { bytes.saturating_mul(bytes) / 8 } else { 0 };
        1 + bytes / BYTES + bytes.saturating_mul(self.max_states) / STATES_PER_VISIT + squares
    }

    /// Return the visits for the name of a member.
    pub(super) fn name(&self, bytes: usize) -> usize {
        if self.name_patterns == 0 { 1 } else { 1 + self.name_patterns * self.text(bytes) }
    }

    /// Return the visits for an error.
    pub(super) fn error(&self) -> usize {
        1 + self.listed
    }

    /// Return the visits for computing with a number of this many digits.
    pub(super) fn arithmetic(&self, digits: usize) -> usize {
        match (self.scale.decimals(), self.scale.constant()) {
            (0, ..=CHEAP_FRACTION) if digits <= CHEAP => 0,
            (0, ..=CHEAP_FRACTION) => digits.saturating_mul(digits) / CHEAP,
            // Comparing fractions in lowest terms is more expensive than comparing integers, and so
            // is a long `const`, which the crate converts to a fraction each time.
            (decimals, constant) => match digits.max(decimals).max(constant) {
                ..=CHEAP_FRACTION => FRACTION,
                digits => digits.saturating_mul(digits) / 2,
            },
        }
    }

    /// Return a number to compute with in place of `number`, and the visits for it.
    pub(super) fn number<'a>(&self, number: &'a Number) -> (Cow<'a, Number>, usize) {
        let length = number.as_str().len();
        let short = self.scale.shorten(number);
        let arithmetic = self.arithmetic(short.as_str().len());
        (short, 1 + length / BYTES + arithmetic)
    }
}

/// Return the number of values in `value`, where long texts count as several. The depth has been
/// checked.
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
