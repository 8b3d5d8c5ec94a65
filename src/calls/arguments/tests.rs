use serde_json::{Value, json};

use super::typed::{Described, typed};

fn read(text: &str, schema: &Value) -> String {
    typed(text, Some(schema))
}

#[test]
fn a_string_is_the_text_itself() {
    for text in ["null", "None", "007", "{\"a\": 1}", "  blanks  ", "true", "", "\"x\""] {
        let kept = Value::String(text.to_owned()).to_string();
        assert_eq!(read(text, &json!({"type": "string"})), kept);
        assert_eq!(read(text, &json!({"enum": ["a", "b"]})), kept);
        assert_eq!(read(text, &json!({"description": "anything"})), kept);
        assert_eq!(typed(text, None), kept);
    }
}

#[test]
fn the_first_type_that_fits_counts() {
    let any = json!({"type": ["string", "array", "object", "boolean", "number", "null"]});
    for (text, value) in [
        ("null", "null"),
        ("None", "null"),
        ("3", "3"),
        ("-1.50e3", "-1.50e3"),
        ("True", "true"),
        ("{\"a\": 1.0}", "{\"a\": 1.0}"),
        ("[1, 'b', None]", "[1, \"b\", null]"),
        ("007", "\"007\""),
        ("", "\"\""),
        ("plain", "\"plain\""),
    ] {
        assert_eq!(read(text, &any), value);
    }
}

#[test]
fn numbers_keep_their_text() {
    let integer = json!({"type": "integer"});
    assert_eq!(read(" 12345678901234567890123 ", &integer), "12345678901234567890123");
    assert_eq!(read("1.0", &integer), "1.0");
    assert_eq!(read("1.5", &integer), "\"1.5\"");
    assert_eq!(read("1.5", &json!({"type": "number"})), "1.5");
    assert_eq!(read("5", &json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})), "5");
}

#[test]
fn objects_and_arrays_may_be_empty_or_literals_of_python() {
    assert_eq!(read("", &json!({"type": "object"})), "{}");
    assert_eq!(read("\n", &json!({"items": {}})), "[]");
    let object = json!({"type": "object"});
    assert_eq!(read("{'hourly': True}", &object), "{\"hourly\": true}");
    assert_eq!(read("hourly", &object), "\"hourly\"");
}

#[test]
fn references_are_followed_within_bounds() {
    let schema = json!({
        "properties": {
            "count": {"$ref": "#/$defs/count"},
            "loop": {"$ref": "#/properties/loop"},
        },
        "$defs": {"count": {"allOf": [{"type": "integer"}]}},
        "additionalProperties": {"type": "boolean"},
    });
    let described = Described::new(Some(&schema));
    let read = |key: &str, text: &str| described.member(key).types().read(text).0;
    assert_eq!(read("count", "3"), "3");
    assert_eq!(read("loop", "3"), "\"3\"");
    assert_eq!(read("other", "true"), "true");
}
