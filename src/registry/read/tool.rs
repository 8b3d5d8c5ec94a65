//! Reading of a tool and its content.

use std::sync::Arc;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    super::{
        BrokenTools,
        diagnostic::{Code, did_you_mean},
        document::{AnnotatedField, Entry, Field, Item, Part, Piece, ToolMarkup},
        json::{self, JsonError},
        limits::{MAX_ARGUMENTS, MAX_STRUCTURE_DEPTH},
        lint::{self, SourceMap, ToolSpans},
        tool::{Tool, stripped},
        xml::{Attribute, Tag, Token},
    },
    Owner, Read, Reader, attribute,
    content::{Content, kept, lines},
};

const IN_TOOL: [&str; 7] =
    ["path", "method", "handler", "argument", "example", "prompt", "returnStruc"];

/// A tool under construction.
#[derive(Default)]
struct ToolBuilder {
    spans: ToolSpans,
    parts: Vec<Part>,
    /// The fields that have been read.
    seen: Vec<Field>,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn tool(&mut self, tag: &Tag<'a>, owner: &Owner) -> Read<()> {
        self.attributes(tag, &["name", "enabled"]);
        let name = attribute(tag, "name");
        let enabled = attribute(tag, "enabled");
        let errors = self.report.errors();
        let mut builder = ToolBuilder { parts: Vec::with_capacity(8), ..ToolBuilder::default() };
        builder.spans.name = name.map_or(&tag.span, |name| &name.span).clone();
        let mut tool = Tool {
            name: name.map_or("", |name| &name.value).into(),
            type_name: Arc::clone(&owner.type_name),
            site: owner.site.clone(),
            enabled: enabled.is_none_or(|enabled| self.enabled(enabled)),
            line: Some(self.place.line(self.text, tag.span.start)),
            ..Tool::default()
        };
        loop {
            let piece = match self.next()? {
                Token::Open(tag) => {
                    let part = self.part(&tag, &mut tool, &mut builder)?;
                    builder.parts.push(part);
                    continue;
                }
                Token::Close => break,
                Token::Comment(text) => Piece::Comment(lines(text)),
                Token::Instruction(text) => Piece::Instruction(lines(text)),
                Token::Text(text, at) => match self.stray_text(&text, at) {
                    Some(piece) => piece,
                    None => continue,
                },
                Token::Doctype(..) | Token::End => continue,
            };
            builder.parts.push(Part::Verbatim([piece].into()));
        }
        lint::check(&tool, &builder.spans, self.report);
        // A disabled tool is kept, since it hides the tools that it replaces.
        let is_broken = tool.enabled && self.report.errors() > errors;
        if is_broken && self.broken == BrokenTools::LeaveOut {
            return Ok(());
        }
        self.compare(&tool, &builder.spans);
        let markup = ToolMarkup {
            enabled: enabled.map(|enabled| enabled.value.as_ref().into()),
            attributes: kept(&tag.attributes, &["name", "enabled"]),
            parts: builder.parts,
        };
        self.draft.layout.push(Item::Tool(count(self.draft.entries.len())));
        self.draft.entries.push(Entry { tool: Arc::new(tool), markup: Arc::new(markup) });
        Ok(())
    }

    /// Parse `enabled`. `NLWeb` treats only `true`, in any case, as on; this reader accepts its
    /// synonyms as well.
    fn enabled(&mut self, attribute: &Attribute<'a>) -> bool {
        let value = attribute.value.to_lowercase();
        let (is_on, effect) = match value.trim() {
            "true" | "yes" | "on" | "1" => (true, "is on here, and off for NLWeb"),
            "false" | "no" | "off" | "0" => return false,
            _ => (false, "turns the tool off"),
        };
        if value != "true" {
            let message = format!("enabled={:?} {effect}", attribute.value);
            let hint = "Write \"true\" or \"false\".".to_owned();
            self.warn(Code::EnabledValue, &attribute.span, message, Some(hint));
        }
        is_on
    }

    /// Report duplicates among the tools of a type and site.
    fn compare(&mut self, tool: &Tool, spans: &ToolSpans) {
        if tool.name.is_empty() {
            // That has been reported.
            return;
        }
        if self.draft.index.add(tool).is_some() {
            let message =
                format!("the tool {:?} of {} was there before", tool.name, tool.type_name);
            let hint = "This one counts, in the place of the first; remove one of them.".to_owned();
            self.warn(Code::DuplicateTool, &spans.name, message, Some(hint));
        }
        if !tool.enabled {
            return;
        }
        let site = tool.site.as_deref().unwrap_or("");
        let seed = xxh3_64_with_seed(tool.type_name.as_bytes(), self.seed);
        let seed = xxh3_64_with_seed(site.as_bytes(), seed);
        let position = self.draft.entries.len();
        for example in &tool.examples {
            let hash = xxh3_64_with_seed(example.as_bytes(), seed);
            let earlier = *self.examples.entry(hash).or_insert(position);
            let Some(Entry { tool: other, .. }) = self.draft.entries.get(earlier) else { continue };
            if other.name != tool.name {
                let example: String = example.chars().take(60).collect();
                let message = format!("the example {example:?} stands under {:?} too", other.name);
                let hint = "Leave it to the tool that is to be taken for it.".to_owned();
                self.warn(Code::SharedExample, &spans.name, message, Some(hint));
            }
        }
    }

    /// Read a child element of a tool.
    fn part(&mut self, tag: &Tag<'a>, tool: &mut Tool, builder: &mut ToolBuilder) -> Read<Part> {
        let name = tag.local();
        if !IN_TOOL.contains(&name) {
            let message = format!("the element <{}> is ignored here", tag.name);
            self.warn(Code::UnknownElement, &tag.span, message, did_you_mean(name, IN_TOOL));
            return Ok(Part::Verbatim(self.subtree(tag)?.into()));
        }
        let known: &[&str] = if name == "argument" { &["name"] } else { &[] };
        self.attributes(tag, known);
        let content = self.content(tag)?;
        let Some(field) = self.field(tag, &content, tool, builder) else {
            return Ok(Part::Verbatim(content.into_pieces(tag)));
        };
        let attributes = kept(&tag.attributes, known);
        if attributes.is_empty() && content.inner.is_none() {
            return Ok(Part::Field(field));
        }
        Ok(Part::AnnotatedField(Box::new(AnnotatedField {
            field,
            attributes,
            inner: content.inner,
        })))
    }

    /// Store the content of a known element; return `None` if it has no effect.
    fn field(
        &mut self,
        tag: &Tag<'a>,
        content: &Content<'a>,
        tool: &mut Tool,
        builder: &mut ToolBuilder,
    ) -> Option<Field> {
        let text = stripped(&content.text);
        let field = match tag.local() {
            "example" => {
                tool.examples.push(text?.into());
                return Some(Field::Example(count(tool.examples.len() - 1)));
            }
            "argument" => {
                let name = attribute(tag, "name").map_or("", |name| &name.value);
                let value = text.unwrap_or("").into();
                if let Some(known) = tool.arguments.iter_mut().find(|known| *known.0 == *name) {
                    known.1 = value;
                    let message = format!("the argument {name:?} was there before");
                    let hint = "This one counts; remove one of them.".to_owned();
                    self.warn(Code::RepeatedElement, &tag.span, message, Some(hint));
                    return None;
                }
                if tool.arguments.len() == MAX_ARGUMENTS {
                    let message = format!("more than {MAX_ARGUMENTS} arguments of a tool");
                    self.warn(Code::Limit, &tag.span, message, None);
                    return None;
                }
                tool.arguments.push((name.into(), value));
                return Some(Field::Argument(count(tool.arguments.len() - 1)));
            }
            "path" => Field::Path,
            "method" => Field::Method,
            "handler" => Field::Handler,
            "prompt" => Field::Prompt,
            _ => Field::ReturnStruc,
        };
        if builder.seen.contains(&field) {
            let message = format!("this <{}> is not the first and is ignored", tag.name);
            let hint = "Remove one of them.".to_owned();
            self.warn(Code::RepeatedElement, &tag.span, message, Some(hint));
            return None;
        }
        builder.seen.push(field);
        match field {
            Field::Path => tool.path = text.unwrap_or("").into(),
            Field::Method => {
                tool.method = text.unwrap_or("").into();
                builder.spans.method = tag.span.clone();
                if let Some(text) = text {
                    let start = content.trimmed().locate(0);
                    builder.spans.method = start..start + text.len();
                }
            }
            Field::Handler => tool.handler = text.map(Into::into),
            Field::Prompt => {
                tool.prompt = text.map(Into::into);
                builder.spans.prompt = content.trimmed();
            }
            _ => {
                let text = text.unwrap_or("");
                let source = content.trimmed();
                lint::structure_placeholders(text, &source, self.report);
                tool.return_struc = self.structure(tag, text, &source);
                builder.spans.structure = tag.span.clone();
            }
        }
        Some(field)
    }

    /// Parse the JSON of a `returnStruc`; `null` counts as absent.
    fn structure(&mut self, tag: &Tag<'a>, text: &str, source: &SourceMap) -> Option<Value> {
        let fault = match json::read(text) {
            Ok(value) => return Some(value).filter(|value| !value.is_null()),
            Err(fault) => fault,
        };
        let (code, at, message) = match fault {
            _ if text.is_empty() => {
                let hint = "Remove it, or write an object with a \"score\".".to_owned();
                let message = "this returnStruc is empty, which is not JSON".to_owned();
                self.warn(Code::NotJson, &tag.span, message, Some(hint));
                return None;
            }
            JsonError::Syntax { at, message } => {
                (Code::NotJson, at, format!("this returnStruc is not JSON: {message}"))
            }
            JsonError::Depth { at } => (
                Code::Limit,
                at,
                format!("this returnStruc is nested deeper than {MAX_STRUCTURE_DEPTH} levels"),
            ),
        };
        let start = source.locate(at);
        let hint = (code == Code::NotJson).then(|| {
            "JSON has double quotes around names and text, and no comma after the last.".to_owned()
        });
        self.warn(code, &(start..start + 1), message, hint);
        None
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
