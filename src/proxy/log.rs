//! The log: a line of JSON for each event, on standard error.

use std::{
    io::{self, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};

/// The log of a proxy. It has no keys, and nothing of what clients and models write.
#[derive(Debug)]
pub(super) struct Log {
    is_on: bool,
}

impl Log {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// Write a line.
    pub(super) fn write(&self, event: &str, fields: Map<String, Value>) {
        if !self.is_on {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut line = Map::new();
        line.insert("time".to_owned(), now.as_secs_f64().into());
        line.insert("event".to_owned(), event.into());
        line.extend(fields);
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        // There is no place to report that the log cannot be written.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
