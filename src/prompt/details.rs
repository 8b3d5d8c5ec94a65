//! Rendering of schemas as Markdown lists.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    inline::{bare, flat, json, listed},
    lines::Lines,
    refs::Document,
};

/// Maximum nesting depth of descriptions.
const MAX_DEPTH: usize = 8;

/// A writer for one schema document.
pub(super) struct SchemaWriter<'s, 'l> {
    document: Document<'s>,
    lines: &'l mut Lines,
    /// References whose targets have been described and need not be repeated.
    described: HashSet<&'s str>,
}

/// A schema with all schemas that apply to the same value, and its reference in the document.
struct MergedSchema<'s> {
    parts: Vec<&'s Map<String, Value>>,
    reference: Option<&'s str>,
}

impl<'s> MergedSchema<'s> {
    fn find(&self, keyword: &str) -> Option<&'s Value> {
        self.parts.iter().find_map(|part| part.get(keyword))
    }

    fn text(&self, keyword: &str) -> Option<String> {
        let text = flat(self.find(keyword)?.as_str()?);
        (!text.is_empty()).then_some(text)
    }

    fn description(&self) -> Option<String> {
        self.text("description").or_else(|| self.text("title"))
    }

    /// Return the name, schema and required flag of each property.
    fn properties(&self) -> Vec<(&'s str, &'s Value, bool)> {
        let required: HashSet<&str> = self
            .parts
            .iter()
            .filter_map(|part| part.get("required")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut seen = HashSet::new();
        let declared = self.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        declared
            .flatten()
            .filter(|(name, _)| seen.insert(name.as_str()))
            .map(|(name, schema)| (name.as_str(), schema, required.contains(name.as_str())))
            .collect()
    }

    /// Return the branches of an `anyOf` or `oneOf` without null, and true if null is one of them.
    fn branches(&self) -> (Vec<&'s Value>, bool) {
        let branches = self.find("anyOf").or_else(|| self.find("oneOf")).and_then(Value::as_array);
        let (null, others): (Vec<_>, Vec<_>) = branches
            .into_iter()
            .flatten()
            .partition(|branch| branch.get("type").is_some_and(|name| name == "null"));
        (others, !null.is_empty())
    }
}

impl<'s, 'l> SchemaWriter<'s, 'l> {
    pub(super) fn new(schema: &'s Value, lines: &'l mut Lines) -> Self {
        Self { document: Document { root: schema }, lines, described: HashSet::new() }
    }

    /// Write the section on parameters, if there are any.
    pub(super) fn parameters(mut self) {
        let merged = self.merged(self.document.root);
        let properties = merged.properties();
        let (branches, _) = merged.branches();
        if properties.is_empty() && branches.is_empty() {
            return;
        }
        self.lines.push(0, "Parameters:");
        for (name, schema, required) in properties {
            let parameter = self.merged(schema);
            self.head(0, name, required, &parameter);
            self.lines.push(2, "Schema Details:");
            self.details(&parameter, 2, 1);
        }
        if !branches.is_empty() {
            self.options(&branches, 0, 1);
        }
        self.lines.blank();
    }

    /// Write the section on the return value.
    pub(super) fn returns(mut self) {
        let merged = self.merged(self.document.root);
        self.lines.push(0, "Returns:");
        self.lines.push(0, &format!("- Type: {}", self.label(&merged, 0)));
        if let Some(description) = merged.description() {
            self.lines.push(0, &format!("- Description: {description}"));
        }
        self.constraints(&merged, 0);
        self.structure(&merged, 0, 1);
        self.lines.blank();
    }

    fn merged(&self, schema: &'s Value) -> MergedSchema<'s> {
        let reference = schema.as_object().and_then(|members| self.document.target(members));
        MergedSchema {
            parts: self.document.parts(schema),
            reference: reference.map(|(reference, _)| reference),
        }
    }

    fn head(&mut self, indent: usize, name: &str, required: bool, merged: &MergedSchema<'s>) {
        let needed = if required { "required" } else { "optional" };
        let mut line = format!("- {} ({needed})", bare(name));
        if let Some(description) = merged.description() {
            line.push_str(": ");
            line.push_str(&description);
        }
        self.lines.push(indent, &line);
    }

    fn details(&mut self, merged: &MergedSchema<'s>, indent: usize, depth: usize) {
        self.lines.push(indent, &format!("- Type: {}", self.label(merged, 0)));
        self.constraints(merged, indent);
        self.structure(merged, indent, depth);
    }

    /// Return the type as a label: `integer`, `string | null`.
    fn label(&self, merged: &MergedSchema<'s>, depth: usize) -> String {
        let mut names: Vec<String> = Vec::new();
        match merged.find("type") {
            Some(Value::String(name)) => names.push(name.clone()),
            Some(Value::Array(listed)) => {
                names.extend(listed.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            _ => {
                let (branches, nullable) = merged.branches();
                if depth < MAX_DEPTH {
                    names.extend(
                        branches.iter().map(|branch| self.label(&self.merged(branch), depth + 1)),
                    );
                }
                if nullable {
                    names.push("null".to_owned());
                }
            }
        }
        if names.is_empty() {
            names.extend(implied_types(merged));
        }
        let mut seen = HashSet::new();
        let mut single: Vec<&str> = names.iter().flat_map(|name| name.split(" | ")).collect();
        single.retain(|name| seen.insert(*name));
        if single.is_empty() { "any".to_owned() } else { single.join(" | ") }
    }

    fn constraints(&mut self, merged: &MergedSchema<'s>, indent: usize) {
        if let Some(Value::Array(values)) = merged.find("enum") {
            self.lines.push(indent, &format!("- Allowed Values (Enum): {}", listed(values)));
        }
        let single = [
            ("const", "Constant"),
            ("default", "Default"),
            ("format", "Format"),
            ("pattern", "Pattern"),
            ("minimum", "Minimum"),
            ("exclusiveMinimum", "Exclusive Minimum"),
            ("maximum", "Maximum"),
            ("exclusiveMaximum", "Exclusive Maximum"),
            ("multipleOf", "Multiple Of"),
            ("minLength", "Minimum Length"),
            ("maxLength", "Maximum Length"),
            ("minItems", "Minimum Items"),
            ("maxItems", "Maximum Items"),
            ("minProperties", "Minimum Properties"),
            ("maxProperties", "Maximum Properties"),
        ];
        for (keyword, title) in single {
            let Some(value) = merged.find(keyword) else { continue };
            let shown = match (keyword, value) {
                ("const" | "default", Value::String(text)) => bare(text),
                (_, Value::String(text)) => flat(text),
                (_, value) => json(value),
            };
            self.lines.push(indent, &format!("- {title}: {shown}"));
        }
        if merged.find("uniqueItems") == Some(&Value::Bool(true)) {
            self.lines.push(indent, "- Unique Items: Yes");
        }
        if merged.find("additionalProperties") == Some(&Value::Bool(false)) {
            self.lines.push(indent, "- Additional Properties: No");
        }
    }

    /// Write the nested schemas: items, properties, alternatives.
    fn structure(&mut self, merged: &MergedSchema<'s>, indent: usize, depth: usize) {
        if let Some(reference) = merged.reference {
            let is_new = self.described.insert(reference);
            if !is_new && has_structure(merged) {
                let name = reference.rsplit(['/', '#']).next().unwrap_or_default();
                let name = if name.is_empty() { "the whole" } else { name };
                self.lines.push(indent, &format!("- Same As: {}, described above", bare(name)));
                return;
            }
        }
        if depth > MAX_DEPTH {
            if has_structure(merged) {
                self.lines.push(indent, "- (nested too deeply to be shown)");
            }
            return;
        }
        if let Some(items) = merged.find("items").filter(|items| items.is_object()) {
            self.inner("Item", items, indent, depth);
        }
        let leading = merged.find("prefixItems").or_else(|| merged.find("items"));
        for (at, item) in leading.and_then(Value::as_array).into_iter().flatten().enumerate() {
            self.inner(&format!("Item {}", at + 1), item, indent, depth);
        }
        let properties = merged.properties();
        if !properties.is_empty() {
            self.lines.push(indent, "- Properties:");
            for (name, schema, required) in properties {
                let property = self.merged(schema);
                self.head(indent + 2, name, required, &property);
                self.details(&property, indent + 4, depth + 1);
            }
        }
        if let Some(values) =
            merged.find("additionalProperties").filter(|values| values.is_object())
        {
            self.inner("Value", values, indent, depth);
        }
        let (branches, _) = merged.branches();
        match branches.as_slice() {
            [] => {}
            // An optional value is written as `anyOf` with null.
            [only] => {
                let only = self.merged(only);
                self.constraints(&only, indent);
                self.structure(&only, indent, depth + 1);
            }
            several => {
                if several.iter().any(|branch| self.has_other_keywords(branch)) {
                    self.options(several, indent, depth);
                }
            }
        }
    }

    /// Write the schema of an item or value of a container.
    fn inner(&mut self, what: &str, schema: &'s Value, indent: usize, depth: usize) {
        let inner = self.merged(schema);
        self.lines.push(indent, &format!("- {what} Type: {}", self.label(&inner, 0)));
        if let Some(description) = inner.description() {
            self.lines.push(indent + 2, &format!("- {what} Description: {description}"));
        }
        self.constraints(&inner, indent + 2);
        self.structure(&inner, indent + 2, depth + 1);
    }

    fn options(&mut self, branches: &[&'s Value], indent: usize, depth: usize) {
        self.lines.push(indent, "- One Of:");
        for (at, branch) in branches.iter().enumerate() {
            let option = self.merged(branch);
            let mut line = format!("- Option {}", at + 1);
            if let Some(description) = option.description() {
                line.push_str(": ");
                line.push_str(&description);
            }
            self.lines.push(indent + 2, &line);
            self.details(&option, indent + 4, depth + 1);
        }
    }

    fn has_other_keywords(&self, schema: &'s Value) -> bool {
        self.merged(schema)
            .parts
            .iter()
            .any(|part| part.keys().any(|keyword| keyword != "type" && keyword != "$ref"))
    }
}

fn has_structure(merged: &MergedSchema<'_>) -> bool {
    ["properties", "items", "prefixItems", "anyOf", "oneOf"]
        .iter()
        .any(|keyword| merged.find(keyword).is_some())
}

/// Infer the types of a schema without `type` from its values and keywords.
fn implied_types(merged: &MergedSchema<'_>) -> Vec<String> {
    let constant = merged.find("const").map(std::slice::from_ref);
    let values = constant.or_else(|| merged.find("enum")?.as_array().map(Vec::as_slice));
    if let Some(values) = values {
        let kinds = values.iter().map(|value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        return kinds.map(str::to_owned).collect();
    }
    let kind = if merged.find("properties").is_some() {
        "object"
    } else if merged.find("items").is_some() || merged.find("prefixItems").is_some() {
        "array"
    } else {
        return Vec::new();
    };
    vec![kind.to_owned()]
}
