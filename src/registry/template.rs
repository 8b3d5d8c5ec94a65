//! Prompts with placeholders, filled in one pass.
//!
//! A placeholder is `{`, a name, `}`, with blanks and tabs around the name allowed. A name is
//! words joined by dots, a word being ASCII letters, digits and `_` that do not begin with a
//! digit. Every other brace is text, and no brace is an escape: JSON survives, and of
//! `{{request.query}}` the inner braces are the placeholder.
//!
//! A name with a dot can only be meant for filling, so one that nobody fills becomes empty, as
//! NLWeb has it. A single word such as `{name}` may be an example of something else: it is filled
//! where there is a value for it and stays as it stands where there is none.

use std::{borrow::Cow, collections::HashSet, ops::Range};

/// A prompt, read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    placeholders: Vec<Placeholder>,
}

/// Where a placeholder stands, braces included, and where its name does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placeholder {
    span: Range<usize>,
    name: Range<usize>,
}

impl Template {
    /// Reads a prompt. Every text is one.
    pub fn parse(text: impl Into<String>) -> Self {
        let text = text.into();
        let placeholders = find(&text).collect();
        Self { text, placeholders }
    }

    /// The prompt as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of the placeholders, each once, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        self.spans().map(|(name, _)| name).filter(move |name| seen.insert(*name))
    }

    /// Every placeholder: its name, and where it stands in the text, in bytes, braces included.
    pub fn spans(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.placeholders
            .iter()
            .map(|placeholder| (&self.text[placeholder.name.clone()], placeholder.span.clone()))
    }

    /// The prompt with each placeholder replaced by the value of its name. What a value holds is
    /// never read for placeholders. `fill` is asked once for each place.
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

/// Every placeholder of a text that is not kept as a template; see [`Template::spans`].
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

/// The placeholder that begins at `open`, if one does. Looks no further than to the next byte
/// that no placeholder can have there, so that a text takes one look at each byte, or two.
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
    fn reading_takes_time_in_proportion_to_the_text() {
        for piece in ["{", "{ ", "{a", "{a.", "{ a", "{a }", "{a.b}"] {
            let text = piece.repeat(1_000_000);
            let template = Template::parse(text.as_str());
            assert!(template.spans().count() <= 1_000_000);
        }
    }

    proptest! {
        #[test]
        fn what_is_no_placeholder_stays(text in "[{}a. \t\"1]{0,40}") {
            let template = Template::parse(text.as_str());
            // Each name in its place gives the text back.
            let mut spans = template.spans();
            let same = template.render(|_| {
                let (_, span) = spans.next().unwrap();
                Some(text[span].to_owned().into())
            });
            prop_assert_eq!(same, text);
        }

        #[test]
        fn values_are_never_read_again(
            before in "[a-z{} ]{0,8}", value in ".{0,12}", after in "[a-z{} ]{0,8}",
        ) {
            let template = Template::parse(format!("{before}.{{a.b}}.{after}"));
            let marked = template.render(|_| Some("\u{1}".into()));
            let filled = template.render(|_| Some(value.as_str().into()));
            prop_assert_eq!(marked.replace('\u{1}', &value), filled);
        }
    }
}
