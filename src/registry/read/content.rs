//! The contents of elements: as text, and as they are laid out.

use std::borrow::Cow;

use super::{
    super::{
        diagnostic::{Code, Finding},
        document::Piece,
        limits::MAX_TEXT,
        lint::SourceMap,
        xml::{Attribute, Tag, Token},
    },
    Read, Reader,
};

/// The text of an element.
pub(super) struct Content<'a> {
    pub(super) text: Cow<'a, str>,
    source: SourceMap,
    /// The content as it is, if it is more than its text.
    pub(super) inner: Option<Box<[Piece]>>,
}

impl<'a> Reader<'a, '_> {
    /// The text of an element, with all that is inside of elements in it.
    pub(super) fn content(&mut self, tag: &Tag<'a>) -> Read<Content<'a>> {
        let mut text = Cow::Borrowed("");
        let mut source = SourceMap::default();
        let mut inner: Option<Vec<Piece>> = None;
        let mut depth = 0_usize;
        loop {
            let piece = match self.next()? {
                Token::Text(more, at) => {
                    if text.len() + more.len() > MAX_TEXT {
                        let message = format!("the text is longer than {MAX_TEXT} bytes");
                        return Err(Finding::new(Code::Limit, tag.span.clone(), message).into());
                    }
                    source.add(text.len(), at);
                    if let Some(inner) = &mut inner {
                        add_text(inner, &more);
                    }
                    if text.is_empty() {
                        text = more;
                    } else {
                        text.to_mut().push_str(&more);
                    }
                    continue;
                }
                Token::Close if depth == 0 => break,
                Token::Close => {
                    depth -= 1;
                    Piece::Close
                }
                Token::Open(nested) => {
                    if depth == 0 {
                        let message = format!("the element <{}> in a text", nested.name);
                        let hint = "Its text counts here, but NLWeb stops reading at it; write \
                                    \"&lt;\" if no element is meant.";
                        self.warn(Code::NestedMarkup, &nested.span, message, Some(hint.to_owned()));
                    }
                    depth += 1;
                    opening(&nested)
                }
                Token::Comment(text) => Piece::Comment(lines(text)),
                Token::Instruction(text) => Piece::Instruction(lines(text)),
                Token::Doctype(..) | Token::End => continue,
            };
            let inner = inner.get_or_insert_with(|| {
                let mut begun = Vec::new();
                add_text(&mut begun, &text);
                begun
            });
            inner.push(piece);
        }
        Ok(Content { text, source, inner: inner.map(Into::into) })
    }

    /// An element that means nothing, with all that is in it.
    pub(super) fn subtree(&mut self, tag: &Tag<'a>) -> Read<Vec<Piece>> {
        let mut pieces = vec![opening(tag)];
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                Token::Open(tag) => {
                    depth += 1;
                    pieces.push(opening(&tag));
                }
                Token::Close => {
                    depth -= 1;
                    pieces.push(Piece::Close);
                }
                Token::Text(text, _) => add_text(&mut pieces, &text),
                Token::Comment(text) => pieces.push(Piece::Comment(lines(text))),
                Token::Instruction(text) => pieces.push(Piece::Instruction(lines(text))),
                Token::Doctype(..) | Token::End => {}
            }
        }
        Ok(pieces)
    }
}

impl Content<'_> {
    /// Where the text stands without the white space around it.
    pub(super) fn trimmed(&self) -> SourceMap {
        let trimmed = self.text.len() - self.text.trim_ascii_start().trim_start().len();
        SourceMap { trimmed, ..self.source.clone() }
    }

    /// The element as it is, for one that does not count.
    pub(super) fn into_pieces(self, tag: &Tag<'_>) -> Box<[Piece]> {
        let mut pieces = vec![opening(tag)];
        match self.inner {
            Some(inner) => pieces.extend(inner),
            None => add_text(&mut pieces, &self.text),
        }
        pieces.push(Piece::Close);
        pieces.into()
    }
}

/// The attributes but for some, to be written again.
pub(super) fn kept(attributes: &[Attribute<'_>], without: &[&str]) -> Box<[(Box<str>, Box<str>)]> {
    if attributes.is_empty() {
        return Box::default();
    }
    let kept = attributes.iter().filter(|attribute| !without.contains(&attribute.name));
    kept.map(|attribute| (attribute.name.into(), attribute.value.as_ref().into())).collect()
}

fn opening(tag: &Tag<'_>) -> Piece {
    Piece::Open { name: tag.name.into(), attributes: kept(&tag.attributes, &[]) }
}

/// Adds text; two pieces of it never stand side by side.
fn add_text(pieces: &mut Vec<Piece>, more: &str) {
    if more.is_empty() {
        return;
    }
    if let Some(Piece::Text(text)) = pieces.last_mut() {
        let mut joined = std::mem::take(text).into_string();
        joined.push_str(more);
        *text = joined.into();
    } else {
        pieces.push(Piece::Text(more.into()));
    }
}

/// Markup with the line ends of XML.
pub(super) fn lines(text: &str) -> Box<str> {
    text.replace("\r\n", "\n").replace('\r', "\n").into()
}
