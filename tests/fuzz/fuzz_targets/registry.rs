//! Registries: bytes are parsed, or rejected with positions within the text; registries survive
//! writing, and lookups follow the rules of overriding.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolweave::registry::{Diagnostic, Registry};

const TYPES: [&str; 6] = ["Thing", "Recipe", "schema:Restaurant", "Own", "X", ""];
const SITES: [Option<&str>; 4] = [None, Some("default"), Some("shop"), Some("none")];

fuzz_target!(|data: &[u8]| {
    let registry = match Registry::read(data) {
        Ok(registry) => registry,
        Err(refused) => {
            assert!(refused.diagnostics.iter().any(Diagnostic::is_error));
            placed(&refused.diagnostics, data);
            assert!(!refused.to_string().is_empty());
            return;
        }
    };
    placed(registry.diagnostics(), data);
    assert!(!registry.diagnostics().iter().any(Diagnostic::is_error));

    let written = registry.write().expect("what was read can be written");
    let again = Registry::read(written.as_bytes()).expect("what was written can be read");
    assert!(registry.tools().eq(again.tools()), "{written}");
    assert_eq!(registry.fingerprint(), again.fingerprint(), "{written}");
    assert_eq!(again.write().expect("twice"), written);
    for type_ in TYPES {
        for site in SITES {
            let origins = registry.explain(type_, site);
            assert_eq!(origins, again.explain(type_, site));
            answers(&registry, type_, site);
        }
    }

    // Rebuilt from its tools, it is a different document with the same content.
    let made = Registry::of(registry.tools().cloned()).expect("tools make a registry");
    assert!(made.tools().eq(registry.tools()));
    let rewritten = made.write().expect("all of it came from XML");
    let reread = Registry::read(rewritten.as_bytes()).expect("what was written can be read");
    assert!(reread.tools().eq(made.tools()), "{rewritten}");
    let more = registry.with(registry.tools().cloned()).expect("tools replace themselves");
    assert_eq!(more.tools().len(), registry.tools().len());
});

/// Check that names are unique, tools enabled, and replaced tools of the same name.
fn answers(registry: &Registry, type_: &str, site: Option<&str>) {
    let origins = registry.explain(type_, site);
    let on: Vec<_> = origins
        .iter()
        .map(|origin| origin.tool)
        .filter(|tool| registry.tool(*tool).enabled)
        .collect();
    assert_eq!(registry.positions_for(type_, site), on);
    let mut names: Vec<_> = origins.iter().map(|origin| &registry.tool(origin.tool).name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), origins.len());
    let lineage = registry.supertypes(type_);
    let rank =
        |tool: usize| lineage.iter().position(|name| **name == *registry.tool(tool).type_name);
    for origin in &origins {
        let mut nearest = rank(origin.tool).expect("of an ancestor");
        for replaced in &origin.replaces {
            assert_eq!(registry.tool(*replaced).name, registry.tool(origin.tool).name);
            let next = rank(*replaced).expect("of an ancestor");
            assert!(next >= nearest);
            nearest = next;
        }
    }
}

fn placed(diagnostics: &[Diagnostic], data: &[u8]) {
    // Other encodings have different bytes.
    let Ok(text) = str::from_utf8(data) else { return };
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.contains("encoding") {
        return;
    }
    let lines: Vec<_> = text.split('\n').collect();
    for diagnostic in diagnostics {
        let width = lines.get(diagnostic.line - 1).map_or(0, |line| line.chars().count());
        assert!(diagnostic.line <= lines.len() && diagnostic.column <= width + 1, "{diagnostic:?}");
        assert!(
            diagnostic.length == 1 || diagnostic.column + diagnostic.length <= width + 1,
            "{diagnostic:?}"
        );
    }
}
