//! Checks of the layers in `src/lib.rs`: modules use only lower layers, siblings form no cycles,
//! and only `src/python/` uses Python crates.

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use self::source::{outline, tokens};

/// Crates that only the bindings may use.
const PYTHON_CRATES: [&str; 4] = ["jiter", "pyo3", "pyo3_async_runtimes", "pythonize"];

/// Modules whose files may use each other: the parser is one state machine, with a file for each
/// state; a message class creates itself from JSON, which involves all classes.
const SINGLE_UNITS: [&str; 2] = ["parser", "python::message"];

/// A module, as the path from the crate's root.
type Module = Vec<String>;

/// A file: its path below `src`, and its content.
type File = (String, String);

/// The modules, their imports and their references.
#[derive(Default)]
struct Map {
    modules: BTreeSet<Module>,
    /// The meaning of a name in a module that has imported it.
    imports: BTreeMap<(Module, String), Module>,
    /// Pairs of a module and a path from the root that it uses.
    references: BTreeSet<(Module, Module)>,
}

impl Map {
    fn of(files: &[File]) -> Self {
        let mut map = Self::default();
        let lexed: Vec<_> =
            files.iter().map(|(path, text)| (module_of(path), tokens(text))).collect();
        let outlines: Vec<_> =
            lexed.iter().map(|(module_of, tokens)| (module_of, outline(tokens))).collect();
        for (module_of, outline) in &outlines {
            map.modules.insert((*module_of).clone());
            map.modules.extend(outline.modules.iter().map(|module| join(module_of, module)));
        }
        for (module_of, outline) in &outlines {
            for reference in &outline.references {
                let module = join(module_of, &reference.within);
                let Some(target) = map.absolute(&module, &reference.path) else { continue };
                if let Some(name) = reference.binds {
                    map.imports.insert((module.clone(), name.to_owned()), target.clone());
                }
                map.references.insert((module, target));
            }
        }
        map
    }

    /// Return a path in a module as a path from the root, or None if it leaves the crate.
    fn absolute(&self, module: &[String], path: &[&str]) -> Option<Module> {
        let mut from = module.to_vec();
        let mut rest = path;
        while let [first, then @ ..] = rest {
            match *first {
                "crate" => from.clear(),
                "self" => {}
                "super" => {
                    from.pop();
                }
                _ => break,
            }
            rest = then;
        }
        if rest.len() == path.len() && !self.modules.contains(&join(module, &path[..1])) {
            return None;
        }
        Some(join(&from, rest))
    }

    /// Return the module that defines the target of a path, through all re-exports.
    fn defining_module(&self, target: &[String]) -> Module {
        let mut target = target.to_vec();
        for _ in 0..=self.imports.len() {
            let known = |length: &usize| self.modules.contains(&target[..*length]);
            let length = (0..=target.len()).rev().find(known).unwrap_or(0);
            let Some(name) = target.get(length) else { break };
            let Some(import) = self.imports.get(&(target[..length].to_vec(), name.clone())) else {
                target.truncate(length);
                break;
            };
            target = join(import, &target[length + 1..]);
        }
        target
    }
}

/// Return the module of a file.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

fn join(module: &[String], path: &[impl AsRef<str>]) -> Module {
    module
        .iter()
        .map(String::as_str)
        .chain(path.iter().map(AsRef::as_ref))
        .map(str::to_owned)
        .collect()
}

/// Return all violations of the layers by the modules of a crate.
fn violations(files: &[File]) -> Vec<String> {
    let map = Map::of(files);
    let lib = files.iter().find(|(path, _)| path == "lib.rs").map_or("", |(_, text)| text);
    let lexed = tokens(lib);
    let layers: Vec<_> =
        outline(&lexed).modules.iter().filter_map(|m| m.first().copied()).collect();
    let mut violations = Vec::new();

    // The uses among the modules of one parent.
    let mut siblings: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, target) in &map.references {
        let defining_module = map.defining_module(target);
        let (Some(from), Some(to)) = (module.first(), defining_module.first()) else {
            if !module.is_empty() && target.iter().all(|name| name == "*") {
                violations.push(format!("{} imports the whole crate", module.join("::")));
            }
            continue;
        };
        let layer = |name: &str| layers.iter().position(|layer| *layer == name);
        if layer(to) > layer(from) {
            violations.push(format!(
                "{} uses {}, a layer above",
                module.join("::"),
                target.join("::")
            ));
        }
        let shared = module.iter().zip(&defining_module).take_while(|(a, b)| a == b).count();
        if let (Some(from), Some(to)) = (module.get(shared), defining_module.get(shared))
            && shared > 0
        {
            let edges = siblings.entry(module[..shared].to_vec()).or_default();
            edges.insert((from.clone(), to.clone()));
        }
    }
    for (parent, edges) in siblings {
        let (parent, cycle) = (parent.join("::"), cycle(edges));
        if !cycle.is_empty() && !SINGLE_UNITS.contains(&parent.as_str()) {
            let names: Vec<_> = cycle.into_iter().collect();
            violations.push(format!("in {parent}, a cycle: {}", names.join(", ")));
        }
    }
    for (path, text) in files {
        let named: BTreeSet<_> = tokens(text).into_iter().collect();
        for name in PYTHON_CRATES.iter().filter(|name| named.contains(*name)) {
            if module_of(path).first().is_none_or(|module| module != "python") {
                violations.push(format!("{path} names {name}"));
            }
        }
    }
    violations
}

/// Return the names on a cycle of edges, or between two cycles.
fn cycle(mut edges: BTreeSet<(String, String)>) -> BTreeSet<String> {
    loop {
        let sources: BTreeSet<_> = edges.iter().map(|(from, _)| from.clone()).collect();
        let targets: BTreeSet<_> = edges.iter().map(|(_, to)| to.clone()).collect();
        let before = edges.len();
        edges.retain(|(from, to)| targets.contains(from) && sources.contains(to));
        if edges.len() == before {
            return sources;
        }
    }
}

/// Return all Rust files below a folder, with their paths from `src`.
fn read(src: &Path) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let parts: Vec<_> = path.strip_prefix(src).unwrap().iter().collect();
                let name = parts.join("/".as_ref()).into_string().unwrap();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files
}

#[test]
fn modules_use_lower_layers_and_only_the_bindings_use_python() {
    let files = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.iter().any(|(path, _)| path == "python/mod.rs"), "the sources were not found");
    let violations = violations(&files);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Return a small crate of two layers and bindings, with additional files.
fn sample(more: &[(&str, &str)]) -> Vec<String> {
    let lib = ("lib.rs", "pub mod low;\npub mod high;\n#[cfg(feature = \"python\")]\nmod python;");
    let given: BTreeMap<_, _> = [lib, ("low.rs", ""), ("high/mod.rs", ""), ("python/mod.rs", "")]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let files: Vec<File> =
        given.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    violations(&files)
}

#[test]
fn a_downward_use_is_fine() {
    assert_eq!(sample(&[("high/mod.rs", "use crate::{low::{self, A}, low as l};")]), [""; 0]);
    assert_eq!(sample(&[("python/mod.rs", "use pyo3::prelude::*; use crate::high;")]), [""; 0]);
}

#[test]
fn an_upward_use_is_found_however_it_is_written() {
    for text in [
        "use crate::high::A;",
        "use crate::{other, high::{A, B}};",
        "use {std::fmt, crate::high};",
        "use super::high::A;",
        "fn f() { let a = crate :: high :: A::<u8>::new(); }",
        "fn f() -> Vec<crate::high::A> { g('\"', '\\'', b'\"', r#\"\"\"#) }",
        "macro_rules! m { () => { $crate::high::f() } }",
        "mod inner { mod more { use super::super::super::high::A; } }",
        "pub(crate) use crate::high as other;",
        "#[cfg(test)] mod tests { use crate::high::A; }",
    ] {
        let violations = sample(&[("low.rs", text)]);
        let all = violations
            .iter()
            .all(|violation| violation.starts_with("low") && violation.contains("uses high"));
        assert!(all && !violations.is_empty(), "{text}: {violations:?}");
    }
    let violations =
        sample(&[("low.rs", "mod deep;"), ("low/deep.rs", "use super::super::high::A;")]);
    assert_eq!(violations, ["low::deep uses high::A, a layer above"]);
    assert_eq!(
        sample(&[("high/mod.rs", "use crate::python;")]),
        ["high uses python, a layer above"]
    );
}

#[test]
fn comments_and_strings_are_not_uses() {
    for text in [
        "//! See [`crate::high::A`].",
        "/* crate::high /* crate::high */ crate::high */",
        "const A: &str = \"crate::high pyo3\";",
        "const A: &str = r##\"crate::high \"# pyo3\"##;",
        "const A: &[u8] = b\"\\\"crate::high\";",
        "fn f<'pyo4>(high: &'pyo4 u8) -> impl Fn() + use<'pyo4> { high::<u8> }",
    ] {
        assert_eq!(sample(&[("low.rs", text)]), [""; 0], "{text}");
    }
}

#[test]
fn glob_imports_of_the_crate_are_found() {
    assert_eq!(sample(&[("low.rs", "use crate::*;")]), ["low imports the whole crate"]);
    assert_eq!(sample(&[("low.rs", "use super::*;")]), ["low imports the whole crate"]);
    assert_eq!(sample(&[("low.rs", "mod tests { use super::*; }")]), [""; 0]);
}

#[test]
fn a_cycle_of_siblings_is_found() {
    let violations = sample(&[
        ("high/mod.rs", "mod a; mod b; mod c; mod d;"),
        ("high/a.rs", "use super::b::B;"),
        ("high/b.rs", "use crate::high::c;"),
        ("high/c.rs", "fn f() { super::a::g() }"),
        ("high/d.rs", "use super::a::A;"),
    ]);
    assert_eq!(violations, ["in high, a cycle: a, b, c"]);
}

#[test]
fn a_cycle_through_a_re_export_is_found() {
    let violations = sample(&[
        ("high/mod.rs", "mod a; mod b; pub use a::A; pub use self::b::{B as C, D};"),
        ("high/a.rs", "use super::C;"),
        ("high/b.rs", "use super::A; mod tests { use super::*; }"),
    ]);
    assert_eq!(violations, ["in high, a cycle: a, b"]);
}

#[test]
fn only_the_bindings_use_python() {
    assert_eq!(sample(&[("low.rs", "use pyo3::prelude::*;")]), ["low.rs names pyo3"]);
    assert_eq!(
        sample(&[("high/mod.rs", "fn f(v: jiter::JsonValue) {}")]),
        ["high/mod.rs names jiter"]
    );
}
