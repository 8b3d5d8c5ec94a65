//! The types of schema.org and their supertypes.

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

/// The root of all types. `NLWeb` calls it `Item`.
pub const ROOT: &str = "Thing";

/// Return the short form of a type in any spelling: `Recipe` for `https://schema.org/Recipe`,
/// `schema:Recipe` and `{http://schema.org/}Recipe`, and [`ROOT`] for `NLWeb`'s `Item`.
pub fn type_name(spelling: &str) -> &str {
    let name = spelling.trim().trim_end_matches(['/', '#']);
    let name = name.rsplit(['}', '/', '#', ':']).next().unwrap_or(name);
    if matches!(name, "Item" | "") { ROOT } else { name }
}

/// The types with their parents, by position.
struct Vocabulary {
    names: Vec<&'static str>,
    positions: HashMap<&'static str, usize>,
    parents: Vec<Vec<usize>>,
    supertypes: Vec<OnceLock<Vec<&'static str>>>,
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let lines: Vec<_> = include_str!("schema_org_types.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let names: Vec<_> = lines.iter().map(|(name, _)| *name).collect();
    let positions: HashMap<_, _> = names.iter().copied().zip(0..).collect();
    let parents = lines
        .iter()
        .map(|(_, parents)| parents.split(',').filter_map(|p| positions.get(p).copied()).collect())
        .collect();
    let supertypes = names.iter().map(|_| OnceLock::new()).collect();
    Vocabulary { names, positions, parents, supertypes }
});

impl Vocabulary {
    /// Return a type and its supertypes. The table is at most eight levels deep.
    fn supertypes(&self, position: usize) -> &[&'static str] {
        self.supertypes[position].get_or_init(|| {
            let parents = &self.parents[position];
            let above: Vec<_> = parents.iter().map(|parent| self.supertypes(*parent)).collect();
            let direct: Vec<_> = parents.iter().map(|parent| self.names[*parent]).collect();
            linearise(self.names[position], &above, &direct)
        })
    }
}

/// Return a schema.org type and its supertypes, the most specific first; `None` for other types.
pub(super) fn supertypes(name: &str) -> Option<&'static [&'static str]> {
    let vocabulary = &*VOCABULARY;
    vocabulary.positions.get(name).map(|position| vocabulary.supertypes(*position))
}

/// Return all types of schema.org.
pub(super) fn names() -> &'static [&'static str] {
    &VOCABULARY.names
}

/// Linearize a type and its ancestors by C3: each type precedes its ancestors, in the order of its
/// parents. That order is dropped if it contradicts the order of the ancestors, as for nine types
/// of schema.org, whose parents are listed alphabetically.
pub(super) fn linearise<'a>(
    name: &'a str,
    above: &[&[&'a str]],
    parents: &[&'a str],
) -> Vec<&'a str> {
    let mut merged = vec![name];
    let strict: Vec<_> = above.iter().copied().chain([parents]).collect();
    let rest = merge(&strict).or_else(|| merge(above));
    merged.extend(rest.unwrap_or_else(|| {
        // No order satisfies all lists: each ancestor comes after the last type that needs it.
        let mut all: Vec<&str> = Vec::new();
        for ancestor in above.iter().rev().flat_map(|list| list.iter().rev()) {
            if !all.contains(ancestor) {
                all.push(ancestor);
            }
        }
        all.reverse();
        all
    }));
    merged
}

/// Merge lists into one that keeps the order of each; `None` if they contradict each other.
fn merge<'a>(lists: &[&[&'a str]]) -> Option<Vec<&'a str>> {
    let mut lists = lists.to_vec();
    let mut merged = Vec::new();
    loop {
        lists.retain(|list| !list.is_empty());
        if lists.is_empty() {
            return Some(merged);
        }
        let free = |head: &&str| !lists.iter().any(|list| list[1..].contains(head));
        let head = lists.iter().map(|list| list[0]).find(|head| free(head))?;
        merged.push(head);
        for list in &mut lists {
            if list[0] == head {
                *list = &list[1..];
            }
        }
    }
}
