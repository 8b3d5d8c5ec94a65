//! Whoever answers, as failures speak of it.

use std::fmt;

use reqwest::Url;

use super::request::Request;

/// Whoever answers: the name, when it is written.
#[derive(Debug)]
pub(super) struct Peer<'r> {
    name: &'r str,
    host: String,
}

impl<'r> Peer<'r> {
    /// Whoever answers a request at a URL.
    pub(super) fn new(request: &'r Request, url: &Url) -> Self {
        Self { name: &request.name, host: place(url) }
    }

    /// Whoever has answered already, and is known by name alone.
    pub(super) fn named(name: &'r str) -> Self {
        Self { name, host: name.to_owned() }
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
    use super::*;

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
