//! The section on tools inside a system prompt.

use super::{
    Style,
    outline::{BEGIN, OPENING, sections},
    render_contracts,
};
use crate::contract::{FunctionContract, Tag};

/// What stands between the section and the prompt before it.
const SEPARATOR: &str = "\n\n---\n\n";

/// `existing` with a section on how to call `contracts`.
///
/// The section names no tag of results and has no end marker: models copy both into their replies.
/// A section that is there already is replaced where it stands, so the function can be applied on
/// every request; a prompt that is up to date comes back as it is. Without contracts the section is
/// taken out.
pub fn system_prompt(
    contracts: &[FunctionContract],
    existing: Option<&str>,
    style: Style,
) -> String {
    let existing = existing.unwrap_or_default();
    let section = if contracts.is_empty() { String::new() } else { section(contracts, style) };
    let spans = sections(existing);
    let mut text = String::with_capacity(existing.len() + section.len());
    let mut from = 0;
    for (at, span) in spans.iter().enumerate() {
        let is_replaced = at == 0 && !section.is_empty();
        let before = &existing[from..span.start];
        // What is not replaced goes with the line that set it apart.
        let before =
            if is_replaced { before } else { before.strip_suffix(SEPARATOR).unwrap_or(before) };
        text.push_str(before);
        if is_replaced {
            text.push_str(&section);
        }
        from = span.end;
    }
    text.push_str(&existing[from..]);
    if spans.is_empty() && !section.is_empty() {
        if !text.is_empty() {
            text.push_str(SEPARATOR);
        }
        text.push_str(&section);
    }
    text
}

fn section(contracts: &[FunctionContract], style: Style) -> String {
    let (tag, name) = match style.tag {
        Tag::Name => ("the tag named after it", "`</Name>`"),
        Tag::ToolCall => ("a `tool_call` tag that names it", "`</tool_call>`"),
    };
    let fence = if style.fenced { " in a `json` code block" } else { "" };
    format!(
        "{BEGIN}\n\
         \n\
         {OPENING} Call one when it can find out or do what the answer needs; \
         otherwise just answer.\n\
         \n\
         - To call a tool, write {tag}, with exactly one JSON object{fence} as its arguments, \
         just as the tool's example shows. Close every tag with {name}.\n\
         - Arguments have the names and types listed for the tool. Leave out optional ones that \
         you have no value for.\n\
         - You may make several calls, one after the other.\n\
         \n\
         {}",
        render_contracts(contracts, style).trim_end()
    )
}
