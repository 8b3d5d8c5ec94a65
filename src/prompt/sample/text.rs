//! Sampling of strings, with a suitable format and length.

use serde_json::Value;

use super::{Sampler, conjunction::Conjunction, pattern::Pattern};

/// Maximum length; longer strings are unsuitable as examples.
const MAX_CHARS: usize = 500;

/// Extra repetitions and branches of a pattern, in the order tried.
const REPETITIONS: [(usize, usize); 7] = [(1, 0), (0, 0), (4, 0), (1, 1), (1, 2), (12, 0), (40, 0)];

/// Words to try if a pattern is unsupported, or several patterns apply.
const WORDS: [&str; 10] =
    ["value", "Value", "VALUE", "a", "A", "1", "123", "abc123", "Abc-123!", "a@b.co"];

impl Sampler<'_, '_> {
    /// Draw a string with the required format, patterns and length; `variant` selects among the
    /// possible ones.
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
                    // The pattern has no variation, but may be open at its end.
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

/// Return samples of a format of JSON Schema or `OpenAPI`.
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
