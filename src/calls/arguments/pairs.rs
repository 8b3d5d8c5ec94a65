//! Arguments with a tag for the key and one for the value.
//!
//! A value ends with the closing tag that another key or the end of the payload follows. All tags
//! may have a suffix, which is that of the first one.

use serde_json::Value;

use super::{Converted, members::Members, typed::typed};

pub(super) fn convert(payload: &str, schema: Option<&Value>) -> Option<Converted> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let tags = Tags::new(payload);
    let mut members = Members::default();
    let mut rest = payload.trim_start();
    while !rest.is_empty() {
        // The first key may lack its opening tag, and tags of keys may be there twice.
        let (key, after) = split_key(&tags, rest.trim_start_matches(&*tags.key))?;
        let (value, after) = split_value(&tags, after);
        let schema = properties.and_then(|properties| properties.get(key));
        members.insert(key, typed(value, schema));
        rest = after;
    }
    Some(Converted { arguments: members.into_json(), repairs: Vec::new() })
}

/// The tags, as the payload has them.
struct Tags {
    key: String,
    key_end: String,
    value: String,
    value_end: String,
}

impl Tags {
    fn new(payload: &str) -> Self {
        let name = "arg_key";
        let suffix = payload.find(name).map_or("", |at| {
            let rest = &payload[at + name.len()..];
            rest.split_once('>').map_or("", |(suffix, _)| suffix)
        });
        let tag = |name: &str| format!("<{name}{suffix}>");
        Self {
            key: tag("arg_key"),
            key_end: tag("/arg_key"),
            value: tag("arg_value"),
            value_end: tag("/arg_value"),
        }
    }
}

/// Split a key from what follows its tag and the one that opens its value, of which one may be
/// missing.
fn split_key<'a>(tags: &Tags, text: &'a str) -> Option<(&'a str, &'a str)> {
    let (at, _) = text.match_indices('<').find(|&(at, _)| {
        let rest = &text[at..];
        rest.starts_with(&tags.key_end) || rest.starts_with(&tags.value)
    })?;
    let key = text[..at].trim();
    let after = text[at..].trim_start_matches(&*tags.key_end);
    let value = after.trim_start().strip_prefix(&*tags.value);
    // A key without a value is none.
    let has_value = value.is_some() || !after.trim_start().is_empty();
    (has_value && !key.is_empty()).then_some((key, value.unwrap_or(after)))
}

/// Split a value from what follows its tag.
fn split_value<'a>(tags: &Tags, text: &'a str) -> (&'a str, &'a str) {
    let mut from = 0;
    while let Some(found) = text[from..].find(&tags.value_end) {
        let at = from + found;
        let mut after = text[at + tags.value_end.len()..].trim_start();
        while let Some(again) = after.strip_prefix(&*tags.value_end) {
            after = again.trim_start();
        }
        if after.is_empty() || after.starts_with(&tags.key) {
            return (&text[..at], after);
        }
        from = text.len() - after.len();
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_members() {
        for (text, expected) in [
            ("<arg_key>a</arg_key><arg_value> x\n</arg_value>", r#"{"a": " x\n"}"#),
            (
                "<arg_key>a</arg_key>\n<arg_value></arg_value>\n<arg_key>b</arg_key>\n<arg_value>y</arg_value>",
                r#"{"a": "", "b": "y"}"#,
            ),
            ("<arg_key><arg_key>a</arg_key></arg_key><arg_value>x</arg_value>", r#"{"a": "x"}"#),
            ("a</arg_key><arg_value>x</arg_value>", r#"{"a": "x"}"#),
            ("<arg_key>a<arg_value>x</arg_value>", r#"{"a": "x"}"#),
            ("<arg_key>a</arg_key>x</arg_value>", r#"{"a": "x"}"#),
            ("<arg_key>a</arg_key><arg_value>x", r#"{"a": "x"}"#),
            (
                "<arg_key>a</arg_key><arg_value>x</arg_value> y</arg_value>",
                r#"{"a": "x</arg_value> y"}"#,
            ),
            (
                "<arg_key:o>a</arg_key:o><arg_value:o></arg_value></arg_value:o>",
                r#"{"a": "</arg_value>"}"#,
            ),
        ] {
            let converted = convert(text, None).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(converted.arguments, expected, "{text}");
        }
        assert_eq!(convert("<arg_key>a</arg_key>", None), None);
        assert_eq!(convert("<arg_key></arg_key><arg_value>x</arg_value>", None), None);
    }
}
