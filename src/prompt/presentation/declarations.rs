//! Tools as objects with bare, sorted keys, each between special tokens; types in capitals.

use serde_json::Value;

use super::{
    Simplification, neutral,
    view::{Parameters, View},
};
use crate::contract::FunctionContract;

/// The keywords that a parameter shows; `enum` and `items` only for one type each.
const SHOWN: &[&str] = &["type", "description", "properties", "required", "nullable"];

/// Write a list of tools.
pub(super) fn write(
    contracts: &[FunctionContract],
    simplifications: &mut Vec<Simplification>,
) -> String {
    let mut text = String::new();
    for contract in contracts {
        let description = quoted(contract.description.as_deref().unwrap_or_default());
        text.extend(["<|tool>declaration:", &contract.name, "{description:", &description]);
        if let Some(schema) = &contract.parameters {
            let mut parameters = Parameters::new(schema, &contract.name);
            let root = parameters.root();
            parameters.show(&root, SHOWN);
            let mut members = Vec::new();
            members.extend(
                properties(&mut parameters, &root).map(|inner| format!("properties:{inner}")),
            );
            members.extend(required(&root));
            // A template without a type leaves the brace open.
            members.push("type:<|\"|>OBJECT<|\"|>".to_owned());
            text.extend([",parameters:{", &members.join(","), "}"]);
            simplifications.extend(parameters.into_simplifications());
        }
        text.push_str("}<tool|>");
    }
    text
}

/// Write the properties of an object in braces, if it has any.
fn properties<'s>(parameters: &mut Parameters<'s>, view: &View<'s>) -> Option<String> {
    let mut properties = view.properties();
    properties.sort_by_key(|(name, _)| name.to_lowercase());
    let written: Vec<String> = properties
        .into_iter()
        .map(|(name, schema)| {
            let step = format!("properties/{}", super::pointer_step(name));
            let inner = match parameters.inner(view, schema, &step) {
                Some(inner) => self::schema(parameters, inner),
                None => typed(""),
            };
            let name = if super::is_bare(name) { name.to_owned() } else { quoted(name) };
            format!("{name}:{{{inner}}}")
        })
        .collect();
    (!written.is_empty()).then(|| format!("{{{}}}", written.join(",")))
}

/// Write the members of the object that describes a parameter.
fn schema<'s>(parameters: &mut Parameters<'s>, view: View<'s>) -> String {
    let (view, mut is_nullable) = chosen(parameters, view);
    let (types, allows_null) = view.types();
    is_nullable |= allows_null || view.find("nullable") == Some(&Value::Bool(true));
    let kind = types.first().copied().unwrap_or_default();
    let mut shown = SHOWN.to_vec();
    shown.extend(["anyOf", "oneOf"]);
    if let [_, others @ ..] = types.as_slice()
        && !others.is_empty()
    {
        parameters.leave_out(view.place.clone(), format!("the types {}", others.join(", ")));
    }
    let mut members = Vec::new();
    members.extend(view.description().map(|text| format!("description:{}", quoted(text))));
    match kind {
        "string" => {
            shown.push("enum");
            members.extend(view.find("enum").map(|values| format!("enum:{}", literal(values))));
        }
        "array" => {
            shown.push("items");
            let items = view
                .find("items")
                .filter(|items| items.as_object().is_some_and(|members| !members.is_empty()));
            if let Some(items) = items
                && let Some(inner) = parameters.inner(&view, items, "items")
            {
                members.push(format!("items:{{{}}}", item(parameters, inner)));
            }
        }
        _ => {}
    }
    if is_nullable {
        members.push("nullable:true".to_owned());
    }
    if kind == "object" {
        let inner = properties(parameters, &view).unwrap_or_else(|| "{}".to_owned());
        members.push(format!("properties:{inner}"));
        members.extend(required(&view));
    }
    parameters.show(&view, &shown);
    members.push(typed(kind));
    members.join(",")
}

/// Write the members of the object that describes the items of an array.
fn item<'s>(parameters: &mut Parameters<'s>, view: View<'s>) -> String {
    let (view, is_nullable) = chosen(parameters, view);
    let mut all = view.members();
    all.sort_by_key(|(name, _)| name.to_lowercase());
    let mut members = Vec::new();
    for (key, value) in all {
        let text = match (key, value) {
            ("properties", Value::Object(_)) => {
                properties(parameters, &view).unwrap_or_else(|| "{}".to_owned())
            }
            ("type", Value::String(name)) => format!("<|\"|>{}<|\"|>", name.to_uppercase()),
            ("type", Value::Array(names)) => {
                let names: Vec<String> = names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| format!("<|\"|>{}<|\"|>", name.to_uppercase()))
                    .collect();
                format!("[{}]", names.join(","))
            }
            (_, Value::Null)
            | ("$ref" | "$defs" | "definitions" | "allOf" | "anyOf" | "oneOf" | "title", _) => {
                continue;
            }
            (key, value) if super::is_bare(key) => literal(value),
            (key, _) => {
                parameters.leave_out(view.place.clone(), format!("{key:?}"));
                continue;
            }
        };
        members.push(format!("{key}:{text}"));
    }
    if is_nullable {
        members.push("nullable:true".to_owned());
    }
    members.join(",")
}

/// Return the schema with its only branch that is not null, or with the first of several.
fn chosen<'s>(parameters: &mut Parameters<'s>, view: View<'s>) -> (View<'s>, bool) {
    let (keyword, branches, is_nullable) = view.branches();
    let Some((at, first)) = branches.first().copied() else { return (view, is_nullable) };
    if branches.len() > 1 {
        parameters.leave_out(view.place.clone(), format!("all of {keyword:?} but the first"));
    }
    let Some(inner) = parameters.inner(&view, first, &format!("{keyword}/{at}")) else {
        return (view, is_nullable);
    };
    (view.with(&inner), is_nullable)
}

fn required(view: &View<'_>) -> Option<String> {
    let names: Vec<String> = view.required().into_iter().map(quoted).collect();
    (!names.is_empty()).then(|| format!("required:[{}]", names.join(",")))
}

fn typed(kind: &str) -> String {
    format!("type:<|\"|>{}<|\"|>", kind.to_uppercase())
}

fn quoted(text: &str) -> String {
    format!("<|\"|>{}<|\"|>", neutral::line(text))
}

/// Write a value with quoted, sorted keys.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.to_lowercase());
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), literal(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}
