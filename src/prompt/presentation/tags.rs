//! Tools as tags: one for each part of a tool, and one for each keyword of a parameter.

use serde_json::{Map, Value};

use super::{Simplification, json, neutral};
use crate::{contract::FunctionContract, parser::JsonLayout};

/// The tags of the list, which a text must not contain.
const TAGS: &[&str] =
    &["tools", "function", "name", "description", "parameters", "parameter", "type", "required"];

/// Write a list of tools.
pub(super) fn write(
    contracts: &[FunctionContract],
    simplifications: &mut Vec<Simplification>,
) -> String {
    let mut writer = Writer { text: "<tools>".to_owned(), tool: "", simplifications };
    for contract in contracts {
        writer.tool(contract);
    }
    writer.text + "\n</tools>"
}

struct Writer<'c, 'l> {
    text: String,
    tool: &'c str,
    simplifications: &'l mut Vec<Simplification>,
}

impl<'c> Writer<'c, '_> {
    fn tool(&mut self, contract: &'c FunctionContract) {
        self.tool = &contract.name;
        self.text.push_str("\n<function>");
        self.element("name", &contract.name);
        if let Some(description) = &contract.description {
            self.element("description", &neutral::tagged(description, TAGS));
        }
        self.text.push_str("\n<parameters>");
        if let Some(Value::Object(schema)) = &contract.parameters {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                self.parameter(name, property);
            }
            self.others("", schema, &["type", "properties"]);
        }
        self.text.push_str("\n</parameters>\n</function>");
    }

    fn parameter(&mut self, name: &str, schema: &Value) {
        self.text.push_str("\n<parameter>");
        self.element("name", name);
        if let Value::Object(members) = schema {
            match members.get("type") {
                Some(Value::Array(names)) => {
                    let names: Vec<String> = names
                        .iter()
                        .filter_map(Value::as_str)
                        .map(|name| format!("'{name}'"))
                        .collect();
                    self.element("type", &format!("[{}]", names.join(", ")));
                }
                Some(Value::String(name)) => self.element("type", name),
                _ => {}
            }
            if let Some(Value::String(description)) = members.get("description") {
                self.element("description", &neutral::tagged(description, TAGS));
            }
            self.others(
                &format!("/properties/{}", super::pointer_step(name)),
                members,
                &["name", "type", "description"],
            );
        }
        self.text.push_str("\n</parameter>");
    }

    /// Write each keyword that is not in `written` as a tag.
    fn others(&mut self, place: &str, members: &Map<String, Value>, written: &[&str]) {
        for (key, value) in members.iter().filter(|(key, _)| !written.contains(&key.as_str())) {
            let is_word = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '$' | '_' | '-');
            let is_own = ["description", "required"].contains(&key.as_str());
            let is_taken = TAGS.contains(&key.as_str()) && !is_own;
            if key.is_empty() || !key.chars().all(is_word) || is_taken {
                self.simplifications.push(Simplification {
                    tool: self.tool.to_owned(),
                    place: place.to_owned(),
                    what: format!("{key:?}"),
                });
                continue;
            }
            let tags: Vec<&str> = TAGS.iter().copied().chain([key.as_str()]).collect();
            let value = match value {
                Value::String(text) => neutral::tagged(text, &tags),
                Value::Array(_) | Value::Object(_) => {
                    neutral::tagged_json(&json::format(value, JsonLayout::Spaced), &tags)
                }
                Value::Bool(true) => "True".to_owned(),
                Value::Bool(false) => "False".to_owned(),
                Value::Null => "None".to_owned(),
                Value::Number(number) => number.to_string(),
            };
            self.element(key, &value);
        }
    }

    fn element(&mut self, tag: &str, content: &str) {
        self.text.extend(["\n<", tag, ">", content, "</", tag, ">"]);
    }
}
