//! The section on tools inside a system prompt.

use super::{Style, render_contracts};
use crate::contract::{FunctionContract, Tag};

/// The first line of the section.
const BEGIN: &str = "# Tool Calls";

/// The last line of the section.
const END: &str = "*End of Tool Calls*";

/// What stands between the section and the prompt before it.
const SEPARATOR: &str = "\n\n---\n\n";

/// `existing` with a section on how to call `contracts`.
///
/// A section that is there already is replaced where it stands, so the function can be applied
/// on every request; a prompt that is up to date comes back as it is. Without contracts the
/// section is taken out.
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
    for (at, (begin, end)) in spans.iter().enumerate() {
        let is_replaced = at == 0 && !section.is_empty();
        let before = &existing[from..*begin];
        // What is not replaced goes with the line that set it apart.
        let before =
            if is_replaced { before } else { before.strip_suffix(SEPARATOR).unwrap_or(before) };
        text.push_str(before);
        if is_replaced {
            text.push_str(&section);
        }
        from = *end;
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
         You can call the tools below. Call one when it can find out or do what the answer needs; \
         otherwise just answer.\n\
         \n\
         - To call a tool, write {tag}, with exactly one JSON object{fence} as its arguments, \
         just as the tool's example shows. Close every tag with {name}.\n\
         - Arguments have the names and types listed for the tool. Leave out optional ones that \
         you have no value for.\n\
         - You may make several calls, one after the other. After the last one, stop and wait: \
         each result is given to you in a `tool_response` tag.\n\
         - Never write a `tool_response` yourself, and never make up a result.\n\
         \n\
         {}\n\
         {END}",
        render_contracts(contracts, style)
    )
}

/// Where whole sections stand in `text`, outermost ones only.
///
/// Each end is paired with the nearest begin before it, as brackets are: a heading of the same
/// words that somebody else wrote further up is none of ours.
fn sections(text: &str) -> Vec<(usize, usize)> {
    let mut begun = Vec::new();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        match line.trim_end() {
            BEGIN => begun.push(at),
            END => {
                if let Some(begin) = begun.pop() {
                    while spans.pop_if(|(inner, _)| *inner > begin).is_some() {}
                    spans.push((begin, at + END.len()));
                }
            }
            _ => {}
        }
        at += line.len();
    }
    spans
}
