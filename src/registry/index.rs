//! Which tools a type has on a site, and why.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use super::{DEFAULT_SITE, SiteBlocks, tool::Tool};

/// Where tools are declared: the number of the type and that of the site.
type Group = (u32, u32);

/// The number of the site that the others inherit.
const DEFAULT: u32 = 0;

/// Tools by name, type and site.
#[derive(Clone, Debug)]
pub(super) struct Index {
    names: HashMap<Arc<str>, u32>,
    types: HashMap<Arc<str>, u32>,
    sites: HashMap<Arc<str>, u32>,
    type_names: Vec<Arc<str>>,
    site_names: Vec<Arc<str>>,
    /// What each site says of inheriting, by number.
    inherits: Vec<Option<bool>>,
    groups: NumberMap<Group, Vec<u32>>,
    /// The number of the name of each tool.
    name_of: Vec<u32>,
    /// Whether each tool is one; the tools themselves are too far from one another to be asked.
    enabled: Vec<bool>,
    positions: NumberMap<(Group, u32), u32>,
}

/// Where a tool of a type comes from: positions of the tool and of those it replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedTool {
    pub(super) tool: u32,
    /// The nearest first.
    pub(super) replaces: Vec<u32>,
}

/// A hash for numbers that we gave out ourselves, so that nobody can choose them badly.
#[derive(Default)]
struct FibonacciHasher(u64);

impl Hasher for FibonacciHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // The golden ratio: neighbours end up far from one another.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// A table whose keys are such numbers.
type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<FibonacciHasher>>;

fn number(table: &mut HashMap<Arc<str>, u32>, name: &Arc<str>) -> (u32, bool) {
    let next = u32::try_from(table.len()).unwrap_or(u32::MAX);
    match table.entry(Arc::clone(name)) {
        Entry::Occupied(known) => (*known.get(), false),
        Entry::Vacant(free) => (*free.insert(next), true),
    }
}

impl Default for Index {
    fn default() -> Self {
        let mut index = Self {
            names: HashMap::new(),
            types: HashMap::new(),
            sites: HashMap::new(),
            type_names: Vec::new(),
            site_names: Vec::new(),
            inherits: Vec::new(),
            groups: HashMap::default(),
            name_of: Vec::new(),
            enabled: Vec::new(),
            positions: HashMap::default(),
        };
        index.site(&DEFAULT_SITE.into());
        index
    }
}

impl Index {
    /// Makes a site known; false if it was.
    pub(super) fn site(&mut self, site: &Arc<str>) -> bool {
        let (_, new) = number(&mut self.sites, site);
        if new {
            self.site_names.push(Arc::clone(site));
            self.inherits.push(None);
        }
        new
    }

    /// Lets a site inherit the default, or nothing. Of several blocks, one that inherits nothing
    /// speaks for all.
    pub(super) fn set_inherit(&mut self, site: &str, inherit: bool) {
        if let Some(site) = self.sites.get(site).filter(|site| **site != DEFAULT) {
            let said = &mut self.inherits[*site as usize];
            *said = Some(inherit && *said != Some(false));
        }
    }

    /// Whether a site inherits the default; nothing where it does not say.
    pub(super) fn inherits(&self, site: &str) -> Option<bool> {
        self.sites.get(site).and_then(|site| self.inherits[*site as usize])
    }

    /// Adds the next tool; the position of the last of the same name, type and site.
    pub(super) fn add(&mut self, tool: &Tool) -> Option<u32> {
        let position = u32::try_from(self.name_of.len()).unwrap_or(u32::MAX);
        let (type_, new) = number(&mut self.types, &tool.type_name);
        if new {
            self.type_names.push(Arc::clone(&tool.type_name));
        }
        let site = match &tool.site {
            None => DEFAULT,
            Some(site) => {
                self.site(site);
                self.sites[site]
            }
        };
        let (name, _) = number(&mut self.names, &tool.name);
        self.name_of.push(name);
        self.enabled.push(tool.enabled);
        self.groups.entry((type_, site)).or_default().push(position);
        self.positions.insert(((type_, site), name), position)
    }

    /// The last tool of this name, type and site.
    pub(super) fn position(&self, tool: &Tool) -> Option<u32> {
        let site = match &tool.site {
            None => DEFAULT,
            Some(site) => *self.sites.get(site)?,
        };
        let group = (*self.types.get(&tool.type_name)?, site);
        self.positions.get(&(group, *self.names.get(&tool.name)?)).copied()
    }

    /// Whether the tool at a position is one.
    pub(super) fn is_enabled(&self, position: u32) -> bool {
        self.enabled[position as usize]
    }

    /// The types that have tools, in document order.
    pub(super) fn types(&self) -> &[Arc<str>] {
        &self.type_names
    }

    /// The sites, without the one that the others inherit.
    pub(super) fn sites(&self) -> &[Arc<str>] {
        &self.site_names[1..]
    }

    /// The tools of a type on a site, disabled ones included, general to specific; one that
    /// replaces another stands in its place.
    pub(super) fn find(
        &self,
        supertypes: &[&str],
        site: Option<&str>,
        site_blocks: SiteBlocks,
    ) -> Vec<ResolvedTool> {
        let walk = self.walk(supertypes, site, site_blocks);
        let mut slots: NumberMap<u32, usize> =
            HashMap::with_capacity_and_hasher(walk.len(), BuildHasherDefault::default());
        let mut found: Vec<ResolvedTool> = Vec::with_capacity(walk.len());
        for position in walk {
            match slots.entry(self.name_of[position as usize]) {
                Entry::Vacant(free) => {
                    free.insert(found.len());
                    found.push(ResolvedTool { tool: position, replaces: Vec::new() });
                }
                Entry::Occupied(slot) => {
                    let slot = &mut found[*slot.get()];
                    slot.replaces.push(slot.tool);
                    slot.tool = position;
                }
            }
        }
        for found in &mut found {
            found.replaces.reverse();
        }
        found
    }

    /// The positions of the tools that count for a type on a site, general to specific.
    fn walk(&self, supertypes: &[&str], site: Option<&str>, site_blocks: SiteBlocks) -> Vec<u32> {
        let site = site.and_then(|site| self.sites.get(site).copied()).unwrap_or(DEFAULT);
        let inherit = self.inherits[site as usize].unwrap_or(site_blocks == SiteBlocks::Add);
        let sites: &[u32] = match (site, inherit) {
            (DEFAULT, _) => &[DEFAULT],
            (site, false) => &[site],
            (site, true) => &[DEFAULT, site],
        };
        let numbers = supertypes.iter().rev().filter_map(|name| self.types.get(*name).copied());
        let groups = numbers.flat_map(|type_| sites.iter().map(move |site| (type_, *site)));
        groups.filter_map(|group| self.groups.get(&group)).flatten().copied().collect()
    }
}
