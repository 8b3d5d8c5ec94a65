//! Parsing of phrases such as "integer between 0 and 100".
//!
//! A phrase is interpreted only if it is unambiguous: "number" is a type in "number between 1 and
//! 5" and a count in "number of guests", but neither in "number plate of the car". Any other phrase
//! describes a string, which accepts whatever the model writes.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::{Example, compiled, options, range, typed};

/// The number of characters that are parsed; the complete phrase becomes the description.
const READ_CHARACTERS: usize = 1_000;

/// Maximum nesting of lists that a phrase may describe.
const MAX_DEPTH: usize = 4;

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| compiled($pattern));)*
    };
}

/// A pattern for what may follow the name of a type.
const AFTER_TYPE: &str = concat!(
    r"(?P<rest>$|\s*[,;:.(\[<>=≤≥|].*|\s+[–—-].*|\s*\d.*|",
    r"\s+(?:between|from|in|at|up|above|below|under|over|less|greater|more|no|not|indicating|",
    r"representing|describing|containing|that|which|for|with|without|always|ranging|where|if|",
    r"or\s+(?:null|none|nil))\b.*)$",
);

patterns! {
    LEADING = r"(?is)^(?:[(\[](optional|required)[)\]]\s*[:,;–—-]?|(optional|required)(?:\s*[:,;]|\s+[–—-]))\s*";
    LEADING_WORD = r"(?is)^(optional|required)\s+(?P<rest>.*)$";
    TRAILING = r"(?is)(?:(?:[,;:]|\s[–—-])\s*(optional|required)|[(\[](optional|required)[)\]])\.?\s*$";
    NULLABLE = r"(?is)(?:\bor|\|)\s*(?:null|none|nil)\b";
    ARTICLE = r"(?is)^(?:an?|the)\s+";
    COUNT = r"(?is)^(?:(?:numbers?|count)\s+of|how\s+many)\b(?P<rest>.*)$";
    NUMBER = &format!(
        r"(?is)^(?P<sign>(?:positive|non-?negative)\s+)?(?P<kind>integer|int|whole number|number|numeric|float|double|decimal|percentage|percent)s?(?:\s+(?:value|number)s?)?{AFTER_TYPE}",
    );
    BOOLEAN = &format!(
        r#"(?is)^(?:bool(?:ean)?s?(?:\s+(?:value|flag)s?)?{AFTER_TYPE}|['"]?true['"]?\s*(?:or|/|\||,)\s*['"]?false\b|true\s+(?:if|when|for)\b|false\s+(?:if|when|unless)\b)"#,
    );
    TEXTS = &format!(r"(?is)^(?:strings?|texts?){AFTER_TYPE}");
    LIST_OF = r"(?is)^(?:list|array|sequence)s?\s+of\s+(?P<items>.+)$";
    LIST_IN_BRACKETS = r"(?is)^(?:(?:list|array|sequence)\s*[\[<]\s*(?P<item>\w+)\s*[\]>]|(?P<before>\w+)\s*\[\s*\])";
    LIST = &format!(r"(?is)^(?:(?:json\s+)?(?:list|array)s?){AFTER_TYPE}");
    COMMAS = r"(?is)\bcomma[\s-]?(?:separated|delimited)\b|\b(?:separated|delimited)\s+(?:by|with)\s+commas\b";
    OBJECT = &format!(r"(?is)^(?:(?:json\s+)?(?:object|dict|dictionary)s?|(?:dictionar|mapping)(?:y|ies|s)?){AFTER_TYPE}");
}

/// Parse a phrase.
pub(super) fn read(text: &str) -> Example {
    let text = text.trim();
    let end = text.char_indices().nth(READ_CHARACTERS).map_or(text.len(), |(at, _)| at);
    let (phrase, mut required) = without_remark(&text[..end]);
    let mut parsed = kind(phrase, 0);
    if parsed.is_none()
        && let Some(found) = LEADING_WORD.captures(phrase)
        && let Some(rest) = found.name("rest")
    {
        // "required integer" is marked as required, "required documents" is not.
        parsed = kind(rest.as_str(), 0);
        required |= parsed.is_some() && is_required(&found[1]);
    }
    let mut schema = parsed.unwrap_or_else(|| typed("string"));
    if NULLABLE.is_match(phrase) {
        nullable(&mut schema);
    }
    if !text.is_empty() {
        schema.insert("description".to_owned(), text.into());
    }
    Example { schema, required }
}

/// Remove a remark such as "(optional)" before or after a phrase. The flag is true if the remark is
/// "required".
fn without_remark(phrase: &str) -> (&str, bool) {
    let mut phrase = phrase;
    let mut required = false;
    for pattern in [&LEADING, &TRAILING] {
        let Some(found) = pattern.captures(phrase) else { continue };
        let word = found.iter().skip(1).flatten().next();
        required |= word.is_some_and(|word| is_required(word.as_str()));
        let remark = found.get_match();
        phrase =
            if remark.start() == 0 { &phrase[remark.end()..] } else { &phrase[..remark.start()] };
    }
    (phrase.trim(), required)
}

fn is_required(word: &str) -> bool {
    word.eq_ignore_ascii_case("required")
}

/// Return the schema that a phrase describes; `None` if it has no type.
fn kind(phrase: &str, depth: usize) -> Option<Map<String, Value>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let phrase = ARTICLE.find(phrase).map_or(phrase, |article| &phrase[article.end()..]);
    if let Some(list) = list(phrase, depth) {
        return Some(list);
    }
    if let Some(found) = NUMBER.captures(phrase) {
        let is_whole = matches!(
            found["kind"].to_ascii_lowercase().as_str(),
            "integer" | "int" | "whole number"
        );
        let sign = found.name("sign").map_or("", |sign| sign.as_str());
        return Some(range::number(is_whole, sign, &found["rest"]));
    }
    // The number of a single thing, such as "number of the flight", may contain letters.
    if let Some(found) = COUNT.captures(phrase)
        && !found["rest"].trim_start().to_ascii_lowercase().starts_with("the ")
    {
        return Some(range::number(true, "", &found["rest"]));
    }
    if BOOLEAN.is_match(phrase) {
        return Some(typed("boolean"));
    }
    if let Some(options) = options::read(phrase) {
        return Some(options);
    }
    if TEXTS.is_match(phrase) {
        return Some(typed("string"));
    }
    OBJECT.is_match(phrase).then(|| typed("object"))
}

fn list(phrase: &str, depth: usize) -> Option<Map<String, Value>> {
    let items = if let Some(found) = LIST_OF.captures(phrase) {
        let items = found.name("items").map_or("", |items| items.as_str());
        Some(kind(items, depth + 1).unwrap_or_else(|| typed("string")))
    } else if let Some(found) = LIST_IN_BRACKETS.captures(phrase) {
        let item = found.name("item").or_else(|| found.name("before"));
        match item.map_or("", |item| item.as_str()).to_ascii_lowercase().as_str() {
            "string" | "str" | "text" => Some(typed("string")),
            "integer" | "int" => Some(typed("integer")),
            "number" | "float" | "double" => Some(typed("number")),
            "boolean" | "bool" => Some(typed("boolean")),
            "object" | "dict" => Some(typed("object")),
            "any" => None,
            _ => return None,
        }
    } else if LIST.is_match(phrase) {
        None
    } else {
        return None;
    };
    // Comma-separated text, which the handler splits.
    if COMMAS.is_match(phrase) {
        return Some(typed("string"));
    }
    let mut schema = typed("array");
    if let Some(items) = items {
        schema.insert("items".to_owned(), items.into());
    }
    Some(schema)
}

/// Add null to the allowed values.
fn nullable(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type") {
        *kind = Value::Array(vec![kind.take(), "null".into()]);
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum") {
        options.push(Value::Null);
    }
}
