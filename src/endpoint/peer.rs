//! Whoever answers, as failures speak of it.

use std::fmt;

use reqwest::{Url, header::HeaderMap};

use super::request::Request;

/// Whoever answers: the name, when it is written.
#[derive(Debug)]
pub(super) struct Peer<'r> {
    name: &'r str,
    host: String,
    headers: &'r HeaderMap,
}

/// Headers that hold a key, under whatever mark.
const SECRET: [&str; 3] = ["authorization", "api-key", "x-api-key"];

/// Values of marked headers that are shorter may be any word, and are no secrets.
const SHORTEST_SECRET: usize = 8;

impl<'r> Peer<'r> {
    /// Whoever answers a request at a URL.
    pub(super) fn new(request: &'r Request, url: &Url) -> Self {
        Self { name: &request.name, host: place(url), headers: &request.headers }
    }

    /// Whoever has answered already, and is known by name alone.
    pub(super) fn named(name: &'r str, headers: &'r HeaderMap) -> Self {
        Self { name, host: name.to_owned(), headers }
    }

    /// The host, and the port if it is not the usual one.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// What a sentence about the host begins with.
    pub(super) fn prefix(&self) -> String {
        let named = !self.name.is_empty() && self.name != self.host;
        if named { format!("{}: ", self.name) } else { String::new() }
    }

    /// A text of the peer without the secrets that it was sent.
    pub(super) fn hide(&self, mut text: String) -> String {
        for (name, value) in self.headers {
            let known = SECRET.contains(&name.as_str());
            let marked = value.is_sensitive();
            let Ok(value) = value.to_str() else { continue };
            // The key without the word before it, as in `Bearer key`.
            let key = value.rsplit(' ').next().unwrap_or_default();
            for secret in [value, key] {
                let shortest = if known { 1 } else { SHORTEST_SECRET };
                if (known || marked) && secret.len() >= shortest && text.contains(secret) {
                    text = text.replace(secret, "[key]");
                }
            }
        }
        text
    }
}

impl fmt::Display for Peer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { &self.host } else { self.name })
    }
}

/// Where a URL leads, without the user, the path and the query.
pub(super) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the server");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_words_are_not() {
        let marked = |value: &'static str| {
            let mut value = HeaderValue::from_static(value);
            value.set_sensitive(true);
            value
        };
        let headers = HeaderMap::from_iter([
            (reqwest::header::AUTHORIZATION, HeaderValue::from_static("Bearer k1")),
            ("api-key".parse().unwrap(), HeaderValue::from_static("k2")),
            ("x-title".parse().unwrap(), marked("app")),
            ("x-secret".parse().unwrap(), marked("long-secret")),
            ("x-plain".parse().unwrap(), HeaderValue::from_static("plain-words")),
        ]);
        let peer = Peer::named("m", &headers);
        let hidden = peer.hide("Bearer k1 k1 k2 app long-secret plain-words".to_owned());
        assert_eq!(hidden, "[key] [key] [key] app [key] plain-words");
    }

    #[test]
    fn a_place_is_a_host_and_no_more() {
        for (url, said) in [
            ("http://me:pw@host/path?key=1#x", "host"),
            ("https://host:8443/", "host:8443"),
            ("https://host:443/", "host"),
            ("http://[::1]:80/", "[::1]"),
        ] {
            assert_eq!(place(&Url::parse(url).unwrap()), said);
        }
    }
}
