//! Golden cases, which the Rust and Python suites share.

use serde_json::Value;

/// Return the cases of one file below `tests/cases`.
pub(crate) fn cases(path: &str) -> Vec<Value> {
    let path = format!("{}/tests/cases/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    serde_json::from_str(&text).expect(&path)
}
