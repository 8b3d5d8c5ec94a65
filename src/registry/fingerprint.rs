//! The fingerprint of a registry.

use std::sync::Arc;

use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::{ancestry::Ancestry, index::Index, tool::Tool};

/// Hash the tools in order, the inheritance of sites, and the supertypes of types.
pub(super) fn of<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    index: &Index,
    ancestry: &Ancestry,
) -> u128 {
    let mut hasher = Hasher(Xxh3::new());
    for tool in tools {
        hasher.tool(tool);
    }
    for inherit in [false, true] {
        let matches = |site: &&Arc<str>| index.inherits(site) == Some(inherit);
        let mut sites: Vec<_> = index.sites().iter().filter(matches).collect();
        sites.sort_unstable();
        hasher.count(sites.len());
        for site in sites {
            hasher.text(site);
        }
    }
    for supertypes in ancestry.declared() {
        hasher.count(supertypes.len());
        for name in supertypes {
            hasher.text(name);
        }
    }
    hasher.0.digest128()
}

/// A hasher that includes the length of every item, so that different splits have different hashes.
struct Hasher(Xxh3);

impl Hasher {
    fn count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.0.update(&[u8::from(text.is_some())]);
        self.text(text.unwrap_or(""));
    }

    fn tool(&mut self, tool: &Tool) {
        self.text(&tool.name);
        self.text(&tool.type_name);
        self.optional(tool.site.as_deref());
        self.0.update(&[u8::from(tool.enabled)]);
        self.text(&tool.path);
        self.text(&tool.method);
        self.optional(tool.handler.as_deref());
        self.count(tool.arguments.len());
        for (name, text) in &tool.arguments {
            self.text(name);
            self.text(text);
        }
        self.count(tool.examples.len());
        for example in &tool.examples {
            self.text(example);
        }
        self.optional(tool.prompt.as_deref());
        self.optional(tool.return_struc.as_ref().map(Value::to_string).as_deref());
    }
}
