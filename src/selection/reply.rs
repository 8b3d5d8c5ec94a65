//! The JSON object in a reply.
//!
//! Models are asked for JSON and mostly give it; some put it in a fence or between sentences,
//! some think aloud first, and small ones break its syntax.

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use super::score::{ScoreError, said};
use crate::{message::Repair, registry::structure::score_key, repair::mend_json};

/// How long a reply may be that is read.
pub const MAX_REPLY_BYTES: usize = 256 << 10;

/// How many braces in a reply are tried for an object that begins there. Each try may read to the
/// end of the reply.
const ATTEMPTS: usize = 16;

/// What models that think aloud put their thoughts in.
const THOUGHTS: (&str, &str) = ("<think>", "</think>");

/// The members of an object, and what was mended for them.
pub(super) type Found = (Map<String, Value>, Vec<Repair>);

/// The object that a reply is or has in it: the first with a score, or else the first.
pub(super) fn object(reply: &str) -> Result<Found, ScoreError> {
    if reply.len() > MAX_REPLY_BYTES {
        return Err(ScoreError::TooLong { limit: MAX_REPLY_BYTES });
    }
    let text = without_thoughts(reply).trim().trim_start_matches('\u{feff}');
    if text.is_empty() {
        return Err(ScoreError::Empty);
    }
    let reason = match serde_json::from_str(text) {
        Ok(value) => return members(value).map(|members| (members, Vec::new())),
        Err(err) => err,
    };
    let braces = text.match_indices('{').map(|(at, _)| at).take(ATTEMPTS);
    let mut first = None;
    let mut end = 0;
    for (attempt, at) in braces.enumerate() {
        // Not the objects within one that was found already.
        if at < end {
            continue;
        }
        if let Some((found, length)) = prefix(&text[at..]) {
            end = at + length;
            if has_score(&found) {
                return Ok((found, Vec::new()));
            }
            first.get_or_insert((found, Vec::new()));
        }
        if attempt == 0 {
            // Before those within a broken object pass for it.
            if let Some(mended) = mended(text)
                && (has_score(&mended.0) || first.is_none())
            {
                if has_score(&mended.0) {
                    return Ok(mended);
                }
                first = Some(mended);
            }
        }
    }
    first.ok_or_else(|| ScoreError::NotJson { reason: reason.to_string() })
}

/// What comes after the thoughts; nothing if they are never closed.
fn without_thoughts(reply: &str) -> &str {
    let (open, close) = THOUGHTS;
    match reply.rfind(close) {
        Some(at) => &reply[at + close.len()..],
        None if reply.trim_start().starts_with(open) => "",
        None => reply,
    }
}

pub(super) fn members(value: Value) -> Result<Map<String, Value>, ScoreError> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(ScoreError::NotAnObject { found: said(&other) }),
    }
}

fn has_score(members: &Map<String, Value>) -> bool {
    score_key(members.keys().map(String::as_str)).is_some()
}

/// The object that a text begins with, and how many bytes it takes.
fn prefix(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut values = Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let members = values.next()?.ok()?;
    Some((members, values.byte_offset()))
}

fn mended(text: &str) -> Option<Found> {
    let mended = mend_json(text)?;
    let mut reader = Deserializer::from_str(&mended.text);
    let members = Map::deserialize(&mut reader).ok()?;
    Some((members, mended.repairs))
}
