use super::*;
#[test]
fn dump() {
    for t in [
        "{city: 'Paris', days: [1, 2,],}",
        r#"{"a": 1, // c
 "b": 2 # d
 /* x */ }"#,
        "```json\n{\"a\": 1}\n```",
        "Here: {\"a\": True, \"b\": None} ok",
        r#"{"a": .5, "b": +1, "c": 1., "d": 1_000, "e": 0x1F, "f": -.5e3}"#,
        "{\"a\": \"x\ny\tz\"}",
        r#"{"a": "it\'s \x41 \d C:\users \u12zz"}"#,
        r#"{"a": "\ud83d x \ud83d\ude00 \udc00"}"#,
        r#"{"a": ["x", {"b": "unterminated"#,
        r#"{"a": [1, 2}, "b": 3}"#,
        r#"{"a": [1, 2}"#,
        r#"{"a": 1]}"#,
        r#"{"a": 1}}"#,
        r#"{"a": "say "hi" now"}"#,
        r#"{"a": "say "hi", ok", "b": 1}"#,
        r#"{"a": "say "hi""}"#,
        r#"["say "hi", "ho" now"]"#,
        r#"{"a": 1 "b": 2}"#,
        r#"["a" "b" 1 {"c":2}]"#,
        r#"{"a": "x" "b": 2}"#,
        r#"{"a": (1, 2), "b": (1,), "c": ()}"#,
        r#"{"a": (1)}"#,
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a": tru"#,
        r#"{"a": 12"#,
        r#"{"a": 12 "#,
        r#"{"a": true"#,
        r#"{"a": "x\"#,
        r#"{"a": "x", "b"#,
        r#"{"a": 1,"#,
        r#"{“a”: “don’t”, ‘b’: ‘don’t’, `c`: `x"y`}"#,
        r#"{'a': 'it's', 'b': "x"}"#,
        r#"{"a": hello}"#,
        r#"{"a": NaN}"#,
        r#"{"a": 1}{"b": 2}"#,
        r#"{"a": 007}"#,
        r#"{"q": "use {"a"} here"}"#,
        "{\"a\": 1 // end",
        "[1,,2]",
        "{\"a\":1,,\"b\":2}",
        "{\"code\": \"if (x) { print(\"hi\"); }\", \"b\": 1}",
        "{\"a\u{a0}\":\u{a0}1}",
        "{\"a\": undefined, }",
        "[1, 2",
        "[1, 2 ",
        "{\"a\": \"line1\n\"quoted\"\nline3\"}",
        "{}}",
        "",
        "x",
        "{",
        "[{'a':1}",
        "```\n[1,]\n```",
    ] {
        match mend_json(t) {
            None => println!("{t}\n   NONE"),
            Some(m) => println!(
                "{t}\n   {}\n      {:?}",
                m.text,
                m.repairs
                    .iter()
                    .map(|r| format!("{} {} {} -> {}", r.path, r.kind.as_str(), r.before, r.after))
                    .collect::<Vec<_>>()
            ),
        }
    }
}
