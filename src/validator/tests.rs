use std::rc::Rc;

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    MAX_VISITS, Validator, bounds, excess,
    metered::{Meter, Metered},
};

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3..40_i64).prop_map(Value::from),
        select(vec![0.5, 1.25, -7.5, 1e15]).prop_map(Value::from),
        "-?[1-9][0-9]{0,30}(\\.[0-9]{1,20})?"
            .prop_map(|text| text.parse().unwrap())
            .prop_map(Value::Number),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        "[ab]{0,3}".prop_map(Value::from),
        "[ab ]{30,90}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[abc]", inner), 0..6)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn keyword() -> impl Strategy<Value = Value> {
    let names = prop::collection::vec("[abc]", 0..3);
    prop_oneof![
        select(vec!["object", "array", "integer", "number", "string"])
            .prop_map(|kind| json!({"type": kind})),
        select(vec!["minLength", "maxItems", "minItems", "maxProperties", "minProperties"])
            .prop_map(|key| json!({key: 2})),
        (select(vec!["minimum", "exclusiveMaximum"]), number())
            .prop_map(|(key, n)| json!({key: n})),
        select(vec![0.01, 0.5, 1.0, 7.0]).prop_map(|by| json!({"multipleOf": by})),
        scalar().prop_map(|one| json!({"const": one})),
        prop::collection::vec(scalar(), 1..14).prop_map(|listed| json!({"enum": listed})),
        names.prop_map(|names| json!({"required": names})),
        select(vec!["^a", "a+b", "(a|b){2,9}$"]).prop_map(|pattern| json!({"pattern": pattern})),
        select(vec!["email", "date-time", "uri"]).prop_map(|format| json!({"format": format})),
        any::<bool>().prop_map(|unique| json!({"uniqueItems": unique})),
        select(vec!["#/$defs/a", "#/$defs/b"]).prop_map(|to| json!({"$ref": to})),
        // The visits of these are unknown.
        select(vec![
            json!({"$ref": "#"}),
            json!({"contains": {"minimum": 2}}),
            json!({"propertyNames": {"maxLength": 2}}),
            json!({"patternProperties": {"^a": {"minimum": 1}}}),
            json!({"unevaluatedProperties": false}),
            json!({"const": [1, {"a": 2}]}),
        ]),
    ]
}

/// Generate objects of a few keywords, with such schemas nested in them.
fn part() -> impl Strategy<Value = Value> {
    let merged = |keywords: Vec<Value>| {
        let members = keywords.into_iter().filter_map(|one| match one {
            Value::Object(members) => Some(members),
            _ => None,
        });
        Value::from(members.flatten().collect::<Map<_, _>>())
    };
    prop::collection::vec(keyword(), 0..4).prop_map(merged).prop_recursive(4, 40, 4, move |inner| {
        let parts = prop::collection::vec(inner.clone(), 1..4);
        let properties = prop::collection::vec(("[abc]", inner.clone()), 0..4);
        let nested = prop_oneof![
            (select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), parts)
                .prop_map(|(key, parts)| json!({key: parts})),
            (select(vec!["not", "if", "then", "items", "additionalProperties"]), inner.clone())
                .prop_map(|(key, part)| json!({key: part})),
            properties.prop_map(|parts| {
                json!({"properties": parts.into_iter().collect::<Map<_, _>>()})
            }),
        ];
        prop::collection::vec(nested, 1..3).prop_map(merged)
    })
}

fn schema() -> impl Strategy<Value = Value> {
    (part(), part(), part()).prop_map(|(mut root, a, b)| {
        if let Value::Object(members) = &mut root {
            members.insert("$defs".to_owned(), json!({"a": a, "b": b}));
        }
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..crate::effort::cases(256) })]

    #[test]
    fn visits_never_exceed_the_static_bound(schema in schema(), value in value()) {
        let Ok(validator) = Validator::new(&schema) else { return Ok(()) };
        let bound = bounds::visits(&schema, validator.cost_model.reading());
        prop_assert_eq!(validator.unmetered_weight, bound.map_or(0, |visits| MAX_VISITS / visits));
        let weight = excess::weigh(&value).unwrap();
        let Some(bound) = bound.filter(|_| !weight.has_long_numbers) else { return Ok(()) };
        let meter = Rc::new(Meter::new(usize::MAX, validator.cost_model));
        let fits = meter.with_names(|| validator.compiled.is_valid(Metered::new(&value, &meter)));
        prop_assert!(meter.used() <= bound * weight.parts, "{} of {bound}", meter.used());
        prop_assert_eq!(validator.compiled.is_valid(Metered::unmetered(&value)), fits);
    }
}

#[test]
fn plain_schemas_need_no_meter() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/schema",
        "$defs": {"Row": {
            "title": "Row",
            "type": "object",
            "properties": {
                "id": {"type": "integer", "minimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
                "unit": {"enum": ["celsius", "fahrenheit"]},
            },
            "required": ["id"],
            "additionalProperties": false,
        }},
        "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
    });
    assert!(Validator::new(&schema).unwrap().unmetered_weight > 500);
}

#[test]
fn schemas_that_refer_to_themselves_or_elsewhere_are_metered() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}),
        json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        json!({"$defs": {"a": {"$id": "b", "type": "string"}}, "items": {"$ref": "b"}}),
        json!({"items": {"$anchor": "x"}}),
        json!({"pattern": "(?=a)b"}),
    ] {
        assert_eq!(Validator::new(&schema).unwrap().unmetered_weight, 0, "{schema}");
    }
}
