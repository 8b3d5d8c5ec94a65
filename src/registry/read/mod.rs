//! Conversion of tokens to tools.

mod content;
mod tool;

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::Arc,
};

use self::content::{kept, lines};
use super::{
    BrokenTools,
    ancestry::Declarations,
    diagnostic::{Code, Finding, Place, Report, did_you_mean},
    document::{Entry, Item, Piece},
    index::{Index, NumberMap},
    nlweb,
    schema_org::{self, type_name},
    tool::stripped,
    xml::{Attribute, Tag, Token, Xml},
};

/// Maximum number of tools that the warning about a site with inherited tools names.
const MAX_ADDED: usize = 3;

/// Maximum number of names that are compared with all known types, which is slow.
const MAX_SUGGESTIONS: usize = 32;

/// The content of a document, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) entries: Vec<Entry>,
    pub(super) layout: Vec<Item>,
    pub(super) index: Index,
    pub(super) declarations: Declarations,
    /// True if the document has a root, and was read to its end.
    pub(super) is_complete: bool,
}

/// Read a document as far as it is valid.
pub(super) fn read(text: &str, broken: BrokenTools, report: &mut Report) -> Draft {
    let mut reader = Reader {
        xml: Xml::new(text),
        text,
        place: Place::default(),
        broken,
        report,
        draft: Draft::default(),
        sites: HashSet::new(),
        implicit_sites: Vec::new(),
        unknown_types: Vec::new(),
        known_types: HashSet::new(),
        top: TopLevel::default(),
        examples: HashMap::default(),
        seed: RandomState::new().hash_one(0),
    };
    if let Err(finding) = reader.document() {
        reader.report.add(*finding);
    } else {
        reader.finish();
        let is_root = |item: &Item| matches!(item, Item::Open { .. });
        reader.draft.is_complete = reader.draft.layout.iter().any(is_root);
    }
    reader.draft
}

/// A result whose errors end reading: malformed XML. All other findings are only reported.
type Read<T> = Result<T, Box<Finding>>;

struct Reader<'a, 'r> {
    xml: Xml<'a>,
    text: &'a str,
    /// The position up to which lines are counted.
    place: Place,
    broken: BrokenTools,
    report: &'r mut Report,
    draft: Draft,
    /// Sites that had a block.
    sites: HashSet<Arc<str>>,
    /// Sites without an `inherit` attribute, with the spans of their names.
    implicit_sites: Vec<(Arc<str>, Range<usize>)>,
    /// Types unknown to schema.org, with the spans of their first occurrences.
    unknown_types: Vec<(Arc<str>, Range<usize>)>,
    known_types: HashSet<Arc<str>>,
    top: TopLevel,
    /// The tool of each example, by the hash of type, site and example.
    examples: NumberMap<u64, usize>,
    /// A random seed, so that collisions cannot be prepared.
    seed: u64,
}

/// The top level of a text.
#[derive(Default)]
struct TopLevel {
    /// The position of the first element in the layout.
    first: Option<usize>,
    /// The positions of the starts and ends of roots in the layout.
    roots: Vec<usize>,
    /// The first element that shows that there is no single root.
    fragment: Option<Range<usize>>,
}

/// The scope in which tools are declared.
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
                Token::Open(tag) => self.element(&tag)?,
                Token::End => break,
                other => self.keep_token(other)?,
            }
        }
        self.add_root();
        Ok(())
    }

    /// Read an element at the top level: the root, or a type or a site if there is no root.
    fn element(&mut self, tag: &Tag<'a>) -> Read<()> {
        if self.top.first.is_some() {
            self.top.fragment.get_or_insert_with(|| tag.span.clone());
        } else {
            self.top.first = Some(self.draft.layout.len());
        }
        match tag.local() {
            "Tool" => {
                let message = format!("{} stands outside of any type", describe(tag));
                self.warn(Code::Shape, &tag.span, message, Some(IN_A_TYPE.to_owned()));
                self.subtree(tag)?;
                Ok(())
            }
            "Site" => {
                self.top.fragment.get_or_insert_with(|| tag.span.clone());
                self.site(tag)
            }
            _ => self.root(tag),
        }
    }

    /// Wrap the top level in a single root if there is none, so that the output is a document.
    fn add_root(&mut self) {
        let Some(span) = self.top.fragment.take() else { return };
        let message = "there is no one root around the types, so NLWeb does not read this";
        let hint = "Put <Tools> before the first type and </Tools> behind the last.".to_owned();
        self.warn(Code::Fragment, &span, message.to_owned(), Some(hint));
        let mut attributes: Vec<(Box<str>, Box<str>)> = Vec::new();
        let first = self.top.first.unwrap_or(0);
        let layout = std::mem::take(&mut self.draft.layout);
        let mut rest = Vec::with_capacity(layout.len() + 2);
        let mut roots = self.top.roots.iter().peekable();
        for (position, item) in layout.into_iter().enumerate() {
            if roots.next_if(|root| **root == position).is_none() {
                rest.push(item);
            } else if let Item::Open { attributes: more, .. } = item {
                for (name, value) in more {
                    if attributes.iter().all(|(known, _)| *known != name) {
                        attributes.push((name, value));
                    }
                }
            }
        }
        let root = Item::Open { name: "Tools".into(), attributes: attributes.into() };
        rest.insert(first, root);
        rest.push(Item::Close);
        self.draft.layout = rest;
    }

    /// Preserve a token between known elements.
    fn keep_token(&mut self, token: Token<'a>) -> Read<()> {
        let piece = match token {
            Token::Comment(text) => Piece::Comment(lines(text)),
            Token::Instruction(text) => Piece::Instruction(lines(text)),
            Token::Doctype(text, at) => {
                self.external_dtd(text, at);
                Piece::Doctype(lines(text))
            }
            Token::Text(text, at) => match self.stray_text(&text, at) {
                Some(piece) => piece,
                None => return Ok(()),
            },
            Token::Open(tag) => {
                let pieces = self.subtree(&tag)?;
                self.draft.layout.push(Item::Verbatim(pieces.into()));
                return Ok(());
            }
            Token::Close | Token::End => return Ok(()),
        };
        self.draft.layout.push(Item::Verbatim([piece].into()));
        Ok(())
    }

    /// Report a DOCTYPE that names an external DTD.
    fn external_dtd(&mut self, text: &str, at: usize) {
        let Some(space) = text.find([' ', '\t', '\r', '\n']) else { return };
        let rest = text[space..].trim_start();
        let start = at + text.len() - rest.len();
        let hint = "Remove the DOCTYPE; what the DTD declares has to stand in the file.".to_owned();
        let message = "a DOCTYPE that names a DTD elsewhere, which is never fetched".to_owned();
        self.warn(Code::ExternalDtd, &(start..start + rest.len()), message, Some(hint));
    }

    /// Report text where only elements are allowed.
    fn stray_text(&mut self, text: &str, at: usize) -> Option<Piece> {
        let trimmed = stripped(text)?;
        let start = at + text.find(trimmed).unwrap_or(0);
        let hint = "Put it into an element or into a comment.".to_owned();
        let message = "text that belongs to no element is ignored".to_owned();
        self.warn(Code::StrayText, &(start..start + trimmed.len()), message, Some(hint));
        Some(Piece::Text(trimmed.into()))
    }

    /// Read the root, or a type if its first element is a tool.
    fn root(&mut self, tag: &Tag<'a>) -> Read<()> {
        let begin = self.draft.layout.len();
        self.open(tag);
        let mut child = self.child()?;
        let holds_tools = child.as_ref().is_some_and(|child| child.local() == "Tool");
        if holds_tools && !tag.local().eq_ignore_ascii_case("Tools") {
            self.top.fragment.get_or_insert_with(|| tag.span.clone());
            let owner = self.owner(tag, None);
            return self.tools(&owner, child);
        }
        self.attributes(tag, &[]);
        while let Some(found) = child {
            if found.local() == "Site" {
                self.site(&found)?;
            } else {
                self.type_block(&found, None, tag)?;
            }
            child = self.child()?;
        }
        self.top.roots.extend([begin, self.draft.layout.len()]);
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    /// Return the next child of the open element, or `None` at its end.
    fn child(&mut self) -> Read<Option<Tag<'a>>> {
        loop {
            match self.next()? {
                Token::Open(tag) => return Ok(Some(tag)),
                Token::Close => return Ok(None),
                other => self.keep_token(other)?,
            }
        }
    }

    fn open(&mut self, tag: &Tag<'a>) {
        let attributes = kept(&tag.attributes, &[]);
        self.draft.layout.push(Item::Open { name: tag.name.into(), attributes });
    }

    /// Report unknown attributes.
    fn attributes(&mut self, tag: &Tag<'a>, known: &[&str]) {
        for attribute in &tag.attributes {
            // Prefixed names belong to other vocabularies.
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
            let value = inherit.value.trim();
            self.draft.index.set_inherit(&site, value != "false");
            match value {
                "false" | "true" => {}
                other => {
                    let message = format!("inherit={other:?} is read as \"true\"");
                    let hint = Some("Write \"true\" or \"false\".".to_owned());
                    self.warn(Code::InheritValue, &inherit.span, message, hint);
                }
            }
        } else if *site != *super::DEFAULT_SITE {
            self.implicit_sites.push((Arc::clone(&site), id.span.clone()));
        }
        self.open(tag);
        let site = (*site != *super::DEFAULT_SITE).then_some(site);
        while let Some(child) = self.child()? {
            if child.local() == "Site" {
                let hint = Some("Close the site before.".to_owned());
                self.warn(Code::Shape, &child.span, "a site inside of a site".to_owned(), hint);
                self.subtree(&child)?;
            } else {
                self.type_block(&child, site.as_ref(), tag)?;
            }
        }
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    fn type_block(&mut self, tag: &Tag<'a>, site: Option<&Arc<str>>, parent: &Tag<'a>) -> Read<()> {
        if tag.local() == "Tool" {
            let message =
                format!("{} stands in <{}>, which is no type here", describe(tag), parent.name);
            self.warn(Code::Shape, &tag.span, message, Some(IN_A_TYPE.to_owned()));
            self.subtree(tag)?;
            return Ok(());
        }
        self.open(tag);
        let owner = self.owner(tag, site);
        let first = self.child()?;
        self.tools(&owner, first)
    }

    /// Declare the type that an element is named after.
    fn owner(&mut self, tag: &Tag<'a>, site: Option<&Arc<str>>) -> Owner {
        self.attributes(tag, &["extends"]);
        let name: Arc<str> = type_name(tag.name).into();
        if schema_org::supertypes(&name).is_none() && self.known_types.insert(Arc::clone(&name)) {
            self.unknown_types.push((Arc::clone(&name), tag.span.clone()));
        }
        if let Some(extends) = attribute(tag, "extends") {
            self.extends(&name, extends);
        }
        Owner { type_name: name, site: site.cloned() }
    }

    /// Read the tools of a type, beginning with its first element.
    fn tools(&mut self, owner: &Owner, first: Option<Tag<'a>>) -> Read<()> {
        let mut child = first;
        while let Some(tag) = child {
            if tag.local() == "Tool" {
                self.tool(&tag, owner)?;
            } else {
                let message = format!("the element <{}> is ignored here", tag.name);
                let hint = did_you_mean(tag.local(), ["Tool"])
                    .unwrap_or_else(|| "In a type there are only <Tool> elements.".to_owned());
                self.warn(Code::UnknownElement, &tag.span, message, Some(hint));
                self.keep_token(Token::Open(tag))?;
            }
            child = self.child()?;
        }
        self.draft.layout.push(Item::Close);
        Ok(())
    }

    fn extends(&mut self, name: &Arc<str>, extends: &Attribute<'a>) {
        if schema_org::supertypes(name).is_some() {
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
            if schema_org::supertypes(&parent).is_none() && !self.known_types.contains(&parent) {
                self.known_types.insert(Arc::clone(&parent));
                self.unknown_types.push((parent, extends.span.clone()));
            }
        }
    }

    /// Report findings that need the whole document.
    fn finish(&mut self) {
        if self.draft.entries.is_empty() && self.report.errors() == 0 {
            let hint = "Write <Tools><Thing><Tool name=\"...\">...</Tool></Thing></Tools>.";
            self.warn(Code::NoTools, &(0..0), "there is no tool".to_owned(), Some(hint.to_owned()));
        }
        let unknown = std::mem::take(&mut self.unknown_types);
        for (number, (name, span)) in unknown.into_iter().enumerate() {
            if self.draft.declarations.has(&name) || nlweb::TYPES.contains(&&*name) {
                continue;
            }
            let message = format!("{name:?} is not a type of schema.org; it is only a Thing");
            let near = (number < MAX_SUGGESTIONS)
                .then(|| did_you_mean(&name, schema_org::names().iter().copied()));
            let hint = near.flatten().unwrap_or_else(|| {
                "If it is meant so, say what it is a kind of: extends=\"Thing\".".to_owned()
            });
            self.warn(Code::UnknownType, &span, message, Some(hint));
        }
        self.report_additions();
    }

    /// Report sites that inherit tools of the default here, but not in `NLWeb`.
    fn report_additions(&mut self) {
        if self.implicit_sites.is_empty() {
            return;
        }
        let mut own: HashMap<Arc<str>, HashSet<Arc<str>>> = HashMap::new();
        let mut default: Vec<Arc<str>> = Vec::new();
        let mut known: HashSet<Arc<str>> = HashSet::new();
        for Entry { tool, .. } in &self.draft.entries {
            match &tool.site {
                Some(site) => {
                    own.entry(Arc::clone(site)).or_default().insert(Arc::clone(&tool.name));
                }
                None if tool.enabled && known.insert(Arc::clone(&tool.name)) => {
                    default.push(Arc::clone(&tool.name));
                }
                None => {}
            }
        }
        let none = HashSet::new();
        for (site, span) in std::mem::take(&mut self.implicit_sites) {
            if self.draft.index.inherits(&site).is_some() {
                continue;
            }
            let own = own.get(&site).unwrap_or(&none);
            let more = default.len() - own.iter().filter(|name| known.contains(*name)).count();
            if more == 0 {
                continue;
            }
            let inherited = default.iter().filter(|name| !own.contains(*name)).take(MAX_ADDED);
            let mut tools =
                inherited.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            if more > MAX_ADDED {
                let _ = write!(tools, " and {} more", more - MAX_ADDED);
            }
            let message = format!(
                "the site {site:?} also has {tools} of the default; in NLWeb and toolweave.nlweb \
                 its block replaces them"
            );
            let hint = "Write inherit=\"false\" if only its own tools are meant, or \
                        inherit=\"true\" to have both in toolweave.nlweb too.";
            self.warn(Code::SiteAdds, &span, message, Some(hint.to_owned()));
        }
    }
}

const IN_A_TYPE: &str = "Put it into an element that is named for its type, such as <Thing>.";

/// Describe a tool for messages.
fn describe(tag: &Tag<'_>) -> String {
    match attribute(tag, "name") {
        Some(name) => format!("the tool {:?}", name.value.chars().take(60).collect::<String>()),
        None => "a tool".to_owned(),
    }
}

fn attribute<'t, 'a>(tag: &'t Tag<'a>, name: &str) -> Option<&'t Attribute<'a>> {
    tag.attributes.iter().find(|attribute| attribute.name == name)
}
