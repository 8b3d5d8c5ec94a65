//! The tools of a `tools.xml`: parsing, linting, lookup and writing.
//!
//! [`Registry::read`] parses a file in either of `NLWeb`'s layouts and reports all errors and
//! warnings at once, with line and column. [`Registry::tools_for`] returns the tools of a type on a
//! site: those of the type and its supertypes, from general to specific, where a more specific tool
//! takes the place of the one it replaces.
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

/// The site that the others inherit from, to which tools outside of any site belong.
pub const DEFAULT_SITE: &str = "default";

/// Return a schema.org type, in any spelling, and its supertypes, the most specific first, the root
/// last. An unknown type has only the root.
pub fn supertypes(type_: &str) -> Vec<&str> {
    ancestry::of_schema_org(type_name(type_))
}

/// The error for a registry that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", summary(diagnostics))]
pub struct RegistryError {
    /// All diagnostics, including warnings, in text order.
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

/// The effect of a site block without an `inherit` attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteBlocks {
    /// The block adds to the default.
    #[default]
    Add,
    /// The block replaces the default, as in `NLWeb`.
    Replace,
}

/// The treatment of tools with errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BrokenTools {
    /// The registry cannot be loaded.
    #[default]
    Refuse,
    /// The tool is skipped, and the error is among the diagnostics.
    LeaveOut,
}

/// The origin of a tool of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The position of the tool. If it is disabled, the type does not have the tool.
    pub tool: usize,
    /// The positions of the tools that it replaces, the nearest first.
    pub replaces: Vec<usize>,
}

/// The content of a `tools.xml`. Immutable.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    layout: Vec<Item>,
    index: Index,
    ancestry: Ancestry,
    /// The `extends` declarations of the document.
    declarations: Declarations,
    diagnostics: Vec<Diagnostic>,
    fingerprint: OnceLock<u128>,
}

impl Registry {
    /// Parse the bytes of a file.
    pub fn read(source: &[u8]) -> Result<Self, RegistryError> {
        Self::read_with(source, BrokenTools::Refuse)
    }

    /// Parse the bytes of a file. Malformed XML and cyclic types are always errors.
    pub fn read_with(source: &[u8], broken: BrokenTools) -> Result<Self, RegistryError> {
        if source.len() > limits::MAX_BYTES {
            return Err(refused("", too_large(source.len())));
        }
        match decode::decode(source) {
            Ok(text) => Self::read_decoded(&text, broken),
            Err(decode_error) => Err(refused(&decode_error.0, decode_error.1)),
        }
    }

    /// Parse a text, ignoring its encoding declaration.
    pub fn read_text(text: &str) -> Result<Self, RegistryError> {
        Self::read_text_with(text, BrokenTools::Refuse)
    }

    /// Parse a text, ignoring its encoding declaration, like [`Registry::read_with`].
    pub fn read_text_with(text: &str, broken: BrokenTools) -> Result<Self, RegistryError> {
        Self::read_decoded(text.strip_prefix('\u{FEFF}').unwrap_or(text), broken)
    }

    /// Parse a text without a byte order mark.
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

    /// Return all tools in document order, including disabled ones.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// Return the tool at a position.
    ///
    /// # Panics
    ///
    /// Panics if there is no such position.
    pub fn tool(&self, position: usize) -> &Arc<Tool> {
        &self.entries[position].tool
    }

    /// Return the types that have tools, ordered by their first tool.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.index.types().iter().map(|name| &**name)
    }

    /// Return the sites that have a block, except [`DEFAULT_SITE`].
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.index.sites().iter().map(|name| &**name)
    }

    /// Return the warnings, and the errors of skipped tools.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Return a type, in any spelling, and its supertypes in this registry.
    pub fn supertypes<'a>(&'a self, type_: &'a str) -> Vec<&'a str> {
        self.ancestry.supertypes(type_name(type_))
    }

    /// Return the known type most similar to an unknown type name: one with tools here, or one of
    /// schema.org.
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

    /// Return the positions of the tools of a type on a site.
    pub fn positions_for(&self, type_: &str, site: Option<&str>) -> Vec<usize> {
        self.positions_of(&self.supertypes(type_), site, SiteBlocks::Add)
    }

    /// Return the positions of the tools of several types on a site.
    ///
    /// # Arguments
    ///
    /// - `kinds`: the types in their short forms, the most specific first.
    /// - `site`: the site.
    /// - `site_blocks`: the effect of site blocks without an `inherit` attribute.
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

    /// Return the tools of a type on a site, from general to specific.
    pub fn tools_for(&self, type_: &str, site: Option<&str>) -> Vec<&Arc<Tool>> {
        let positions = self.positions_for(type_, site).into_iter();
        positions.map(|position| &self.entries[position].tool).collect()
    }

    /// Return the tools of a type on a site with their origins, including disabled ones.
    pub fn explain(&self, type_: &str, site: Option<&str>) -> Vec<Origin> {
        let supertypes = self.supertypes(type_);
        let found = self.index.find(&supertypes, site, SiteBlocks::Add).into_iter();
        let origin = |found: index::ResolvedTool| Origin {
            tool: found.tool as usize,
            replaces: found.replaces.into_iter().map(|position| position as usize).collect(),
        };
        found.map(origin).collect()
    }

    /// Return a hash of the content, independent of the layout.
    pub fn fingerprint(&self) -> u128 {
        *self.fingerprint.get_or_init(|| {
            fingerprint::of(self.tools().map(|tool| &**tool), &self.index, &self.ancestry)
        })
    }

    /// Return the registry as XML.
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
