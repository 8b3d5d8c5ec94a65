//! Repair of arguments: invalid JSON, and values of the wrong type.
//!
//! [`repair_json`] turns text that should be one JSON object into JSON, and [`coerce()`] converts a
//! value to the types that its schema declares. Both make only unambiguous changes, never invent or
//! lose information, and record every change as a [`Repair`]; if that is not enough they return
//! `None`. [`coerce_partially`] does what is possible for a value that remains invalid.
//!
//! ```
//! use toolweave::{message::RepairKind, repair::repair_json};
//!
//! let repaired = repair_json("{city: 'Paris', days: [1, 2,],}").expect("repairable");
//! assert_eq!(repaired.text, r#"{"city": "Paris", "days": [1, 2]}"#);
//! assert_eq!(repaired.repairs[0].kind, RepairKind::BareKey);
//! assert_eq!(repaired.repairs[0].path, "/city");
//! ```

mod coerce;
mod convert;
mod frames;
mod ignored;
mod lookahead;
mod partial;
mod repairer;
mod scalar;
mod schemas;
mod string;
#[cfg(test)]
mod tests;
mod types;

pub use self::{
    coerce::{Coerced, coerce, coerce_partially},
    partial::{Container, Edit, PartialReader, PartialSchema, PartialValue, Step},
};

use crate::message::{Repair, RepairKind};

use self::repairer::{Mismatch, Repairer};

/// Repaired JSON text, and the changes to it.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedJson {
    /// One JSON value.
    pub text: String,
    /// Every change, in the order of the text. `before` and `after` are the beginning of the text
    /// there.
    pub repairs: Vec<Repair>,
}

/// Maximum nesting depth of JSON that is repaired.
pub const MAX_DEPTH: usize = 127;

/// Repair text that should be one JSON object (or array); return `None` if that would take a guess.
///
/// Valid JSON is returned unchanged. Otherwise everything that is valid is kept as written:
/// numbers, escapes, the order of keys and repeated keys. A key without a value and an incomplete
/// literal, number or escape are neither completed nor dropped: such text cannot be repaired. A
/// string that is cut off at the end of the text is closed, and so are the containers around it.
///
/// The time is linear in the length of the text.
pub fn repair_json(text: &str) -> Option<RepairedJson> {
    if is_json(text) {
        return Some(RepairedJson { text: text.to_owned(), repairs: Vec::new() });
    }
    let (first, mismatched) = Repairer::new(text, Mismatch::Replace).run();
    let found = if mismatched {
        // A bracket that does not match may be wrong, follow a missing one, or be superfluous. The
        // rest of the text shows which: a wrong assumption takes more repairs.
        let others = [Mismatch::Insert, Mismatch::Drop];
        let others = others.map(|reading| Repairer::new(text, reading).run().0);
        fewest_repairs(first.into_iter().chain(others.into_iter().flatten()))
    } else {
        first
    };
    found.filter(|repaired| is_json(&repaired.text))
}

/// Replace surrogate escapes without a partner by `\uFFFD` in otherwise valid JSON. Return `None`
/// if there are none, or if the text has other defects.
pub fn replace_lone_surrogates(text: &str) -> Option<RepairedJson> {
    let repaired = repair_json(text)?;
    let only = repaired.repairs.iter().all(|repair| repair.kind == RepairKind::LoneSurrogate);
    (only && !repaired.repairs.is_empty()).then_some(repaired)
}

/// Return the candidate with the fewest repairs, or `None` if there is a tie.
fn fewest_repairs(readings: impl Iterator<Item = RepairedJson>) -> Option<RepairedJson> {
    let mut readings: Vec<_> = readings.collect();
    readings.sort_by_key(|repaired| repaired.repairs.len());
    let mut readings = readings.into_iter();
    let first = readings.next()?;
    let rival = readings.find(|other| other.text != first.text);
    let is_tie = rival.is_some_and(|other| other.repairs.len() == first.repairs.len());
    (!is_tie).then_some(first)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<ignored::IgnoredValue>(text).is_ok()
}
