//! How a request, or its reply, can fail.

use std::{fmt, time::Duration};

use thiserror::Error;

use super::secrets::Secrets;

/// A request that was not answered, or a reply that broke off.
///
/// No text in it holds a key, or the user or the query of a URL.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// What happened, where, and how far the reply had come.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The server's word for the error, if it has one, such as `context_length_exceeded`.
    pub code: Option<String>,
    /// The parameter of the request that the server does not like, if it says so.
    pub param: Option<String>,
    /// How long the server asks to wait, where it does.
    pub retry_after: Option<Duration>,
    /// Whether asking again may help.
    pub transient: bool,
    /// How many bytes of the reply had come.
    pub received: u64,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The name of the host is not known.
    Dns,
    /// The server cannot be reached.
    Connect,
    /// There is no secure connection to be had.
    Tls,
    /// Something took too long.
    Timeout(TimeoutKind),
    /// The server answered with an error, or sent one within the reply.
    Status,
    /// The server points to somewhere else.
    Redirect,
    /// What the server sent is nothing that it may send.
    Protocol,
    /// What the server sent is larger than it may be.
    TooLarge,
    /// A piece of the reply cannot be read.
    Chunk,
    /// The connection broke off.
    Cut,
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// Making a connection.
    Connect,
    /// The first byte of the reply.
    FirstByte,
    /// The next byte of the reply.
    Idle,
    /// Everything together.
    Total,
}

/// Characters of a message, but for how far the reply had come.
const MAX_MESSAGE: usize = 800;

impl Failure {
    /// A failure that will not pass by itself, before anything has come.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            // Parts of it are what others say: names in certificates, places of redirects.
            message: truncated(one_line(&message.into()), MAX_MESSAGE),
            status: None,
            code: None,
            param: None,
            retry_after: None,
            transient: false,
            received: 0,
        }
    }

    /// A failure that may pass by itself.
    pub(super) fn transient(kind: FailureKind, message: String) -> Self {
        Self { transient: true, ..Self::new(kind, message) }
    }

    /// The same failure, without what it may not tell.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        let word = |word: Option<String>| word.map(|word| secrets.hide(&word).into_owned());
        Self {
            message: secrets.hide(&self.message).into_owned(),
            code: word(self.code),
            param: word(self.param),
            ..self
        }
    }

    /// The failure of a reply of which so much had come.
    pub(super) fn after(mut self, received: u64) -> Self {
        self.received = received;
        if received > 0 {
            self.message = format!("{}, after {} of the reply", self.message, Bytes(received));
        }
        self
    }
}

/// A text on one line that shows what it is: white space joined, and nothing that is not printed
/// or turns what is.
pub(super) fn one_line(text: &str) -> String {
    let turns = |ch: char| matches!(ch, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text: String =
        text.chars().map(|ch| if ch.is_control() || turns(ch) { ' ' } else { ch }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning of a text that is too long.
pub(super) fn truncated(mut text: String, characters: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// A number of bytes, for people.
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

/// A time, for people.
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
    fn numbers_of_bytes_are_written_in_groups() {
        let written = [0, 1, 12, 999, 1000, 3210, 1_234_567].map(|n| Bytes(n).to_string());
        let reader_waiting = ["0 bytes", "1 byte", "12 bytes", "999 bytes", "1,000 bytes", "3,210 bytes"];
        assert_eq!(written[..6], reader_waiting);
        assert_eq!(written[6], "1,234,567 bytes");
    }

    #[test]
    fn a_failure_says_how_far_the_reply_had_come() {
        let failure = Failure::transient(FailureKind::Cut, "h broke off".to_owned());
        assert_eq!(failure.clone().after(0).to_string(), "h broke off");
        let failure = failure.after(3210);
        assert_eq!(failure.to_string(), "h broke off, after 3,210 bytes of the reply");
        assert_eq!(failure.received, 3210);
    }
}
