//! Lookahead that decides, character by character, whether a quote ends its string.
//!
//! The rules are those of [`lookahead`](crate::repair::lookahead), which needs the whole text; a
//! test compares them.

use super::Container;
use crate::repair::{
    lookahead::{closes, is_quote},
    scalar::{self, Word, is_word_char},
};

/// JSON white space.
pub(super) const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// The text after a quote that may end its string.
#[derive(Debug)]
pub(super) struct Ending {
    quote: char,
    container: Container,
    outer: Option<Container>,
    state: State,
    /// True if there is white space before the next token.
    gap: bool,
    /// True if that contains the end of a line.
    newline: bool,
    /// True if a comma follows the quote.
    pub(super) comma: bool,
}

/// The outcome of one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    More,
    Ends,
    Inner,
}

use Verdict::{Ends, Inner, More};

#[derive(Debug)]
enum State {
    /// After the quote of a key.
    Key,
    /// After the quote.
    Quote,
    /// After a comma.
    Comma,
    /// After a closing bracket inside of the document.
    Closer,
    /// After the last closing bracket.
    Document,
    /// In text on the line of the last closing bracket.
    Rest,
    /// After a `/`.
    Slash,
    /// After one or two backticks in a container, which may begin a fence or a string.
    Ticks(Container, usize),
    KeyText {
        open: char,
        escaped: bool,
    },
    KeyWord,
    Colon,
    Word(String),
    AfterWord,
    NextWord(String),
}

impl Ending {
    pub(super) fn new(
        quote: char,
        is_key: bool,
        container: Container,
        outer: Option<Container>,
    ) -> Self {
        let state = if is_key { State::Key } else { State::Quote };
        Self { quote, container, outer, state, gap: false, newline: false, comma: false }
    }

    /// Read the next character.
    pub(super) fn read(&mut self, ch: char) -> Verdict {
        let at_token = matches!(
            self.state,
            State::Key
                | State::Quote
                | State::Comma
                | State::Closer
                | State::Document
                | State::Colon
                | State::AfterWord
        );
        if at_token && BLANK.contains(&ch) {
            self.gap = true;
            self.newline |= ch == '\n';
            return More;
        }
        match &mut self.state {
            State::Quote => self.after_quote(ch),
            State::Comma => self.after_comma(ch),
            State::Closer => match (ch, self.outer) {
                (',' | '}' | ']', _) => Ends,
                (_, Some(outer)) => self.unseparated(ch, outer),
                (_, None) => Inner,
            },
            State::Document if matches!(ch, '}' | ']' | '{' | '[') || self.newline => Ends,
            State::Document | State::Rest => {
                self.state = State::Rest;
                // If the string continued, it would have a closing quote.
                if closes(self.quote, ch) { Inner } else { More }
            }
            State::Slash => verdict(matches!(ch, '/' | '*')),
            State::Ticks(_, 2) if ch == '`' => Ends,
            State::Ticks(container, count) => {
                let (container, count) = (*container, *count);
                self.ticks(container, count, ch)
            }
            State::KeyText { escaped, .. } if *escaped => {
                *escaped = false;
                More
            }
            State::KeyText { escaped, .. } if ch == '\\' => {
                *escaped = true;
                More
            }
            State::KeyText { open, .. } if closes(*open, ch) => self.enter(State::Colon),
            State::KeyText { .. } => More,
            State::KeyWord if is_word_char(ch) => More,
            State::KeyWord => {
                self.state = State::Colon;
                self.read(ch)
            }
            State::Key | State::Colon => verdict(ch == ':'),
            State::Word(word) | State::NextWord(word) if is_word_char(ch) => {
                word.push(ch);
                More
            }
            State::NextWord(word) => verdict(is_value(word)),
            State::Word(word) if !is_value(word) => Inner,
            State::Word(_) => {
                self.state = State::AfterWord;
                self.read(ch)
            }
            State::AfterWord
                if matches!(ch, ',' | '}' | ']' | ')' | '[' | '{' | '"' | '#' | '/') =>
            {
                Ends
            }
            State::AfterWord if is_word_char(ch) => self.enter(State::NextWord(ch.into())),
            State::AfterWord => Inner,
        }
    }

    fn enter(&mut self, state: State) -> Verdict {
        self.state = state;
        self.gap = false;
        self.newline = false;
        More
    }

    fn after_quote(&mut self, ch: char) -> Verdict {
        match ch {
            ',' => {
                self.comma = true;
                self.enter(State::Comma)
            }
            '}' | ']' if self.outer.is_some() => self.enter(State::Closer),
            '}' | ']' => self.enter(State::Document),
            ')' => Inner,
            _ => self.unseparated(ch, self.container),
        }
    }

    /// Read the first character of a key or an item after a comma.
    fn after_comma(&mut self, ch: char) -> Verdict {
        match (ch, self.container) {
            ('}' | ']' | '#', _) | ('{' | '[' | '(', Container::Array) => Ends,
            (')', _) => Inner,
            ('/', _) => self.enter(State::Slash),
            (_, Container::Object) => self.key(ch),
            (_, Container::Array) => self.item(ch),
        }
    }

    /// Read the first character of a key or an item whose comma is missing.
    fn unseparated(&mut self, ch: char, container: Container) -> Verdict {
        match (ch, container) {
            ('#', _) | ('{' | '[', Container::Array) => Ends,
            ('/', _) => self.enter(State::Slash),
            ('`', _) => {
                // The gap decides about a string in an array.
                self.state = State::Ticks(container, 1);
                More
            }
            (_, Container::Object) => self.key(ch),
            (_, Container::Array) if self.gap => self.item(ch),
            (_, Container::Array) => Inner,
        }
    }

    fn ticks(&mut self, container: Container, count: usize, ch: char) -> Verdict {
        match container {
            Container::Array if self.gap => Ends,
            _ if ch == '`' => {
                self.state = State::Ticks(container, count + 1);
                More
            }
            Container::Array => Inner,
            Container::Object => {
                // One backtick opens a key, two are an empty one.
                self.enter(match count {
                    1 => State::KeyText { open: '`', escaped: false },
                    _ => State::Colon,
                });
                self.read(ch)
            }
        }
    }

    fn key(&mut self, ch: char) -> Verdict {
        if is_quote(ch) {
            self.enter(State::KeyText { open: ch, escaped: false })
        } else if is_word_char(ch) {
            self.enter(State::KeyWord)
        } else {
            Inner
        }
    }

    fn item(&mut self, ch: char) -> Verdict {
        if is_quote(ch) {
            Ends
        } else if is_word_char(ch) {
            self.enter(State::Word(ch.into()))
        } else {
            Inner
        }
    }
}

fn verdict(ends: bool) -> Verdict {
    if ends { Ends } else { Inner }
}

fn is_value(word: &str) -> bool {
    scalar::value(word) != Word::Unknown
}
