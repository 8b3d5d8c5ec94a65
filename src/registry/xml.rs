//! Tokenization of XML, with all checks for well-formedness.
//!
//! A text may have several elements at the top level, as a fragment does.
//!
//! `quick-xml` finds the boundaries of markup. This module checks what it leaves to its users:
//! names, attributes, references and the order of markup.

use std::{borrow::Cow, ops::Range};

use memchr::{memchr, memchr2, memmem};
use quick_xml::{Reader, events::Event};

use super::{
    decode::is_allowed,
    diagnostic::{Code, Finding},
    limits::{MAX_ATTRIBUTES, MAX_DEPTH, MAX_NODES, MAX_TEXT},
};

/// A parsed attribute.
#[derive(Clone, Debug)]
pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    /// The value, with references resolved and white space normalized.
    pub(super) value: Cow<'a, str>,
    /// The range of bytes of the name.
    pub(super) name_span: Range<usize>,
    /// The range of bytes of the value, without quotes.
    pub(super) span: Range<usize>,
}

/// An opening tag.
#[derive(Clone, Debug)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    pub(super) attributes: Vec<Attribute<'a>>,
    /// The range of bytes of the name.
    pub(super) span: Range<usize>,
}

impl Tag<'_> {
    /// Return the name without its prefix.
    pub(super) fn local(&self) -> &str {
        self.name.split_once(':').map_or(self.name, |(_, local)| local)
    }
}

/// A token of a document. An empty element yields two.
#[derive(Debug)]
pub(super) enum Token<'a> {
    Open(Tag<'a>),
    Close,
    /// Resolved text, and its offset.
    Text(Cow<'a, str>, usize),
    Comment(&'a str),
    Instruction(&'a str),
    /// The content of a DOCTYPE after the keyword, and its offset.
    Doctype(&'a str, usize),
    End,
}

/// The progress through a document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Start,
    /// After a DOCTYPE.
    Doctype,
    /// After the start of the root element.
    Root,
}

/// Tokenizer for a document.
pub(super) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// The open elements: their names and offsets.
    open: Vec<(&'a str, usize)>,
    /// Declared prefixes, with the depth of their elements.
    prefixes: Vec<(usize, &'a str)>,
    nodes: usize,
    progress: Progress,
    /// True if the text contains carriage returns, and `]]>`. Most files contain neither, and one
    /// search in advance is cheaper than one per text.
    has_returns: bool,
    has_section_ends: bool,
}

fn not_well_formed(span: Range<usize>, message: impl Into<String>) -> Finding {
    Finding::new(Code::NotXml, span, message)
}

impl<'a> Xml<'a> {
    /// Create a tokenizer for a text without a byte order mark and without characters that XML does
    /// not allow.
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_comments = true;
        config.expand_empty_elements = true;
        Self {
            text,
            reader,
            open: Vec::new(),
            prefixes: Vec::new(),
            nodes: 0,
            progress: Progress::Start,
            has_returns: memchr(b'\r', text.as_bytes()).is_some(),
            has_section_ends: memmem::find(text.as_bytes(), b"]]>").is_some(),
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    /// Return the next token. After an error, there are no more tokens.
    pub(super) fn next(&mut self) -> Result<Token<'a>, Finding> {
        loop {
            let start = self.position();
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(err) => return Err(self.syntax(&err)),
            };
            let span = start..self.position();
            let raw = self.text.get(span.clone()).unwrap_or("");
            return match event {
                Event::Start(_) | Event::Empty(_) => self.start(raw, start).map(Token::Open),
                Event::End(_) => {
                    self.prefixes.truncate(
                        self.prefixes.partition_point(|(depth, _)| *depth < self.open.len()),
                    );
                    self.open.pop();
                    Ok(Token::Close)
                }
                Event::Text(_) if self.open.is_empty() => {
                    match raw.find(|c| !matches!(c, ' ' | '\t' | '\r' | '\n')) {
                        None => continue,
                        Some(at) => Err(not_well_formed(
                            start + at..span.end,
                            "text outside of the root element",
                        )),
                    }
                }
                Event::Text(_) => self.characters(raw, start),
                Event::CData(_) | Event::GeneralRef(_) if self.open.is_empty() => {
                    Err(not_well_formed(span, "text outside of the root element"))
                }
                Event::CData(_) => {
                    let inner = raw.get(9..raw.len().saturating_sub(3)).unwrap_or("");
                    Ok(Token::Text(self.newlines(inner), start + 9))
                }
                Event::GeneralRef(_) => {
                    let resolved = reference(raw, start)?;
                    Ok(Token::Text(Cow::Owned(resolved.to_string()), start))
                }
                Event::Comment(_) => {
                    self.count(start)?;
                    match raw.get(4..raw.len().saturating_sub(3)) {
                        Some(inner) if !inner.ends_with('-') => Ok(Token::Comment(inner)),
                        _ => Err(not_well_formed(span, "a comment that ends in three dashes")),
                    }
                }
                Event::Decl(_) => {
                    if start > 0 {
                        return Err(not_well_formed(
                            span,
                            "an XML declaration that is not at the very start",
                        )
                        .hint("Remove what stands before it, white space included."));
                    }
                    declaration(raw)?;
                    continue;
                }
                Event::PI(_) => self.instruction(raw, span).map(Token::Instruction),
                Event::DocType(_) => {
                    self.doctype(raw, span).map(|(text, at)| Token::Doctype(text, at))
                }
                Event::Eof => self.end(),
            };
        }
    }

    fn characters(&self, raw: &'a str, start: usize) -> Result<Token<'a>, Finding> {
        if self.has_section_ends
            && let Some(at) = memmem::find(raw.as_bytes(), b"]]>")
        {
            let at = start + at;
            return Err(not_well_formed(at..at + 3, "\"]]>\" in a text").hint("Write \"]]&gt;\"."));
        }
        Ok(Token::Text(self.newlines(raw), start))
    }

    /// Normalize the line endings of a text.
    fn newlines(&self, text: &'a str) -> Cow<'a, str> {
        if !self.has_returns || memchr(b'\r', text.as_bytes()).is_none() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    }

    fn count(&mut self, at: usize) -> Result<(), Finding> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("more than {MAX_NODES} elements and comments");
        Err(Finding::new(Code::Limit, at..at, message))
    }

    fn end(&self) -> Result<Token<'a>, Finding> {
        if let Some((name, at)) = self.open.last() {
            let message = format!("<{name}> is not closed");
            return Err(
                not_well_formed(*at..*at + name.len(), message).hint(format!("Add </{name}>."))
            );
        }
        if self.progress < Progress::Root {
            let end = self.text.len();
            return Err(
                not_well_formed(end..end, "there is no element").hint("Begin with <Tools>.")
            );
        }
        Ok(Token::End)
    }

    fn start(&mut self, raw: &'a str, start: usize) -> Result<Tag<'a>, Finding> {
        self.count(start)?;
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        let length = inner.bytes().position(is_blank).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(length);
        let span = start + 1..start + 1 + length;
        if !is_name(name) {
            let message = match name {
                "" => "a \"<\" that begins no element".to_owned(),
                _ => format!("{name:?} is not the name of an element"),
            };
            let hint = "A \"<\" that begins no element is written \"&lt;\".";
            return Err(not_well_formed(start..span.end, message).hint(hint));
        }
        if self.open.len() == MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} elements inside one another");
            return Err(Finding::new(Code::Limit, span, message));
        }
        self.progress = Progress::Root;
        let attributes = attributes(rest, start + 1 + length)?;
        self.open.push((name, span.start));
        for attribute in &attributes {
            if let Some(prefix) = attribute.name.strip_prefix("xmlns:") {
                self.prefixes.push((self.open.len(), prefix));
            }
        }
        self.declared(name, &span)?;
        for attribute in &attributes {
            self.declared(attribute.name, &attribute.name_span)?;
        }
        Ok(Tag { name, attributes, span })
    }

    /// Check that the prefix of a name is declared.
    fn declared(&self, name: &str, span: &Range<usize>) -> Result<(), Finding> {
        if memchr(b':', name.as_bytes()).is_none() {
            return Ok(());
        }
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let known = matches!(prefix, "xml" | "xmlns")
            || self.prefixes.iter().any(|(_, declared)| *declared == prefix);
        if known && !local.contains(':') && local.starts_with(starts_name) {
            return Ok(());
        }
        let message = format!("the prefix {prefix:?} of {name:?} is not declared");
        Err(not_well_formed(span.clone(), message)
            .hint(format!("Add xmlns:{prefix}=\"...\" to the root, or leave the prefix out.")))
    }

    fn instruction(&mut self, raw: &'a str, span: Range<usize>) -> Result<&'a str, Finding> {
        self.count(span.start)?;
        let inner = raw.get(2..raw.len().saturating_sub(2)).unwrap_or("");
        let target = inner.split([' ', '\t', '\r', '\n']).next().unwrap_or("");
        if !is_name(target) || target.contains(':') || target.eq_ignore_ascii_case("xml") {
            let message = format!("{target:?} cannot be the name of an instruction");
            return Err(not_well_formed(span, message));
        }
        Ok(inner)
    }

    fn doctype(&mut self, raw: &'a str, span: Range<usize>) -> Result<(&'a str, usize), Finding> {
        if self.progress > Progress::Start || !raw.starts_with("<!DOCTYPE") {
            return Err(not_well_formed(span, "a DOCTYPE can stand once, before the root element"));
        }
        self.progress = Progress::Doctype;
        let inner = raw[9..raw.len() - 1].trim();
        let start = span.start + 9 + raw[9..].find(inner).unwrap_or(0);
        if let Some(at) = memchr(b'[', raw.as_bytes()) {
            let at = span.start + at;
            return Err(Finding::new(Code::Entities, at..at + 1, "a DOCTYPE with declarations")
                .hint("Entities are not expanded; write the text itself and remove the DOCTYPE."));
        }
        let name = inner.split([' ', '\t', '\r', '\n']).next().unwrap_or("");
        if !is_name(name) || !raw[9..].starts_with([' ', '\t', '\r', '\n']) {
            return Err(not_well_formed(span, "a DOCTYPE without the name of the root element"));
        }
        Ok((inner, start))
    }

    /// Convert an error of `quick-xml` to a finding.
    fn syntax(&self, err: &quick_xml::Error) -> Finding {
        use quick_xml::errors::{Error, IllFormedError, SyntaxError};
        let at = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
        let at = at.min(self.text.len());
        let line = self.text.get(at..).and_then(|rest| rest.lines().next()).map_or(1, str::len);
        let span = at..at + line.clamp(1, 80);
        match err {
            Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
                let message = format!("</{found}> closes <{expected}>");
                not_well_formed(at..at + found.len() + 3, message)
                    .hint(format!("Write </{expected}> here, or close it before."))
            }
            Error::IllFormed(IllFormedError::UnmatchedEndTag(found)) => {
                not_well_formed(at..at + found.len() + 3, format!("</{found}> closes nothing"))
            }
            Error::IllFormed(IllFormedError::DoubleHyphenInComment) => {
                not_well_formed(at..at + 2, "two dashes in a comment")
                    .hint("Write one, or \"- -\".")
            }
            Error::IllFormed(IllFormedError::UnclosedReference) => {
                let message = "an \"&\" that begins no reference";
                not_well_formed(at..at + 1, message).hint("Write \"&amp;\".")
            }
            Error::Syntax(SyntaxError::UnclosedComment) => {
                not_well_formed(at..at + 4, "a comment without end")
            }
            Error::Syntax(SyntaxError::UnclosedCData) => {
                not_well_formed(at..at + 9, "a CDATA section without end")
            }
            Error::Syntax(
                SyntaxError::UnclosedTag
                | SyntaxError::UnclosedSingleQuotedAttributeValue
                | SyntaxError::UnclosedDoubleQuotedAttributeValue,
            ) => not_well_formed(span, "a tag without end")
                .hint("Close it with \">\"; a \"<\" that begins no tag is written \"&lt;\"."),
            other => not_well_formed(span, other.to_string()),
        }
    }
}

/// Resolve the reference `&...;` to its character.
fn reference(raw: &str, at: usize) -> Result<char, Finding> {
    let name = raw.strip_prefix('&').and_then(|raw| raw.strip_suffix(';')).unwrap_or("");
    let number = |digits: &str, radix| {
        let is_number = digits.chars().all(|c| c.is_digit(radix));
        let number = is_number.then(|| u32::from_str_radix(digits, radix).ok()).flatten();
        number.and_then(char::from_u32).filter(|character| is_allowed(*character))
    };
    let character = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match (name.strip_prefix("#x"), name.strip_prefix('#')) {
            (Some(digits), _) => number(digits, 16),
            (None, Some(digits)) => number(digits, 10),
            (None, None) => None,
        },
    };
    let quoted: String = raw.chars().take(40).collect();
    character.ok_or_else(|| {
        not_well_formed(at..at + quoted.len(), format!("{quoted:?} stands for no character"))
            .hint("An \"&\" alone is written \"&amp;\"; entities are not read from elsewhere.")
    })
}

/// Parse the attributes after the name of an element.
fn attributes(text: &str, base: usize) -> Result<Vec<Attribute<'_>>, Finding> {
    let mut found: Vec<Attribute<'_>> = Vec::new();
    let mut at = 0;
    loop {
        let blank = skip_blank(text, at);
        if blank == text.len() {
            return Ok(found);
        }
        let ends = |byte: u8| byte == b'=' || is_blank(byte);
        let length = text[blank..].bytes().position(ends).unwrap_or(text.len() - blank);
        let name = &text[blank..blank + length];
        let name_span = base + blank..base + blank + length;
        let invalid = |message: String| not_well_formed(name_span.clone(), message);
        if !is_name(name) {
            return Err(invalid(format!("{name:?} is not the name of an attribute")));
        }
        if blank == at {
            return Err(invalid(format!("no space before the attribute {name:?}")));
        }
        let equals = skip_blank(text, blank + length);
        let quote = match text[equals..].strip_prefix('=') {
            Some(_) => skip_blank(text, equals + 1),
            None => text.len(),
        };
        let Some(mark) = text[quote..].chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Err(invalid(format!("the attribute {name:?} has no value in quotes"))
                .hint(format!("Write {name}=\"...\".")));
        };
        let value = &text[quote + 1..];
        let Some(end) = value.find(mark) else {
            return Err(invalid(format!("the value of {name:?} has no closing quote")));
        };
        let value = &value[..end];
        let span = base + quote + 1..base + quote + 1 + end;
        if value.len() > MAX_TEXT {
            let message = format!("the value of {name:?} is longer than {MAX_TEXT} bytes");
            return Err(Finding::new(Code::Limit, name_span, message));
        }
        if found.iter().any(|other| other.name == name) {
            return Err(invalid(format!("the attribute {name:?} is there twice")));
        }
        if found.len() == MAX_ATTRIBUTES {
            let message = format!("more than {MAX_ATTRIBUTES} attributes");
            return Err(Finding::new(Code::Limit, name_span, message));
        }
        let value = attribute_value(value, span.start)?;
        found.push(Attribute { name, value, name_span, span });
        at = quote + 1 + end + 1;
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn skip_blank(text: &str, from: usize) -> usize {
    let rest = &text.as_bytes()[from..];
    from + rest.iter().position(|byte| !is_blank(*byte)).unwrap_or(rest.len())
}

fn attribute_value(raw: &str, base: usize) -> Result<Cow<'_, str>, Finding> {
    if let Some(at) = memchr(b'<', raw.as_bytes()) {
        let at = base + at;
        return Err(not_well_formed(at..at + 1, "\"<\" in an attribute").hint("Write \"&lt;\"."));
    }
    if !raw.bytes().any(|byte| matches!(byte, b'&' | b'\n' | b'\r' | b'\t')) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut value = String::with_capacity(raw.len());
    let mut at = 0;
    while let Some(character) = raw[at..].chars().next() {
        match character {
            '&' => {
                let end = match memchr2(b';', b'&', &raw.as_bytes()[at + 1..]) {
                    Some(end) if raw.as_bytes()[at + 1 + end] == b';' => at + 2 + end,
                    _ => at + 1,
                };
                value.push(reference(&raw[at..end], base + at)?);
                at = end;
                continue;
            }
            '\r' if raw[at + 1..].starts_with('\n') => {}
            '\n' | '\r' | '\t' => value.push(' '),
            other => value.push(other),
        }
        at += character.len_utf8();
    }
    Ok(Cow::Owned(value))
}

/// Check the declaration `<?xml ...?>`.
fn declaration(raw: &str) -> Result<(), Finding> {
    let end = raw.len().min(80);
    let inner = raw.strip_prefix("<?xml").and_then(|raw| raw.strip_suffix("?>")).unwrap_or("");
    let attributes = attributes(inner, 5)?;
    let names: Vec<_> = attributes.iter().map(|attribute| attribute.name).collect();
    let known = matches!(
        names[..],
        ["version"]
            | ["version", "encoding" | "standalone"]
            | ["version", "encoding", "standalone"]
    );
    let version = attributes.first().map(|version| &*version.value);
    if !known || version != Some("1.0") {
        return Err(not_well_formed(0..end, "not a declaration of XML 1.0")
            .hint("Write <?xml version=\"1.0\" encoding=\"UTF-8\"?>."));
    }
    Ok(())
}

fn starts_name(character: char) -> bool {
    matches!(character,
        'a'..='z' | 'A'..='Z' | '_' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}'
        | '\u{F8}'..='\u{2FF}' | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}'
        | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}' | '\u{2C00}'..='\u{2FEF}'
        | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FFFD}'
        | '\u{10000}'..='\u{EFFFF}')
}

fn continues_name(character: char) -> bool {
    starts_name(character)
        || matches!(character,
            '-' | '.' | ':' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

/// Return true if a name is valid for elements and attributes.
pub(super) fn is_name(name: &str) -> bool {
    // Names with anything but ASCII letters are rare.
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return true;
    }
    let mut characters = name.chars();
    characters.next().is_some_and(starts_name) && characters.all(continues_name)
}
