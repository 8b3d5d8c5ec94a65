//! Mending arguments: broken JSON, and JSON of the wrong type.
//!
//! [`repair_json`] brings text that should be one JSON object to JSON, and
//! [`coerce()`] brings a value to the types that its schema declares. Both only do
//! what is certain, invent no value and drop none that says anything, and record every change as
//! a [`Repair`]; where that is not enough they answer `None`. [`coerce_partially`] does what can be
//! done for a value that cannot be brought to fit.
//!
//! ```
//! use toolweave::{message::RepairKind, repair::repair_json};
//!
//! let mended = repair_json("{city: 'Paris', days: [1, 2,],}").expect("mendable");
//! assert_eq!(mended.text, r#"{"city": "Paris", "days": [1, 2]}"#);
//! assert_eq!(mended.repairs[0].kind, RepairKind::BareKey);
//! assert_eq!(mended.repairs[0].path, "/city");
//! ```

mod ignored;
mod convert;
mod coerce;
mod frames;
mod schemas;
mod lookahead;
mod repairer;
mod scalar;
mod string;
#[cfg(test)]
mod tests;
mod types;

pub use self::coerce::{Coerced, coerce, coerce_partially};

use crate::message::{Repair, RepairKind};

use self::repairer::{Repairer, Mismatch};

/// JSON text, and what was done to make it so.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairedJson {
    /// One JSON value.
    pub text: String,
    /// Every change, in the order of the text. `before` and `after` are the beginning of what
    /// stood and stands there, as it is spelled.
    pub repairs: Vec<Repair>,
}

/// How deep mended JSON may be nested; deeper text is not mended.
pub const MAX_DEPTH: usize = 127;

/// Bring text that should be one JSON object (or array) to JSON; `None` if that takes guesses.
///
/// Text that is JSON comes back as it is. Otherwise all that is valid keeps its spelling: numbers,
/// escapes, the order of keys and repeated keys. A key without a value, half a literal, number or
/// escape is not completed and not dropped: it makes the text unmendable. A string that the end
/// of the text cuts off is closed, and so are the brackets around it.
///
/// Takes time in proportion to the text.
pub fn repair_json(text: &str) -> Option<RepairedJson> {
    if is_json(text) {
        return Some(RepairedJson { text: text.to_owned(), repairs: Vec::new() });
    }
    let (first, mismatched) = Repairer::new(text, Mismatch::Replace).run();
    let found = if mismatched {
        // A bracket that does not match may be the wrong one, come after a missing one, or be
        // one too many. The rest of the text shows which: a wrong reading takes more repairs.
        let others = [Mismatch::Insert, Mismatch::Drop];
        let others = others.map(|reading| Repairer::new(text, reading).run().0);
        fewest_repairs(first.into_iter().chain(others.into_iter().flatten()))
    } else {
        first
    };
    found.filter(|repaired| is_json(&repaired.text))
}

/// Replace surrogate escapes without a partner by `\uFFFD` in text that is JSON otherwise; `None`
/// where there are none, or more is wrong than that.
pub fn replace_lone_surrogates(text: &str) -> Option<RepairedJson> {
    let repaired = repair_json(text)?;
    let only = repaired.repairs.iter().all(|repair| repair.kind == RepairKind::LoneSurrogate);
    (only && !repaired.repairs.is_empty()).then_some(repaired)
}

/// Return the reading with the fewest repairs; `None` if there are two.
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
