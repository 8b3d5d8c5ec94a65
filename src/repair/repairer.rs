//! The state machine behind [`repair_json`](super::repair_json): one pass, an explicit stack.

use serde_json::Value;

use super::{
    MAX_DEPTH, RepairedJson,
    frames::{Expect, Frame, Shape, pointer},
    lookahead::{StringContext, quote_at, starts_comment, word},
    scalar::{self, Word},
    string,
};
use crate::message::{Repair, RepairKind};

/// Maximum length of the text that a repair quotes, in characters.
const QUOTED_CHARS: usize = 80;

/// The assumption about a bracket that does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The wrong bracket in the right place.
    Replace,
    /// The right bracket, with other closing brackets missing before it.
    Insert,
    /// A superfluous bracket.
    Drop,
}

/// JSON white space.
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// A reader of broken JSON that writes valid JSON.
#[derive(Debug)]
pub(super) struct Repairer<'t> {
    text: &'t str,
    at: usize,
    out: String,
    frames: Vec<Frame>,
    repairs: Vec<Repair>,
    mismatch: Mismatch,
    mismatched: bool,
    /// Remaining budget for the paths of repairs, in bytes: a long key around many repairs would be
    /// repeated in each path.
    path_bytes: usize,
}

impl<'t> Repairer<'t> {
    pub(super) fn new(text: &'t str, mismatch: Mismatch) -> Self {
        Self {
            text,
            at: 0,
            out: String::with_capacity(text.len() + 16),
            frames: Vec::new(),
            repairs: Vec::new(),
            mismatch,
            mismatched: false,
            path_bytes: 8 * text.len() + (1 << 16),
        }
    }

    /// Repair the text; the second value is true if a bracket did not match.
    pub(super) fn run(mut self) -> (Option<RepairedJson>, bool) {
        let done = self.document();
        let repaired = done.map(|()| RepairedJson { text: self.out, repairs: self.repairs });
        (repaired, self.mismatched)
    }

    fn document(&mut self) -> Option<()> {
        self.before()?;
        while let Some(frame) = self.frames.last() {
            let (shape, expect) = (frame.shape, frame.expect);
            self.skip_blank()?;
            let Some(byte) = self.peek() else { return self.close_all() };
            match (expect, byte) {
                (Expect::Colon, b':') => {
                    self.take(1);
                    self.expect(Expect::Value);
                }
                (Expect::Colon, _) | (Expect::Value, b'}' | b']' | b')') => return None,
                (_, b'}' | b']' | b')') => self.close(byte)?,
                (Expect::Comma, b',') => {
                    let comma = self.out.len();
                    self.take(1);
                    if let Some(frame) = self.frames.last_mut() {
                        frame.comma = comma;
                        frame.index += 1;
                        frame.expect = Expect::Next;
                    }
                }
                (Expect::Comma, _) => self.insert_comma()?,
                (Expect::Next, b',') if shape == Shape::Object => {
                    self.drop_text(RepairKind::TrailingComma, 1)?;
                }
                (Expect::First | Expect::Next, _) if shape == Shape::Object => self.key()?,
                _ => self.value(byte)?,
            }
        }
        self.after()
    }

    /// Skip the text before the document, and open it.
    fn before(&mut self) -> Option<()> {
        let opened = self.text.trim_start();
        let opened = if opened.starts_with("```") {
            opened.trim_start_matches('`').trim_start_matches(char::is_alphanumeric).trim_start()
        } else {
            opened
        };
        let start = if opened.starts_with('[') {
            self.text.len() - opened.len()
        } else {
            self.text.find('{')?
        };
        if self.text[..start].bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.take(start);
        } else {
            self.drop_text(RepairKind::Debris, start)?;
        }
        let byte = self.peek()?;
        self.value(byte)
    }

    /// Drop the text after the document.
    fn after(&mut self) -> Option<()> {
        loop {
            self.copy_blank();
            match self.peek() {
                None => return Some(()),
                Some(b'}' | b']') => self.drop_text(RepairKind::WrongCloser, 1)?,
                Some(_) => {
                    let rest = self.text[self.at..].trim_end_matches(BLANK).len();
                    // Neither a second document nor the rest of this one is debris.
                    if self.text[self.at..].contains(['{', '}']) {
                        return None;
                    }
                    self.drop_text(RepairKind::Debris, rest)?;
                }
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        let start = self.at;
        let key = self.out.len();
        let mut changes = Vec::new();
        if let Some(quote) = quote_at(self.text, start) {
            changes = self.string(quote, true)?;
        } else {
            let word = word(self.text, start);
            if word.is_empty() {
                return None;
            }
            self.out.push('"');
            self.out.push_str(word);
            self.out.push('"');
            self.at += word.len();
            changes.push(RepairKind::BareKey);
        }
        let end = self.out.len();
        if let Some(frame) = self.frames.last_mut() {
            frame.key = key..end;
            frame.expect = Expect::Colon;
        }
        self.record_string(&changes, start, key)
    }

    fn value(&mut self, byte: u8) -> Option<()> {
        let start = self.at;
        let shape = match byte {
            b'{' => Shape::Object,
            b'[' => Shape::Array,
            b'(' => Shape::Tuple,
            _ => {
                let from = self.out.len();
                if let Some(quote) = quote_at(self.text, start) {
                    let changes = self.string(quote, false)?;
                    self.record_string(&changes, start, from)?;
                } else {
                    self.word()?;
                }
                self.expect(Expect::Comma);
                return Some(());
            }
        };
        if self.frames.len() == MAX_DEPTH {
            return None;
        }
        if shape == Shape::Tuple {
            self.record(self.frames.len(), RepairKind::Literal, "(", "[")?;
            self.out.push('[');
            self.at += 1;
        } else {
            self.take(1);
        }
        self.frames.push(Frame::new(shape));
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let word = word(self.text, self.at);
        let at_end = self.at + word.len() == self.text.len();
        if at_end && scalar::may_continue(word) {
            return None;
        }
        match scalar::value(word) {
            Word::Json => self.out.push_str(word),
            Word::Repaired(kind, repaired) => {
                self.record(self.frames.len(), kind, word, &repaired)?;
                self.out.push_str(&repaired);
            }
            Word::Unknown => return None,
        }
        self.at += word.len();
        Some(())
    }

    fn string(&mut self, quote: char, is_key: bool) -> Option<Vec<RepairKind>> {
        let [.., last] = self.frames.as_slice() else { return None };
        let outer = self.frames.len().checked_sub(2).map(|outer| self.frames[outer].shape);
        let context = StringContext { quote, is_key, shape: last.shape, outer };
        let read = string::read(self.text, self.at, context, &mut self.out)?;
        self.at = read.end;
        Some(read.changes)
    }

    fn record_string(&mut self, changes: &[RepairKind], start: usize, from: usize) -> Option<()> {
        for kind in changes {
            let before = truncated(&self.text[start..self.at]);
            let after = truncated(&self.out[from..]);
            self.record_values(self.frames.len(), *kind, before, after)?;
        }
        Some(())
    }

    /// Insert a missing comma.
    fn insert_comma(&mut self) -> Option<()> {
        let frame = self.frames.last_mut()?;
        // Python concatenates adjacent strings in parentheses.
        if frame.shape == Shape::Tuple {
            return None;
        }
        frame.comma = self.out.len();
        frame.index += 1;
        frame.expect = Expect::Next;
        self.out.push(',');
        self.record(self.frames.len() - 1, RepairKind::MissingComma, "", ",")
    }

    /// Close the innermost container, or the one that `bracket` shows to be unclosed.
    fn close(&mut self, bracket: u8) -> Option<()> {
        let shape = self.frames.last()?.shape;
        if shape.closes_with(bracket) {
            self.drop_trailing_comma()?;
            self.at += 1;
            return self.pop();
        }
        self.mismatched = true;
        let outer = || self.frames.iter().any(|frame| frame.shape.closes_with(bracket));
        if self.mismatch == Mismatch::Replace {
            self.drop_trailing_comma()?;
            let wrong = char::from(bracket).to_string();
            let right = shape.closer().to_string();
            self.record(self.frames.len() - 1, RepairKind::WrongCloser, &wrong, &right)?;
            self.at += 1;
            self.pop()
        } else if self.mismatch == Mismatch::Insert && outer() {
            self.close_missing()
        } else {
            self.drop_text(RepairKind::WrongCloser, 1)
        }
    }

    /// Close the innermost container, whose closing bracket is missing.
    fn close_missing(&mut self) -> Option<()> {
        let frame = self.frames.last()?;
        if matches!(frame.expect, Expect::Colon | Expect::Value) {
            return None;
        }
        let closer = frame.shape.closer().to_string();
        self.drop_trailing_comma()?;
        self.record(self.frames.len() - 1, RepairKind::MissingCloser, "", &closer)?;
        self.pop()
    }

    fn close_all(&mut self) -> Option<()> {
        // If the text is cut off, an inner quote may have been the end of a string.
        if self.repairs.iter().any(|repair| repair.kind == RepairKind::InnerQuote) {
            return None;
        }
        while !self.frames.is_empty() {
            self.close_missing()?;
        }
        Some(())
    }

    fn pop(&mut self) -> Option<()> {
        let frame = self.frames.pop()?;
        // `(1)` is a number in parentheses, `(1,)` a tuple.
        if frame.shape == Shape::Tuple && frame.index == 0 && frame.expect == Expect::Comma {
            return None;
        }
        self.out.push(frame.shape.closer());
        self.expect(Expect::Comma);
        Some(())
    }

    fn drop_trailing_comma(&mut self) -> Option<()> {
        let Some(frame) = self.frames.last() else { return Some(()) };
        if frame.expect != Expect::Next {
            return Some(());
        }
        self.out.remove(frame.comma);
        // The comma of a tuple with one item is not an error.
        if frame.shape == Shape::Tuple {
            return Some(());
        }
        self.record(self.frames.len() - 1, RepairKind::TrailingComma, ",", "")
    }

    /// Copy white space and drop comments.
    fn skip_blank(&mut self) -> Option<()> {
        loop {
            self.copy_blank();
            let rest = &self.text[self.at..];
            if let Some(inside) = rest.strip_prefix("/*") {
                let length = inside.find("*/")? + 4;
                self.drop_text(RepairKind::Comment, length)?;
            } else if starts_comment(self.text, self.at) {
                // Without an end of line the extent of the comment is uncertain.
                let length = rest.find('\n')?;
                self.drop_text(RepairKind::Comment, length)?;
            } else if let Some(ch) = rest.chars().next().filter(|ch| is_foreign_blank(*ch)) {
                self.drop_text(RepairKind::Debris, ch.len_utf8())?;
                self.out.push(' ');
            } else {
                return Some(());
            }
        }
    }

    fn copy_blank(&mut self) {
        let rest = &self.text[self.at..];
        let blank = rest.len() - rest.trim_start_matches(BLANK).len();
        self.take(blank);
    }

    /// Copy the next `length` bytes.
    fn take(&mut self, length: usize) {
        self.out.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
    }

    /// Drop the next `length` bytes.
    fn drop_text(&mut self, kind: RepairKind, length: usize) -> Option<()> {
        let dropped = &self.text[self.at..self.at + length];
        self.at += length;
        self.record(self.frames.len().saturating_sub(1), kind, dropped, "")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, expect: Expect) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expect = expect;
        }
    }

    /// Record a change at the current position in the first `depth` frames.
    fn record(&mut self, depth: usize, kind: RepairKind, before: &str, after: &str) -> Option<()> {
        self.record_values(depth, kind, truncated(before), truncated(after))
    }

    fn record_values(
        &mut self,
        depth: usize,
        kind: RepairKind,
        before: Value,
        after: Value,
    ) -> Option<()> {
        let frames = &self.frames[..depth];
        let keys: usize = frames.iter().map(|frame| frame.key.len() + 1).sum();
        self.path_bytes = self.path_bytes.checked_sub(keys)?;
        let path = pointer(frames, &self.out);
        self.repairs.push(Repair { path, kind, before, after });
        Some(())
    }
}

/// Return true for white space that JSON does not allow.
pub(super) fn is_foreign_blank(ch: char) -> bool {
    (ch.is_whitespace() && !ch.is_ascii())
        || matches!(ch, '\u{FEFF}' | '\u{200B}' | '\u{C}' | '\u{B}')
}

/// Return the beginning of `text`.
fn truncated(text: &str) -> Value {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
