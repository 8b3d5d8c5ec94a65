//! The content of elements, as text and as markup.

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
    /// The content, if it is more than text.
    pub(super) inner: Option<Box<[Piece]>>,
}

impl<'a> Reader<'a, '_> {
    /// Read the text of an element, including the text of nested elements.
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

    /// Read an unknown element with its content.
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
    /// Return the source map of the text without surrounding white space.
    pub(super) fn trimmed(&self) -> SourceMap {
        let trimmed = self.text.len() - self.text.trim_ascii_start().trim_start().len();
        SourceMap { trimmed, ..self.source.clone() }
    }

    /// Return the element as markup, for one that has no effect.
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

/// Return all attributes except some, to be written again.
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

/// Append text, merging it with preceding text.
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

/// Normalize the line endings of markup.
pub(super) fn lines(text: &str) -> Box<str> {
    text.replace("\r\n", "\n").replace('\r', "\n").into()
}
