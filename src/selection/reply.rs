//! Extraction of the JSON object in a reply.
//!
//! Models are asked for JSON and mostly send it; some put it in a code fence or between sentences,
//! some think aloud first, and small models make syntax errors.

use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use super::score::{ScoreError, describe};
use crate::{
    message::{Repair, RepairKind},
    registry::structure::score_key,
    repair::repair_json,
};

/// Maximum size of a reply, in bytes.
pub const MAX_REPLY_BYTES: usize = 256 << 10;

/// Maximum number of braces that are tried as the start of an object. Each attempt may scan the
/// rest of the reply a few times.
const ATTEMPTS: usize = 16;

/// The tags around the reasoning of models that think aloud.
const THINK_TAGS: (&str, &str) = ("<think>", "</think>");

/// The members of an object, and the repairs made to it.
pub(super) type ParsedObject = (Map<String, Value>, Vec<Repair>);

/// Extract the object of a reply: the first with a score, or else the first.
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
        // Continue after the matching brace: an object nested in one that is malformed or truncated
        // is not the answer.
        let (found, length) = if let Some((members, length)) = prefix(rest) {
            (Some((members, Vec::new())), Some(length))
        } else {
            let length = balanced(rest);
            let whole = if attempt == 0 { parse_repaired(text) } else { None };
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

/// Return the text after the reasoning; empty if the reasoning is never closed.
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

/// Parse the object that a text begins with, and return its length in bytes.
fn prefix(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut values = Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let members = values.next()?.ok()?;
    Some((members, values.byte_offset()))
}

/// Return the length of a text up to the brace that closes its first one.
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

fn parse_repaired(text: &str) -> Option<ParsedObject> {
    let repaired = repair_json(text)?;
    let mut reader = Deserializer::from_str(&repaired.text);
    let members = Map::deserialize(&mut reader).ok()?;
    Some((members, repaired.repairs))
}

/// Repair a part of a reply. A part with unclosed strings or brackets is not an object.
fn repaired_object(part: &str) -> Option<ParsedObject> {
    let closed = |repair: &Repair| repair.kind != RepairKind::MissingCloser;
    parse_repaired(part).filter(|(_, repairs)| repairs.iter().all(closed))
}
