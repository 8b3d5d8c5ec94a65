//! The position of the reader in the document.

use std::collections::HashSet;

use super::{Container, ending::Ending, escape::Escape, place::Place};
use crate::repair::frames::Expect;

/// The position in a token or between tokens.
#[derive(Debug)]
pub(super) enum State {
    /// Before the document.
    Before(Before),
    /// Between tokens.
    Between,
    /// After a `/` between tokens.
    Slash,
    LineComment,
    BlockComment {
        star: bool,
    },
    Word,
    Text,
    Escape(Escape),
    /// After a quote that may end the string.
    End(Ending),
    /// After the document, or where nothing more is certain.
    Done,
}

/// The text before the document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    Blank,
    Ticks(usize),
    /// The label of a fence.
    Label,
    AfterLabel,
    Prose,
}

/// An open container.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) container: Container,
    pub(super) expect: Expect,
    /// The schemas for its parts.
    pub(super) place: Place,
    pub(super) key: String,
    /// The keys so far, if the container is shown.
    pub(super) keys: HashSet<String>,
    pub(super) index: usize,
    /// True if it was reported.
    pub(super) shown: bool,
    /// True if its next value can be reported. In an array, each item needs those before it.
    pub(super) accepts: bool,
}

/// The state of the open string.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) quote: char,
    pub(super) is_key: bool,
    /// True if it is reported while it is written.
    pub(super) live: bool,
    /// The last quote in it.
    pub(super) last: char,
    pub(super) inner_quotes: usize,
    pub(super) passed_an_end: bool,
}

impl Text {
    pub(super) fn new(quote: char, is_key: bool, live: bool) -> Self {
        Self { quote, is_key, live, last: quote, inner_quotes: 0, passed_an_end: false }
    }
}

impl Frame {
    pub(super) fn new(container: Container, place: Place, shown: bool) -> Self {
        Self {
            container,
            expect: Expect::First,
            place,
            key: String::new(),
            keys: HashSet::new(),
            index: 0,
            shown,
            accepts: shown,
        }
    }
}
