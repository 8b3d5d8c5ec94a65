//! Arguments with one tag each.
//!
//! ```text
//! <parameter=city>         <parameter name="city" string="true">Oslo</parameter>
//! Oslo                     <|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|>
//! </parameter>             <parameters><city>Oslo</city></parameters>
//! ```

use std::borrow::Cow;

use memchr::memchr_iter;
use serde_json::Value;

use super::{
    Argument, ArgumentValue, Arguments, Converted, nested,
    typed::{Described, Types, depth},
};
use crate::{message::Repair, parser::attribute};

/// Maximum length of a tag.
const MAX_TAG: usize = 1024;

pub(super) fn convert<'t>(
    payload: &'t str,
    schema: Option<&Value>,
    max_depth: usize,
) -> Option<Converted<Arguments<'t>>> {
    let text = payload.trim();
    let described = Described::new(schema);
    if text.starts_with(nested::PREFIX) {
        return nested::convert(text, &described, max_depth).map(Into::into);
    }
    let mut members = Members::default();
    match text.strip_prefix("<parameters>") {
        Some(inner) => named_by_tags(inner, &described, &mut members)?,
        None => tagged(text, &described, &mut members)?,
    }
    members.finish(max_depth)
}

/// The members of the arguments.
#[derive(Debug, Default)]
struct Members<'t> {
    arguments: Vec<Argument<'t>>,
    /// The nesting depth of the deepest one.
    depth: usize,
    repairs: Vec<Repair>,
}

impl<'t> Members<'t> {
    /// Add a member with the value of `text`.
    fn push(&mut self, name: &'t str, types: Types, text: &'t str) {
        // A string, which may be long, has no depth, and becomes a value without a detour over JSON.
        let Some((json, repairs)) = types.fit(text) else {
            return self.arguments.push(Argument { name, value: ArgumentValue::Text(text) });
        };
        self.depth = self.depth.max(depth(&json));
        let escaped = || name.replace('~', "~0").replace('/', "~1");
        self.repairs.extend(
            repairs
                .into_iter()
                .map(|repair| Repair { path: format!("/{}{}", escaped(), repair.path), ..repair }),
        );
        self.arguments.push(Argument { name, value: ArgumentValue::Json(json) });
    }

    fn finish(self, max_depth: usize) -> Option<Converted<Arguments<'t>>> {
        let arguments = Arguments::Each(self.arguments);
        let converted = Converted { arguments, repairs: self.repairs };
        (self.depth < max_depth).then_some(converted)
    }
}

/// The tag that opens an argument.
#[derive(Debug)]
struct Opening<'t> {
    key: &'t str,
    /// The types that the tag names.
    types: Option<Types>,
    /// True if a line break next to the value belongs to the tags.
    framed: bool,
    length: usize,
}

/// The tags around the arguments of one call.
#[derive(Debug)]
struct Spelling<'t> {
    /// The beginning of the opening tag.
    open: &'t str,
    close: Cow<'t, str>,
}

const KIMI: &str = "<|open|>argument ";

impl<'t> Spelling<'t> {
    /// Return the spelling of the tag that `text` begins with.
    fn of(text: &'t str) -> Option<Self> {
        if text.starts_with(KIMI) {
            return Some(Self { open: KIMI, close: "<|close|>argument<|sep|>".into() });
        }
        let (prefix, _) = tag(text, ">")?.strip_prefix('<')?.split_once("parameter")?;
        let open = &text[.."<parameter".len() + prefix.len()];
        Some(Self { open, close: format!("</{prefix}parameter>").into() })
    }

    /// Read the opening tag at the start of `text`.
    fn opening(&self, text: &'t str) -> Option<Opening<'t>> {
        let rest = text.strip_prefix(self.open)?;
        if self.open == KIMI {
            let tag = tag(text, "<|sep|>")?;
            let types = attribute(tag, "type").and_then(Types::named);
            let key = attribute(tag, "key")?;
            return Some(Opening { key, types, framed: false, length: tag.len() });
        }
        let tag = tag(text, ">")?;
        if let Some(key) = rest.strip_prefix('=') {
            let key = &key[..tag.len().checked_sub(self.open.len() + 2)?];
            let key = key.trim().trim_matches(['"', '\'']);
            return Some(Opening { key, types: None, framed: true, length: tag.len() });
        }
        if let Some(named) = rest.strip_prefix('>') {
            // `<parameter>KEY>`
            let end = named.find(['>', '<', '\n']).filter(|&end| named[end..].starts_with('>'))?;
            let (key, length) = (named[..end].trim(), tag.len() + end + 1);
            let opening = Opening { key, types: None, framed: true, length };
            return Some(opening).filter(|opening| !opening.key.is_empty());
        }
        let types = match attribute(tag, "string") {
            Some("true") => Some(Types::STRING),
            Some("false") => Some(Types::OTHER),
            _ => None,
        };
        let key = attribute(tag, "name").filter(|_| rest.starts_with(char::is_whitespace))?;
        Some(Opening { key, types, framed: false, length: tag.len() })
    }
}

/// Return the tag at the start of `text`, up to `end`.
fn tag<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let first = *end.as_bytes().first()?;
    let mut near = text.bytes().take(MAX_TAG).enumerate().skip(1);
    let is_end = |&(at, byte): &(usize, u8)| {
        byte == first && text.get(at..).is_some_and(|rest| rest.starts_with(end))
    };
    let (at, _) = near.find(is_end)?;
    text.get(..at + end.len())
}

/// Read arguments with names in their tags.
fn tagged<'t>(text: &'t str, described: &Described<'_>, members: &mut Members<'t>) -> Option<()> {
    if text.is_empty() {
        return Some(());
    }
    let spelling = Spelling::of(text)?;
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if rest.is_empty() {
            return Some(());
        }
        if rest.starts_with(&*spelling.close) {
            at += spelling.close.len();
            continue;
        }
        let opening = spelling.opening(rest)?;
        let from = at + opening.length;
        let closes = |at: usize| text.as_bytes()[at..].starts_with(spelling.close.as_bytes());
        // The value ends with its tag, or where it lacks one, at the next argument.
        let to = memchr_iter(b'<', text.get(from..)?.as_bytes())
            .map(|length| from + length)
            .find(|&at| closes(at) || opens(text, at, &spelling, described))
            .unwrap_or(text.len());
        at = if to < text.len() && closes(to) { to + spelling.close.len() } else { to };
        let value = &text[from..to];
        let value = if opening.framed { unframed(value) } else { value };
        let wire = opening.types.filter(|_| !value.trim().is_empty());
        let wire = wire.or(opening.types.filter(|types| *types == Types::STRING));
        let types = wire.unwrap_or_else(|| described.member(opening.key).types());
        members.push(opening.key, types, value);
    }
}

/// Return true if the text at `at`, inside a value, opens the next argument: the value lacks its
/// closing tag. One that the schema does not know belongs to the value.
fn opens<'t>(text: &'t str, at: usize, spelling: &Spelling<'t>, described: &Described<'_>) -> bool {
    let next = text.get(at..).and_then(|rest| spelling.opening(rest));
    next.is_some_and(|next| described.declares(next.key) != Some(false))
}

/// Remove one line break from the start and one from the end.
fn unframed(value: &str) -> &str {
    let start = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    start.strip_suffix("\r\n").or_else(|| start.strip_suffix('\n')).unwrap_or(start)
}

/// Read arguments whose names are tags.
fn named_by_tags<'t>(
    text: &'t str,
    described: &Described<'_>,
    members: &mut Members<'t>,
) -> Option<()> {
    let mut rest = text.strip_suffix("</parameters>").unwrap_or(text).trim_start();
    while !rest.is_empty() {
        let tag = tag(rest, ">")?;
        let key = tag.strip_prefix('<')?.strip_suffix('>')?;
        let inner = &rest[tag.len()..];
        let close = format!("</{key}>");
        let value = &inner[..inner.find(&close)?];
        members.push(key, described.member(key).types(), value);
        rest = inner[value.len() + close.len()..].trim_start();
    }
    Some(())
}
