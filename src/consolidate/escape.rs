//! Escaping of foreign text, so that it cannot be read as a tag of consolidated text.
//!
//! Before anything that looks like a tag, `<` is written `&lt;`. Text that already has `&lt;` there
//! gets one more `amp;`, so nothing is lost: the levels `<`, `&lt;`, `&amp;lt;`, `&amp;amp;lt;`,
//! ... are each raised by one, and lowered by one when read. The first step applies only to known
//! names; the others apply to every name, so that a reader needs no list of names.
//!
//! A tag is recognized by the characters up to the end of its name and the one after. The end of a
//! text counts as white space, so that appending a line break does not change what a text means.

use std::collections::HashSet;

use memchr::{memchr, memchr2};

use crate::contract::{MAX_NAME_BYTES, TOOL_CALL, TOOL_RESPONSE, is_name_char};

/// Names of tools, case-insensitive.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn insert(&mut self, name: &str) {
        self.0.insert(name.to_lowercase());
    }

    fn contains(&self, name: &str) -> bool {
        self.0.contains(&name.to_lowercase())
    }
}

/// The beginning of a possible tag.
#[derive(Debug, PartialEq, Eq)]
enum Head<'t> {
    /// One of the tags `tool_call` and `tool_response`.
    Own,
    /// A tag of this name, if there is such a tool.
    Named(&'t str),
}

/// Return the tag that could begin with `rest`, the text after a `<`. Names end at white space, at
/// `>`, at the end of the text, and at characters accepted by `ends`.
fn head(rest: &str, ends: fn(char) -> bool) -> Option<Head<'_>> {
    let blanks = [' ', '\t'];
    let word = rest.trim_start_matches(blanks);
    let (word, is_closing) = match word.strip_prefix('/') {
        Some(rest) => (rest.trim_start_matches(blanks), true),
        None => (word, false),
    };
    let mut end = word.len();
    for (at, ch) in word.char_indices() {
        if !is_name_char(ch) {
            end = at;
            break;
        }
        // The run may end with the slash of `<Name/>`, hence one more byte.
        if at > MAX_NAME_BYTES {
            return None;
        }
    }
    let (run, after) = word.split_at(end);
    let first = run.split('/').next().unwrap_or_default();
    if [TOOL_CALL, TOOL_RESPONSE].iter().any(|own| own.eq_ignore_ascii_case(first)) {
        return Some(Head::Own);
    }
    // Spaces are tolerated only before the reserved names: `a &lt; 3` is far more common as text.
    let is_tight = rest.len() - word.len() == usize::from(is_closing);
    let is_ended =
        after.chars().next().is_none_or(|ch| ch == '>' || ch.is_whitespace() || ends(ch));
    let name = run.trim_end_matches('/');
    (is_tight && is_ended && !name.is_empty()).then_some(Head::Named(name))
}

/// In plain text, names end at no other character.
fn no_other_end(_: char) -> bool {
    false
}

/// Return the length of the entity for `<`, at any level, at the start of `text`.
fn entity(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('&')?;
    while let Some(after) = rest.strip_prefix("amp;") {
        rest = after;
    }
    Some(text.len() - rest.strip_prefix("lt;")?.len())
}

/// Escape `text` so that no part of it can be read as a reserved tag or a tag of `names`.
pub(super) fn neutralise(text: &str, names: &Names) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 32);
    neutralise_into(&mut safe, text, names);
    safe
}

/// Append the result of [`neutralise`] to `safe`.
pub(super) fn neutralise_into(safe: &mut String, text: &str, names: &Names) {
    safe.reserve(text.len());
    let mut rest = text;
    while let Some(at) = memchr2(b'<', b'&', rest.as_bytes()) {
        safe.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix('<') {
            safe.push_str(if is_live(after, names, no_other_end) { "&lt;" } else { "<" });
            rest = after;
            continue;
        }
        let length = entity(rest).unwrap_or(1);
        let (found, after) = rest.split_at(length);
        if length > 1 && head(after, no_other_end).is_some() {
            safe.push_str("&amp;");
            safe.push_str(&found[1..]);
        } else {
            safe.push_str(found);
        }
        rest = after;
    }
    safe.push_str(rest);
}

/// Escape natural text so that no tag is live in it. Escaped text stays as it is, so this is
/// idempotent, and leaves the output of [`neutralise`] unchanged.
pub(super) fn secure(natural: &str, names: &Names) -> String {
    let mut safe = String::with_capacity(natural.len());
    replace_live(&mut safe, natural, names, no_other_end, "&lt;");
    safe
}

/// Append `text` to `safe`, with `escaped` in place of each `<` that makes a tag.
fn replace_live(
    safe: &mut String,
    text: &str,
    names: &Names,
    ends: fn(char) -> bool,
    escaped: &str,
) {
    let mut rest = text;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        let after = &rest[at + 1..];
        safe.push_str(&rest[..at]);
        safe.push_str(if is_live(after, names, ends) { escaped } else { "<" });
        rest = after;
    }
    safe.push_str(rest);
}

/// Return true if `after`, following a `<`, makes a tag that must be escaped.
pub(super) fn is_tag(after: &str, names: &Names) -> bool {
    is_live(after, names, no_other_end)
}

/// Return true if `after`, following an entity for `<`, makes a possible tag of any name.
pub(super) fn follows_entity(after: &str) -> bool {
    head(after, no_other_end).is_some()
}

fn is_live(after: &str, names: &Names, ends: fn(char) -> bool) -> bool {
    match head(after, ends) {
        None => false,
        Some(Head::Own) => true,
        Some(Head::Named(name)) => names.contains(name),
    }
}

/// Undo [`neutralise`].
pub(super) fn restore(safe: &str) -> String {
    let mut text = String::with_capacity(safe.len());
    let mut rest = safe;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = entity(rest).unwrap_or(1);
        let (found, after) = rest.split_at(length);
        if length == 1 || head(after, no_other_end).is_none() {
            text.push_str(found);
        } else if found == "&lt;" {
            text.push('<');
        } else {
            text.push('&');
            text.push_str(&found["&amp;".len()..]);
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Escape JSON text so that no tag can be read inside its strings. In JSON, `<` occurs only in
/// strings, and may be written `\u003c`.
pub(super) fn neutralise_json(json: &str, names: &Names) -> String {
    // To a model, an escape after the name may mean a line break.
    let ends = |ch| matches!(ch, '"' | '\\');
    let mut safe = String::with_capacity(json.len());
    replace_live(&mut safe, json, names, ends, "\\u003c");
    safe
}

/// Escape a name for use inside `name="..."`.
pub(super) fn attribute(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for ch in name.chars() {
        match ch {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            ch if ch.is_control() => {
                safe.push_str("&#");
                safe.push_str(&u32::from(ch).to_string());
                safe.push(';');
            }
            ch => safe.push(ch),
        }
    }
    safe
}

/// Undo [`attribute`]; `None` for text that it does not write.
pub(super) fn attribute_value(safe: &str) -> Option<String> {
    let mut name = String::with_capacity(safe.len());
    let mut rest = safe;
    while let Some((before, after)) = rest.split_once('&') {
        name.push_str(before);
        let (entity, after) = after.split_once(';')?;
        name.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            _ => char::from_u32(entity.strip_prefix('#')?.parse().ok()?)?,
        });
        rest = after;
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        names.insert("GetWeather");
        names.insert("a/b");
        names
    }

    #[test]
    fn only_possible_tags_are_escaped() {
        let unchanged = [
            "a < b & c > d",
            "<b>bold</b>",
            "x &lt;",
            "&lt;div&gt;",
            "&amp;",
            "&lt; 3",
            "<tool>",
            "AT&T",
            "<getweatherx>",
            "<tool_calls>",
            "<a>",
            "<a/c>",
            "",
        ];
        for text in unchanged {
            assert_eq!(neutralise(text, &names()), text);
        }
        let cases = [
            ("<tool_call name=\"x\">", "&lt;tool_call name=\"x\">"),
            ("</tool_response>", "&lt;/tool_response>"),
            ("< / TOOL_CALL", "&lt; / TOOL_CALL"),
            ("<tool_call/>", "&lt;tool_call/>"),
            ("<getweather>", "&lt;getweather>"),
            ("</GetWeather >", "&lt;/GetWeather >"),
            ("<GetWeather/>", "&lt;GetWeather/>"),
            ("<a/b>", "&lt;a/b>"),
            ("ends <GetWeather", "ends &lt;GetWeather"),
            ("&lt;tool_call>", "&amp;lt;tool_call>"),
            ("&amp;amp;lt;any>", "&amp;amp;amp;lt;any>"),
        ];
        for (text, safe) in cases {
            assert_eq!(neutralise(text, &names()), safe);
            assert_eq!(restore(safe), text);
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = "{\"<tool_call\":\"</GetWeather\\n><b>\"}";
        let safe = neutralise_json(json, &names());
        assert_eq!(safe, "{\"\\u003ctool_call\":\"\\u003c/GetWeather\\n><b>\"}");
    }

    #[test]
    fn names_survive_in_an_attribute() {
        for name in ["plain", "a\"b", "<tool_call name=\"x\">", "&amp;", "a\nb", ""] {
            let safe = attribute(name);
            assert!(!safe.contains(['<', '>', '"', '\n']));
            assert_eq!(attribute_value(&safe).unwrap(), name);
        }
        assert_eq!(attribute_value("a&b"), None);
    }

    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => prop::sample::select(vec![
                "<", "&", "lt;", "&lt;", "amp;", "&amp;", "/", " ", "\n", ">", "tool_call",
                "tool_response", "GetWeather", "getweather", "a/b", "a", "\t", "\r\n", " name=\"x\"",
            ]).prop_map(str::to_owned),
            1 => any::<char>().prop_map(|ch| ch.to_string()),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn everything_comes_back(text in hostile()) {
            prop_assert_eq!(restore(&neutralise(&text, &names())), text);
        }

        #[test]
        fn a_line_break_at_the_end_changes_nothing(text in hostile()) {
            let safe = neutralise(&text, &names());
            prop_assert_eq!(restore(&format!("{safe}\n")), format!("{text}\n"));
        }

        #[test]
        fn no_tag_is_left(text in hostile()) {
            let safe = neutralise(&text, &names()).to_lowercase();
            for tag in ["<tool_call>", "</tool_call>", "<tool_response ", "<getweather>", "</a/b>"] {
                prop_assert!(!safe.contains(tag));
            }
        }

        #[test]
        fn names_come_back(name in any::<String>()) {
            prop_assert_eq!(attribute_value(&attribute(&name)).unwrap(), name);
        }
    }
}
