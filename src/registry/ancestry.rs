//! What each type is a kind of: by schema.org, or by the document itself.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    diagnostic::{Code, Finding, Report},
    limits::{MAX_ANCESTORS, MAX_DECLARED_TYPES, MAX_PARENTS},
    schema_org::{self, ROOT, linearise},
};

/// The types that a document gives parents to, in the order of the document.
#[derive(Clone, Debug, Default)]
pub(super) struct Declarations {
    types: Vec<Declared>,
    positions: HashMap<Arc<str>, usize>,
}

#[derive(Clone, Debug)]
struct Declared {
    name: Arc<str>,
    parents: Vec<Arc<str>>,
    span: Range<usize>,
}

impl Declarations {
    /// Adds parents to a type.
    pub(super) fn add(
        &mut self,
        name: &Arc<str>,
        parent: &str,
        span: Range<usize>,
    ) -> Result<(), Finding> {
        let next = self.types.len();
        let position = *self.positions.entry(Arc::clone(name)).or_insert(next);
        if position == next {
            if next == MAX_DECLARED_TYPES {
                let message = format!("more than {MAX_DECLARED_TYPES} types with extends");
                return Err(Finding::new(Code::Limit, span, message));
            }
            let name = Arc::clone(name);
            self.types.push(Declared { name, parents: Vec::new(), span: span.clone() });
        }
        let parents = &mut self.types[position].parents;
        if parents.iter().any(|known| **known == *parent) {
            return Ok(());
        }
        if parents.len() == MAX_PARENTS {
            let message = format!("more than {MAX_PARENTS} parents of a type");
            return Err(Finding::new(Code::Limit, span, message));
        }
        parents.push(parent.into());
        Ok(())
    }

    /// Adds what another document says.
    pub(super) fn extend(&mut self, other: &Self, report: &mut Report) {
        for Declared { name, parents, .. } in &other.types {
            for parent in parents {
                if let Err(finding) = self.add(name, parent, 0..0) {
                    report.add(finding);
                }
            }
        }
    }

    /// Whether a type has parents here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.positions.contains_key(name)
    }

    /// What each type is a kind of; types in a circle are reported.
    pub(super) fn resolve(&self, report: &mut Report) -> Ancestry {
        let mut ancestry = Ancestry::default();
        let mut waiting: Vec<_> = self.types.iter().collect();
        loop {
            let before = waiting.len();
            waiting.retain(|declared| {
                let unknown = |parent: &Arc<str>| self.has(parent) && !ancestry.declares(parent);
                if declared.parents.iter().any(unknown) {
                    return true;
                }
                ancestry.add(declared, report);
                false
            });
            if waiting.is_empty() || waiting.len() == before {
                break;
            }
        }
        report_cycles(&waiting, report);
        ancestry
    }
}

/// Follows those that wait for one another until one comes again.
fn report_cycles(waiting: &[&Declared], report: &mut Report) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (turn, start) in waiting.iter().enumerate() {
        let mut path: Vec<&Declared> = Vec::new();
        let mut next = Some(*start);
        while let Some(declared) = next {
            if let Some(earlier) = seen.get(&*declared.name) {
                if *earlier == turn {
                    let from = path.iter().position(|step| step.name == declared.name);
                    let cycle = path[from.unwrap_or(0)..].iter().chain([&declared]);
                    let names: Vec<_> = cycle.take(12).map(|step| &*step.name).collect();
                    let message = format!("a type is its own ancestor: {}", names.join(" < "));
                    let finding = Finding::new(Code::TypeCycle, declared.span.clone(), message)
                        .hint("Remove one of these types from the extends of the one before.");
                    report.add(finding);
                }
                break;
            }
            seen.insert(&declared.name, turn);
            path.push(declared);
            next = declared
                .parents
                .iter()
                .find_map(|parent| waiting.iter().copied().find(|other| other.name == *parent));
        }
    }
}

/// The types of a document with all that they are kinds of.
#[derive(Clone, Debug, Default)]
pub(super) struct Ancestry {
    supertypes: HashMap<Arc<str>, Vec<Arc<str>>>,
}

impl Ancestry {
    /// Whether the document says what a type is a kind of.
    pub(super) fn declares(&self, name: &str) -> bool {
        self.supertypes.contains_key(name)
    }

    fn add(&mut self, declared: &Declared, report: &mut Report) {
        let parents: Vec<_> = declared.parents.iter().map(|parent| &**parent).collect();
        let above: Vec<_> = parents.iter().map(|parent| self.supertypes(parent)).collect();
        let above: Vec<_> = above.iter().map(Vec::as_slice).collect();
        let supertypes: Vec<Arc<str>> =
            linearise(&declared.name, &above, &parents).into_iter().map(Into::into).collect();
        if supertypes.len() > MAX_ANCESTORS {
            let message = format!("{:?} has more than {MAX_ANCESTORS} ancestors", declared.name);
            report.add(Finding::new(Code::Limit, declared.span.clone(), message));
            return;
        }
        self.supertypes.insert(Arc::clone(&declared.name), supertypes);
    }

    /// The lineages of declared types, by name.
    pub(super) fn declared(&self) -> Vec<&[Arc<str>]> {
        let mut supertypes: Vec<_> = self.supertypes.values().map(Vec::as_slice).collect();
        supertypes.sort_unstable();
        supertypes
    }

    /// A type and all it is a kind of, the most specific first, the root last.
    pub(super) fn supertypes<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        match self.supertypes.get(name) {
            Some(declared) => declared.iter().map(|name| &**name).collect(),
            None => of_schema_org(name),
        }
    }
}

/// A type and all it is a kind of as schema.org has it; an unknown one is a kind of the root.
pub(super) fn of_schema_org(name: &str) -> Vec<&str> {
    match schema_org::supertypes(name) {
        Some(supertypes) => supertypes.to_vec(),
        None => vec![name, ROOT],
    }
}
