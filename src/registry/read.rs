//! From tokens to tools.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    ops::Range,
    sync::Arc,
};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    ancestry::Declarations,
    diagnostic::{Code, Finding, Place, Report, did_you_mean},
    document::{Dressed, Entry, Field, Form, Item, Part, Piece},
    index::Index,
    json::{self, Fault},
    limits::{MAX_ARGUMENTS, MAX_STRUCTURE_DEPTH, MAX_TEXT},
    lint::{self, Places, Source},
    schema_org::{self, type_name},
    tool::{Tool, stripped},
    xml::{Attribute, Tag, Token, Xml},
};

const IN_TOOL: [&str; 7] =
    ["path", "method", "handler", "argument", "example", "prompt", "returnStruc"];

/// How many names are compared with all known types, which takes its time.
const MAX_SUGGESTIONS: usize = 32;

/// All that a document says, so far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) entries: Vec<Entry>,
    pub(super) layout: Vec<Item>,
    pub(super) index: Index,
    pub(super) declarations: Declarations,
}

/// Reads a document as far as it is one.
pub(super) fn read(text: &str, report: &mut Report) -> Draft {
    let mut reader = Reader {
        xml: Xml::new(text),
        text,
        place: Place::default(),
        report,
        draft: Draft::default(),
        sites: HashSet::new(),
        unknown_types: Vec::new(),
        known_types: HashSet::new(),
        examples: HashMap::default(),
        seed: RandomState::new().hash_one(0),
    };
    if let Err(finding) = reader.document() {
        reader.report.add(*finding);
    } else {
        reader.finish();
    }
    reader.draft
}

/// Reading goes on after all but broken XML.
type Read<T> = Result<T, Box<Finding>>;

struct Reader<'a, 'r> {
    xml: Xml<'a>,
    text: &'a str,
    /// How far lines are counted.
    place: Place,
    report: &'r mut Report,
    draft: Draft,
    /// Sites that had a block.
    sites: HashSet<Arc<str>>,
    /// Types that schema.org does not have, and where they come first.
    unknown_types: Vec<(Arc<str>, Range<usize>)>,
    known_types: HashSet<Arc<str>>,
    /// Which tool has an example, by the hash of type, site and example.
    examples: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
    /// So that nobody can prepare examples that are alike.
    seed: u64,
}

/// For keys that are hashes.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The text of an element.
struct Content<'a> {
    text: Cow<'a, str>,
    source: Source,
    /// The content as it is, if it is more than its text.
    inner: Option<Box<[Piece]>>,
}

/// Where tools are declared.
struct Owner {
    type_name: Arc<str>,
    site: Option<Arc<str>>,
}

impl<'a> Reader<'a, '_> {
    fn next(&mut self) -> Read<Token<'a>> {
        self.xml.next().map_err(Box::new)
    }

    fn warn(&mut self, code: Code, span: &Range<usize>, message: String, hint: Option<String>) {
        self.report.add(Finding { code, span: span.clone(), message, hint });
    }

    fn document(&mut self) -> Read<()> {
        loop {
            match self.next()? {
                Token::Open(tag) => self.root(&tag)?,
                Token::End => return Ok(()),
                other => self.aside(other)?,
            }
        }
    }

    /// Keeps what stands between the elements that count.
    fn aside(&mut self, token: Token<'a>) -> Read<()> {
        let piece = match token {
            Token::Comment(text) => Piece::Comment(lines(text)),
            Token::Instruction(text) => Piece::Instruction(lines(text)),
            Token::Doctype(text) => Piece::Doctype(lines(text)),
            Token::Text(text, at) => match self.stray(&text, at) {
                Some(piece) => piece,
                None => return Ok(()),
            },
            Token::Open(tag) => {
                let pieces = self.subtree(&tag)?;
                self.draft.layout.push(Item::Loose(pieces.into()));
                return Ok(());
            }
            Token::Close | Token::End => return Ok(()),
        };
        self.draft.layout.push(Item::Loose([piece].into()));
        Ok(())
    }

    /// Reports text where only elements count.
    fn stray(&mut self, text: &str, at: usize) -> Option<Piece> {
        let told = stripped(text)?;
        let start = at + text.find(told).unwrap_or(0);
        let hint = "Put it into an element or into a comment.".to_owned();
        let message = "text that belongs to no element is ignored".to_owned();
        self.warn(Code::StrayText, &(start..start + told.len()), message, Some(hint));
        Some(Piece::Text(told.into()))
    }

    fn root(&mut self, tag: &Tag<'a>) -> Read<()> {
        if matches!(tag.local(), "Tool" | "Site") {
            let message = format!("<{}> is the root, but has to be inside of <Tools>", tag.name);
            let hint = "Write <Tools><Thing><Tool name=\"...\">...</Tool></Thing></Tools>.";
            self.warn(Code::Shape, &tag.span, message, Some(hint.to_owned()));
            self.subtree(tag)?;
            return Ok(());
        }
        self.attributes(tag, &[]);
        self.open(tag);
        loop {
            match self.next()? {
                Token::Open(tag) if tag.local() == "Site" => self.site(&tag)?,
                Token::Open(tag) => self.type_block(&tag, None)?,
                Token::Close => break,
                other => self.aside(other)?,
            }
        }
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'a>) {
        let attributes = kept(&tag.attributes, &[]);
        self.draft.layout.push(Item::Open { name: tag.name.into(), attributes });
    }

    /// Reports attributes that mean nothing.
    fn attributes(&mut self, tag: &Tag<'a>, known: &[&str]) {
        for attribute in &tag.attributes {
            // Names with a prefix belong to whoever declared it.
            let foreign = attribute.name.contains(':') || attribute.name == "xmlns";
            if foreign || known.contains(&attribute.name) {
                continue;
            }
            let message =
                format!("the attribute {:?} of <{}> is ignored", attribute.name, tag.name);
            let hint = did_you_mean(attribute.name, known.iter().copied());
            self.warn(Code::UnknownAttribute, &attribute.name_span, message, hint);
        }
    }

    fn site(&mut self, tag: &Tag<'a>) -> Read<()> {
        self.attributes(tag, &["id", "inherit"]);
        let Some(id) = attribute(tag, "id").filter(|id| !id.value.trim().is_empty()) else {
            let hint = Some("Write <Site id=\"...\">.".to_owned());
            self.warn(Code::Shape, &tag.span, "a site without an id".to_owned(), hint);
            self.subtree(tag)?;
            return Ok(());
        };
        let site: Arc<str> = id.value.as_ref().into();
        self.draft.index.site(&site);
        if !self.sites.insert(Arc::clone(&site)) {
            let message = format!("the site {site:?} has another block before; both count");
            let hint = "NLWeb reads only the first; put the tools of a site into one block.";
            self.warn(Code::RepeatedSite, &id.span, message, Some(hint.to_owned()));
        }
        if let Some(inherit) = attribute(tag, "inherit") {
            match inherit.value.trim() {
                "false" => self.draft.index.stand_alone(&site),
                "true" => {}
                other => {
                    let message = format!("inherit={other:?} is read as \"true\"");
                    let hint = Some("Write \"true\" or \"false\".".to_owned());
                    self.warn(Code::InheritValue, &inherit.span, message, hint);
                }
            }
        }
        self.open(tag);
        let site = (*site != *super::DEFAULT_SITE).then_some(site);
        loop {
            match self.next()? {
                Token::Open(tag) if tag.local() == "Site" => {
                    let hint = Some("Close the site before.".to_owned());
                    self.warn(Code::Shape, &tag.span, "a site inside of a site".to_owned(), hint);
                    self.subtree(&tag)?;
                }
                Token::Open(tag) => self.type_block(&tag, site.as_ref())?,
                Token::Close => break,
                other => self.aside(other)?,
            }
        }
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    fn type_block(&mut self, tag: &Tag<'a>, site: Option<&Arc<str>>) -> Read<()> {
        if tag.local() == "Tool" {
            let message = "a tool outside of a type".to_owned();
            let hint = "Put it into an element that is named for its type, such as <Thing>.";
            self.warn(Code::Shape, &tag.span, message, Some(hint.to_owned()));
            self.subtree(tag)?;
            return Ok(());
        }
        self.attributes(tag, &["extends"]);
        let name: Arc<str> = type_name(tag.name).into();
        if schema_org::lineage(&name).is_none() && self.known_types.insert(Arc::clone(&name)) {
            self.unknown_types.push((Arc::clone(&name), tag.span.clone()));
        }
        if let Some(extends) = attribute(tag, "extends") {
            self.extends(&name, extends);
        }
        self.open(tag);
        let owner = Owner { type_name: name, site: site.cloned() };
        loop {
            match self.next()? {
                Token::Open(tag) if tag.local() == "Tool" => self.tool(&tag, &owner)?,
                Token::Open(tag) => {
                    let message = format!("the element <{}> is ignored here", tag.name);
                    let hint = did_you_mean(tag.local(), ["Tool"])
                        .unwrap_or_else(|| "In a type there are only <Tool> elements.".to_owned());
                    self.warn(Code::UnknownElement, &tag.span, message, Some(hint));
                    self.aside(Token::Open(tag))?;
                }
                Token::Close => break,
                other => self.aside(other)?,
            }
        }
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    fn extends(&mut self, name: &Arc<str>, extends: &Attribute<'a>) {
        if schema_org::lineage(name).is_some() {
            let message = format!("{name} is a type of schema.org, so its extends is ignored");
            let hint = Some("Leave it out, or give the type another name.".to_owned());
            self.warn(Code::ExtendsIgnored, &extends.span, message, hint);
            return;
        }
        let parents = extends.value.split([' ', ',']).filter(|parent| !parent.is_empty());
        for parent in parents.map(type_name) {
            let added = self.draft.declarations.add(name, parent, extends.span.clone());
            if let Err(finding) = added {
                self.report.add(finding);
                break;
            }
            let parent: Arc<str> = parent.into();
            if schema_org::lineage(&parent).is_none() && !self.known_types.contains(&parent) {
                self.known_types.insert(Arc::clone(&parent));
                self.unknown_types.push((parent, extends.span.clone()));
            }
        }
    }

    fn tool(&mut self, tag: &Tag<'a>, owner: &Owner) -> Read<()> {
        self.attributes(tag, &["name", "enabled"]);
        let name = attribute(tag, "name");
        let enabled = attribute(tag, "enabled");
        let mut making = Making { parts: Vec::with_capacity(8), ..Making::default() };
        making.places.name = name.map_or(&tag.span, |name| &name.span).clone();
        let mut tool = Tool {
            name: name.map_or("", |name| &name.value).into(),
            type_name: Arc::clone(&owner.type_name),
            site: owner.site.clone(),
            enabled: enabled.is_none_or(|enabled| self.enabled(enabled)),
            line: Some(self.place.line(self.text, tag.span.start)),
            ..Tool::default()
        };
        loop {
            let piece = match self.next()? {
                Token::Open(tag) => {
                    let part = self.part(&tag, &mut tool, &mut making)?;
                    making.parts.push(part);
                    continue;
                }
                Token::Close => break,
                Token::Comment(text) => Piece::Comment(lines(text)),
                Token::Instruction(text) => Piece::Instruction(lines(text)),
                Token::Text(text, at) => match self.stray(&text, at) {
                    Some(piece) => piece,
                    None => continue,
                },
                Token::Doctype(_) | Token::End => continue,
            };
            making.parts.push(Part::Loose([piece].into()));
        }
        lint::check(&tool, &making.places, self.report);
        self.compare(&tool, &making.places);
        let form = Form {
            enabled: enabled.map(|enabled| enabled.value.as_ref().into()),
            attributes: kept(&tag.attributes, &["name", "enabled"]),
            parts: making.parts,
        };
        self.draft.layout.push(Item::Tool(count(self.draft.entries.len())));
        self.draft.entries.push(Entry { tool: Arc::new(tool), form: Arc::new(form) });
        Ok(())
    }

    /// What `enabled` says. `NLWeb` knows `true`, in any case, and takes all else for off.
    fn enabled(&mut self, attribute: &Attribute<'a>) -> bool {
        let value = attribute.value.to_lowercase();
        if value == "true" {
            return true;
        }
        if !matches!(value.trim(), "false" | "no" | "off" | "0") {
            let message = format!("enabled={:?} turns the tool off", attribute.value);
            let hint = "Write \"true\" or \"false\".".to_owned();
            self.warn(Code::EnabledValue, &attribute.span, message, Some(hint));
        }
        false
    }

    /// Reports what a tool has in common with others of its type and site.
    fn compare(&mut self, tool: &Tool, places: &Places) {
        if self.draft.index.add(tool).is_some() {
            let message =
                format!("the tool {:?} of {} was there before", tool.name, tool.type_name);
            let hint = "This one counts, in the place of the first; remove one of them.".to_owned();
            self.warn(Code::DuplicateTool, &places.name, message, Some(hint));
        }
        if !tool.enabled {
            return;
        }
        let site = tool.site.as_deref().unwrap_or("");
        let seed = xxh3_64_with_seed(tool.type_name.as_bytes(), self.seed);
        let seed = xxh3_64_with_seed(site.as_bytes(), seed);
        let position = self.draft.entries.len();
        for example in &tool.examples {
            let hash = xxh3_64_with_seed(example.as_bytes(), seed);
            let earlier = *self.examples.entry(hash).or_insert(position);
            let Some(Entry { tool: other, .. }) = self.draft.entries.get(earlier) else { continue };
            if other.name != tool.name {
                let example: String = example.chars().take(60).collect();
                let message = format!("the example {example:?} stands under {:?} too", other.name);
                let hint = "Leave it to the tool that is to be taken for it.".to_owned();
                self.warn(Code::SharedExample, &places.name, message, Some(hint));
            }
        }
    }

    /// Reads a child element of a tool.
    fn part(&mut self, tag: &Tag<'a>, tool: &mut Tool, making: &mut Making) -> Read<Part> {
        let name = tag.local();
        if !IN_TOOL.contains(&name) {
            let message = format!("the element <{}> is ignored here", tag.name);
            self.warn(Code::UnknownElement, &tag.span, message, did_you_mean(name, IN_TOOL));
            return Ok(Part::Loose(self.subtree(tag)?.into()));
        }
        let known: &[&str] = if name == "argument" { &["name"] } else { &[] };
        self.attributes(tag, known);
        let content = self.content(tag)?;
        let Some(field) = self.field(tag, &content, tool, making) else {
            return Ok(Part::Loose(content.into_pieces(tag)));
        };
        let attributes = kept(&tag.attributes, known);
        if attributes.is_empty() && content.inner.is_none() {
            return Ok(Part::Field(field));
        }
        Ok(Part::Dressed(Box::new(Dressed { field, attributes, inner: content.inner })))
    }

    /// Lets an element count, if it does.
    fn field(
        &mut self,
        tag: &Tag<'a>,
        content: &Content<'a>,
        tool: &mut Tool,
        making: &mut Making,
    ) -> Option<Field> {
        let text = stripped(&content.text);
        let field = match tag.local() {
            "example" => {
                tool.examples.push(text?.into());
                return Some(Field::Example(count(tool.examples.len() - 1)));
            }
            "argument" => {
                let name = attribute(tag, "name").map_or("", |name| &name.value);
                let value = text.unwrap_or("").into();
                if let Some(known) = tool.arguments.iter_mut().find(|known| *known.0 == *name) {
                    known.1 = value;
                    let message = format!("the argument {name:?} was there before");
                    let hint = "This one counts; remove one of them.".to_owned();
                    self.warn(Code::RepeatedElement, &tag.span, message, Some(hint));
                    return None;
                }
                if tool.arguments.len() == MAX_ARGUMENTS {
                    let message = format!("more than {MAX_ARGUMENTS} arguments of a tool");
                    self.warn(Code::Limit, &tag.span, message, None);
                    return None;
                }
                tool.arguments.push((name.into(), value));
                return Some(Field::Argument(count(tool.arguments.len() - 1)));
            }
            "path" => Field::Path,
            "method" => Field::Method,
            "handler" => Field::Handler,
            "prompt" => Field::Prompt,
            _ => Field::ReturnStruc,
        };
        let bit = match field {
            Field::Path => 1,
            Field::Method => 2,
            Field::Handler => 4,
            Field::Prompt => 8,
            _ => 16,
        };
        if making.seen & bit != 0 {
            let message = format!("this <{}> is not the first and is ignored", tag.name);
            let hint = "Remove one of them.".to_owned();
            self.warn(Code::RepeatedElement, &tag.span, message, Some(hint));
            return None;
        }
        making.seen |= bit;
        match field {
            Field::Path => tool.path = text.unwrap_or("").into(),
            Field::Method => {
                tool.method = text.unwrap_or("").into();
                making.places.method = tag.span.clone();
                if let Some(text) = text {
                    let start = content.trimmed().locate(0);
                    making.places.method = start..start + text.len();
                }
            }
            Field::Handler => tool.handler = text.map(Into::into),
            Field::Prompt => {
                tool.prompt = text.map(Into::into);
                making.places.prompt = content.trimmed();
            }
            _ => {
                let text = text.unwrap_or("");
                let source = content.trimmed();
                lint::structure_placeholders(text, &source, self.report);
                tool.return_struc = self.structure(tag, text, &source);
                making.places.structure = tag.span.clone();
            }
        }
        Some(field)
    }

    /// The JSON of a `returnStruc`; `null` is none.
    fn structure(&mut self, tag: &Tag<'a>, text: &str, source: &Source) -> Option<Value> {
        let fault = match json::read(text) {
            Ok(value) => return Some(value).filter(|value| !value.is_null()),
            Err(fault) => fault,
        };
        let (code, at, message) = match fault {
            _ if text.is_empty() => {
                let hint = "Remove it, or write an object with a \"score\".".to_owned();
                let message = "this returnStruc is empty, which is not JSON".to_owned();
                self.warn(Code::NotJson, &tag.span, message, Some(hint));
                return None;
            }
            Fault::Syntax { at, message } => {
                (Code::NotJson, at, format!("this returnStruc is not JSON: {message}"))
            }
            Fault::Depth { at } => (
                Code::Limit,
                at,
                format!("this returnStruc is nested deeper than {MAX_STRUCTURE_DEPTH} levels"),
            ),
        };
        let start = source.locate(at);
        let hint = (code == Code::NotJson).then(|| {
            "JSON has double quotes around names and text, and no comma after the last.".to_owned()
        });
        self.warn(code, &(start..start + 1), message, hint);
        None
    }

    /// The text of an element, with all that is inside of elements in it.
    fn content(&mut self, tag: &Tag<'a>) -> Read<Content<'a>> {
        let mut text = Cow::Borrowed("");
        let mut source = Source::default();
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
                Token::Doctype(_) | Token::End => continue,
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
    fn subtree(&mut self, tag: &Tag<'a>) -> Read<Vec<Piece>> {
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
                Token::Doctype(_) | Token::End => {}
            }
        }
        Ok(pieces)
    }

    /// Reports what can be told at the end alone.
    fn finish(&mut self) {
        if self.draft.entries.is_empty() && !self.report.has_errors() {
            let hint = "Write <Tools><Thing><Tool name=\"...\">...</Tool></Thing></Tools>.";
            self.warn(Code::NoTools, &(0..0), "there is no tool".to_owned(), Some(hint.to_owned()));
        }
        let unknown = std::mem::take(&mut self.unknown_types);
        for (turn, (name, span)) in unknown.into_iter().enumerate() {
            if self.draft.declarations.has(&name) {
                continue;
            }
            let message = format!("{name:?} is not a type of schema.org; it is only a Thing");
            let near = (turn < MAX_SUGGESTIONS)
                .then(|| did_you_mean(&name, schema_org::names().iter().copied()));
            let hint = near.flatten().unwrap_or_else(|| {
                "If it is meant so, say what it is a kind of: extends=\"Thing\".".to_owned()
            });
            self.warn(Code::UnknownType, &span, message, Some(hint));
        }
    }
}

/// A tool that is being read.
#[derive(Default)]
struct Making {
    places: Places,
    parts: Vec<Part>,
    /// Fields that were there, as bits.
    seen: u8,
}

impl Content<'_> {
    /// Where the text stands without the white space around it.
    fn trimmed(&self) -> Source {
        let trimmed = self.text.len() - self.text.trim_start().len();
        Source { trimmed, ..self.source.clone() }
    }

    /// The element as it is, for one that does not count.
    fn into_pieces(self, tag: &Tag<'_>) -> Box<[Piece]> {
        let mut pieces = vec![opening(tag)];
        match self.inner {
            Some(inner) => pieces.extend(inner),
            None => add_text(&mut pieces, &self.text),
        }
        pieces.push(Piece::Close);
        pieces.into()
    }
}

fn attribute<'t, 'a>(tag: &'t Tag<'a>, name: &str) -> Option<&'t Attribute<'a>> {
    tag.attributes.iter().find(|attribute| attribute.name == name)
}

/// The attributes but for some, to be written again.
fn kept(attributes: &[Attribute<'_>], without: &[&str]) -> Box<[(Box<str>, Box<str>)]> {
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
fn lines(text: &str) -> Box<str> {
    text.replace("\r\n", "\n").replace('\r', "\n").into()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
