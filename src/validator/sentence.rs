//! Building blocks of messages: quoted values, lists, locations.

use serde_json::Value;

/// Maximum length of a quoted value, in bytes of JSON.
pub(super) const MAX_QUOTED_BYTES: usize = 200;
/// Maximum number of values in a list.
const MAX_LISTED_VALUES: usize = 20;

/// Append one step to a JSON Pointer.
pub(super) fn push_step(path: &mut String, step: &str) {
    path.push('/');
    for ch in step.chars() {
        match ch {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            _ => path.push(ch),
        }
    }
}

/// Return the JSON of `value`, truncated if it is long.
pub(super) fn quote(value: &Value) -> String {
    let mut sink = Sink(Vec::new());
    // The only error is that the sink is full.
    let truncated = serde_json::to_writer(&mut sink, value).is_err();
    let mut text = String::from_utf8_lossy(&sink.0).into_owned();
    if truncated {
        while text.ends_with('\u{FFFD}') {
            text.pop();
        }
        text.push('…');
    }
    text
}

/// Return `value`, or the beginning of its JSON as a string if it is long.
pub(super) fn truncated(value: &Value) -> Value {
    let quoted = quote(value);
    if quoted.ends_with('…') && quoted.len() > MAX_QUOTED_BYTES {
        Value::String(quoted)
    } else {
        value.clone()
    }
}

/// A writer that accepts [`MAX_QUOTED_BYTES`] bytes.
struct Sink(Vec<u8>);

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = MAX_QUOTED_BYTES - self.0.len();
        if bytes.len() > room {
            self.0.extend_from_slice(&bytes[..room]);
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Format values as `"a", "b", "c"`, at most [`MAX_LISTED_VALUES`] of them.
pub(super) fn list<'a>(values: impl ExactSizeIterator<Item = &'a Value>) -> String {
    let more = values.len().saturating_sub(MAX_LISTED_VALUES);
    let text = values.take(MAX_LISTED_VALUES).map(quote).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// Format options as `an integer, a string or null`.
pub(super) fn either(options: &[String]) -> String {
    match options {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Format a count as `1 item` or `2 items`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "property") => format!("{count} properties"),
        _ => format!("{count} {noun}s"),
    }
}

/// Return a type with its article: `an integer` for `integer`.
pub(super) fn with_article(json_type: &str) -> String {
    match json_type {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {json_type}"),
        _ => format!("a {json_type}"),
    }
}
