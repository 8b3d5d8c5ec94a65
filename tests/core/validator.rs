//! What a validator says of values and schemas, hostile ones included.
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolweave::validator::{SchemaError, Validator};

#[test]
fn dump() {
    let cases = [
        (json!({"properties":{"guests":{"type":"integer"}},"required":["guests"]}), json!({})),
        (
            json!({"properties":{"a":{"properties":{"b~/c":{"type":["string","null"]}}, "required":["b~/c"]}}}),
            json!({"a":{}}),
        ),
        (json!({"type":"object"}), json!(3)),
        (
            json!({"properties":{"a":{"type":"integer"}},"additionalProperties":false}),
            json!({"b":1,"c":2}),
        ),
        (json!({"additionalProperties":false}), json!({"b":1,"c":2})),
        (
            json!({"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}),
            json!({"a":"x"}),
        ),
        (
            json!({"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"object","required":["z"]}]}}}),
            json!({"a":{}}),
        ),
        (json!({"oneOf":[{"type":"integer"},{"minimum":3}]}), json!(4)),
        (
            json!({"items":{"type":"string","minLength":2,"maxLength":1,"pattern":"^x","format":"date"}}),
            json!(["a", 3]),
        ),
        (json!({"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}), json!("x")),
        (json!({"minimum":3,"exclusiveMaximum":2,"multipleOf":0.5}), json!(2.25)),
        (
            json!({"uniqueItems":true,"minItems":3,"maxItems":1,"contains":{"type":"null"}}),
            json!([1, 1.0]),
        ),
        (json!({"prefixItems":[true],"items":false}), json!([1, 2])),
        (json!({"prefixItems":[true],"unevaluatedItems":false}), json!([1, 2])),
        (json!({"properties":{"a":true},"unevaluatedProperties":false}), json!({"b":2})),
        (json!({"propertyNames":{"maxLength":2}}), json!({"abc":2})),
        (json!({"not":{"type":"null"}}), json!(null)),
        (json!({"properties":{"x":false}}), json!({"x":1})),
        (json!({"minProperties":2,"maxProperties":0}), json!({"x":1})),
        (json!({"dependentRequired":{"x":["y"]}}), json!({"x":1})),
        (json!({"const":{"a":1}}), json!({"x":"y".repeat(300)})),
        (json!({"$ref":"#/$defs/a","$defs":{"a":{"enum":["x"]}}}), json!("X")),
        (json!({"if":{"type":"string"},"then":{"minLength":3}}), json!("X")),
        (json!({"pattern":"^(a+)+\\1$"}), json!("a".repeat(60) + "b")),
    ];
    for (s, v) in cases {
        for x in Validator::new(&s).unwrap().violations(&v) {
            println!("{:?} | {} | {} | {}", x.message, x.path, x.keyword, x.expected);
        }
    }
    for s in [
        json!({"$ref":"http://example.com/x"}),
        json!({"properties":{"a":{"$ref":"file:///etc/passwd"}}}),
        json!({"properties":{"a":{"$ref":"#/nope"}}}),
        json!({"type":"strin"}),
        json!({"properties":{"a":{"minimum":"3"}}}),
        json!({"$schema":"http://x/y"}),
        json!({"$id":"http://x/y", "properties":{"a":{"$ref":"z"}}}),
        json!({"properties":{"a":{"pattern":"(a"}}}),
        json!(3),
        json!({"format":"zzz"}),
        json!({"properties":{"a":{"$ref":"#foo"}}}),
        json!({"properties":{"a":{"$dynamicRef":"http://e.com/z"}}}),
        json!({"$schema":"http://json-schema.org/draft-07/schema#", "properties":{"a":{"required":true}}}),
        json!({"properties":{"a":{"$ref":"::/ \\foo"}}}),
        json!({"properties":{"a":{"$id":":: / x"}}}),
        json!({"pattern":"a".repeat(1001)}),
        json!({"patternProperties":{"a{1,100000}":true}}),
        json!({"properties":{"a":{"required":"a"}}}),
        json!({"properties":{"a":{"type":["string","strin"]}}}),
        json!({"properties":{"a":"string"}}),
        json!({"properties":[]}),
        json!({"enum":"a"}),
        json!({"minLength":-1}),
        json!({"$ref":"a.json"}),
        json!({"$ref": 3}),
    ] {
        println!(
            "{}",
            match Validator::new(&s) {
                Ok(_) => format!("OK {s}"),
                Err(e) => e.to_string(),
            }
        );
    }
}

fn within(limit: Duration, what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    println!("{what}: {:?}", start.elapsed());
    assert!(start.elapsed() < limit, "{what}: {:?}", start.elapsed());
}

fn doubling(levels: usize, step: impl Fn(&Value) -> Value) -> Value {
    let mut defs = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({"anyOf": [step(&next), step(&next)]}));
    }
    defs.insert(format!("a{levels}"), json!({"type": "null"}));
    json!({"$ref": "#/$defs/a0", "$defs": defs})
}

#[test]
fn hostile() {
    let s = Duration::from_secs(5);
    let rec = json!({"$ref":"#/$defs/n","$defs":{"n":{"anyOf":[
        {"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"]},
        {"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"type":"integer"}},"required":["a"]},
        {"type":"integer"}]}}});
    let mut deep = json!("bad");
    for _ in 0..120 {
        deep = json!({"a": deep});
    }
    within(s, "tree", || {
        let v = Validator::new(&rec).unwrap();
        println!("{:?}", v.violations(&deep).iter().map(|v| &v.message).collect::<Vec<_>>());
    });
    let mut d9 = json!("bad");
    for _ in 0..9 {
        d9 = json!({"a": d9});
    }
    within(s, "tree9", || {
        let v = Validator::new(&rec).unwrap();
        println!("{:?}", v.violations(&d9).iter().map(|v| &v.message).collect::<Vec<_>>());
    });
    for n in [8, 10, 13, 14, 30] {
        within(s, &format!("in place {n}"), || match Validator::new(&doubling(n, |r| r.clone())) {
            Ok(v) => println!("{:?}", v.violations(&json!({})).len()),
            Err(e) => println!("{e}"),
        });
        within(s, &format!("props {n}"), || {
            match Validator::new(&doubling(n, |r| json!({"properties":{"a":r}}))) {
                Ok(v) => println!("{:?}", v.violations(&deep).len()),
                Err(e) => println!("{e}"),
            }
        });
    }
    for k in [5, 8, 9, 10, 11, 12] {
        let all: Vec<Value> = (0..k).map(|j| json!({"$ref": format!("#/$defs/a{j}")})).collect();
        let defs: serde_json::Map<_, _> =
            (0..k).map(|i| (format!("a{i}"), json!({"anyOf": all, "type": "null"}))).collect();
        let sch = json!({"$ref":"#/$defs/a0","$defs":defs});
        within(s, &format!("complete {k}"), || match Validator::new(&sch) {
            Ok(v) => println!("{:?}", v.violations(&json!("x")).len()),
            Err(e) => println!("{e}"),
        });
    }
    for n in [50usize, 60, 600, 3000] {
        let mut defs = serde_json::Map::new();
        for i in 0..n {
            defs.insert(format!("a{i}"), json!({"allOf":[{"$ref": format!("#/$defs/a{}", i+1)}]}));
        }
        defs.insert(format!("a{n}"), json!({"properties":{"a":{"$ref":"#/$defs/a0"}}}));
        let sch = json!({"$ref":"#/$defs/a0","$defs":defs});
        within(s, &format!("chain {n}"), || match Validator::new(&sch) {
            Ok(v) => println!("{:?}", v.violations(&deep).len()),
            Err(e) => println!("{e}"),
        });
    }
    let big: Value = (0..300_000).map(|i| json!(format!("x{i}"))).collect();
    within(s, "many", || {
        let v = Validator::new(&json!({"items":{"type":"integer"}})).unwrap();
        println!("{:?}", v.violations(&big).len());
    });
    let nums: Value =
        serde_json::from_str(&format!("[{}]", vec!["1e999999"; 200].join(","))).unwrap();
    within(s, "exp", || {
        let v =
            Validator::new(&json!({"items":{"multipleOf":3, "maximum": 1e300, "type":"integer"}}))
                .unwrap();
        println!("{:?}", v.violations(&nums).len());
    });
    let nums: Value =
        serde_json::from_str(&format!("[{}]", vec!["9".repeat(1000); 1000].join(","))).unwrap();
    within(s, "digits", || {
        let v = Validator::new(&json!({"items":{"multipleOf":7}, "uniqueItems":true})).unwrap();
        println!("{:?}", v.violations(&nums).len());
    });
    let pats: serde_json::Map<_, _> = (0..1000)
        .map(|i| (format!("p{i}"), json!({"pattern": format!("x{i}\\p{{L}}{{1,50}}")})))
        .collect();
    within(Duration::from_secs(60), "pats", || {
        println!("{:?}", Validator::new(&json!({"properties": pats})).err());
    });
    let pats: serde_json::Map<_, _> = (0..100)
        .map(|i| (format!("p{i}"), json!({"pattern": format!("x{i}\\p{{L}}{{1,{i}}}")})))
        .collect();
    within(s, "pats", || {
        println!("{:?}", Validator::new(&json!({"properties": pats})).err());
    });
    let _: Option<SchemaError> = None;
}
