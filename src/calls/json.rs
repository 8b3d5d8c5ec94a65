//! Parsing of JSON text into `serde_json` values, to the depth that a parser allows.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// Parse text whose depth the caller has checked.
pub(super) fn parse(json: &str) -> serde_json::Result<Value> {
    let mut reader = Deserializer::from_str(json);
    // `serde_json` stops one level short of the 128 that a parser may allow.
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}
