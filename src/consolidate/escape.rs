//! Foreign text that cannot be read as a tag of ours.
//!
//! Before anything that looks like a tag, `<` is written `&lt;`. Text that has `&lt;` there of
//! its own gets one `amp;` more, so nothing is lost: the levels `<`, `&lt;`, `&amp;lt;`,
//! `&amp;amp;lt;`, ... each go up by one and come down by one. The first step is taken only for
//! names that are known; the others for every name, so that a reader need not know any.
//!
//! Whether a tag begins is decided by the characters up to the end of its name and the one
//! after it. The end of a text counts as white space, so that a text means the same whether or
//! not a line break is added to it.

use std::collections::HashSet;

use memchr::{memchr, memchr2};

use crate::contract::{MAX_NAME_BYTES, TOOL_CALL, TOOL_RESPONSE, is_name_char};

/// Names of tools, in any case.
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

/// The beginning of what could be a tag.
#[derive(Debug, PartialEq, Eq)]
enum Head<'t> {
    /// One of our own tags.
    Own,
    /// A tag of this name, if there is such a tool.
    Named(&'t str),
}

/// What tag could begin with `rest`, the text after a `<`. Names end at white space, at `>`,
/// at the end, and where `ends` says so.
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
    // Spaces are tolerated before our own names only: `a &lt; 3` is more often seen than meant.
    let is_tight = rest.len() - word.len() == usize::from(is_closing);
    let is_ended =
        after.chars().next().is_none_or(|ch| ch == '>' || ch.is_whitespace() || ends(ch));
    let name = run.trim_end_matches('/');
    (is_tight && is_ended && !name.is_empty()).then_some(Head::Named(name))
}

/// In plain text names end nowhere else.
fn no_other_end(_: char) -> bool {
    false
}

/// The entity that spells `<` at some level, at the start of `text`: its length.
fn entity(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('&')?;
    while let Some(after) = rest.strip_prefix("amp;") {
        rest = after;
    }
    Some(text.len() - rest.strip_prefix("lt;")?.len())
}

/// `text` such that nothing in it can be read as one of our tags, or as a tag of `names`.
pub(super) fn neutralise(text: &str, names: &Names) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 32);
    neutralise_into(&mut safe, text, names);
    safe
}

/// Writes what [`neutralise`] makes of `text` behind what is there.
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

/// Natural text such that no tag is live in it. What is neutralised already stays as it is, so
/// that this changes nothing the second time, and nothing that [`neutralise`] has written.
pub(super) fn secure(natural: &str, names: &Names) -> String {
    let mut safe = String::with_capacity(natural.len());
    let mut rest = natural;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        let after = &rest[at + 1..];
        safe.push_str(&rest[..at]);
        safe.push_str(if is_live(after, names, no_other_end) { "&lt;" } else { "<" });
        rest = after;
    }
    safe.push_str(rest);
    safe
}

/// Whether `after`, behind a `<`, makes a tag that must not be there.
pub(super) fn is_tag(after: &str, names: &Names) -> bool {
    is_live(after, names, no_other_end)
}

/// Whether `after`, behind an entity for `<`, makes what could be a tag of any name.
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

/// The inverse of [`neutralise`].
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

/// JSON text such that no tag can be read inside its strings. In JSON `<` stands nowhere else,
/// and may be spelled `\u003c`.
pub(super) fn neutralise_json(json: &str, names: &Names) -> String {
    // What is behind an escape may be a line break to the model.
    let ends = |ch| matches!(ch, '"' | '\\');
    let mut safe = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        let after = &rest[at + 1..];
        safe.push_str(&rest[..at]);
        safe.push_str(if is_live(after, names, ends) { "\\u003c" } else { "<" });
        rest = after;
    }
    safe.push_str(rest);
    safe
}

/// A name inside `name="..."`.
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

/// The inverse of [`attribute`]; None for anything it does not write.
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
    fn only_what_could_be_a_tag_is_touched() {
        let untouched = [
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
        for text in untouched {
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
