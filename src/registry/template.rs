//! Prompt templates, filled in one pass.
//!
//! A placeholder is `{`, a name, `}`, with optional spaces and tabs around the name. A name
//! consists of words joined by dots; a word consists of ASCII letters, digits and `_`, and does not
//! begin with a digit. Every other brace is text, and there are no escapes: JSON is preserved, and
//! in `{{request.query}}` the inner braces are the placeholder.
//!
//! A name with a dot is always meant as a placeholder, so it becomes empty if it has no value, as
//! in NLWeb. A single word such as `{name}` may be an example of something else: it is replaced if
//! it has a value, and otherwise stays.

use std::{borrow::Cow, collections::HashSet, ops::Range};

/// A parsed prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    placeholders: Vec<Placeholder>,
}

/// The span of a placeholder, including braces, and the span of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placeholder {
    span: Range<usize>,
    name: Range<usize>,
}

impl Template {
    /// Parse a prompt. Every text is valid.
    pub fn parse(text: impl Into<String>) -> Self {
        let text = text.into();
        let placeholders = find(&text).collect();
        Self { text, placeholders }
    }

    /// Return the prompt as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Return the names of the placeholders, each once, in text order.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.spans().map(|(name, _)| name).filter(move |name| seen.insert(*name))
    }

    /// Return the name of every placeholder, with its range in bytes, including braces.
    pub fn spans(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.placeholders
            .iter()
            .map(|placeholder| (&self.text[placeholder.name.clone()], placeholder.span.clone()))
    }

    /// Replace each placeholder by the value of its name. Values are not searched for placeholders.
    /// `fill` is called once for each occurrence.
    pub fn render<'v>(&self, mut fill: impl FnMut(&str) -> Option<Cow<'v, str>>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut at = 0;
        for (name, span) in self.spans() {
            filled.push_str(&self.text[at..span.start]);
            match fill(name) {
                Some(value) => filled.push_str(&value),
                None if name.contains('.') => {}
                None => filled.push_str(&self.text[span.clone()]),
            }
            at = span.end;
        }
        filled.push_str(&self.text[at..]);
        filled
    }
}

/// Return every placeholder of a text; see [`Template::spans`].
pub(super) fn spans(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    find(text).map(|placeholder| (&text[placeholder.name], placeholder.span))
}

fn find(text: &str) -> impl Iterator<Item = Placeholder> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let open = at + memchr::memchr(b'{', &text.as_bytes()[at..])?;
            at = open + 1;
            if let Some(placeholder) = placeholder(text.as_bytes(), open) {
                at = placeholder.span.end;
                return Some(placeholder);
            }
        }
    })
}

/// Parse the placeholder that begins at `open`, if there is one. Stops at the first byte that
/// cannot belong to a placeholder, so that each byte is read at most twice.
fn placeholder(text: &[u8], open: usize) -> Option<Placeholder> {
    let name = skip(text, open + 1, |byte| matches!(byte, b' ' | b'\t'));
    let mut end = name;
    loop {
        let word = end;
        end = skip(text, word, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if end == word || text[word].is_ascii_digit() {
            return None;
        }
        if text.get(end) != Some(&b'.') {
            break;
        }
        end += 1;
    }
    let close = skip(text, end, |byte| matches!(byte, b' ' | b'\t'));
    (text.get(close) == Some(&b'}'))
        .then_some(Placeholder { span: open..close + 1, name: name..end })
}

fn skip(text: &[u8], at: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    at + text[at..].iter().take_while(|byte| is_skipped(**byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        Template::parse(text).placeholders().map(str::to_owned).collect()
    }

    #[test]
    fn only_names_in_braces_are_placeholders() {
        for text in [
            "{request.query}",
            "{ request.query }",
            "{\trequest.query}",
            "{{request.query}}",
            "{{ request.query",
            "{request.query}{request.query}",
            "{\"a\": {request.query}}",
        ] {
            let closed = format!("{text}}}");
            assert_eq!(names(&closed), ["request.query"], "{closed}");
        }
        for text in [
            "",
            "{}",
            "{ }",
            "{{}}",
            "{\"score\": 1}",
            "{score: 1}",
            "{request query}",
            "{.query}",
            "{request.}",
            "{request..query}",
            "{1.2}",
            "{a.1}",
            "{request.query",
            "{\nrequest.query\n}",
            "{frage.größe}",
            "request.query}",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn parsing_takes_linear_time() {
        for piece in ["{", "{ ", "{a", "{a.", "{ a", "{a }", "{a.b}"] {
            let text = piece.repeat(1_000_000);
            let template = Template::parse(text.as_str());
            assert!(template.spans().count() <= 1_000_000);
        }
    }

    proptest! {
        #[test]
        fn other_text_is_unchanged(text in "[{}a. \t\"1]{0,40}") {
            let template = Template::parse(text.as_str());
            // Filling in each placeholder's own text gives the text back.
            let mut spans = template.spans();
            let same = template.render(|_| {
                let (_, span) = spans.next().unwrap();
                Some(text[span].to_owned().into())
            });
            prop_assert_eq!(same, text);
        }

        #[test]
        fn values_are_not_searched_for_placeholders(
            before in "[a-z{} ]{0,8}", value in ".{0,12}", after in "[a-z{} ]{0,8}",
        ) {
            let template = Template::parse(format!("{before}.{{a.b}}.{after}"));
            let marked = template.render(|_| Some("\u{1}".into()));
            let filled = template.render(|_| Some(value.as_str().into()));
            prop_assert_eq!(marked.replace('\u{1}', &value), filled);
        }
    }
}
