//! Failures of requests and replies.

use std::{fmt, time::Duration};

use bytes::Bytes as Body;
use thiserror::Error;

use super::secrets::Secrets;

/// The failure of a request that was not answered, or of a reply that broke off.
///
/// No text in it contains a key, or the user name or query of a URL.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The description: what happened, where, and how much of the reply had arrived.
    pub message: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The error code of the server, if it sent one, such as `context_length_exceeded`.
    pub code: Option<String>,
    /// The request parameter that the server rejected, if it named one.
    pub param: Option<String>,
    /// The body of the error response, if there was one: at most 64 KiB, as the server sent it.
    pub body: Option<Box<Body>>,
    /// The delay before a retry that the server asks for, if any.
    pub retry_after: Option<Duration>,
    /// True if a retry may succeed.
    pub transient: bool,
    /// The number of bytes of the reply that had arrived.
    pub received: u64,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The host name cannot be resolved.
    Dns,
    /// The server cannot be reached.
    Connect,
    /// No secure connection can be established.
    Tls,
    /// A timeout has elapsed.
    Timeout(TimeoutKind),
    /// The server sent an error, as its response or within the reply.
    Status,
    /// The server sent a redirect that is not followed.
    Redirect,
    /// The server violated the protocol.
    Protocol,
    /// The server sent something that exceeds a size limit.
    TooLarge,
    /// A chunk of the reply is invalid.
    Chunk,
    /// The connection was closed before the reply was complete.
    Cut,
}

/// The timeout that has elapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// Establishing a connection.
    Connect,
    /// The first byte of the reply.
    FirstByte,
    /// The next byte of the reply.
    Idle,
    /// The whole request.
    Total,
}

/// Maximum length of a message in characters, without the suffix about received bytes.
const MAX_MESSAGE: usize = 800;

impl Failure {
    /// Create a permanent failure before any bytes have arrived.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            // Parts of it come from others: names in certificates, targets of redirects.
            message: truncated(one_line(&message.into()), MAX_MESSAGE),
            status: None,
            code: None,
            param: None,
            body: None,
            retry_after: None,
            transient: false,
            received: 0,
        }
    }

    /// Create a transient failure.
    pub(super) fn transient(kind: FailureKind, message: String) -> Self {
        Self { transient: true, ..Self::new(kind, message) }
    }

    /// Return the failure with all secrets redacted.
    pub(super) fn redacted(self, secrets: &Secrets) -> Self {
        let word = |word: Option<String>| word.map(|word| secrets.hide(&word).into_owned());
        Self {
            message: secrets.hide(&self.message).into_owned(),
            code: word(self.code),
            param: word(self.param),
            body: self.body.map(|body| Box::new(redacted_body(*body, secrets))),
            ..self
        }
    }

    /// Return the failure with the number of bytes that had arrived.
    pub(super) fn after(mut self, received: u64) -> Self {
        self.received = received;
        if received > 0 {
            self.message = format!("{}, after {} of the reply", self.message, Bytes(received));
        }
        self
    }
}

/// Return a body with all secrets redacted; without any, it is returned unchanged.
pub(super) fn redacted_body(body: Body, secrets: &Secrets) -> Body {
    let hidden = match secrets.hide(&String::from_utf8_lossy(&body)) {
        std::borrow::Cow::Borrowed(_) => None,
        std::borrow::Cow::Owned(text) => Some(text),
    };
    hidden.map_or(body, Body::from)
}

/// Return the text on one line: with white space collapsed, and without control characters and
/// bidirectional formatting characters.
pub(super) fn one_line(text: &str) -> String {
    let is_bidi_control = |ch: char| matches!(ch, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text: String = text
        .chars()
        .map(|ch| if ch.is_control() || is_bidi_control(ch) { ' ' } else { ch })
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Truncate a text to a number of characters.
pub(super) fn truncated(mut text: String, characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// A number of bytes, formatted for people.
#[derive(Clone, Copy)]
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        f.write_str(if self.0 == 1 { " byte" } else { " bytes" })
    }
}

/// A duration, formatted for people.
#[derive(Clone, Copy)]
pub(super) struct Seconds(pub(super) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes_have_thousands_separators() {
        let written = [0, 1, 12, 999, 1000, 3210, 1_234_567].map(|n| Bytes(n).to_string());
        let expected = ["0 bytes", "1 byte", "12 bytes", "999 bytes", "1,000 bytes", "3,210 bytes"];
        assert_eq!(written[..6], expected);
        assert_eq!(written[6], "1,234,567 bytes");
    }

    #[test]
    fn a_failure_says_how_much_had_arrived() {
        let failure = Failure::transient(FailureKind::Cut, "h broke off".to_owned());
        assert_eq!(failure.clone().after(0).to_string(), "h broke off");
        let failure = failure.after(3210);
        assert_eq!(failure.to_string(), "h broke off, after 3,210 bytes of the reply");
        assert_eq!(failure.received, 3210);
    }
}
