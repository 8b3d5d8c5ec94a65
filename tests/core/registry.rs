//! Reading, linting and lookup of given documents.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use serde_json::{Map, Value, json};
use toolweave::registry::{Code, Diagnostic, Registry, Severity, Tool};

use crate::golden::cases;

/// Return a tool as in the golden cases: its content and its line.
fn plain(tool: &Tool) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("name", json!(&*tool.name));
    put("type", json!(&*tool.type_name));
    if let Some(site) = &tool.site {
        put("site", json!(&**site));
    }
    if !tool.enabled {
        put("enabled", json!(false));
    }
    for (name, text) in [("path", &tool.path), ("method", &tool.method)] {
        if !text.is_empty() {
            put(name, json!(**text));
        }
    }
    for (name, text) in [("handler", &tool.handler), ("prompt", &tool.prompt)] {
        if let Some(text) = text {
            put(name, json!(**text));
        }
    }
    if !tool.arguments.is_empty() {
        let pairs = tool.arguments.iter().map(|(name, text)| (name.to_string(), json!(**text)));
        put("arguments", Value::Object(pairs.collect()));
    }
    if !tool.examples.is_empty() {
        put("examples", tool.examples.iter().map(|example| json!(**example)).collect());
    }
    if let Some(structure) = &tool.return_struc {
        put("return_struc", structure.clone());
    }
    put("line", json!(tool.line));
    Value::Object(fields)
}

fn as_json(diagnostics: &[Diagnostic]) -> Value {
    diagnostics
        .iter()
        .map(|diagnostic| {
            json!({
                "code": diagnostic.code.as_str(),
                "line": diagnostic.line,
                "column": diagnostic.column,
                "length": diagnostic.length,
                "message": diagnostic.message,
                "hint": diagnostic.hint,
            })
        })
        .collect()
}

/// Return the diagnostics of a document, whether it is valid or not.
fn diagnostics(xml: &str) -> Vec<Diagnostic> {
    match Registry::read(xml.as_bytes()) {
        Ok(registry) => registry.diagnostics().to_vec(),
        Err(refused) => refused.diagnostics,
    }
}

fn document(case: &Value) -> &str {
    case["xml"].as_str().unwrap()
}

#[test]
fn golden_documents_are_read() {
    for case in cases("registry/read.json") {
        let registry = Registry::read(document(&case).as_bytes()).unwrap();
        let tools: Value = registry.tools().map(|tool| plain(tool)).collect();
        assert_eq!(tools, case["tools"], "{}", case["name"]);
        assert_eq!(json!(registry.types().collect::<Vec<_>>()), case["types"], "{}", case["name"]);
        assert_eq!(json!(registry.sites().collect::<Vec<_>>()), case["sites"], "{}", case["name"]);
    }
}

#[test]
fn golden_questions_are_answered() {
    for case in cases("registry/lookup.json") {
        let registry = Registry::read(document(&case).as_bytes()).unwrap();
        for question in case["questions"].as_array().unwrap() {
            let (type_, site) = (question["type"].as_str().unwrap(), question["site"].as_str());
            let tools: Value = registry
                .tools_for(type_, site)
                .iter()
                .map(|tool| match &tool.site {
                    Some(site) => format!("{} of {} on {site}", tool.name, tool.type_name),
                    None => format!("{} of {}", tool.name, tool.type_name),
                })
                .collect();
            assert_eq!(tools, question["tools"], "{}: {question}", case["name"]);
            let explained: Value = registry
                .explain(type_, site)
                .into_iter()
                .map(|origin| json!({"tool": origin.tool, "replaces": origin.replaces}))
                .collect();
            assert_eq!(explained, question["explained"], "{}: {question}", case["name"]);
        }
    }
}

#[test]
fn golden_diagnostics_are_reported() {
    for case in cases("registry/diagnostics.json") {
        assert_eq!(as_json(&diagnostics(document(&case))), case["diagnostics"], "{}", case["name"]);
    }
}

#[test]
fn the_golden_diagnostics_have_every_code() {
    let mut seen: BTreeSet<_> = cases("registry/diagnostics.json")
        .iter()
        .flat_map(|case| diagnostics(document(case)))
        .map(|diagnostic| diagnostic.code)
        .collect();
    // These require bytes, writing, or more text than is suitable for a golden case.
    seen.extend([Code::Encoding, Code::Unwritable, Code::More]);
    assert_eq!(seen, Code::ALL.iter().copied().collect());
}

#[test]
fn golden_documents_round_trip() {
    for case in cases("registry/read.json").iter().chain(&cases("registry/lookup.json")) {
        let registry = Registry::read(document(case).as_bytes()).unwrap();
        let written = registry.write().unwrap();
        let again = Registry::read(written.as_bytes()).unwrap();
        assert!(registry.tools().eq(again.tools()), "{}:\n{written}", case["name"]);
        assert_eq!(registry.fingerprint(), again.fingerprint(), "{}", case["name"]);
        assert_eq!(again.write().unwrap(), written, "{}", case["name"]);
        let codes = |registry: &Registry| -> Vec<_> {
            // Written documents have a root.
            let reported = registry
                .diagnostics()
                .iter()
                .filter(|diagnostic| diagnostic.code != Code::Fragment);
            reported.map(|diagnostic| (diagnostic.code, diagnostic.message.clone())).collect()
        };
        assert_eq!(codes(&again), codes(&registry), "{}", case["name"]);
    }
}

/// The tables in the documentation: code, severity.
#[test]
fn the_documentation_lists_every_code() {
    let text = include_str!("../../docs/explanation/registry.md");
    let rows: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| TW"))
        .map(|row| {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            assert!(cells[2].len() > 3 && cells[3].len() > 3, "{row}: cause and remedy");
            (format!("TW{}", cells[0]), cells[1].to_owned())
        })
        .collect();
    let codes: Vec<_> = Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), code.severity().as_str().to_owned()))
        .collect();
    assert_eq!(rows, codes);
}

/// Return a public configuration file.
fn found(name: &str) -> Option<Vec<u8>> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TOOLWEAVE_SHARED").map_or(default, PathBuf::from);
    if !shared.exists() {
        return None;
    }
    Some(std::fs::read(shared.join("data/nlweb").join(name)).unwrap())
}

#[test]
fn diagnostics_of_real_files_are_reported() {
    let faults = [
        (
            "nlweb-ai__NLWeb__2025-08.xml",
            vec![
                (Code::MissingParameter, 154),
                (Code::MissingParameter, 325),
                (Code::NoHandler, 395),
            ],
        ),
        (
            "nlweb-ai__NLWeb_Core__2025-11_sites.xml",
            vec![
                (Code::MissingParameter, 157),
                (Code::SiteAdds, 346),
                (Code::SiteAdds, 378),
                (Code::MissingParameter, 395),
                (Code::ConstantScore, 395),
                (Code::SiteAdds, 405),
                (Code::ConstantScore, 432),
                (Code::SiteAdds, 443),
                (Code::NoQuery, 445),
                (Code::NoScore, 451),
                (Code::UnfilledPlaceholder, 453),
                (Code::SiteAdds, 460),
                (Code::NoQuery, 462),
                (Code::NoScore, 468),
                (Code::UnfilledPlaceholder, 470),
            ],
        ),
        (
            "kuoowen-web__nlweb-intern__2026-07.xml",
            vec![(Code::UnknownType, 8), (Code::SiteAdds, 107), (Code::MissingParameter, 123)],
        ),
        (
            "nlweb-ai__NLWeb__2025-06_thing.xml",
            [158, 319, 345, 434, 521, 547, 576].map(|line| (Code::NoHandler, line)).to_vec(),
        ),
    ];
    for (name, wanted) in faults {
        let Some(bytes) = found(name) else { return };
        let registry = Registry::read(&bytes).unwrap();
        let reported: Vec<_> = registry
            .diagnostics()
            .iter()
            .map(|diagnostic| (diagnostic.code, diagnostic.line))
            .collect();
        assert_eq!(reported, wanted, "{name}");
        let written = registry.write().unwrap();
        let again = Registry::read(written.as_bytes()).unwrap();
        assert!(registry.tools().eq(again.tools()), "{name}");
        assert_eq!(again.write().unwrap(), written, "{name}");
    }
}

#[test]
fn real_files_give_the_tools_that_nlweb_gives() {
    let Some(bytes) = found("nlweb-ai__NLWeb__2025-08.xml") else { return };
    let registry = Registry::read(&bytes).unwrap();
    let names = |type_: &str| -> Vec<_> {
        registry.tools_for(type_, None).into_iter().map(|tool| tool.name.to_string()).collect()
    };
    assert_eq!(names("Item"), ["search", "details", "compare", "ensemble"]);
    let recipe =
        ["search", "details", "compare", "ensemble", "recipe_substitutions", "accompaniment"];
    assert_eq!(names("Recipe"), recipe);
    assert_eq!(names("Restaurant"), ["search", "details", "compare", "ensemble"]);
    assert_eq!(names("Statistics").len(), 5);
}

fn message(bytes: &[u8]) -> (Code, usize, usize) {
    let refused = Registry::read(bytes).unwrap_err();
    let first = refused.diagnostics.iter().find(|diagnostic| diagnostic.is_error()).unwrap();
    (first.code, first.line, first.column)
}

#[test]
fn encodings_are_decoded_or_rejected_with_a_position() {
    let text = "<?xml version=\"1.0\" encoding=\"E\"?>\n<Tools><Thing><Tool name=\"Crème\"/></Thing></Tools>";
    let name = |bytes: &[u8]| Registry::read(bytes).unwrap().tool(0).name.to_string();
    let declared = |encoding: &str| text.replace("\"E\"", &format!("\"{encoding}\""));
    let utf_8 = declared("utf-8");
    assert_eq!(name(utf_8.as_bytes()), "Crème");
    assert_eq!(name(&[b"\xEF\xBB\xBF", utf_8.as_bytes()].concat()), "Crème");
    let latin: Vec<u8> = declared("ISO-8859-1").chars().map(|c| c as u8).collect();
    assert_eq!(name(&latin), "Crème");
    let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{FEFF}".encode_utf16().chain(declared("UTF-16").encode_utf16()).flat_map(unit).collect()
    };
    assert_eq!(name(&wide(u16::to_le_bytes)), "Crème");
    assert_eq!(name(&wide(u16::to_be_bytes)), "Crème");

    let undeclared: Vec<u8> = declared("utf-8").chars().map(|c| c as u8).collect();
    assert_eq!(message(&undeclared), (Code::Encoding, 2, 29));
    let ascii: Vec<u8> = declared("us-ascii").chars().map(|c| c as u8).collect();
    assert_eq!(message(&ascii), (Code::Encoding, 2, 29));
    assert_eq!(message(declared("utf-16").as_bytes()), (Code::Encoding, 1, 1));
    assert_eq!(message(declared("ebcdic").as_bytes()), (Code::Encoding, 1, 1));
    let mut half = wide(u16::to_le_bytes);
    half.pop();
    assert_eq!(message(&half).0, Code::Encoding);
    assert_eq!(message(b"\xFF\xFE<\0\x00\xD8"), (Code::Encoding, 1, 2));
    assert_eq!(message(&wide(u16::to_le_bytes)[2..]), (Code::Encoding, 1, 1));
    assert_eq!(message(b"<Tools>\0</Tools>"), (Code::NotXml, 1, 8));
    assert_eq!(message("<Tools>\n\u{FFFE}</Tools>".as_bytes()), (Code::NotXml, 2, 1));
    for marks in 2..5 {
        let text = "\u{FEFF}".repeat(marks) + "<Tools/>";
        assert_eq!(message(text.as_bytes()), (Code::NotXml, 1, 1));
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(message(&wide), (Code::NotXml, 1, 1));
    }
}

fn many(times: usize, piece: impl Fn(usize) -> String) -> String {
    (0..times).map(piece).collect::<Vec<_>>().concat()
}

/// Rejected immediately, whatever the size: limits are checked before anything is stored.
#[test]
fn hostile_documents_are_rejected_with_a_position() {
    let deep = format!("<Tools>{}", "<a>".repeat(100_000));
    assert_eq!(message(deep.as_bytes()), (Code::Limit, 1, 198));
    let attribute = format!("<Tools><Thing>\n<Tool name=\"{}\"/>", "x".repeat(10 << 20));
    assert_eq!(message(attribute.as_bytes()), (Code::Limit, 2, 7));
    let text = format!("<Tools><Thing><Tool name=\"a\"><prompt>{}", "x".repeat(10 << 20));
    assert_eq!(message(text.as_bytes()).0, Code::Limit);
    let attributes = many(100, |n| format!(" a{n}=\"\""));
    assert_eq!(message(format!("<Tools{attributes}/>").as_bytes()).0, Code::Limit);
    let nodes = "<!---->".repeat(1 << 20) + "<Tools/>";
    assert_eq!(message(nodes.as_bytes()).0, Code::Limit);
    assert_eq!(message(&vec![b' '; (64 << 20) + 1]), (Code::Limit, 1, 1));
    let bomb = "<!DOCTYPE l [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;\">]><Tools>&b;</Tools>";
    assert_eq!(message(bomb.as_bytes()), (Code::Entities, 1, 13));
    let structure = format!(
        "<Tools><Thing><Tool name=\"a\"><returnStruc>{}</returnStruc></Tool></Thing></Tools>",
        "[".repeat(100_000)
    );
    assert_eq!(message(structure.as_bytes()), (Code::Limit, 1, 107));
    let arguments = format!(
        "<Tools><Thing><Tool name=\"a\">{}</Tool></Thing></Tools>",
        many(300, |n| format!("<argument name=\"{n}\"/>"))
    );
    assert_eq!(message(arguments.as_bytes()).0, Code::Limit);
}

#[test]
fn the_number_of_declared_types_is_limited() {
    let chain = many(80, |n| format!("<A{n} extends=\"A{}\"/>", n + 1));
    assert_eq!(message(format!("<Tools>{chain}</Tools>").as_bytes()).0, Code::Limit);
    let all = many(1100, |n| format!("<A{n} extends=\"Thing\"/>"));
    assert_eq!(message(format!("<Tools>{all}</Tools>").as_bytes()).0, Code::Limit);
    let parents = many(20, |n| format!("B{n} "));
    assert_eq!(
        message(format!("<Tools><A extends=\"{parents}\"/></Tools>").as_bytes()).0,
        Code::Limit
    );
}

#[test]
fn the_number_of_diagnostics_is_limited() {
    let stray = "<Tools><Thing>".to_owned() + &"<x/>\n".repeat(5000);
    let refused = Registry::read(stray.as_bytes()).unwrap_err();
    assert!(refused.diagnostics.len() < 1100);
    let last = refused.diagnostics.last().unwrap();
    assert_eq!((last.code, last.line), (Code::More, 5001));
    // Errors are reported even if they come last.
    assert!(refused.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::NotXml));
}

#[test]
fn registries_of_tools_can_be_written() {
    let tool = |name: &str, type_: &str, site: Option<&str>| {
        Arc::new(Tool { method: "builtin".into(), ..Tool::new(name, type_, site) })
    };
    let registry = Registry::of([
        tool("a", "schema:Recipe", None),
        tool("b", "Recipe", None),
        tool("c", "Item", Some("shop")),
        tool("d", "Movie", Some("shop")),
        tool("e", "Movie", Some("default")),
    ])
    .unwrap();
    let again = Registry::read(registry.write().unwrap().as_bytes()).unwrap();
    assert!(registry.tools().eq(again.tools()));
    assert_eq!(registry.fingerprint(), again.fingerprint());

    let more = registry
        .with([
            tool("f", "Recipe", None),
            tool("a", "Recipe", None),
            tool("g", "Movie", Some("new")),
        ])
        .unwrap();
    let names: Vec<_> = more.tools().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["a", "b", "f", "c", "d", "e", "g"]);
    let again = Registry::read(more.write().unwrap().as_bytes()).unwrap();
    assert!(more.tools().eq(again.tools()));
    assert_eq!(more.fingerprint(), again.fingerprint());
}

#[test]
fn text_that_xml_cannot_represent_is_not_written() {
    for tool in [
        Tool::new("a\u{0}", "Thing", None),
        Tool::new("a", "3DModel", None),
        Tool { prompt: Some("\u{FFFF}".into()), ..Tool::new("a", "Thing", None) },
    ] {
        let refused = Registry::of([Arc::new(tool)]).unwrap().write().unwrap_err();
        assert_eq!(refused.diagnostics[0].code, Code::Unwritable);
    }
    let refused = Registry::of([Arc::new(Tool::new("", "Thing", None))]).unwrap_err();
    assert_eq!(refused.diagnostics[0].code, Code::NoName);
    assert_eq!(refused.diagnostics[0].code.severity(), Severity::Error);
    assert!(Registry::of([Arc::new(Tool::new("a", "Site", None))]).is_err());
}

#[test]
fn joined_documents_equal_a_single_document() {
    let parts = [
        "<?xml version='1.0'?><!-- a --><Tools><Soup extends='Recipe'><Tool name='a'/></Soup></Tools>",
        "<Thing><Tool name='b'/></Thing><Ramen extends='Soup'><Tool name='c'/></Ramen>",
        "<x:Tools xmlns:x='u'><Site id='s' inherit='false'><x:Thing><Tool name='b'/></x:Thing></Site>\n\
         <Soup><Tool name='a' enabled='no'/></Soup></x:Tools>",
    ];
    let read: Vec<_> = parts.iter().map(|part| Registry::read_text(part).unwrap()).collect();
    let joined = Registry::joined(&read).unwrap();
    let whole = Registry::read_text(
        "<Tools xmlns:x='u'><Soup extends='Recipe'><Tool name='a'/></Soup><Thing><Tool name='b'/></Thing>\
         <Ramen extends='Soup'><Tool name='c'/></Ramen>\
         <Site id='s' inherit='false'><Thing><Tool name='b'/></Thing></Site>\
         <Soup><Tool name='a' enabled='no'/></Soup></Tools>",
    )
    .unwrap();
    assert_eq!(joined.fingerprint(), whole.fingerprint());
    assert_eq!(joined.supertypes("Ramen")[..3], ["Ramen", "Soup", "Recipe"]);
    for site in [None, Some("s")] {
        assert_eq!(joined.positions_for("Ramen", site), whole.positions_for("Ramen", site));
    }
    let reported: Vec<_> =
        joined.diagnostics().iter().map(|diagnostic| (diagnostic.code, diagnostic.line)).collect();
    assert_eq!(reported, [(Code::DuplicateTool, 2)]);
    let again = Registry::read_text(&joined.write().unwrap()).unwrap();
    assert_eq!(again.fingerprint(), joined.fingerprint());
}

#[test]
fn contradictory_documents_are_not_joined() {
    let parts = ["<Tools><A extends='B'/></Tools>", "<Tools><B extends='A'/></Tools>"];
    let read: Vec<_> = parts.iter().map(|part| Registry::read_text(part).unwrap()).collect();
    let refused = Registry::joined(&read).unwrap_err();
    assert_eq!(refused.diagnostics[0].code, Code::TypeCycle);
}

#[test]
fn similar_types_are_suggested() {
    let registry = Registry::read_text(
        "<Tools><Hostel><Tool name='a'/></Hostel><Soup extends='Recipe'/></Tools>",
    )
    .unwrap();
    for (name, meant) in [
        ("hotel", Some("Hotel")),
        ("schema:RECIPE", Some("Recipe")),
        ("hostel", Some("Hostel")),
        ("Hotel", None),
        ("Soup", None),
        ("Hostel", None),
        ("Item", None),
        ("xyzzy", None),
    ] {
        assert_eq!(registry.suggest_type(name), meant, "{name}");
    }
}
