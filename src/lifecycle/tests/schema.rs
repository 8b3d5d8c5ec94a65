//! The JSON Schemas in `schemas/`: generated from the types, and checked to be current.
//!
//! `WRITE_SCHEMAS=1 cargo test --lib schemas` writes them.

use std::{env, fs, path::Path};

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Value, json};

use super::super::event::{
    ErrorStreamEvent, EventHead, RawStreamEvent, ReasoningStreamEvent, RunStreamEvent,
    SceneStreamEvent, SelectionStreamEvent, TextStreamEvent, ToolResultStreamEvent,
    ToolStateStreamEvent, ToolsAggregateEvent, ToolsCallStreamEvent, ToolsCallUpdateStreamEvent,
};
use super::super::snapshot::Snapshot;
use crate::message::Usage;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Removal of null and defaults from schemas: absent fields are never null.
#[derive(Clone)]
struct RemoveNulls;

impl Transform for RemoveNulls {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        schema.remove("default");
        schema.remove("format");
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = &types[..] {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Value::Object(only)] = &choices[..] {
                let only = only.clone();
                schema.remove("anyOf");
                schema.ensure_object().extend(only);
            }
        }
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with_transform(RemoveNulls)
}

/// Define a kind: the fields common to all events, its own fields, and its name.
fn define<T: JsonSchema>(generator: &mut SchemaGenerator, kind: &str, required: &[&str]) {
    let mut schema = EventHead::json_schema(generator).to_value();
    let own = T::json_schema(generator).to_value();
    schema["description"] = own["description"].clone();
    let mut properties = json!({"kind": {"type": "string", "const": kind}});
    for part in [&schema, &own] {
        let part = part["properties"].as_object().unwrap().clone();
        properties.as_object_mut().unwrap().extend(part);
    }
    schema["properties"] = properties;
    let own = own["required"].as_array().into_iter().flatten().cloned();
    let mut names: Vec<Value> = vec!["kind".into()];
    names.extend(required.iter().map(|name| Value::from(*name)).chain(own));
    schema["required"] = names.into();
    let name = T::schema_name().into_owned();
    generator.definitions_mut().insert(name, schema);
}

fn events() -> Value {
    let mut generator = settings().into_generator();
    let all = &mut generator;
    let of_message = &["messageId"];
    define::<TextStreamEvent>(all, "text", of_message);
    define::<ReasoningStreamEvent>(all, "reasoning", of_message);
    define::<ToolsCallUpdateStreamEvent>(all, "tools_call_update", of_message);
    define::<ToolsCallStreamEvent>(all, "tools_call", of_message);
    define::<ToolResultStreamEvent>(all, "tool_result", &["done"]);
    define::<ToolsAggregateEvent>(all, "tools_aggregate", of_message);
    define::<Usage>(all, "usage", of_message);
    define::<ErrorStreamEvent>(all, "error", &[]);
    define::<RunStreamEvent>(all, "run", &["runId"]);
    define::<ToolStateStreamEvent>(all, "tool_state", &[]);
    define::<SceneStreamEvent>(all, "scene", &[]);
    define::<SelectionStreamEvent>(all, "selection", &[]);
    define::<RawStreamEvent>(all, "raw", &[]);
    let mut unknown = EventHead::json_schema(all);
    RemoveNulls.transform(&mut unknown);
    let mut unknown = unknown.to_value();

    let mut definitions = generator.take_definitions(true);
    // An invalid call may have no arguments.
    let reported_call = definitions.get_mut("ReportedCall").unwrap();
    reported_call["required"].as_array_mut().unwrap().retain(|name| name != "arguments");

    let kinds: Vec<(String, Value)> = definitions
        .iter()
        .filter_map(|(name, schema)| {
            let kind = schema["properties"]["kind"].get("const")?;
            Some((name.clone(), kind.clone()))
        })
        .collect();
    let names: Vec<_> = kinds.iter().map(|(_, kind)| kind.clone()).collect();
    let known: Vec<_> =
        kinds.iter().map(|(name, _)| json!({"$ref": format!("#/$defs/{name}")})).collect();
    unknown["description"] = "An event of a kind that this version does not know.".into();
    unknown["properties"]["kind"] = json!({"type": "string", "not": {"enum": names}});
    unknown["required"] = json!(["kind"]);
    definitions.insert("UnknownStreamEvent".to_owned(), unknown);
    definitions.insert("KnownStreamEvent".to_owned(), json!({"oneOf": known}));
    definitions.sort_keys();
    let mut schema = json!({
        "$schema": DIALECT,
        "title": "StreamEvent",
        "description": "One thing that happened in a chat.",
        "oneOf": [{"$ref": "#/$defs/KnownStreamEvent"}, {"$ref": "#/$defs/UnknownStreamEvent"}],
        "$defs": definitions,
    });
    tidy(&mut schema);
    schema
}

fn snapshot() -> Value {
    let mut schema = settings().into_generator().into_root_schema_for::<Snapshot>().to_value();
    tidy(&mut schema);
    schema
}

/// Remove the line breaks of doc comments from descriptions.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            members.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

fn check(name: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if env::var_os("WRITE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "schemas/{name} is out of date; update it with\n  \
         WRITE_SCHEMAS=1 cargo test --lib schemas"
    );
}

#[test]
fn the_schemas_are_current() {
    check("stream-events.json", &events());
    check("snapshot.json", &snapshot());
}
