//! Arguments as `key=value`, each after white space.
//!
//! A value is in quotes, or runs up to the next assignment. The schema gives its type.

use serde_json::Value;

use super::{Converted, literal::string, members::Members, typed::Described};
use crate::message::Repair;

pub(super) fn convert(payload: &str, schema: Option<&Value>) -> Option<Converted> {
    let described = Described::new(schema);
    let mut members = Members::default();
    let mut repairs = Vec::new();
    let mut rest = payload.trim();
    while !rest.is_empty() {
        let (key, after) = assignment(rest)?;
        let after = after.trim_start();
        let types = described.member(key).types();
        let (value, next) = if after.starts_with(['"', '\'']) {
            let mut text = String::new();
            let length = string(after, &mut text)?;
            let next = after[length..].trim_start_matches(',');
            // Another word after the quotes belongs to nothing.
            if !next.is_empty() && !next.starts_with(char::is_whitespace) {
                return None;
            }
            (types.read(&text), next)
        } else {
            let (text, next) = bare(after, &described);
            (types.read(text), next)
        };
        let (json, found) = value;
        let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let at_key = |repair: Repair| Repair { path: format!("{path}{}", repair.path), ..repair };
        repairs.extend(found.into_iter().map(at_key));
        members.insert(key, json);
        rest = next.trim_start();
    }
    Some(Converted { arguments: members.into_json(), repairs })
}

/// Return the key at the start of `text`, and the text after its equals sign.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let is_key = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.' | ':' | '/');
    let end = text.find(|ch: char| !is_key(ch))?;
    let rest = text[end..].trim_start().strip_prefix('=')?;
    (end > 0 && !rest.starts_with('=')).then_some((&text[..end], rest))
}

/// Split a value without quotes from the next assignment to a declared argument.
fn bare<'t>(text: &'t str, described: &Described<'_>) -> (&'t str, &'t str) {
    let begins = |word: &str| {
        assignment(word).is_some_and(|(key, _)| described.declares(key) != Some(false))
    };
    let mut at = 0;
    while let Some(blank) = text[at..].find(char::is_whitespace) {
        let end = at + blank;
        let next = text[end..].trim_start();
        if begins(next) {
            return (text[..end].trim_end_matches(','), next);
        }
        at = text.len() - next.len();
    }
    (text.trim_end(), "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assignments_become_members() {
        let schema = json!({"properties": {
            "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "array"}}});
        for (text, expected) in [
            ("", "{}"),
            ("a=x", r#"{"a": "x"}"#),
            ("a = x y  b = 2", r#"{"a": "x y", "b": 2}"#),
            ("a=x, b=2,", r#"{"a": "x", "b": "2,"}"#),
            ("a=\"x b=1\", b=2", r#"{"a": "x b=1", "b": 2}"#),
            ("a='it\\'s' b='2'", r#"{"a": "it's", "b": 2}"#),
            ("a=x z=1 b=2", r#"{"a": "x z=1", "b": 2}"#),
            ("c=[1, 2] a=", r#"{"c": [1, 2], "a": ""}"#),
            ("a=x a=y", r#"{"a": "y"}"#),
            ("a=5 < 6", r#"{"a": "5 < 6"}"#),
        ] {
            let converted = convert(text, Some(&schema)).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(converted.arguments, expected, "{text}");
        }
        assert_eq!(convert("x=1 y=2", None).unwrap().arguments, r#"{"x": "1", "y": "2"}"#);
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["a", "a b=1", "=1", "a==1", "a='x", "a='x'y", "a='x' y"] {
            assert_eq!(convert(text, None), None, "{text}");
        }
    }
}
