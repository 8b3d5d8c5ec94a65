//! The keyword arguments of a Python call.
//!
//! Strings without quotes, which some templates write, are repaired.

use super::{
    Converted,
    cursor::Cursor,
    literal::{is_not_finite, push_string, quoted, scalar, string},
    members::Members,
};

pub(super) fn convert(payload: &str, max_depth: usize) -> Option<Converted> {
    let mut reader = Reader { cursor: Cursor::new(payload, max_depth) };
    let mut members = Members::default();
    loop {
        reader.cursor.skip_blanks();
        if reader.cursor.rest.is_empty() {
            break;
        }
        let key = reader.key()?;
        let mut value = String::new();
        reader.argument(&mut value)?;
        members.insert(key, value);
        reader.cursor.skip_blanks();
        if !reader.cursor.take(",") && !reader.cursor.rest.is_empty() {
            return None;
        }
    }
    Some(Converted { arguments: members.into_json(), repairs: reader.cursor.repairs })
}

struct Reader<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Reader<'a> {
    /// Read a keyword and its `=`.
    fn key(&mut self) -> Option<&'a str> {
        let (key, rest) = keyword(self.cursor.rest)?;
        self.cursor.rest = rest;
        Some(key)
    }

    /// Read the value of a keyword.
    fn argument(&mut self, out: &mut String) -> Option<()> {
        self.cursor.skip_blanks();
        let before = self.cursor.rest;
        if before.starts_with(['[', '(', '{']) || is_string(before) || self.word_ends_argument() {
            self.value(out, 2)
        } else {
            self.unquoted(out)
        }
    }

    /// Return true if the word at the current position is the whole argument.
    fn word_ends_argument(&self) -> bool {
        let word = word(self.cursor.rest);
        let rest = self.cursor.rest[word.len()..].trim_start();
        (scalar(word).is_some() || is_not_finite(word))
            && (rest.is_empty() || rest.starts_with(','))
    }

    /// Read a string without quotes, up to the next keyword.
    fn unquoted(&mut self, out: &mut String) -> Option<()> {
        let mut end = 0;
        while let Some(comma) = self.cursor.rest[end..].find(',') {
            let after = &self.cursor.rest[end + comma + 1..];
            if keyword(after.trim_start()).is_some() || after.trim_start().is_empty() {
                end += comma;
                return self.push_unquoted(end, out);
            }
            end += comma + 1;
        }
        self.push_unquoted(self.cursor.rest.len(), out)
    }

    fn push_unquoted(&mut self, end: usize, out: &mut String) -> Option<()> {
        let text = self.cursor.rest[..end].trim_end();
        // A call, a name with a subscript or a string without an end is not a text.
        if text.is_empty() || text.contains(['"', '(', '[', '{', '\\']) || is_not_finite(text) {
            return None;
        }
        self.cursor.repairs.push(quoted(text));
        push_string(out, text);
        self.cursor.rest = &self.cursor.rest[end..];
        Some(())
    }

    /// Read a value; if it is a structure, it is at this depth.
    fn value(&mut self, out: &mut String, depth: usize) -> Option<()> {
        self.cursor.skip_blanks();
        let open = self.cursor.rest.chars().next()?;
        match open {
            '[' | '(' | '{' if depth > self.cursor.max_depth => None,
            '[' => self.list(out, depth, "]"),
            '(' => self.list(out, depth, ")"),
            '{' => self.dict(out, depth),
            _ if is_string(self.cursor.rest) => {
                let text = self.strings()?;
                push_string(out, &text);
                Some(())
            }
            _ => {
                let word = word(self.cursor.rest);
                if let Some(json) = scalar(word) {
                    out.push_str(&json);
                    self.cursor.rest = &self.cursor.rest[word.len()..];
                    return Some(());
                }
                let end =
                    self.cursor.rest.find([',', ']', ')', '}']).unwrap_or(self.cursor.rest.len());
                self.push_unquoted(end, out)
            }
        }
    }

    /// Read strings that follow each other, which are one.
    fn strings(&mut self) -> Option<String> {
        let mut text = String::new();
        while is_string(self.cursor.rest) {
            let length = string(self.cursor.rest, &mut text)?;
            self.cursor.rest = self.cursor.rest[length..].trim_start();
        }
        Some(text)
    }

    /// Read a list or a tuple, or a value in parentheses.
    fn list(&mut self, out: &mut String, depth: usize, close: &str) -> Option<()> {
        self.cursor.rest = &self.cursor.rest[1..];
        let start = out.len();
        out.push('[');
        let (mut items, mut comma) = (0, false);
        loop {
            self.cursor.skip_blanks();
            if self.cursor.take(close) {
                break;
            }
            if items > 0 {
                out.push(',');
            }
            self.value(out, depth + 1)?;
            items += 1;
            self.cursor.skip_blanks();
            if self.cursor.take(",") {
                comma = true;
            } else if !self.cursor.rest.starts_with(close) {
                return None;
            }
        }
        if close == ")" && items == 1 && !comma {
            out.remove(start);
        } else {
            out.push(']');
        }
        Some(())
    }

    fn dict(&mut self, out: &mut String, depth: usize) -> Option<()> {
        self.cursor.rest = &self.cursor.rest[1..];
        let mut members = Members::default();
        loop {
            self.cursor.skip_blanks();
            if self.cursor.take("}") {
                out.push_str(&members.into_json());
                return Some(());
            }
            let key = self.dict_key()?;
            self.cursor.skip_blanks();
            if !self.cursor.take(":") {
                return None;
            }
            let mut value = String::new();
            self.value(&mut value, depth + 1)?;
            members.insert(key, value);
            self.cursor.skip_blanks();
            if !self.cursor.take(",") && !self.cursor.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn dict_key(&mut self) -> Option<String> {
        if is_string(self.cursor.rest) {
            return self.strings();
        }
        let word = word(self.cursor.rest);
        let key = scalar(word).map_or_else(|| word.to_owned(), String::from);
        self.cursor.rest = &self.cursor.rest[word.len()..];
        (!word.is_empty()).then_some(key)
    }
}

/// Return the keyword at the start of `text`, and the rest after its `=`.
fn keyword(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|ch: char| !(ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.')))?;
    let rest = text[end..].trim_start().strip_prefix('=')?;
    (end > 0 && !rest.starts_with('=')).then_some((&text[..end], rest))
}

/// Return true if a string begins here, perhaps with a prefix.
fn is_string(text: &str) -> bool {
    let is_prefix = |ch: char| "rRbBuUfF".contains(ch);
    let prefix = text.chars().take(2).take_while(|&ch| is_prefix(ch)).count();
    text[prefix..].starts_with(['"', '\''])
}

/// Return the text up to the next bracket, comma, colon or white space.
fn word(text: &str) -> &str {
    let is_end = |ch: char| ch.is_whitespace() || "()[]{},:\"'".contains(ch);
    &text[..text.find(is_end).unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(payload: &str) -> Option<String> {
        convert(payload, 4).map(|converted| converted.arguments)
    }

    #[test]
    fn arguments_become_json() {
        for (python, expected) in [
            ("", "{}"),
            (" a = 1 , b = 'x' , ", r#"{"a": 1, "b": "x"}"#),
            ("a=True, b=None, c=false, d=null", r#"{"a": true, "b": null, "c": false, "d": null}"#),
            ("a=[1, (2,), (3), ('x' 'y'), ()]", r#"{"a": [1,[2],3,"xy",[]]}"#),
            ("a={'k': {2: [1,]}}", r#"{"a": {"k": {"2": [1]}}}"#),
            ("a=\"\"\"x\n'y'\"\"\"", r#"{"a": "x\n'y'"}"#),
            ("a=0x1F, b=1_000.50", r#"{"a": 31, "b": 1000.50}"#),
            ("a=1, a=2", r#"{"a": 2}"#),
        ] {
            assert_eq!(json(python).as_deref(), Some(expected), "{python}");
            assert!(convert(python, 4).unwrap().repairs.is_empty(), "{python}");
        }
    }

    #[test]
    fn strings_without_quotes_are_repaired() {
        for (python, expected) in [
            ("city=Oslo", r#"{"city": "Oslo"}"#),
            ("city=New York, NY, days=3", r#"{"city": "New York, NY", "days": 3}"#),
            ("day=2024-05-01", r#"{"day": "2024-05-01"}"#),
            ("zip=00123", r#"{"zip": "00123"}"#),
            ("city=L'Aquila", r#"{"city": "L'Aquila"}"#),
            ("a=[red wine, beer], b=1", r#"{"a": ["red wine","beer"], "b": 1}"#),
        ] {
            assert_eq!(json(python).as_deref(), Some(expected), "{python}");
            assert!(!convert(python, 4).unwrap().repairs.is_empty(), "{python}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "1",
            "'x'",
            "a",
            "a=",
            "a=inf",
            "a=float('inf')",
            "a=-nan",
            "a='x",
            "a=[1",
            "a=[1 2]",
            "a={'k'}",
            "a={1: }",
            "a=[[[[]]]]",
            "a='x' b",
            "=1",
            "a==1",
            "a=f(1)",
            "**a",
        ] {
            assert_eq!(json(text), None, "{text}");
        }
        assert_eq!(json("a=[[[]]]").as_deref(), Some(r#"{"a": [[[]]]}"#));
    }
}
