//! The supertypes of each type, as declared by schema.org or by the document.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    diagnostic::{Code, Finding, Report},
    limits::{MAX_ANCESTORS, MAX_DECLARED_TYPES, MAX_PARENTS},
    schema_org::{self, ROOT, linearise},
};

/// The types for which a document declares parents, in document order.
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
    /// Add a parent to a type.
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

    /// Add the declarations of another document.
    pub(super) fn extend(&mut self, other: &Self, report: &mut Report) {
        for Declared { name, parents, .. } in &other.types {
            for parent in parents {
                if let Err(finding) = self.add(name, parent, 0..0) {
                    report.add(finding);
                }
            }
        }
    }

    /// Return true if a type has declared parents.
    pub(super) fn has(&self, name: &str) -> bool {
        self.positions.contains_key(name)
    }

    /// Resolve the supertypes of each type, and report cycles.
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

/// Follow parents within the unresolved types, and report each cycle once.
fn report_cycles(waiting: &[&Declared], report: &mut Report) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (round, start) in waiting.iter().enumerate() {
        let mut path: Vec<&Declared> = Vec::new();
        let mut next = Some(*start);
        while let Some(declared) = next {
            if let Some(earlier) = seen.get(&*declared.name) {
                if *earlier == round {
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
            seen.insert(&declared.name, round);
            path.push(declared);
            next = declared
                .parents
                .iter()
                .find_map(|parent| waiting.iter().copied().find(|other| other.name == *parent));
        }
    }
}

/// The declared types of a document with their supertypes.
#[derive(Clone, Debug, Default)]
pub(super) struct Ancestry {
    supertypes: HashMap<Arc<str>, Vec<Arc<str>>>,
}

impl Ancestry {
    /// Return true if the document declares parents of a type.
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

    /// Return the supertypes of all declared types, sorted.
    pub(super) fn declared(&self) -> Vec<&[Arc<str>]> {
        let mut supertypes: Vec<_> = self.supertypes.values().map(Vec::as_slice).collect();
        supertypes.sort_unstable();
        supertypes
    }

    /// Return a type and its supertypes, the most specific first, the root last.
    pub(super) fn supertypes<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        match self.supertypes.get(name) {
            Some(declared) => declared.iter().map(|name| &**name).collect(),
            None => of_schema_org(name),
        }
    }
}

/// Return a type and its supertypes by schema.org; an unknown type has only the root.
pub(super) fn of_schema_org(name: &str) -> Vec<&str> {
    match schema_org::supertypes(name) {
        Some(supertypes) => supertypes.to_vec(),
        None => vec![name, ROOT],
    }
}
