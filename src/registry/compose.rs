//! Construction of registries from tools, and from other registries.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use super::{
    DEFAULT_SITE, Registry, RegistryError,
    diagnostic::{Code, Diagnostic, Finding, Report},
    document::{Attribute, Entry, Item, ToolMarkup},
    lint::{self, SourceMap, ToolSpans},
    schema_org::type_name,
    tool::Tool,
};

/// The scope in which a tool is declared: the type, and the site if there is one.
type Owner = (Arc<str>, Option<Arc<str>>);

fn owner(tool: &Tool) -> Owner {
    (Arc::clone(&tool.type_name), tool.site.clone())
}

fn open(name: &str, attributes: &[(&str, &str)]) -> Item {
    let attributes = attributes.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Item::Open { name: name.into(), attributes: attributes.collect() }
}

fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

impl Registry {
    /// Add a tool at the end; return the position of the previous one of the same name, type and
    /// site.
    fn push(&mut self, entry: Entry) -> Option<u32> {
        let earlier = self.index.add(&entry.tool);
        self.layout.push(Item::Tool(number(self.entries.len())));
        self.entries.push(entry);
        earlier
    }

    /// Create a registry of tools, in the given order.
    pub fn of(tools: impl IntoIterator<Item = Arc<Tool>>) -> Result<Self, RegistryError> {
        let mut report = Report::default();
        let mut registry = Self::default();
        registry.layout.push(open("Tools", &[]));
        let mut last: Option<Owner> = None;
        for tool in tools {
            check(&tool, &mut report);
            if registry.index.position(&tool).is_some() {
                let message =
                    format!("the tool {:?} of {} is there twice", tool.name, tool.type_name);
                let hint = "The last one counts, in the place of the first.";
                report.add(Finding::new(Code::DuplicateTool, 0..0, message).hint(hint));
            }
            let here = owner(&tool);
            if last.as_ref() != Some(&here) {
                let site = last.as_ref().map(|(_, site)| site);
                if site.is_some() {
                    registry.layout.push(Item::Close);
                }
                if site.is_none_or(|site| *site != here.1) {
                    if matches!(site, Some(Some(_))) {
                        registry.layout.push(Item::Close);
                    }
                    if let Some(site) = &here.1 {
                        registry.layout.push(open("Site", &[("id", site)]));
                    }
                }
                registry.layout.push(open(&here.0, &[]));
                last = Some(here);
            }
            let markup = Arc::new(ToolMarkup::of(&tool));
            registry.push(Entry { tool, markup });
        }
        if let Some((_, site)) = last {
            let depth = 1 + usize::from(site.is_some());
            registry.layout.extend((0..depth).map(|_| Item::Close));
        }
        registry.layout.push(Item::Close);
        registry.diagnostics = checked(report)?;
        Ok(registry)
    }

    /// Return a registry with more tools. A tool replaces one of the same name, type and site;
    /// others are added at the end of the last block of their type.
    pub fn with(&self, tools: impl IntoIterator<Item = Arc<Tool>>) -> Result<Self, RegistryError> {
        let mut report = Report::default();
        let mut entries = self.entries.clone();
        let mut added: HashMap<(Owner, Arc<str>), usize> = HashMap::new();
        let mut blocks: Vec<(Owner, Vec<usize>)> = Vec::new();
        let mut positions: HashMap<Owner, usize> = HashMap::new();
        for tool in tools {
            check(&tool, &mut report);
            let key = (owner(&tool), Arc::clone(&tool.name));
            let known = self.index.position(&tool).map(|position| position as usize);
            let known = known.or_else(|| added.get(&key).copied());
            let markup = Arc::new(ToolMarkup::of(&tool));
            if let Some(known) = known {
                entries[known] = Entry { tool, markup };
                continue;
            }
            let block = *positions.entry(key.0.clone()).or_insert_with(|| {
                blocks.push((key.0.clone(), Vec::new()));
                blocks.len() - 1
            });
            blocks[block].1.push(entries.len());
            added.insert(key, entries.len());
            entries.push(Entry { tool, markup });
        }
        let more = checked(report)?;
        let layout = insert(&self.layout, blocks);
        let mut diagnostics = self.diagnostics.clone();
        diagnostics.extend(more);
        let mut registry = Self {
            ancestry: self.ancestry.clone(),
            declarations: self.declarations.clone(),
            diagnostics,
            ..Self::default()
        };
        registry.index.add_sites(&self.index);
        for item in layout {
            let Item::Tool(position) = item else {
                registry.layout.push(item);
                continue;
            };
            registry.push(entries[position as usize].clone());
        }
        Ok(registry)
    }

    /// Join several registries, in order, as if they were one document. The diagnostics are only
    /// those that result from joining.
    pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Result<Self, RegistryError> {
        let mut report = Report::default();
        let mut joined = Self::default();
        let mut repeated = Vec::new();
        let mut root: Vec<Attribute> = Vec::new();
        for part in parts {
            joined.index.add_sites(&part.index);
            joined.declarations.extend(&part.declarations, &mut report);
            let (attributes, inner) = root_content(&part.layout);
            for (name, value) in attributes {
                if root.iter().all(|(known, _)| known != name) {
                    root.push((name.clone(), value.clone()));
                }
            }
            let before = joined.entries.len();
            for item in inner {
                let Item::Tool(position) = item else {
                    joined.layout.push(item.clone());
                    continue;
                };
                let entry = part.entries[*position as usize].clone();
                let tool = Arc::clone(&entry.tool);
                // Duplicates within one document were reported when it was read.
                if joined.push(entry).is_some_and(|earlier| (earlier as usize) < before) {
                    repeated.push(duplicate_tool(&tool));
                }
            }
        }
        joined.layout.insert(0, Item::Open { name: "Tools".into(), attributes: root.into() });
        joined.layout.push(Item::Close);
        joined.ancestry = joined.declarations.resolve(&mut report);
        joined.diagnostics = checked(report)?;
        joined.diagnostics.extend(repeated);
        Ok(joined)
    }
}

/// Return the attributes of the root of a layout, and its content.
fn root_content(layout: &[Item]) -> (&[Attribute], &[Item]) {
    let root = layout.iter().position(|item| matches!(item, Item::Open { .. }));
    let end = layout.iter().rposition(|item| matches!(item, Item::Close));
    match (root.map(|root| (root, &layout[root])), end) {
        (Some((root, Item::Open { attributes, .. })), Some(end)) => {
            (attributes, &layout[root + 1..end])
        }
        _ => (&[], &[]),
    }
}

fn duplicate_tool(tool: &Tool) -> Diagnostic {
    let Tool { name, type_name, .. } = tool;
    Diagnostic {
        code: Code::DuplicateTool,
        message: format!("the tool {name:?} of {type_name} was there before, in another file"),
        line: tool.line.unwrap_or(1),
        column: 1,
        length: 1,
        hint: Some("This one counts, in the place of the first; remove one of them.".to_owned()),
    }
}

fn check(tool: &Tool, report: &mut Report) {
    lint::check(tool, &ToolSpans::default(), report);
    let structure = tool.return_struc.as_ref().map(ToString::to_string).unwrap_or_default();
    lint::structure_placeholders(&structure, &SourceMap::default(), report);
    if matches!(&*tool.type_name, "Site" | "Tool") {
        let message = format!("no type can be called {:?}", tool.type_name);
        let hint = "The format has another meaning for it; take another name.";
        report.add(Finding::new(Code::Shape, 0..0, message).hint(hint));
    }
}

fn checked(report: Report) -> Result<Vec<Diagnostic>, RegistryError> {
    let diagnostics = report.resolve("");
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(RegistryError { diagnostics });
    }
    Ok(diagnostics)
}

/// The end positions of blocks in a layout.
#[derive(Default)]
struct Ends {
    types: HashMap<Owner, usize>,
    sites: HashMap<Arc<str>, usize>,
    root: usize,
}

fn ends(layout: &[Item]) -> Ends {
    let mut ends = Ends::default();
    let mut site: Option<Arc<str>> = None;
    let mut open: Vec<Option<Arc<str>>> = Vec::new();
    for (position, item) in layout.iter().enumerate() {
        match item {
            Item::Open { name, attributes } => {
                let is_site = name.rsplit(':').next() == Some("Site");
                let id = attributes.iter().find(|(name, _)| &**name == "id");
                if let (true, Some((_, id))) = (is_site, id) {
                    site = Some(id.as_ref().into());
                    open.push(None);
                } else {
                    open.push(Some(type_name(name).into()));
                }
            }
            Item::Close => match open.pop() {
                _ if open.is_empty() => ends.root = position,
                Some(Some(type_)) => {
                    let site = site.clone().filter(|site| **site != *DEFAULT_SITE);
                    ends.types.insert((type_, site), position);
                }
                _ => {
                    if let Some(site) = site.take() {
                        ends.sites.insert(site, position);
                    }
                }
            },
            Item::Tool(_) | Item::Verbatim(_) => {}
        }
    }
    ends
}

/// Insert blocks of tools at the ends of existing ones, or after them.
fn insert(layout: &[Item], blocks: Vec<(Owner, Vec<usize>)>) -> Vec<Item> {
    let ends = ends(layout);
    let mut inserts: HashMap<usize, Vec<Item>> = HashMap::new();
    let mut new_sites: Vec<(Arc<str>, Vec<Item>)> = Vec::new();
    let mut site_positions: HashMap<Arc<str>, usize> = HashMap::new();
    for (owner, tools) in blocks {
        let tools = tools.into_iter().map(|position| Item::Tool(number(position)));
        if let Some(end) = ends.types.get(&owner) {
            inserts.entry(*end).or_default().extend(tools);
            continue;
        }
        let (type_, site) = owner;
        let block = [open(&type_, &[])].into_iter().chain(tools).chain([Item::Close]);
        let end = site.as_ref().map_or(Some(&ends.root), |site| ends.sites.get(site));
        match (end, site) {
            (Some(end), _) => inserts.entry(*end).or_default().extend(block),
            (None, Some(site)) => match site_positions.entry(Arc::clone(&site)) {
                hash_map::Entry::Occupied(known) => new_sites[*known.get()].1.extend(block),
                hash_map::Entry::Vacant(free) => {
                    free.insert(new_sites.len());
                    new_sites.push((site, block.collect()));
                }
            },
            (None, None) => {}
        }
    }
    for (site, block) in new_sites {
        let items = [open("Site", &[("id", &site)])].into_iter().chain(block).chain([Item::Close]);
        inserts.entry(ends.root).or_default().extend(items);
    }
    let mut all = Vec::with_capacity(layout.len());
    for (position, item) in layout.iter().enumerate() {
        all.extend(inserts.remove(&position).unwrap_or_default());
        all.push(item.clone());
    }
    all
}
