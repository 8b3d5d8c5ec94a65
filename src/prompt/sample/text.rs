//! Sampling of strings, with a suitable format and length.

use std::collections::HashSet;

use serde_json::Value;

use super::{Sampler, conjunction::Conjunction, pattern};

/// Maximum length; longer strings are unsuitable as examples.
const MAX_CHARS: usize = 500;

/// Extra repetitions and branches of a pattern, in the order tried.
const REPETITIONS: [(usize, usize); 7] = [(1, 0), (0, 0), (4, 0), (1, 1), (1, 2), (12, 0), (40, 0)];

/// Words to try if a pattern is unsupported, or several patterns apply.
const WORDS: [&str; 10] =
    ["value", "Value", "VALUE", "a", "A", "1", "123", "abc123", "Abc-123!", "a@b.co"];

impl Sampler<'_, '_> {
    /// Draw a string with the required format, pattern and length; `variant` selects among the
    /// possible ones.
    pub(super) fn text(&mut self, conjunction: &Conjunction<'_>, variant: usize) -> Option<Value> {
        let shortest = conjunction.at_least("minLength");
        let longest = conjunction.at_most("maxLength").unwrap_or(MAX_CHARS);
        if shortest > MAX_CHARS {
            return None;
        }
        let texts_of = |keyword| conjunction.all(keyword).filter_map(Value::as_str);
        let mut found: Vec<String> = Vec::new();
        for pattern in texts_of("pattern") {
            for (more, branch) in REPETITIONS.into_iter().chain([(shortest, 0)]) {
                found.extend(pattern::sample(pattern, more, branch, variant));
            }
        }
        if found.is_empty() {
            found.extend(texts_of("format").filter_map(|format| of_format(format, variant)));
        }
        if found.is_empty() {
            found.push(word(shortest, longest, variant));
        }
        found.extend(WORDS.map(str::to_owned));
        found.push(word(shortest, longest, variant));
        found.retain(|text| (shortest..=longest).contains(&text.chars().count()));
        let mut seen = HashSet::new();
        found.retain(|text| seen.insert(text.clone()));
        let chosen = self.choose(found.len());
        found.into_iter().nth(chosen).map(Value::String)
    }
}

/// Return a plain word with a length between the two.
fn word(shortest: usize, longest: usize, variant: usize) -> String {
    let mut word = "value".to_owned();
    if variant > 0 {
        word.push_str(&(variant + 1).to_string());
    }
    if variant > 0 && word.len() > longest {
        // The variants differ at the end.
        word.drain(..word.len() - longest);
    }
    word.truncate(longest);
    while word.len() < shortest {
        word.push(char::from(b"value"[word.len() % 5]));
    }
    word
}

/// Return a sample of a format of JSON Schema or `OpenAPI`.
fn of_format(format: &str, variant: usize) -> Option<String> {
    let day = variant % 28 + 1;
    let number = variant + 1;
    Some(match format {
        "date" => format!("2025-01-{day:02}"),
        "date-time" => format!("2025-01-{day:02}T12:30:00Z"),
        "time" => format!("12:30:{:02}Z", variant % 60),
        "duration" => format!("P{number}D"),
        "email" | "idn-email" => format!("user{number}@example.com"),
        "hostname" | "idn-hostname" => format!("host{number}.example.com"),
        "ipv4" => format!("192.0.2.{}", number % 256),
        "ipv6" => format!("2001:db8::{:x}", number % 65_536),
        "uri" | "url" | "iri" => format!("https://example.com/{number}"),
        "uri-reference" | "iri-reference" => format!("/path/{number}"),
        "uri-template" => format!("https://example.com/{number}/{{id}}"),
        "uuid" => format!("3f2b8c1e-5d4a-4e6b-9c7d-{number:012x}"),
        "json-pointer" => format!("/items/{variant}"),
        "relative-json-pointer" => format!("{variant}/name"),
        "regex" => format!("^a{{{number}}}$"),
        "byte" => "dmFsdWU=".to_owned(),
        _ => return None,
    })
}
