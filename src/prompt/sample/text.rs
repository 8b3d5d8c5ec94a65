//! Strings of a wanted form and length.

use serde_json::Value;

use super::{Sampler, conjunction::Conjunction, pattern::Pattern};

/// Longer strings are no example.
const MAX_CHARS: usize = 500;

/// How much a pattern is stretched, and which of its branches are taken, in the order tried.
const REPETITIONS: [(usize, usize); 7] = [(1, 0), (0, 0), (4, 0), (1, 1), (1, 2), (12, 0), (40, 0)];

/// Words to try where a pattern is beyond us, or asks for several things at once.
const WORDS: [&str; 10] =
    ["value", "Value", "VALUE", "a", "A", "1", "123", "abc123", "Abc-123!", "a@b.co"];

impl Sampler<'_, '_> {
    /// A string that fits the format, the patterns and the length; the `variant`-th of those
    /// that could be.
    pub(super) fn text(&mut self, conjunction: &Conjunction<'_>, variant: usize) -> Option<Value> {
        let shortest = conjunction.at_least("minLength");
        let longest = conjunction.at_most("maxLength").unwrap_or(MAX_CHARS);
        if shortest > MAX_CHARS || shortest > longest {
            return None;
        }
        let mut found: Vec<String> = Vec::new();
        let patterns: Vec<&str> = conjunction.all("pattern").filter_map(Value::as_str).collect();
        for pattern in patterns.iter().filter_map(|pattern| Pattern::parse(pattern)) {
            for (more, branch) in REPETITIONS.into_iter().chain([(shortest, 0)]) {
                let sample = |variant| pattern.sample(more, branch, variant, MAX_CHARS);
                let (Some(first), Some(this)) = (sample(0), sample(variant)) else { continue };
                if variant > 0 && first == this {
                    // Nothing in the pattern varies, but it may be open at its end.
                    found.push(format!("{first}{}", variant + 1));
                }
                found.push(this);
            }
        }
        if patterns.is_empty() {
            let formats = conjunction.all("format").filter_map(Value::as_str);
            found.extend(formats.flat_map(|format| of_format(format, variant)));
            if found.is_empty() {
                found.push(word(shortest, longest, variant));
            }
        }
        found.extend(WORDS.map(str::to_owned));
        found.push(word(shortest, longest, variant));
        let mut seen: Vec<String> = Vec::new();
        for text in found {
            let length = text.chars().count();
            let fits = (shortest..=longest).contains(&length)
                && patterns.iter().all(|pattern| self.patterns.matches(pattern, &text));
            if fits && !seen.contains(&text) {
                seen.push(text);
            }
        }
        let chosen = self.choose(seen.len());
        seen.into_iter().nth(chosen).map(Value::String)
    }
}

/// A plain word of a length between the two.
fn word(shortest: usize, longest: usize, variant: usize) -> String {
    let mut word = "value".to_owned();
    if variant > 0 {
        word.push_str(&(variant + 1).to_string());
    }
    if variant > 0 && word.len() > longest {
        // What tells the variants apart is at the end.
        word.drain(..word.len() - longest);
    }
    word.truncate(longest);
    while word.len() < shortest {
        word.push(char::from(b"value"[word.len() % 5]));
    }
    word
}

/// Texts of a format that JSON Schema or `OpenAPI` names.
fn of_format(format: &str, variant: usize) -> Vec<String> {
    let day = variant % 28 + 1;
    let number = variant + 1;
    let texts = match format {
        "date" => [format!("2025-01-{day:02}")],
        "date-time" => [format!("2025-01-{day:02}T12:30:00Z")],
        "time" => [format!("12:30:{:02}Z", variant % 60)],
        "duration" => [format!("P{number}D")],
        "email" | "idn-email" => [format!("user{number}@example.com")],
        "hostname" | "idn-hostname" => [format!("host{number}.example.com")],
        "ipv4" => [format!("192.0.2.{}", number % 256)],
        "ipv6" => [format!("2001:db8::{:x}", number % 65_536)],
        "uri" | "url" | "iri" => [format!("https://example.com/{number}")],
        "uri-reference" | "iri-reference" => [format!("/path/{number}")],
        "uri-template" => [format!("https://example.com/{number}/{{id}}")],
        "uuid" => [format!("3f2b8c1e-5d4a-4e6b-9c7d-{number:012x}")],
        "json-pointer" => [format!("/items/{variant}")],
        "relative-json-pointer" => [format!("{variant}/name")],
        "regex" => [format!("^a{{{number}}}$")],
        "byte" => ["dmFsdWU=".to_owned()],
        _ => return Vec::new(),
    };
    texts.into()
}
