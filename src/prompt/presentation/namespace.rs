//! Tools as types in a TypeScript namespace.

use serde_json::Value;

use super::{
    Simplification, json, neutral,
    view::{Parameters, View},
};
use crate::{contract::FunctionContract, parser::JsonLayout};

/// The keywords that a type shows.
const SHOWN: &[&str] = &[
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "items",
    "nullable",
    "oneOf",
    "properties",
    "required",
    "type",
];

/// Write a list of tools.
pub(super) fn write(
    contracts: &[FunctionContract],
    simplifications: &mut Vec<Simplification>,
) -> String {
    let mut text = "## functions\n\nnamespace functions {\n\n".to_owned();
    for contract in contracts {
        let description = neutral::line(contract.description.as_deref().unwrap_or_default());
        if !description.is_empty() {
            text.extend(["// ", &description, "\n"]);
        }
        text.extend(["type ", &contract.name, " = "]);
        let members = contract.parameters.as_ref().and_then(|schema| {
            let mut parameters = Parameters::new(schema, &contract.name);
            let root = parameters.root();
            parameters.show(&root, &["type", "description", "properties", "required"]);
            let members = members(&mut parameters, &root, "");
            simplifications.extend(parameters.into_simplifications());
            members
        });
        match members {
            Some(members) => text.extend(["(_: {\n", &members, "}) => any;\n\n"]),
            None => text.push_str("() => any;\n\n"),
        }
    }
    text + "} // namespace functions"
}

/// Write a line for each property of an object, if it has any.
fn members<'s>(parameters: &mut Parameters<'s>, view: &View<'s>, indent: &str) -> Option<String> {
    let required = view.required();
    let mut text = String::new();
    for (name, schema) in view.properties() {
        let step = format!("properties/{}", super::pointer_step(name));
        let inner = parameters.inner(view, schema, &step);
        if let Some(description) = inner.as_ref().and_then(View::description) {
            text.extend([indent, "// ", &neutral::line(description), "\n"]);
        }
        let mark = if required.contains(&name) { "" } else { "?" };
        let key = if super::is_bare(name) { name.to_owned() } else { value(&Value::from(name)) };
        let default = inner.as_ref().and_then(|inner| {
            let default = inner.find("default")?;
            Some(match default {
                Value::String(text) if inner.find("enum").is_some() => neutral::line(text),
                other => value(other),
            })
        });
        let kind = inner.map_or_else(|| "any".to_owned(), |inner| kind(parameters, &inner, indent));
        text.extend([indent, &key, mark, ": ", &kind, ","]);
        if let Some(default) = default {
            text.extend([" // default: ", &default, ","]);
        }
        text.push('\n');
    }
    (!text.is_empty()).then_some(text)
}

/// Return the type of a schema.
fn kind<'s>(parameters: &mut Parameters<'s>, view: &View<'s>, indent: &str) -> String {
    parameters.show(view, SHOWN);
    let mut kinds = Vec::new();
    let values = view.find("const").map(std::slice::from_ref);
    let values = values.or_else(|| view.find("enum")?.as_array().map(Vec::as_slice));
    let (keyword, branches, mut is_nullable) = view.branches();
    let (types, allows_null) = view.types();
    is_nullable |= allows_null || view.find("nullable") == Some(&Value::Bool(true));
    if let Some(values) = values {
        kinds.extend(values.iter().map(value));
    } else if !branches.is_empty() {
        for (at, branch) in branches {
            kinds.push(match parameters.inner(view, branch, &format!("{keyword}/{at}")) {
                Some(branch) => self::kind(parameters, &branch, indent),
                None => "any".to_owned(),
            });
        }
    } else if types.is_empty() && view.find("properties").is_some() {
        kinds.push(named(parameters, view, "object", indent));
    } else {
        kinds.extend(types.into_iter().map(|name| named(parameters, view, name, indent)));
    }
    if kinds.is_empty() {
        kinds.push("any".to_owned());
    }
    if is_nullable {
        kinds.push("null".to_owned());
    }
    let mut seen = std::collections::HashSet::new();
    kinds.retain(|kind| seen.insert(kind.clone()));
    kinds.join(" | ")
}

/// Return the type of a schema with a type of this name.
fn named<'s>(parameters: &mut Parameters<'s>, view: &View<'s>, name: &str, indent: &str) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let items = view.find("items").filter(|items| items.is_object());
            let inner = items.and_then(|items| parameters.inner(view, items, "items"));
            let inner = inner.map(|inner| kind(parameters, &inner, indent));
            match inner {
                None => "any[]".to_owned(),
                Some(inner) if inner.contains(" | ") => format!("({inner})[]"),
                Some(inner) => format!("{inner}[]"),
            }
        }
        "object" => {
            let deeper = format!("{indent}    ");
            match members(parameters, view, &deeper) {
                Some(members) => format!("{{\n{members}{indent}}}"),
                None => "object".to_owned(),
            }
        }
        other => other.to_owned(),
    }
}

/// Write a literal.
fn value(value: &Value) -> String {
    neutral::json(&json::format(value, JsonLayout::Spaced))
}
