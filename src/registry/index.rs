//! Lookup of the tools of a type on a site.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use super::{DEFAULT_SITE, SiteBlocks, tool::Tool};

/// The scope in which tools are declared: the numbers of the type and the site.
type Group = (u32, u32);

/// The number of the site that the others inherit from.
const DEFAULT: u32 = 0;

/// An index of tools by name, type and site.
#[derive(Clone, Debug)]
pub(super) struct Index {
    names: HashMap<Arc<str>, u32>,
    types: HashMap<Arc<str>, u32>,
    sites: HashMap<Arc<str>, u32>,
    type_names: Vec<Arc<str>>,
    site_names: Vec<Arc<str>>,
    /// The `inherit` attribute of each site, by number.
    inherits: Vec<Option<bool>>,
    groups: NumberMap<Group, Vec<u32>>,
    /// The number of the name of each tool.
    name_of: Vec<u32>,
    /// True for each tool that is enabled; kept here because the tools themselves are scattered in
    /// memory.
    enabled: Vec<bool>,
    positions: NumberMap<(Group, u32), u32>,
}

/// A tool of a type, with the tools that it replaces, as positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResolvedTool {
    pub(super) tool: u32,
    /// The nearest first.
    pub(super) replaces: Vec<u32>,
}

/// A hasher for internally assigned numbers, which cannot be chosen by an attacker.
#[derive(Default)]
pub(super) struct FibonacciHasher(u64);

impl Hasher for FibonacciHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 ^= hash;
    }

    fn write_u32(&mut self, number: u32) {
        // The golden ratio spreads consecutive numbers.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// A map whose keys are such numbers, or hashes with a random seed.
pub(super) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<FibonacciHasher>>;

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
    /// Register a site; return false if it is known.
    pub(super) fn site(&mut self, site: &Arc<str>) -> bool {
        let (_, new) = number(&mut self.sites, site);
        if new {
            self.site_names.push(Arc::clone(site));
            self.inherits.push(None);
        }
        new
    }

    /// Set whether a site inherits from the default. Of several blocks, one with `inherit="false"`
    /// applies to all.
    pub(super) fn set_inherit(&mut self, site: &str, inherit: bool) {
        if let Some(site) = self.sites.get(site).filter(|site| **site != DEFAULT) {
            let inherits = &mut self.inherits[*site as usize];
            *inherits = Some(inherit && *inherits != Some(false));
        }
    }

    /// Add the sites of another index.
    pub(super) fn add_sites(&mut self, other: &Self) {
        for site in other.sites() {
            self.site(site);
            if let Some(inherit) = other.inherits(site) {
                self.set_inherit(site, inherit);
            }
        }
    }

    /// Return the `inherit` attribute of a site, if it has one.
    pub(super) fn inherits(&self, site: &str) -> Option<bool> {
        self.sites.get(site).and_then(|site| self.inherits[*site as usize])
    }

    /// Add the next tool; return the position of the previous one of the same name, type and site.
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

    /// Return the last tool of this name, type and site.
    pub(super) fn position(&self, tool: &Tool) -> Option<u32> {
        let site = match &tool.site {
            None => DEFAULT,
            Some(site) => *self.sites.get(site)?,
        };
        let group = (*self.types.get(&tool.type_name)?, site);
        self.positions.get(&(group, *self.names.get(&tool.name)?)).copied()
    }

    /// Return true if the tool at a position is enabled.
    pub(super) fn is_enabled(&self, position: u32) -> bool {
        self.enabled[position as usize]
    }

    /// Return the types that have tools, in document order.
    pub(super) fn types(&self) -> &[Arc<str>] {
        &self.type_names
    }

    /// Return the sites, without the default.
    pub(super) fn sites(&self) -> &[Arc<str>] {
        &self.site_names[1..]
    }

    /// Return the tools of a type on a site, including disabled ones, from general to specific. A
    /// tool that replaces another takes its place.
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

    /// Return the positions of all tools that apply to a type on a site, from general to specific.
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
