//! Objects with bare keys and strings in quotes of their own.
//!
//! Models also write strings as in JSON or Python, `=` for the colon, and strings without quotes,
//! which is all that remains if a server has removed the quotes.

use super::{
    Converted,
    cursor::Cursor,
    literal::{closed, push_string, quoted, scalar, string},
    members::Members,
};

/// The quotes of strings without escapes.
const QUOTES: [&str; 2] = ["<|\"|>", "<escape>"];

pub(super) fn convert(payload: &str, max_depth: usize) -> Option<Converted> {
    let mut rest = payload.trim();
    if let Some(inner) = rest.strip_prefix('(') {
        let inner = inner.strip_suffix(')').unwrap_or(inner).trim();
        // Parentheses around an object, or instead of its braces.
        rest = inner;
    }
    let braces = rest.starts_with('{');
    let mut reader = Reader { cursor: Cursor::new(rest, max_depth) };
    let mut json = String::new();
    if braces {
        reader.cursor.rest = &rest[1..];
    }
    reader.object(&mut json, 1, braces)?;
    reader.cursor.skip_blanks();
    reader
        .cursor
        .rest
        .is_empty()
        .then_some(Converted { arguments: json, repairs: reader.cursor.repairs })
}

struct Reader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Reader<'a> {
    /// Read an object after its brace, if it has one; without one it ends with the text.
    fn object(&mut self, out: &mut String, depth: usize, braces: bool) -> Option<()> {
        if depth > self.cursor.max_depth {
            return None;
        }
        let mut members = Members::default();
        loop {
            self.cursor.skip_blanks();
            if self.ends(braces.then_some("}")) {
                out.push_str(&members.into_json());
                return Some(());
            }
            let key = self.key()?;
            let mut value = String::new();
            self.value(&mut value, depth + 1, true)?;
            members.insert(key, value);
            self.cursor.skip_blanks();
            if !self.cursor.take(",")
                && !self.cursor.rest.is_empty()
                && !self.cursor.rest.starts_with('}')
            {
                return None;
            }
        }
    }

    /// Advance past the end of a structure; the end of the text is one as well.
    fn ends(&mut self, close: Option<&str>) -> bool {
        match close {
            Some(close) if self.cursor.rest.is_empty() => {
                self.cursor.repairs.push(closed(close));
                true
            }
            Some(close) => self.cursor.take(close),
            None => self.cursor.rest.is_empty(),
        }
    }

    fn list(&mut self, out: &mut String, depth: usize) -> Option<()> {
        if depth > self.cursor.max_depth {
            return None;
        }
        out.push('[');
        let mut first = true;
        loop {
            self.cursor.skip_blanks();
            if self.ends(Some("]")) {
                out.push(']');
                return Some(());
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            self.value(out, depth + 1, false)?;
            self.cursor.skip_blanks();
            if !self.cursor.take(",")
                && !self.cursor.rest.is_empty()
                && !self.cursor.rest.starts_with(']')
            {
                return None;
            }
        }
    }

    /// Read a key and its colon.
    fn key(&mut self) -> Option<String> {
        let key = if self.begins_string() {
            self.string()?
        } else {
            let key = bare_key(self.cursor.rest)?;
            self.cursor.rest = &self.cursor.rest[key.len()..];
            key.to_owned()
        };
        self.cursor.skip_blanks();
        (self.cursor.take(":") || self.cursor.take("=")).then_some(key)
    }

    /// Read a value; if it is a structure, it is at this depth.
    fn value(&mut self, out: &mut String, depth: usize, member: bool) -> Option<()> {
        self.cursor.skip_blanks();
        if self.cursor.take("{") {
            return self.object(out, depth, true);
        }
        if self.cursor.take("[") {
            return self.list(out, depth);
        }
        if self.begins_string() {
            push_string(out, &self.string()?);
            return Some(());
        }
        let text = self.bare(member);
        match scalar(text) {
            Some(json) => out.push_str(&json),
            None if text.is_empty() => return None,
            None => {
                self.cursor.repairs.push(quoted(text));
                push_string(out, text);
            }
        }
        Some(())
    }

    /// Return true if a string in quotes begins here.
    fn begins_string(&self) -> bool {
        let begins = |quote: &str| self.cursor.rest.starts_with(quote);
        QUOTES.into_iter().any(begins) || self.cursor.rest.starts_with(['"', '\''])
    }

    /// Read a string in quotes.
    fn string(&mut self) -> Option<String> {
        for quote in QUOTES {
            if self.cursor.take(quote) {
                return Some(self.literal(quote));
            }
        }
        let mut text = String::new();
        let length = string(self.cursor.rest, &mut text)?;
        self.cursor.rest = &self.cursor.rest[length..];
        // A quote that has lost its partner.
        let _ = QUOTES.iter().any(|quote| self.cursor.take(quote));
        Some(text)
    }

    /// Read the rest of a string between quotes of the dialect.
    fn literal(&mut self, quote: &str) -> String {
        if let Some(end) = self.cursor.rest.find(quote) {
            let text = self.cursor.rest[..end].to_owned();
            self.cursor.rest = &self.cursor.rest[end + quote.len()..];
            return text;
        }
        // The last string has lost its end; the brackets after it are those of its object.
        let text = self.cursor.rest.trim_end_matches(['}', ']', ')']);
        self.cursor.rest = &self.cursor.rest[text.len()..];
        self.cursor.repairs.push(closed(quote));
        text.to_owned()
    }

    /// Read text without quotes, up to the next member or item or the end of the structure.
    fn bare(&mut self, member: bool) -> &'a str {
        let rest = self.cursor.rest;
        let mut end = 0;
        loop {
            let Some(found) = rest[end..].find([',', '}', ']']) else {
                end = rest.len();
                break;
            };
            end += found;
            let after = rest[end..].strip_prefix(',').map(str::trim_start);
            match after {
                Some(after) if member && !begins_member(after) => end += 1,
                _ => break,
            }
        }
        self.cursor.rest = &rest[end..];
        let text = rest[..end].trim();
        QUOTES.iter().fold(text, |text, quote| text.strip_suffix(quote).unwrap_or(text))
    }
}

/// Return true if a member may begin here, or the object may end.
fn begins_member(text: &str) -> bool {
    let quotes = QUOTES.iter().any(|quote| text.starts_with(quote));
    quotes || text.starts_with(['}', '"', '\'']) || text.is_empty() || bare_key(text).is_some()
}

/// Return the key without quotes at the start of `text`, which a colon follows.
fn bare_key(text: &str) -> Option<&str> {
    let end = text.find(|ch: char| ch.is_whitespace() || ":={}[](),\"'<".contains(ch))?;
    let colon = text[end..].trim_start().starts_with([':', '=']);
    (end > 0 && colon).then_some(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_json() {
        for (text, expected, repaired) in [
            ("{}", "{}", false),
            (r#"{city:<|"|>Oslo<|"|>,n:3}"#, r#"{"city": "Oslo", "n": 3}"#, false),
            (r#"{a:<|"|>"}{'\n,b:1<|"|>}"#, r#"{"a": "\"}{'\\n,b:1"}"#, false),
            ("{a:<escape>x<escape>,b:true}", r#"{"a": "x", "b": true}"#, false),
            (
                r#"{a:[1,<|"|>x<|"|>,["y"]],b:{'k': None}}"#,
                r#"{"a": [1,"x",["y"]], "b": {"k": null}}"#,
                false,
            ),
            (r#"{<|"|>a<|"|>:1.5e3, "b" : False}"#, r#"{"a": 1.5e3, "b": false}"#, false),
            ("{key='v', n=2}", r#"{"key": "v", "n": 2}"#, false),
            (r#"(a: "x", b: 'y')"#, r#"{"a": "x", "b": "y"}"#, false),
            (r#"({"a": 1})"#, r#"{"a": 1}"#, false),
            (r#"{p:'x'<|"|>}"#, r#"{"p": "x"}"#, false),
            ("{city:Oslo, Norway,n:3}", r#"{"city": "Oslo, Norway", "n": 3}"#, true),
            (r#"{city:Oslo<|"|>}"#, r#"{"city": "Oslo"}"#, true),
            (r#"{city:<|"|>Oslo}"#, r#"{"city": "Oslo"}"#, true),
            (r#"{city:<|"|>Oslo<|"|>"#, r#"{"city": "Oslo"}"#, true),
            ("{a:[1,[2", r#"{"a": [1,[2]]}"#, true),
        ] {
            let converted = convert(text, 4).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(converted.arguments, expected, "{text}");
            assert_eq!(!converted.repairs.is_empty(), repaired, "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["{a}", "{:1}", "{a:}", "{a:1}}", "{a:'x}", "{a:{b:{c:{d:{}}}}}", "{a 1}"] {
            assert_eq!(convert(text, 4), None, "{text}");
        }
    }
}
