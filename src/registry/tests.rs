//! Properties of registries, over valid and invalid documents and arbitrary bytes.

use std::{collections::HashSet, sync::Arc};

use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};

use super::{diagnostic::nearest, *};

#[test]
fn every_schema_org_type_precedes_its_supertypes() {
    assert_eq!(schema_org::names().len(), 935);
    for name in schema_org::names() {
        let line = schema_org::supertypes(name).unwrap();
        assert_eq!((line.first(), line.last()), (Some(name), Some(&ROOT)), "{name}");
        let distinct: HashSet<_> = line.iter().collect();
        assert_eq!(distinct.len(), line.len(), "{name}");
        for (position, ancestor) in line.iter().enumerate() {
            for above in schema_org::supertypes(ancestor).unwrap() {
                let place = line.iter().position(|other| other == above);
                assert!(place.is_some_and(|place| place >= position), "{name}: {above}");
            }
        }
    }
}

#[test]
fn parents_keep_their_order_unless_their_supertypes_contradict_it() {
    assert_eq!(
        supertypes("Campground"),
        [
            "Campground",
            "CivicStructure",
            "LodgingBusiness",
            "LocalBusiness",
            "Organization",
            "Place",
            "Thing",
        ]
    );
    assert_eq!(supertypes("https://schema.org/3DModel")[..2], ["3DModel", "MediaObject"]);
    assert_eq!(supertypes("Unheard"), ["Unheard", "Thing"]);
    assert_eq!(supertypes("Item"), ["Thing"]);
}

#[test]
fn contradictory_orders_are_linearized() {
    let line = schema_org::linearise("z", &[&["a", "x", "y"], &["b", "y", "x"]], &["a", "b"]);
    assert_eq!(line.len(), 5);
    assert_eq!((line[0], line[1]), ("z", "a"));
}

#[test]
fn all_spellings_of_a_type_have_one_short_form() {
    for spelling in [
        "Recipe",
        "schema:Recipe",
        "http://schema.org/Recipe",
        "https://schema.org/Recipe",
        "https://schema.org/Recipe/",
        "{http://schema.org/}Recipe",
        "{http://nlweb.ai/base}Recipe",
        "\tRecipe\n",
    ] {
        assert_eq!(type_name(spelling), "Recipe");
    }
    for root in ["Thing", "Item", "schema:Item", "{http://nlweb.ai/base}Item", "", "/"] {
        assert_eq!(type_name(root), ROOT);
    }
    assert_eq!(type_name("recipe"), "recipe");
}

#[test]
fn similar_names_are_suggested() {
    let known = ["returnStruc", "prompt", "path"];
    assert_eq!(nearest("returnStruct", known), Some("returnStruc"));
    assert_eq!(nearest("Promt", known), Some("prompt"));
    assert_eq!(nearest("description", known), None);
    assert_eq!(nearest("", known), None);
    assert_eq!(nearest(&"p".repeat(100_000), known), None);
}

/// Generate text that is awkward in XML or JSON.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z {}.]{0,12}",
        r#"[a-c<>&"'\]\r\n\t\u{85}\u{A0}é😀 -]{0,12}"#,
        Just("]]>".to_owned()),
        Just("{request.query}\r\n  indented\n".to_owned()),
    ]
}

fn structure() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        Just("12345678901234567890.50".parse::<serde_json::Number>().unwrap().into()),
        text().prop_map(Value::from),
        Just(json!("\u{0}\u{1f}\u{fffe}\u{ffff}")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn tool() -> impl Strategy<Value = Tool> {
    let owner = (
        prop_oneof![Just("search".to_owned()), "[a-d]", text().prop_map(|text| format!("t{text}"))],
        prop::sample::select(vec!["Item", "Recipe", "schema:Movie", "Own", "Restaurant", "Ünï"]),
        option::of(prop::sample::select(vec!["default", "shop", "a \"b\" & <c>"])),
    );
    let stripped = || text().prop_map(|text| text.trim().into());
    let some = || {
        option::of(text()).prop_map(|text| text.and_then(|t| tool::stripped(&t).map(Into::into)))
    };
    let fields = (
        any::<bool>(),
        stripped(),
        stripped(),
        some(),
        vec((text().prop_map(Box::<str>::from), stripped()), 0..3),
        vec(some(), 0..3),
        some(),
        option::of(structure()),
    );
    (owner, fields).prop_map(|((name, type_, site), fields)| {
        let (enabled, path, method, handler, arguments, examples, prompt, return_struc) = fields;
        let mut names = HashSet::new();
        Tool {
            enabled,
            path,
            method,
            handler,
            arguments: arguments
                .into_iter()
                .filter(|(name, _)| names.insert(name.clone()))
                .collect(),
            examples: examples.into_iter().flatten().collect(),
            prompt,
            return_struc,
            ..Tool::new(&name, type_, site)
        }
    })
}

fn same(one: &Registry, other: &Registry) {
    let tools = |registry: &Registry| registry.tools().cloned().collect::<Vec<_>>();
    assert_eq!(tools(one), tools(other));
    assert_eq!(one.fingerprint(), other.fingerprint());
    for type_ in ["Item", "Recipe", "Movie", "Own", "Restaurant"] {
        for site in [None, Some("default"), Some("shop"), Some("none")] {
            assert_eq!(one.explain(type_, site), other.explain(type_, site));
        }
    }
}

/// Check that a registry is equal after writing and reading, and is written the same way again.
fn survives_writing(registry: &Registry) {
    let written = registry.write().unwrap();
    let again = Registry::read(written.as_bytes()).unwrap_or_else(|err| panic!("{err}\n{written}"));
    same(registry, &again);
    assert_eq!(again.write().unwrap(), written);
}

/// Parts of documents, valid and invalid.
const PIECES: &[&str] = &[
    "<?xml version=\"1.0\"?>",
    "<Tools>",
    "</Tools>",
    "<Thing>",
    "</Thing>",
    "<Recipe extends=\"X\">",
    "</Recipe>",
    "<Own extends=\"Recipe X\">",
    "</Own>",
    "<X extends='Own'>",
    "</X>",
    "<Site id=\"shop\">",
    "<Site id='alone' inherit='false'>",
    "</Site>",
    "<Tool name=\"a\">",
    "<Tool name='b' enabled='yes' x='&#10;\"'/>",
    "<Tool/>",
    "</Tool>",
    "<prompt>",
    "</prompt>",
    "<prompt lang='en'>{request.query} &lt; </prompt>",
    "<returnStruc>",
    "</returnStruc>",
    "{\"score\": 1}",
    "{\"a\": ",
    "<handler>a.B</handler>",
    "<example>x</example>",
    "<example/>",
    "<argument name=\"q\">text</argument>",
    "<odd a='1'>x<!-- c -->y</odd>",
    "<!-- comment -->",
    "<!-- a\n b -->",
    "<?pi x?>",
    "<![CDATA[<&]]>",
    "&amp;",
    "&nope;",
    "&",
    "<",
    "]]>",
    "\r\n",
    "\n  ",
    "text",
    "é",
    "\u{FFFE}",
    "\0",
    "<!DOCTYPE Tools>",
    "<!DOCTYPE a [",
    "xmlns='urn:x'",
    "<method>url</method>",
    "<path/>",
    "<b>",
    "</b>",
];

/// Generate well-formed documents with unusual content.
fn document() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec![
        "<prompt>\n  one {request.query}\n   two\n</prompt>",
        "<prompt lang=\"en\">one<!-- c -->two <b>three</b></prompt>",
        "<prompt/>",
        "<returnStruc>{\"score\": 1, \"x\": [1.50]}</returnStruc>",
        "<returnStruc note=''>null</returnStruc>",
        "<handler>a.<?pi?>B</handler>",
        "<example> x </example>",
        "<example/>",
        "<argument name=\"q\">a</argument>",
        "<argument>b</argument>",
        "<path><![CDATA[/a?b&c]]></path>",
        "<method>builtin</method>",
        "<odd a='&quot;&#13;'> x <deep/>\n y</odd>",
        "<!-- comment\n  of lines -->",
        "stray",
    ]);
    let tool = (
        prop::sample::select(vec!["", " enabled='TRUE'", " enabled='1'", " odd='x'"]),
        "[ab]",
        vec(field, 0..5),
    )
        .prop_map(|(attributes, name, fields)| {
            format!("<Tool{attributes} name='{name}'>{}</Tool>", fields.concat())
        });
    let between =
        prop::sample::select(vec!["<!-- x -->", "<?y z?>", "stray", "\n"]).prop_map(str::to_owned);
    let block = (
        prop::sample::select(vec!["Thing", "Item", "Recipe", "Own"]),
        vec(prop_oneof![3 => tool, 1 => between.clone()], 0..4),
    )
        .prop_map(|(type_, inside)| match type_ {
            "Own" => format!("<Own extends='Recipe'>{}</Own>", inside.concat()),
            other => format!("<{other}>{}</{other}>", inside.concat()),
        });
    let site = (
        prop::sample::select(vec!["id='shop'", "id='default'", "id='alone' inherit='false'"]),
        vec(prop_oneof![3 => block.clone(), 1 => between.clone()], 0..3),
    )
        .prop_map(|(attributes, inside)| format!("<Site {attributes}>{}</Site>", inside.concat()));
    vec(prop_oneof![3 => block, 2 => site, 1 => between], 0..5).prop_map(|inside| {
        format!("<!-- head --><Tools odd=''>{}</Tools><!-- foot -->", inside.concat())
    })
}

proptest! {
    #[test]
    fn registries_of_tools_survive_writing(tools in vec(tool(), 0..6)) {
        let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        let registry = Registry::of(tools.iter().cloned()).unwrap();
        prop_assert!(registry.tools().eq(&tools));
        survives_writing(&registry);
    }

    #[test]
    fn registries_with_more_tools_survive_writing(xml in document(), tools in vec(tool(), 0..5)) {
        let registry = Registry::read(xml.as_bytes()).unwrap();
        let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        let more = registry.with(tools.iter().cloned()).unwrap();
        survives_writing(&more);
        for tool in &tools {
            let key = |tool: &Tool| (tool.name.clone(), tool.type_name.clone(), tool.site.clone());
            let expected = tools.iter().rfind(|other| key(other) == key(tool)).unwrap();
            let last = more.tools().filter(|other| key(other) == key(tool)).last();
            prop_assert_eq!(last, Some(expected));
        }
    }

    #[test]
    fn documents_survive_writing_with_all_their_content(xml in document()) {
        let registry = Registry::read(xml.as_bytes()).unwrap();
        survives_writing(&registry);
        let written = registry.write().unwrap();
        for odd in ["<!-- comment", "<!-- x -->", "<!-- c -->", "<?y z?>", "<odd", "<deep", "stray", "lang=", "odd="] {
            prop_assert_eq!(written.matches(odd).count(), xml.matches(odd).count(), "{}", written);
        }
    }

    #[test]
    fn all_diagnostics_are_within_the_text(
        pieces in vec(prop::sample::select(PIECES), 0..24),
    ) {
        let text = pieces.concat();
        let diagnostics = match Registry::read(text.as_bytes()) {
            Ok(registry) => {
                survives_writing(&registry);
                registry.diagnostics().to_vec()
            }
            Err(refused) => {
                prop_assert!(refused.diagnostics.iter().any(Diagnostic::is_error));
                refused.diagnostics
            }
        };
        let lines: Vec<_> = text.split('\n').collect();
        for diagnostic in diagnostics {
            let line = lines.get(diagnostic.line - 1).copied().unwrap_or("");
            let width = line.chars().count();
            prop_assert!(diagnostic.line <= lines.len() && diagnostic.column <= width + 1, "{:?}", diagnostic);
            prop_assert!(diagnostic.length == 1 || diagnostic.column + diagnostic.length <= width + 1, "{:?}", diagnostic);
        }
    }

    #[test]
    fn a_site_that_replaces_the_default_has_only_its_own_tools(xml in document()) {
        let registry = Registry::read(xml.as_bytes()).unwrap();
        for site in registry.sites() {
            let own = registry.tools().filter(|tool| tool.site.as_deref() == Some(site));
            let alone = Registry::of(own.cloned()).unwrap();
            for type_ in ["Thing", "Recipe", "Own", "Movie"] {
                let kinds = registry.supertypes(type_);
                let tools = |registry: &Registry, site_blocks| -> Vec<_> {
                    let found = registry.positions_of(&kinds, Some(site), site_blocks).into_iter();
                    found.map(|position| Arc::clone(registry.tool(position))).collect()
                };
                let expected = match registry.index.inherits(site) {
                    Some(true) => tools(&registry, SiteBlocks::Add),
                    _ => tools(&alone, SiteBlocks::Add),
                };
                prop_assert_eq!(tools(&registry, SiteBlocks::Replace), expected);
            }
        }
    }

    #[test]
    fn a_registry_without_its_broken_tools_is_valid(
        pieces in vec(prop::sample::select(PIECES), 0..24),
    ) {
        let text = pieces.concat();
        let strict = Registry::read(text.as_bytes());
        match Registry::read_with(text.as_bytes(), BrokenTools::LeaveOut) {
            Ok(registry) => {
                survives_writing(&registry);
                if let Ok(strict) = strict {
                    same(&registry, &strict);
                }
            }
            Err(refused) => prop_assert_eq!(Some(refused), strict.err()),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..64), mark in any::<bool>()) {
        let start: &[u8] = if mark { b"\xFF\xFE<\0" } else { b"<Tools>" };
        let _ = Registry::read(&[start, &bytes].concat());
    }

    #[test]
    fn the_layout_does_not_change_the_fingerprint(tools in vec(tool(), 1..6)) {
        let tools: Vec<_> = tools.into_iter().map(|tool| Tool { site: None, ..tool }).map(Arc::new).collect();
        let flat = Registry::of(tools).unwrap();
        let inner = flat.write().unwrap();
        let inner = inner.split_once("<Tools>").unwrap().1.rsplit_once("</Tools>").unwrap().0;
        let site = format!("<Tools><!-- x --><Site id='default'>{inner}</Site></Tools>");
        let site = Registry::read(site.as_bytes()).unwrap();
        prop_assert_eq!(flat.fingerprint(), site.fingerprint());
    }

    #[test]
    fn one_changed_field_changes_the_fingerprint(one in tool(), other in tool()) {
        let hash = |tool: &Tool| Registry::of([Arc::new(tool.clone())]).unwrap().fingerprint();
        prop_assert_eq!(one == other, hash(&one) == hash(&other));
    }
}
