//! The section on tools in a system prompt.

use serde_json::Map;

use super::{
    Layout, Style, call,
    outline::{BEGIN, OPENING, sections},
    render_contracts, sample_arguments,
};
use crate::contract::{FunctionContract, Tag};

/// The last line of a section in the compact layout.
///
/// It comes last, where models heed it: before the tools, it made them call tools that do not fit.
const CLOSING: &str = "If a tool fits the request, call it right away, even if you know the answer; for \
    several things, make several calls. Leave out optional arguments that you have no value for. \
    Many requests have nothing to do with the tools, or do not say what a required argument should \
    be: answer those in plain text, without a call.";

/// The separator between the section and the prompt before it.
const SEPARATOR: &str = "\n\n---\n\n";

/// Add a section on calling `contracts` to the prompt `existing`.
///
/// The section contains no result tags and no end marker, because models copy both into their
/// replies. An existing section is replaced in place, so this function can be applied to every
/// request; an up-to-date prompt is returned unchanged. Without contracts, the section is removed.
pub fn system_prompt(
    contracts: &[FunctionContract],
    existing: Option<&str>,
    style: Style,
) -> String {
    let section = if contracts.is_empty() { String::new() } else { section(contracts, style) };
    placed(existing.unwrap_or_default(), &section)
}

/// Return a prompt with `section` in place of the first one that it contains, or at its end. Other
/// sections are removed; an empty `section` removes all.
pub(super) fn placed(existing: &str, section: &str) -> String {
    let spans = sections(existing);
    let mut text = String::with_capacity(existing.len() + section.len());
    let mut from = 0;
    for (at, span) in spans.iter().enumerate() {
        let is_replaced = at == 0 && !section.is_empty();
        let before = &existing[from..span.start];
        // A removed section takes its separator with it.
        let before =
            if is_replaced { before } else { before.strip_suffix(SEPARATOR).unwrap_or(before) };
        text.push_str(before);
        if is_replaced {
            text.push_str(section);
        }
        from = span.end;
    }
    text.push_str(&existing[from..]);
    if spans.is_empty() && !section.is_empty() {
        if !text.is_empty() {
            text.push_str(SEPARATOR);
        }
        text.push_str(section);
    }
    text
}

fn section(contracts: &[FunctionContract], style: Style) -> String {
    let tools = render_contracts(contracts, style);
    let tools = tools.trim_end();
    match style.layout {
        Layout::Compact => {
            let example = worked_example(contracts, style);
            format!(
                "{BEGIN}\n\n{OPENING} if they fit the request. {}{example}\n\n{tools}\n\n{CLOSING}",
                how_to_call(style)
            )
        }
        Layout::Full => format!("{BEGIN}\n\n{OPENING}. {}\n\n{tools}", rules_in_full(style)),
    }
}

/// Return the sentence on the form of calls, without its last sign.
fn how_to_call(style: Style) -> String {
    let tag = match style.tag {
        Tag::Name => "a tag with its name",
        Tag::ToolCall => "a `tool_call` tag with its name",
    };
    let fence = if style.fenced { " in a `json` code block" } else { "" };
    format!("To call one, write {tag} and its arguments as a JSON object{fence}")
}

/// Return a call as an example: of the first tool with arguments, otherwise of the first tool.
fn worked_example(contracts: &[FunctionContract], style: Style) -> String {
    let mut example = None;
    for contract in contracts {
        let Ok(arguments) = sample_arguments(contract) else { continue };
        let is_empty = arguments.as_object().is_none_or(Map::is_empty);
        if !is_empty || example.is_none() {
            example = Some(call(&contract.name, &arguments, style));
        }
        if !is_empty {
            break;
        }
    }
    example.map_or_else(|| ".".to_owned(), |call| format!(", like this:\n\n{call}"))
}

/// Return the rules of the full layout.
fn rules_in_full(style: Style) -> String {
    let (tag, name) = match style.tag {
        Tag::Name => ("the tag named after it", "`</Name>`"),
        Tag::ToolCall => ("a `tool_call` tag that names it", "`</tool_call>`"),
    };
    let fence = if style.fenced { " in a `json` code block" } else { "" };
    format!(
        "Call one when it can find out or do what the answer needs; otherwise just answer.\n\
         \n\
         - To call a tool, write {tag}, with exactly one JSON object{fence} as its arguments, \
         just as the tool's example shows. Close every tag with {name}.\n\
         - Arguments have the names and types listed for the tool. Leave out optional ones that \
         you have no value for.\n\
         - You may make several calls, one after the other."
    )
}
