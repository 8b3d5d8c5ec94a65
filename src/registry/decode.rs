//! Decoding of the bytes of an XML file.

use std::borrow::Cow;

use memchr::memchr;

use super::diagnostic::{Code, Finding};

/// The text before an invalid byte, and the finding about it.
pub(super) type DecodeError = (String, Finding);

const SAVE_AS: &str = "Save the file as UTF-8, and let its XML declaration say so or nothing.";

/// Decode UTF-8 with or without a byte order mark, UTF-16 with one, and ASCII or Latin-1 if
/// declared.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return utf_8(rest).map(Cow::Borrowed);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return utf_16(rest, u16::from_le_bytes).map(Cow::Owned);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return utf_16(rest, u16::from_be_bytes).map(Cow::Owned);
    }
    if bytes.starts_with(b"<\0") || bytes.starts_with(b"\0<") {
        let message = "the file looks like UTF-16, but has no byte order mark";
        return Err(decode_error(String::new(), message));
    }
    let Some(declared) = declared(bytes) else {
        return utf_8(bytes).map(Cow::Borrowed);
    };
    match declared.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => utf_8(bytes).map(Cow::Borrowed),
        "us-ascii" | "ascii" => match bytes.iter().position(|byte| !byte.is_ascii()) {
            None => utf_8(bytes).map(Cow::Borrowed),
            Some(at) => Err(decode_error(
                String::from_utf8_lossy(&bytes[..at]).into_owned(),
                format!("the file is declared as ASCII, which has no byte 0x{:02X}", bytes[at]),
            )),
        },
        "iso-8859-1" | "iso8859-1" | "latin-1" | "latin1" | "iso_8859-1" | "l1" => {
            Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()))
        }
        "utf-16" | "utf-16le" | "utf-16be" => {
            // The declaration was readable as single bytes, so it is wrong.
            let message = format!("the file is declared as {declared}, but is not in it");
            Err(decode_error(String::new(), message))
        }
        _ => {
            let message = format!("the encoding {declared:?} is not read");
            Err(decode_error(String::new(), message))
        }
    }
}

/// Return the encoding in the XML declaration.
fn declared(bytes: &[u8]) -> Option<&str> {
    let head = bytes.strip_prefix(b"<?xml")?;
    let head = &head[..memchr(b'>', head)?.min(512)];
    let head = str::from_utf8(head).ok()?;
    let (_, value) = head.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(name, _)| name)
}

fn utf_8(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|err| {
        let before = String::from_utf8_lossy(&bytes[..err.valid_up_to()]).into_owned();
        let message = match bytes.get(err.valid_up_to()) {
            Some(byte) => format!("the byte 0x{byte:02X} here is not UTF-8"),
            None => "the file is not UTF-8".to_owned(),
        };
        decode_error(before, message)
    })
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len() / 2);
    for character in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match character {
            Ok(character) => text.push(character),
            Err(_) => return Err(decode_error(text, "half a character of UTF-16 here")),
        }
    }
    if rest.is_empty() { Ok(text) } else { Err(decode_error(text, "UTF-16 that ends in a half")) }
}

fn decode_error(before: String, message: impl Into<String>) -> DecodeError {
    let end = before.len();
    let finding = Finding::new(Code::Encoding, end..end, message).hint(SAVE_AS);
    (before, finding)
}

/// Return the first character that XML does not allow.
pub(super) fn forbidden(text: &str) -> Option<(usize, char)> {
    // No branches within a chunk, so that the compiler can vectorize it.
    let suspicious = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\t' | b'\r');
    let mut at = text.len();
    for (index, chunk) in text.as_bytes().chunks(256).enumerate() {
        if chunk.iter().fold(false, |found, byte| found | suspicious(*byte)) {
            let within = chunk.iter().position(|byte| suspicious(*byte)).unwrap_or(0);
            at = index * 256 + within;
            break;
        }
    }
    let noncharacter = memchr::memchr_iter(0xEF, &text.as_bytes()[..at]).find(|start| {
        matches!(text.as_bytes().get(start + 1..start + 3), Some([0xBF, 0xBE | 0xBF]))
    });
    let at = noncharacter.unwrap_or(at);
    text.get(at..).and_then(|rest| rest.chars().next()).map(|character| (at, character))
}

/// Return true if XML 1.0 allows a character.
pub(super) fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}
