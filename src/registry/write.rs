//! Writing of registries as XML.

use serde_json::Value;

use super::{
    decode::is_allowed,
    diagnostic::{Code, Finding},
    document::{AnnotatedField, Attribute, Entry, Field, Item, Part, Piece, ToolMarkup},
    tool::Tool,
    xml::is_name,
};

const INDENT: &str = "  ";

/// Write a document. The error names what XML cannot represent.
pub(super) fn write(layout: &[Item], entries: &[Entry]) -> Result<String, Finding> {
    let mut writer = Writer { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned() };
    let mut open: Vec<&str> = Vec::new();
    for (position, item) in layout.iter().enumerate() {
        match item {
            Item::Open { name, attributes } => {
                writer.indent(open.len());
                writer.open(name, attributes)?;
                if layout.get(position + 1) == Some(&Item::Close) {
                    writer.text.insert(writer.text.len() - 1, '/');
                }
                writer.text.push('\n');
                open.push(name);
            }
            Item::Close => {
                let name = open.pop().unwrap_or_default();
                let empty = matches!(
                    position.checked_sub(1).and_then(|before| layout.get(before)),
                    Some(Item::Open { .. })
                );
                if !empty {
                    writer.indent(open.len());
                    writer.close(name);
                    writer.text.push('\n');
                }
            }
            Item::Tool(position) => {
                if let Some(entry) = entries.get(*position as usize) {
                    writer.tool(&entry.tool, &entry.markup, open.len())?;
                }
            }
            Item::Verbatim(pieces) => {
                writer.indent(open.len());
                writer.pieces(pieces)?;
                writer.text.push('\n');
            }
        }
    }
    Ok(writer.text)
}

struct Writer {
    text: String,
}

fn unwritable(what: &str) -> Finding {
    Finding::new(Code::Unwritable, 0..0, what)
}

impl Writer {
    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.text.push_str(INDENT));
    }

    fn open(&mut self, name: &str, attributes: &[Attribute]) -> Result<(), Finding> {
        if !is_name(name) {
            let message = format!("no element of XML can be called {name:?}");
            return Err(unwritable(&message).hint("Give the type another name."));
        }
        self.text.push('<');
        self.text.push_str(name);
        self.attributes(attributes)?;
        self.text.push('>');
        Ok(())
    }

    fn close(&mut self, name: &str) {
        self.text.extend(["</", name, ">"]);
    }

    fn attributes(&mut self, attributes: &[Attribute]) -> Result<(), Finding> {
        attributes.iter().try_for_each(|(name, value)| self.attribute(name, value))
    }

    fn attribute(&mut self, name: &str, value: &str) -> Result<(), Finding> {
        self.text.extend([" ", name, "=\""]);
        for character in value.chars() {
            match character {
                '"' => self.text.push_str("&quot;"),
                '\n' => self.text.push_str("&#10;"),
                '\t' => self.text.push_str("&#9;"),
                other => self.character(other)?,
            }
        }
        self.text.push('"');
        Ok(())
    }

    fn character(&mut self, character: char) -> Result<(), Finding> {
        match character {
            '&' => self.text.push_str("&amp;"),
            '<' => self.text.push_str("&lt;"),
            '\r' => self.text.push_str("&#13;"),
            other if is_allowed(other) => self.text.push(other),
            other => {
                let message = format!("XML cannot hold the character U+{:04X}", u32::from(other));
                return Err(unwritable(&message).hint("Remove it from the tool."));
            }
        }
        Ok(())
    }

    fn characters(&mut self, text: &str) -> Result<(), Finding> {
        let special = |c: char| matches!(c, '&' | '<' | '\r' | '>') || !is_allowed(c);
        let mut rest = text;
        while let Some(at) = rest.find(special) {
            let (plain, after) = rest.split_at(at);
            self.text.push_str(plain);
            let Some(character) = after.chars().next() else { break };
            match character {
                '>' if self.text.ends_with("]]") => self.text.push_str("&gt;"),
                other => self.character(other)?,
            }
            rest = &after[character.len_utf8()..];
        }
        self.text.push_str(rest);
        Ok(())
    }

    /// Write markup unchanged.
    fn pieces(&mut self, pieces: &[Piece]) -> Result<(), Finding> {
        let mut open: Vec<&str> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Open { name, attributes } => {
                    self.open(name, attributes)?;
                    open.push(name);
                }
                Piece::Close => self.close(open.pop().unwrap_or_default()),
                Piece::Text(text) => self.characters(text)?,
                Piece::Comment(text) => self.text.extend(["<!--", text, "-->"]),
                Piece::Instruction(text) => self.text.extend(["<?", text, "?>"]),
                Piece::Doctype(text) => self.text.extend(["<!DOCTYPE ", text, ">"]),
            }
        }
        Ok(())
    }

    fn tool(&mut self, tool: &Tool, markup: &ToolMarkup, depth: usize) -> Result<(), Finding> {
        self.indent(depth);
        self.text.push_str("<Tool");
        self.attribute("name", &tool.name)?;
        if let Some(enabled) = &markup.enabled {
            self.attribute("enabled", enabled)?;
        }
        self.attributes(&markup.attributes)?;
        if markup.parts.is_empty() {
            self.text.push_str("/>\n");
            return Ok(());
        }
        self.text.push_str(">\n");
        for part in &markup.parts {
            self.indent(depth + 1);
            match part {
                Part::Field(field) => self.field(tool, *field, &[], None, depth + 1)?,
                Part::AnnotatedField(annotated) => {
                    let AnnotatedField { field, attributes, inner } = &**annotated;
                    self.field(tool, *field, attributes, inner.as_deref(), depth + 1)?;
                }
                Part::Verbatim(pieces) => self.pieces(pieces)?,
            }
            self.text.push('\n');
        }
        self.indent(depth);
        self.close("Tool");
        self.text.push('\n');
        Ok(())
    }

    fn field(
        &mut self,
        tool: &Tool,
        field: Field,
        attributes: &[Attribute],
        inner: Option<&[Piece]>,
        depth: usize,
    ) -> Result<(), Finding> {
        let structure;
        let argument = |index: u32| tool.arguments.get(index as usize);
        let (name, text) = match field {
            Field::Path => ("path", &*tool.path),
            Field::Method => ("method", &*tool.method),
            Field::Handler => ("handler", tool.handler.as_deref().unwrap_or("")),
            Field::Argument(index) => ("argument", argument(index).map_or("", |(_, text)| text)),
            Field::Example(index) => {
                ("example", tool.examples.get(index as usize).map_or("", |text| text))
            }
            Field::Prompt => ("prompt", tool.prompt.as_deref().unwrap_or("")),
            Field::ReturnStruc => {
                structure = structure_text(tool.return_struc.as_ref(), depth + 1);
                ("returnStruc", &*structure)
            }
        };
        self.text.extend(["<", name]);
        if let Field::Argument(index) = field {
            self.attribute("name", argument(index).map_or("", |(name, _)| name))?;
        }
        self.attributes(attributes)?;
        self.text.push('>');
        if let Some(inner) = inner {
            self.pieces(inner)?;
        } else if text.contains('\n') {
            self.text.push('\n');
            self.indent(depth + 1);
            self.characters(text)?;
            self.text.push('\n');
            self.indent(depth);
        } else if text.is_empty() {
            self.text.insert(self.text.len() - 1, '/');
            return Ok(());
        } else {
            self.characters(text)?;
        }
        self.close(name);
        Ok(())
    }
}

/// Format a structure as indented JSON, without characters that XML does not allow.
fn structure_text(structure: Option<&Value>, depth: usize) -> String {
    let Some(structure) = structure else { return "null".to_owned() };
    let pretty = format!("{structure:#}");
    let mut text = String::with_capacity(pretty.len());
    for character in pretty.chars() {
        match character {
            '\n' => {
                text.push('\n');
                (0..depth).for_each(|_| text.push_str(INDENT));
            }
            // These occur only in strings, where they can be escaped; control characters already
            // are.
            '\u{FFFE}' => text.push_str("\\ufffe"),
            '\u{FFFF}' => text.push_str("\\uffff"),
            other => text.push(other),
        }
    }
    text
}
