//! The tools of a `tools.xml`: reading, checking, looking up, writing.
//!
//! [`Registry::read`] takes the bytes of a file in either of `NLWeb`'s layouts and gives all that is
//! wrong with it at once, by line and column. [`Registry::tools_for`] answers which tools a type
//! has on a site: those of all it is a kind of, general to specific, where a specific one stands
//! in the place of the general one it replaces.
//!
//! ```
//! use toolweave::registry::Registry;
//!
//! let registry = Registry::read(
//!     b"<Tools>
//!         <Thing>
//!           <Tool name='search'><method>builtin</method></Tool>
//!           <Tool name='details'><handler>shop.Details</handler></Tool>
//!         </Thing>
//!         <Recipe><Tool name='details'><handler>kitchen.Details</handler></Tool></Recipe>
//!       </Tools>",
//! )?;
//! let tools = registry.tools_for("https://schema.org/Recipe", None);
//! let handlers: Vec<_> = tools.iter().map(|tool| tool.handler.as_deref()).collect();
//! assert_eq!(handlers, [None, Some("kitchen.Details")]);
//! assert_eq!(registry.diagnostics().len(), 3); // no prompts
//! # Ok::<(), toolweave::registry::RegistryError>(())
//! ```

mod ancestry;
mod compose;
mod decode;
mod diagnostic;
mod document;
mod fingerprint;
mod index;
mod json;
mod limits;
mod lint;
mod nlweb;
mod read;
mod schema_org;
pub mod structure;
pub mod template;
#[cfg(test)]
mod tests;
mod tool;
mod write;
mod xml;

use std::sync::{Arc, OnceLock};

use self::{
    ancestry::{Ancestry, Declarations},
    diagnostic::{Finding, Report},
    document::{Entry, Item},
    index::Index,
    read::Draft,
};
pub use self::{
    diagnostic::{Code, Diagnostic, Severity},
    nlweb::PLACEHOLDERS,
    schema_org::{ROOT, type_name},
    tool::Tool,
};

/// The site whose tools the others inherit, which is also that of tools outside of any.
pub const DEFAULT_SITE: &str = "default";

/// A type of schema.org in any spelling and all it is a kind of, the most specific first, the
/// root last. One that schema.org does not have is a kind of the root.
pub fn supertypes(type_: &str) -> Vec<&str> {
    ancestry::of_schema_org(type_name(type_))
}

/// Why a registry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", summary(diagnostics))]
pub struct RegistryError {
    /// All there is to say, warnings included, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let Some(first) = errors.next() else { return "the registry cannot be used".to_owned() };
    let Diagnostic { code, message, line, column, hint, .. } = first;
    let mut text = format!("line {line}, column {column}: {message} [{}]", code.as_str());
    if let Some(hint) = hint {
        text.push_str(". ");
        text.push_str(hint);
    }
    match errors.count() {
        0 => text,
        1 => format!("{text} (and one more error)"),
        more => format!("{text} (and {more} more errors)"),
    }
}

/// What the block of a site does that does not say whether it inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteBlocks {
    /// It adds to the default.
    #[default]
    Add,
    /// It replaces the default, as in `NLWeb`.
    Replace,
}

/// What is done with a tool that has an error in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenTools {
    /// The registry cannot be used.
    #[default]
    Refuse,
    /// It is left out, and the error is among the diagnostics.
    LeaveOut,
}

/// Where a tool that a type has comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The position of the tool. Where it is off, the type does not have it.
    pub tool: usize,
    /// The positions of those it replaces, the nearest first.
    pub replaces: Vec<usize>,
}

/// All that a `tools.xml` says. It never changes.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    layout: Vec<Item>,
    index: Index,
    ancestry: Ancestry,
    /// What types extend, as far as the document says.
    declarations: Declarations,
    diagnostics: Vec<Diagnostic>,
    fingerprint: OnceLock<u128>,
}

impl Registry {
    /// Reads the bytes of a file.
    pub fn read(source: &[u8]) -> Result<Self, RegistryError> {
        Self::read_with(source, BrokenTools::Refuse)
    }

    /// Reads the bytes of a file. What is no XML, or has types that are their own ancestors, is
    /// refused in any case.
    pub fn read_with(source: &[u8], broken: BrokenTools) -> Result<Self, RegistryError> {
        if source.len() > limits::MAX_BYTES {
            return Err(refused("", too_large(source.len())));
        }
        match decode::decode(source) {
            Ok(text) => Self::read_decoded(&text, broken),
            Err(decode_error) => Err(refused(&decode_error.0, decode_error.1)),
        }
    }

    /// Reads a text, whatever encoding it says it has.
    pub fn read_text(text: &str) -> Result<Self, RegistryError> {
        Self::read_text_with(text, BrokenTools::Refuse)
    }

    /// Reads a text, whatever encoding it says it has; as [`Registry::read_with`].
    pub fn read_text_with(text: &str, broken: BrokenTools) -> Result<Self, RegistryError> {
        Self::read_decoded(text.strip_prefix('\u{FEFF}').unwrap_or(text), broken)
    }

    /// Reads a text without its byte order mark.
    fn read_decoded(text: &str, broken: BrokenTools) -> Result<Self, RegistryError> {
        if text.starts_with('\u{FEFF}') {
            let finding = Finding::new(Code::NotXml, 0..3, "a second byte order mark");
            return Err(refused(text, finding.hint("Remove it.")));
        }
        if text.len() > limits::MAX_BYTES {
            return Err(refused("", too_large(text.len())));
        }
        if let Some((at, character)) = decode::forbidden(text) {
            let message = format!("XML has no character U+{:04X}", u32::from(character));
            let mut finding = Finding::new(Code::NotXml, at..at + character.len_utf8(), message);
            if character == '\0' {
                finding = finding.hint(
                    "A file with such characters is in UTF-16 without a mark, or no text at all.",
                );
            }
            return Err(refused(text, finding));
        }
        let mut report = Report::default();
        let draft = read::read(text, broken, &mut report);
        Self::finish(draft, text, broken, report)
    }

    fn finish(
        draft: Draft,
        text: &str,
        broken: BrokenTools,
        mut report: Report,
    ) -> Result<Self, RegistryError> {
        let Draft { entries, layout, index, declarations, is_complete } = draft;
        let errors = report.errors();
        let ancestry = declarations.resolve(&mut report);
        let is_valid = is_complete && report.errors() == errors;
        let diagnostics = report.resolve(text);
        let is_refused = broken == BrokenTools::Refuse || !is_valid;
        if is_refused && diagnostics.iter().any(Diagnostic::is_error) {
            return Err(RegistryError { diagnostics });
        }
        let fingerprint = OnceLock::new();
        Ok(Self { entries, layout, index, ancestry, declarations, diagnostics, fingerprint })
    }

    /// All tools in document order, disabled ones as well.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// The tool at a position.
    ///
    /// # Panics
    ///
    /// If there are not as many.
    pub fn tool(&self, position: usize) -> &Arc<Tool> {
        &self.entries[position].tool
    }

    /// The types that have tools, by their first tool.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.index.types().iter().map(|name| &**name)
    }

    /// The sites that have a block, [`DEFAULT_SITE`] apart.
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.index.sites().iter().map(|name| &**name)
    }

    /// The warnings, and the errors of tools that were left out.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// A type in any spelling and all it is a kind of here.
    pub fn supertypes<'a>(&'a self, type_: &'a str) -> Vec<&'a str> {
        self.ancestry.supertypes(type_name(type_))
    }

    /// The known type that a name was most likely meant for which is no type: that of a tool here, or
    /// one of schema.org.
    pub fn suggest_type(&self, name: &str) -> Option<&str> {
        let name = type_name(name);
        let is_known = |other: &&str| *other == name;
        if schema_org::supertypes(name).is_some()
            || self.ancestry.declares(name)
            || self.types().any(|other| is_known(&other))
        {
            return None;
        }
        diagnostic::nearest(name, self.types().chain(schema_org::names().iter().copied()))
    }

    /// The positions of the tools that a type has on a site.
    pub fn positions_for(&self, type_: &str, site: Option<&str>) -> Vec<usize> {
        self.positions_of(&self.supertypes(type_), site, SiteBlocks::Add)
    }

    /// The positions of the tools of some types on a site.
    ///
    /// # Arguments
    ///
    /// - `kinds`: the types in their short forms, the most specific first.
    /// - `site`: the site.
    /// - `site_blocks`: what blocks of sites do that do not say whether they inherit.
    pub fn positions_of(
        &self,
        kinds: &[&str],
        site: Option<&str>,
        site_blocks: SiteBlocks,
    ) -> Vec<usize> {
        let found = self.index.find(kinds, site, site_blocks).into_iter();
        let enabled = found.filter(|found| self.index.is_enabled(found.tool));
        enabled.map(|found| found.tool as usize).collect()
    }

    /// The tools that a type has on a site, general to specific.
    pub fn tools_for(&self, type_: &str, site: Option<&str>) -> Vec<&Arc<Tool>> {
        let positions = self.positions_for(type_, site).into_iter();
        positions.map(|position| &self.entries[position].tool).collect()
    }

    /// The same with where each comes from, and with those that are off.
    pub fn explain(&self, type_: &str, site: Option<&str>) -> Vec<Origin> {
        let supertypes = self.supertypes(type_);
        let found = self.index.find(&supertypes, site, SiteBlocks::Add).into_iter();
        let origin = |found: index::ResolvedTool| Origin {
            tool: found.tool as usize,
            replaces: found.replaces.into_iter().map(|position| position as usize).collect(),
        };
        found.map(origin).collect()
    }

    /// A hash of all that is said about tools, however it is laid out.
    pub fn fingerprint(&self) -> u128 {
        *self.fingerprint.get_or_init(|| {
            fingerprint::of(self.tools().map(|tool| &**tool), &self.index, &self.ancestry)
        })
    }

    /// The registry as XML.
    pub fn write(&self) -> Result<String, RegistryError> {
        write::write(&self.layout, &self.entries).map_err(|finding| refused("", finding))
    }
}

fn refused(text: &str, finding: Finding) -> RegistryError {
    let mut report = Report::default();
    report.add(finding);
    RegistryError { diagnostics: report.resolve(text) }
}

fn too_large(size: usize) -> Finding {
    let limit = limits::MAX_BYTES;
    Finding::new(Code::Limit, 0..0, format!("{size} bytes are more than the {limit} that are read"))
}
