//! The tags of calls with a tag for each key and one for each value, and the beginnings of such calls.

use super::Pairs;
use crate::parser::{
    block::ahead::{count, starts},
    dialect::names::{begins_name, is_name_byte},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Key,
    KeyEnd,
    Value,
    ValueEnd,
    Call,
    CallEnd,
    Separator,
    BlockEnd,
    Name,
    NameEnd,
}

/// The tags, without their suffix and their end.
pub(super) const TAGS: [(Tag, &str); 10] = [
    (Tag::Key, "<arg_key"),
    (Tag::KeyEnd, "</arg_key"),
    (Tag::Value, "<arg_value"),
    (Tag::ValueEnd, "</arg_value"),
    (Tag::Call, "<tool_call"),
    (Tag::CallEnd, "</tool_call"),
    (Tag::Separator, "<tool_sep"),
    (Tag::BlockEnd, "</tool_calls"),
    (Tag::Name, "<tool_name"),
    (Tag::NameEnd, "</tool_name"),
];

/// Return true if a body begins with `bytes`; `None` if more are needed.
pub(super) fn begins_body(body: Pairs, bytes: &[u8]) -> Option<bool> {
    let (suffix, bytes) = if body.suffixed {
        let end = count(bytes, is_suffix_byte);
        match bytes.get(end) {
            None => return None,
            Some(b'>') => (&bytes[..end], &bytes[end + 1..]),
            Some(_) => return Some(false),
        }
    } else {
        (&bytes[..0], bytes)
    };
    let colon: &[u8] = if body.suffixed { b":" } else { b"" };
    let bytes = bytes.trim_ascii_start();
    if body.wrapped {
        return starts(bytes, &[b"<tool_call", colon, suffix, b">"]);
    }
    begins_call(bytes, [colon, suffix])
}

/// Return true if these bytes are a name and what may follow it in a call; `None` if more are needed.
pub(super) fn begins_call(bytes: &[u8], suffix: [&[u8]; 2]) -> Option<bool> {
    let tag =
        |bytes: &[u8], name: &str| starts(bytes, &[name.as_bytes(), suffix[0], suffix[1], b">"]);
    let length = |name: &str| name.len() + suffix[0].len() + suffix[1].len() + 1;
    if tag(bytes, "<tool_name")? {
        let name = bytes[length("<tool_name")..].trim_ascii_start();
        let rest = &name[count(name, is_name_byte)..];
        return tag(rest.trim_ascii_start(), "</tool_name");
    }
    if !begins_name(*bytes.first()?) {
        return Some(false);
    }
    let rest = &bytes[count(bytes, is_name_byte)..];
    let blank = count(rest, |byte| byte.is_ascii_whitespace());
    let line = blank == 0 || matches!(rest[0], b'\n' | b'\r');
    let rest = &rest[blank..];
    let next = *rest.first()?;
    if next == b'{' {
        // A brace in prose is hardly followed by a key.
        return rest[1..].trim_ascii_start().first().map(|byte| matches!(byte, b'"' | b'}'));
    }
    if blank > 0 && begins_name(next) {
        let rest = &rest[count(rest, is_name_byte)..];
        return Some(tag(rest, "</arg_key")? || assigns(rest)?);
    }
    let mut more = false;
    for (kind, name) in TAGS {
        let follows = match kind {
            Tag::Key | Tag::Separator => true,
            // A word between two tags may be prose.
            Tag::CallEnd => line,
            Tag::KeyEnd | Tag::ValueEnd => blank == 0,
            // In the place of that of the first key.
            Tag::Call if blank == 0 => match tag(rest, name) {
                Some(true) => {
                    let key = rest[length(name)..].trim_ascii_start();
                    return tag(&key[count(key, is_name_byte)..], "</arg_key");
                }
                _ => true,
            },
            _ => false,
        };
        match tag(rest, name) {
            Some(true) if follows => return Some(true),
            None if follows => more = true,
            _ => {}
        }
    }
    if more { None } else { Some(false) }
}

/// Return true if `bytes` begin with the equals sign of an assignment; `None` if more are needed.
pub(super) fn assigns(bytes: &[u8]) -> Option<bool> {
    let rest = bytes.trim_ascii_start();
    Some(*rest.first()? == b'=' && *rest.get(1)? != b'=')
}

pub(super) fn is_suffix_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
