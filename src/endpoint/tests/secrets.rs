//! Redaction of keys.

use std::fmt::Write;

use bytes::Bytes;
use proptest::prelude::*;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderValue},
};

use super::super::{
    failure::{Failure, FailureKind},
    request::{Limits, Request, Retries, Timeouts},
    secrets::Secrets,
};

/// A change that a server makes to a key that it repeats.
#[derive(Clone, Copy, Debug)]
enum Change {
    None,
    Upper,
    Lower,
    Json,
    JsonAll,
    Url,
    UrlAll,
    Html,
    HtmlAll,
    Hexadecimal,
}

const CHANGES: [Change; 10] = [
    Change::None,
    Change::Upper,
    Change::Lower,
    Change::Json,
    Change::JsonAll,
    Change::Url,
    Change::UrlAll,
    Change::Html,
    Change::HtmlAll,
    Change::Hexadecimal,
];

impl Change {
    fn of(self, text: &str) -> String {
        let mut changed = String::new();
        for ch in text.chars() {
            let code = u32::from(ch);
            match (self, ch) {
                (Self::Upper, _) => changed.push(ch.to_ascii_uppercase()),
                (Self::Lower, _) => changed.push(ch.to_ascii_lowercase()),
                (Self::Json, '"' | '\\' | '/') => write!(changed, "\\{ch}").unwrap(),
                (Self::JsonAll, _) => write!(changed, "\\u{code:04x}").unwrap(),
                (Self::Url, _) if !ch.is_ascii_alphanumeric() => {
                    write!(changed, "%{code:02X}").unwrap();
                }
                (Self::UrlAll, _) => write!(changed, "%{code:02x}").unwrap(),
                (Self::Html, '&') => changed.push_str("&amp;"),
                (Self::Html, '<') => changed.push_str("&lt;"),
                (Self::Html, '>') => changed.push_str("&gt;"),
                (Self::Html, '"') => changed.push_str("&quot;"),
                (Self::Html, '\'') => changed.push_str("&#x27;"),
                (Self::HtmlAll, _) => write!(changed, "&#{code};").unwrap(),
                (Self::Hexadecimal, _) => write!(changed, "\\x{code:02x}").unwrap(),
                _ => changed.push(ch),
            }
        }
        changed
    }
}

fn hidden(key: &str, text: &str) -> String {
    let mut secrets = Secrets::default();
    secrets.add(key);
    secrets.hide(text).into_owned()
}

/// Return the redacted message of a failure of a request with these headers and URL.
fn redacted(headers: HeaderMap, url: &str, message: &str) -> String {
    let time = std::time::Duration::from_secs(1);
    let request = Request {
        name: "m".to_owned(),
        method: reqwest::Method::POST,
        url: Url::parse(url).unwrap(),
        headers,
        body: Bytes::new(),
        timeouts: Timeouts { first_byte: time, idle: time, total: None },
        retries: Retries { limit: 0, initial_delay: time, max_delay: time },
        limits: Limits { line: 1, body: 1 },
    };
    let mut failure = Failure::new(FailureKind::Status, message);
    failure.code = Some(message.to_owned());
    failure.param = Some(message.to_owned());
    let failure = failure.redacted(&Secrets::of(&request));
    assert_eq!(failure.code.as_deref(), Some(failure.message.as_str()));
    assert_eq!(failure.param.as_deref(), Some(failure.message.as_str()));
    failure.message
}

proptest! {
    #[test]
    fn no_part_of_a_key_is_left_however_it_is_repeated(
        key in "[!-~]{8,60}",
        cut in any::<(prop::sample::Index, prop::sample::Index)>(),
        changes in prop::collection::vec(prop::sample::select(CHANGES.to_vec()), 0..4),
        before in "[ a-z]{0,7}",
        after in "[ a-zé]{0,7}",
    ) {
        prop_assume!(!key.contains("[key"));
        let from = cut.0.index(key.len() - 7);
        let to = from + 8 + cut.1.index(key.len() - from - 7);
        let change = |text: &str| {
            changes.iter().fold(text.to_owned(), |text, change| change.of(&text))
        };
        let text = format!("{before} {} {after}", change(&key[from..to]));
        let redacted = hidden(&key, &text).to_ascii_lowercase();
        prop_assert!(redacted.contains("[key]"), "{text} -> {redacted}");
        for at in from..=to - 8 {
            let part = &key[at..at + 8];
            for form in [part.to_ascii_lowercase(), change(part).to_ascii_lowercase()] {
                prop_assert!(!redacted.contains(&form), "{text} -> {redacted} has {form}");
            }
        }
        let (before, after) = (format!("{before} "), format!(" {after}"));
        prop_assert!(redacted.starts_with(&before) && redacted.ends_with(&after), "{text} -> {redacted}");
    }

    #[test]
    fn a_text_without_parts_of_the_key_is_unchanged(
        key in "[0-9]{1,40}", text in "[a-zé%&#;\\\\ ]{0,80}",
    ) {
        prop_assert_eq!(hidden(&key, &text), text);
    }

    #[test]
    fn any_text_can_be_redacted(key in "\\PC{0,20}", text in "[%&\\\\#xuU0-9a-f{};é\u{1f600}]{0,60}") {
        let redacted = hidden(&key, &text);
        prop_assert!(redacted == text || redacted.contains("[key]"));
    }
}

#[test]
fn short_keys_are_redacted_only_as_whole_words() {
    assert_eq!(hidden("EMPTY", "EMPTY 'EMPTY' empty EMPTYING"), "[key] '[key]' empty EMPTYING");
    assert_eq!(hidden("a", "a word, a b"), "[key] word, [key] b");
    assert_eq!(hidden("", "a word"), "a word");
}

#[test]
fn all_secrets_of_a_request_are_redacted() {
    let marked = |value: &'static str| {
        let mut value = HeaderValue::from_static(value);
        value.set_sensitive(true);
        value
    };
    let headers = HeaderMap::from_iter([
        (reqwest::header::AUTHORIZATION, HeaderValue::from_static("Bearer sk-0123456789")),
        ("api-key".parse().unwrap(), HeaderValue::from_static("k2")),
        ("x-session-token".parse().unwrap(), HeaderValue::from_static("tok.en.4711")),
        ("cookie".parse().unwrap(), HeaderValue::from_static("a=12345678; b=87654321")),
        ("x-title".parse().unwrap(), marked("app")),
        ("x-site".parse().unwrap(), marked("long-value")),
        ("x-plain".parse().unwrap(), HeaderValue::from_static("plain-words")),
    ]);
    let url = "http://me:pass%20word-1@h/v1?api_key=query-key-1&api-version=2026-11-22";
    let message = "Bearer SK-01234567 k2 TOK.EN.47 a=12345678 87654321 app long-value long-valu \
                plain-words pass+word pass%20wor query-ke 2026-11-22";
    let expected = "Bearer [key] [key] [key] [key] [key] app [key] long-valu plain-words \
                  pass+word [key] [key] 2026-11-22";
    assert_eq!(redacted(headers, url, message), expected);
}
