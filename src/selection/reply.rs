//! The JSON object in a reply.
//!
//! Models are asked for JSON and mostly give it; some put it in a fence or between sentences,
//! some think aloud first, and small ones break its syntax.

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use super::score::{ScoreError, describe};
use crate::{
    message::{Repair, RepairKind},
    registry::structure::score_key,
    repair::repair_json,
};

/// How long a reply may be that is read.
pub const MAX_REPLY_BYTES: usize = 256 << 10;

/// How many braces in a reply are tried for an object that begins there. Each try may read to the
/// end of the reply, a few times.
const ATTEMPTS: usize = 16;

/// What models that think aloud put their thoughts in.
const THINK_TAGS: (&str, &str) = ("<think>", "</think>");

/// The members of an object, and what was mended for them.
pub(super) type ParsedObject = (Map<String, Value>, Vec<Repair>);

/// The object that a reply is or has in it: the first with a score, or else the first.
pub(super) fn object(reply: &str) -> Result<ParsedObject, ScoreError> {
    if reply.len() > MAX_REPLY_BYTES {
        return Err(ScoreError::TooLong { limit: MAX_REPLY_BYTES });
    }
    let text = without_reasoning(reply).trim().trim_start_matches('\u{feff}');
    if text.is_empty() {
        return Err(ScoreError::Empty);
    }
    let reason = match serde_json::from_str(text) {
        Ok(value) => return members(value).map(|members| (members, Vec::new())),
        Err(err) => err,
    };
    let mut first: Option<ParsedObject> = None;
    let mut at = 0;
    for attempt in 0..ATTEMPTS {
        let Some(brace) = text[at..].find('{') else { break };
        let rest = &text[at + brace..];
        // What closes a brace decides where to go on: an object within one that is broken, or
        // that the end of the reply cut off, is not the answer.
        let (found, length) = if let Some((members, length)) = prefix(rest) {
            (Some((members, Vec::new())), Some(length))
        } else {
            let length = balanced(rest);
            let whole = if attempt == 0 { repaired(text) } else { None };
            let part = || length.and_then(|length| repaired_object(&rest[..length]));
            (whole.or_else(part), length)
        };
        if let Some(found) = found {
            if has_score(&found.0) {
                return Ok(found);
            }
            first.get_or_insert(found);
        }
        let Some(length) = length else { break };
        at += brace + length;
    }
    first.ok_or_else(|| ScoreError::NotJson { reason: reason.to_string() })
}

/// What comes after the thoughts; nothing if they are never closed.
fn without_reasoning(reply: &str) -> &str {
    let (open, close) = THINK_TAGS;
    match reply.rfind(close) {
        Some(at) => &reply[at + close.len()..],
        None if reply.trim_start().starts_with(open) => "",
        None => reply,
    }
}

pub(super) fn members(value: Value) -> Result<Map<String, Value>, ScoreError> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(ScoreError::NotAnObject { found: describe(&other) }),
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

/// How many bytes of a text the brace that it begins with takes, up to the one that closes it.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            _ if in_string => {}
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn repaired(text: &str) -> Option<ParsedObject> {
    let repaired = repair_json(text)?;
    let mut reader = Deserializer::from_str(&repaired.text);
    let members = Map::deserialize(&mut reader).ok()?;
    Some((members, repaired.repairs))
}

/// A part of a reply, mended. If its strings or brackets have to be closed, it was no part.
fn repaired_object(part: &str) -> Option<ParsedObject> {
    let closed = |repair: &Repair| repair.kind != RepairKind::MissingCloser;
    repaired(part).filter(|(_, repairs)| repairs.iter().all(closed))
}
