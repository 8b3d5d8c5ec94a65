//! The server of a request, as failures name it.

use std::fmt;

use reqwest::Url;

use super::request::Request;

/// The server of a request. Displayed as its name.
#[derive(Debug)]
pub(super) struct Peer<'r> {
    name: &'r str,
    host: String,
}

impl<'r> Peer<'r> {
    /// Return the server at a URL.
    pub(super) fn new(request: &'r Request, url: &Url) -> Self {
        Self { name: &request.name, host: place(url) }
    }

    /// Return a server that is known by name alone.
    pub(super) fn named(name: &'r str) -> Self {
        Self { name, host: name.to_owned() }
    }

    /// Return the host, with the port unless it is the default.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Return the beginning of a sentence about the host.
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

/// Return the host and port of a URL, without the user, the path and the query.
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
    fn only_the_host_and_port_are_shown() {
        for (url, expected) in [
            ("http://me:pw@host/path?key=1#x", "host"),
            ("https://host:8443/", "host:8443"),
            ("https://host:443/", "host"),
            ("http://[::1]:80/", "[::1]"),
        ] {
            assert_eq!(place(&Url::parse(url).unwrap()), expected);
        }
    }
}
