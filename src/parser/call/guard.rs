//! The body of a tag with the name of an HTML element: an object with arguments, or markup of a
//! page with a template expression in it.

use super::{Call, Phase, prose::CloseSearch};
use crate::{
    parser::{
        frame::Sink,
        machine::{Flow, Pass},
    },
    repair::repair_json,
};

/// The object that may be a payload, as far as it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// Position of its brace.
    brace: usize,
    /// True if a fence was opened before it.
    fenced: bool,
    first: First,
}

/// The state of the first member after the brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// White space so far.
    Blank,
    /// Part of a key in quotes.
    Quoted { quote: u8, escaped: bool },
    /// Part of a key without quotes.
    Bare,
    /// A key.
    Key { quoted: bool },
    /// A key in quotes and its colon.
    Member,
    /// A key without quotes and its colon.
    BareMember,
    /// The other brace.
    Nothing,
    /// Any other byte.
    Other,
}

impl First {
    fn is_decided(self) -> bool {
        matches!(self, Self::Member | Self::BareMember | Self::Nothing | Self::Other)
    }

    fn then(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted { quote, escaped: true }, _) => Self::Quoted { quote, escaped: false },
            (Self::Quoted { quote, .. }, b'\\') => Self::Quoted { quote, escaped: true },
            (Self::Quoted { quote, .. }, _) if byte == quote => Self::Key { quoted: true },
            (Self::Quoted { .. }, _) => self,
            (Self::Key { quoted: true }, b':') => Self::Member,
            (Self::Key { quoted: false } | Self::Bare, b':') => Self::BareMember,
            (Self::Bare, _) if byte.is_ascii_whitespace() => Self::Key { quoted: false },
            (Self::Blank | Self::Key { .. }, _) if byte.is_ascii_whitespace() => self,
            (Self::Blank, b'"' | b'\'') => Self::Quoted { quote: byte, escaped: false },
            (Self::Blank, b'}') => Self::Nothing,
            (Self::Blank | Self::Bare, b'_' | b'$' | b'-' | 0x80..) => Self::Bare,
            (Self::Blank | Self::Bare, _) if byte.is_ascii_alphanumeric() => Self::Bare,
            _ => Self::Other,
        }
    }
}

impl Guard {
    /// Create a guard for the position right after the brace at `brace`.
    pub(super) fn new(brace: usize, fenced: bool) -> Self {
        Self { brace, fenced, first: First::Blank }
    }
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn guard(&mut self, call: Box<Call>, mut guard: Guard) -> Flow {
        let stop = guard.brace.saturating_add(self.limit());
        while !guard.first.is_decided() && self.machine.pos < stop {
            let Some(byte) = self.window.byte(self.machine.pos) else { break };
            guard.first = guard.first.then(byte);
            // The tag may close where the object cannot continue.
            self.machine.pos += usize::from(guard.first != First::Other);
        }
        if guard.first == First::Member {
            return self.open_payload(call, guard.brace, guard.fenced);
        }
        if !guard.first.is_decided() && self.machine.pos < stop && self.ending.is_none() {
            return self.wait_guarded(call, guard);
        }
        match self.seek_own_close(&call, guard.brace) {
            CloseSearch::Close(start)
                if is_readable(self.window.slice(guard.brace, start), guard) =>
            {
                self.machine.tag = None;
                self.open_payload(call, guard.brace, guard.fenced)
            }
            // The body is too long to buffer, but a key and a colon have been read.
            CloseSearch::NotFound if guard.first == First::BareMember => {
                self.open_payload(call, guard.brace, guard.fenced)
            }
            CloseSearch::Close(_) | CloseSearch::NotFound => self.not_a_tag(call.start),
            CloseSearch::NeedMore => self.wait_guarded(call, guard),
        }
    }

    fn wait_guarded(&mut self, call: Box<Call>, guard: Guard) -> Flow {
        self.hold_text(call.start);
        self.wait(call, Phase::Guard(guard))
    }
}

/// Return true if the text between the brace and the closing tag can be read as arguments.
fn is_readable(body: &str, guard: Guard) -> bool {
    // An expression that consists of a comment would become an empty object.
    repair_json(body)
        .is_some_and(|repaired| guard.first == First::Nothing || repaired.text.contains('"'))
}
