//! Options that a phrase lists exhaustively.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::{compiled, typed};

/// Maximum number of options; longer lists do not occur in practice.
const MAX_OPTIONS: usize = 100;

/// Maximum size of an option without quotes, in bytes and words.
const MAX_BYTES: usize = 40;
const MAX_WORDS: usize = 4;

/// A phrase that introduces options, up to the options.
static INTRODUCED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?is)(?:^|[,;:.(–—-]\s*|^(?:string|text)s?\s+)(?:(?:must|should|can)\s+be\s+)?(?:(?:exactly\s+|any\s+)?one\s+of(?:\s+the\s+following(?:\s+values)?)?|either|enum|(?:allowed|possible|valid)\s+values(?:\s+are)?|options(?:\s+are)?)\b\s*(?P<colon>:)?\s*(?P<options>.+)$",
    )
});
/// Only words separated by `|`.
static PIPES: LazyLock<Regex> =
    LazyLock::new(|| compiled(r#"^['"`]?[\w.+-]+['"`]?(?:\s*\|\s*['"`]?[\w.+-]+['"`]?)+$"#));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r#"'([^'"]{1,80})'|"([^"]{1,80})"|`([^`]{1,80})`|‘([^’]{1,80})’|“([^”]{1,80})”"#)
});
static BETWEEN_QUOTED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^[\s,;|/]*(?:(?:or|and)\b)?\s*$"));
static SEPARATOR: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)\s*(?:[,;|/]\s*(?:or\b|and\b)?|\s(?:or|and)\s)\s*"));
static ONE_WORD: LazyLock<Regex> = LazyLock::new(|| compiled(r"^[\w.+-]+$"));
static OPEN_END: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)\betc\b|\.\.\.|…|\bsuch as\b|\band so on\b|\bother\b|\be\.g"));

/// Parse the options that a phrase lists; `None` if it lists none, or not all.
pub(super) fn read(phrase: &str) -> Option<Map<String, Value>> {
    let (texts, quoted) = if let Some(quoted) = quoted(phrase) {
        (quoted, true)
    } else if PIPES.is_match(phrase) {
        (bare(phrase, true)?, false)
    } else {
        let found = INTRODUCED.captures(phrase)?;
        let options = found.name("options")?.as_str();
        let bracketed = bracketed(options);
        let list = bracketed.unwrap_or(options).trim();
        match self::quoted(list) {
            Some(quoted) => (quoted, true),
            None => (bare(list, bracketed.is_some() || found.name("colon").is_some())?, false),
        }
    };
    schema(texts, quoted)
}

/// Return the text in the brackets that a text begins with.
fn bracketed(text: &str) -> Option<&str> {
    let close = match text.chars().next()? {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        _ => return None,
    };
    let end = text.find(close)?;
    Some(&text[1..end])
}

/// Parse two or more quoted options at the beginning of a text.
fn quoted(text: &str) -> Option<Vec<&str>> {
    let mut options = Vec::new();
    let mut at = 0;
    for found in QUOTED.captures_iter(text) {
        let whole = found.get_match();
        if !BETWEEN_QUOTED.is_match(&text[at..whole.start()]) || options.len() > MAX_OPTIONS {
            break;
        }
        options.push(found.iter().skip(1).flatten().next()?.as_str().trim());
        at = whole.end();
    }
    (options.len() > 1 && !OPEN_END.is_match(&text[at..])).then_some(options)
}

/// Parse options without quotes. They may have several words only if it is certain that these are
/// options: "one of the items on the menu, or a drink" lists none.
fn bare(text: &str, certain: bool) -> Option<Vec<&str>> {
    let text = text.split(['\n', '(']).next()?.trim();
    let text = text.split(". ").next()?.trim_end_matches('.');
    if OPEN_END.is_match(text) {
        return None;
    }
    let options: Vec<_> = SEPARATOR
        .split(text)
        .map(|option| option.trim_matches(['\'', '"', '`']).trim())
        .take(MAX_OPTIONS + 1)
        .collect();
    let is_option = |option: &&str| {
        !option.is_empty()
            && option.len() <= MAX_BYTES
            && (ONE_WORD.is_match(option)
                || certain && option.split_whitespace().count() <= MAX_WORDS)
    };
    (options.len() > 1 && options.iter().all(is_option)).then_some(options)
}

fn schema(mut texts: Vec<&str>, quoted: bool) -> Option<Map<String, Value>> {
    if texts.len() > MAX_OPTIONS {
        return None;
    }
    // `or null` is handled for every kind of value by the caller.
    texts.retain(|text| quoted || !matches!(*text, "null" | "none" | "nil"));
    let is_type = |text: &&str| {
        matches!(
            text.to_ascii_lowercase().as_str(),
            "string"
                | "str"
                | "integer"
                | "int"
                | "number"
                | "float"
                | "boolean"
                | "bool"
                | "object"
                | "array"
                | "list"
        )
    };
    if texts.is_empty() || !quoted && texts.iter().any(is_type) {
        return None;
    }
    let whole = |text: &&str| text.parse::<i64>().ok().map(Number::from).map(Value::Number);
    let numbers: Option<Vec<_>> = texts.iter().map(whole).collect();
    let (kind, options) = match numbers {
        Some(numbers) if !quoted => ("integer", numbers),
        _ => ("string", texts.into_iter().map(Value::from).collect()),
    };
    let mut distinct: Vec<Value> = Vec::with_capacity(options.len());
    for option in options {
        if !distinct.contains(&option) {
            distinct.push(option);
        }
    }
    let mut schema = typed(kind);
    schema.insert("enum".to_owned(), distinct.into());
    Some(schema)
}
