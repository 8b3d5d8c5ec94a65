//! JSON text to `serde_json` values, as deep as a parser may let it be.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

/// Read text whose depth has been bounded by whoever found it.
pub(super) fn parse(json: &str) -> serde_json::Result<Value> {
    let mut reader = Deserializer::from_str(json);
    // `serde_json` stops one level short of the 128 that a parser may allow.
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}
