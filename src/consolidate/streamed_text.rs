//! Escaping of foreign text that arrives in pieces, with the same result as for the complete text,
//! as early as possible.
//!
//! Only the beginnings of tags and entities are held back, and a line that could be a separator.
//! The work per character is bounded, however the text is split.

use memchr::memchr2;

use super::{
    escape::{Names, follows_entity, is_tag},
    layout::{Cursor, End, Layout, RULE},
};
use crate::{
    contract::{MAX_NAME_BYTES, is_name_char},
    markup,
};

/// A growing text at the end of a message.
#[derive(Clone, Debug)]
pub(super) struct StreamedText {
    /// The beginning of the text, as long as it could be a separator line after a block.
    start: Option<String>,
    neutraliser: Neutraliser,
    /// The neutraliser of texts in a dialect.
    markup: markup::Neutraliser,
    is_broken: bool,
}

impl StreamedText {
    /// Begin a text at the cursor. It must receive at least one character.
    pub(super) fn begin(cursor: Cursor, layout: &Layout, written: &mut String) -> Self {
        written.push_str(cursor.line_break());
        Self {
            start: (layout.is_ruled() && cursor.end == End::Block).then(String::new),
            neutraliser: Neutraliser::default(),
            markup: markup::Neutraliser::default(),
            is_broken: false,
        }
    }

    pub(super) fn push(&mut self, piece: &str, layout: &Layout, written: &mut String) {
        if piece.is_empty() {
            return;
        }
        self.is_broken = piece.ends_with('\n');
        if let Some(dialect) = &layout.dialect {
            return self.markup.push(piece, dialect.markup.markers(), written);
        }
        let names = layout.names();
        let Some(start) = &mut self.start else {
            return self.neutraliser.push(piece, names, written);
        };
        start.push_str(piece);
        if start.len() < RULE.len() && RULE.starts_with(start.as_str()) {
            return;
        }
        let start = std::mem::take(start);
        self.start = None;
        if start.starts_with(RULE) {
            written.push_str(RULE);
        }
        self.neutraliser.push(&start, names, written);
    }

    /// End the text and return the cursor for the next piece of the message.
    pub(super) fn end(mut self, layout: &Layout, written: &mut String) -> Cursor {
        let names = layout.names();
        self.markup.finish(written);
        if let Some(start) = self.start {
            if start == RULE.trim_end() {
                written.push_str(RULE);
            }
            self.neutraliser.push(&start, names, written);
        }
        self.neutraliser.finish(names, written);
        Cursor { end: End::Text { broken: self.is_broken } }
    }
}

/// A version of [`neutralise`](super::escape::neutralise) that works piece by piece.
#[derive(Clone, Debug, Default)]
struct Neutraliser {
    state: State,
    /// Input that has not been written yet.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After a `&` and any number of `amp;`, which are written.
    Entity,
    /// After a `<`, or the `lt;` of an entity, which is not written yet.
    Head { is_entity: bool, place: Place },
}

/// The position in the beginning of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeSlash,
    BeforeName,
    /// In the name, which begins at this offset of the held input.
    Name {
        from: usize,
    },
}

impl State {
    const fn head(is_entity: bool) -> Self {
        Self::Head { is_entity, place: Place::BeforeSlash }
    }
}

impl Neutraliser {
    fn push(&mut self, piece: &str, names: &Names, written: &mut String) {
        let mut rest = piece;
        loop {
            if self.state == State::Text {
                let at = memchr2(b'<', b'&', rest.as_bytes()).unwrap_or(rest.len());
                written.push_str(&rest[..at]);
                rest = &rest[at..];
            }
            let Some(ch) = rest.chars().next() else { return };
            if self.take(ch, names, written) {
                rest = &rest[ch.len_utf8()..];
            }
        }
    }

    /// Write the held input at the end of the text.
    fn finish(&mut self, names: &Names, written: &mut String) {
        match self.state {
            State::Head { is_entity, .. } => self.decide(is_entity, names, written),
            State::Text | State::Entity => written.push_str(&self.held),
        }
        *self = Self::default();
    }

    /// Return true if `ch` was consumed; otherwise it must be pushed again, in another state.
    fn take(&mut self, ch: char, names: &Names, written: &mut String) -> bool {
        match self.state {
            State::Text if ch == '<' => self.state = State::head(false),
            State::Text => {
                written.push(ch);
                self.state = State::Entity;
            }
            State::Entity => return self.take_in_entity(ch, written),
            State::Head { is_entity, place } => {
                let place = match place {
                    Place::BeforeSlash | Place::BeforeName if matches!(ch, ' ' | '\t') => place,
                    Place::BeforeSlash if ch == '/' => Place::BeforeName,
                    Place::BeforeSlash | Place::BeforeName if is_name_char(ch) => {
                        Place::Name { from: self.held.len() }
                    }
                    // Longer than any name.
                    Place::Name { from } if self.held.len() - from > MAX_NAME_BYTES => {
                        return self.end_head(ch, is_entity, names, written);
                    }
                    Place::Name { .. } if is_name_char(ch) => place,
                    _ => return self.end_head(ch, is_entity, names, written),
                };
                self.held.push(ch);
                self.state = State::Head { is_entity, place };
            }
        }
        true
    }

    fn take_in_entity(&mut self, ch: char, written: &mut String) -> bool {
        self.held.push(ch);
        match self.held.as_str() {
            "amp;" => {
                written.push_str(&self.held);
                self.held.clear();
            }
            "lt;" => {
                self.held.clear();
                self.state = State::head(true);
            }
            held if "amp;".starts_with(held) || "lt;".starts_with(held) => {}
            _ => {
                self.held.pop();
                written.push_str(&self.held);
                self.held.clear();
                self.state = State::Text;
                return false;
            }
        }
        true
    }

    /// End the beginning of a tag before `ch`, which must be pushed again.
    fn end_head(&mut self, ch: char, is_entity: bool, names: &Names, written: &mut String) -> bool {
        let length = self.held.len();
        self.held.push(ch);
        self.decide(is_entity, names, written);
        written.truncate(written.len() - (self.held.len() - length));
        self.held.clear();
        self.state = State::Text;
        false
    }

    /// Write the held input, escaped if it could be a tag.
    fn decide(&self, is_entity: bool, names: &Names, written: &mut String) {
        written.push_str(match is_entity {
            true if follows_entity(&self.held) => "amp;lt;",
            true => "lt;",
            false if is_tag(&self.held, names) => "&lt;",
            false => "<",
        });
        written.push_str(&self.held);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::escape::neutralise, *};

    fn names() -> Names {
        let mut names = Names::default();
        names.insert("GetWeather");
        names.insert("a/b");
        names.insert(&"n".repeat(MAX_NAME_BYTES));
        names
    }

    fn in_pieces<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let (mut neutraliser, mut written) = (Neutraliser::default(), String::new());
        for piece in pieces {
            neutraliser.push(piece, &names(), &mut written);
        }
        neutraliser.finish(&names(), &mut written);
        written
    }

    fn hostile() -> impl Strategy<Value = Vec<String>> {
        let long = |length: usize| "n".repeat(length);
        let piece = prop_oneof![
            8 => prop::sample::select(vec![
                "<", "&", "lt;", "&lt;", "amp;", "&amp;", "/", " ", "\n", ">", "tool_call", "am",
                "tool_response", "GetWeather", "getweather", "a/b", "a", "\t", "\r\n", "l", "t;",
            ]).prop_map(str::to_owned),
            1 => any::<char>().prop_map(|ch| ch.to_string()),
            1 => (MAX_NAME_BYTES - 2..MAX_NAME_BYTES + 4).prop_map(long),
        ];
        prop::collection::vec(piece, 0..24)
    }

    proptest! {
        #![proptest_config(crate::effort::cases(2000))]

        #[test]
        fn the_output_does_not_depend_on_the_splitting(pieces in hostile()) {
            let whole = pieces.concat();
            let wanted = neutralise(&whole, &names());
            prop_assert_eq!(in_pieces(pieces.iter().map(String::as_str)), &*wanted);
            let chars: Vec<_> = whole.chars().map(String::from).collect();
            prop_assert_eq!(in_pieces(chars.iter().map(String::as_str)), &*wanted);
        }
    }

    #[test]
    fn long_possible_tags_take_linear_time() {
        for (begin, more) in [("<", " "), ("&", "amp;"), ("</", "\t"), ("<", "n"), ("&lt;", " ")] {
            let mut pieces = vec![begin];
            pieces.extend(std::iter::repeat_n(more, crate::effort::size(200_000)));
            let whole = pieces.concat();
            assert_eq!(in_pieces(pieces), neutralise(&whole, &names()));
        }
    }
}
