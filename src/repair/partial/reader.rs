//! The state machine: one pass, character by character, an explicit stack.

use std::{collections::VecDeque, mem, sync::Arc};

use serde_json::Value;

use super::{
    Container, Edit, PartialSchema, Step,
    ending::{BLANK, Ending, Verdict},
    escape::{Escape, Escaped},
    place::Place,
    state::{Before, Frame, State, Text},
};
use crate::repair::{
    MAX_DEPTH,
    frames::Expect,
    lookahead::{closes, is_quote},
    repairer::is_foreign_blank,
    scalar::{self, Word, is_word_char},
};
use crate::validator::excess;

/// Maximum number of times that a character is read on average: text after a quote is read again
/// when it is decided whether the string ends there. Beyond, reading stops.
const MAX_READS: usize = 8;

/// A reader of JSON that is still being written.
///
/// The edits depend on the text alone, not on how it is cut into chunks. The time is linear in its
/// length. Where the text is damaged so that the rest decides about its beginning, reading stops, and
/// so do the edits.
#[derive(Debug)]
pub struct PartialReader {
    schema: Arc<PartialSchema>,
    max_depth: usize,
    max_bytes: usize,
    /// Bytes of the text so far.
    bytes: usize,
    /// Characters read so far, those read again included.
    reads: usize,
    state: State,
    frames: Vec<Frame>,
    /// The bare word or the string that is being read.
    content: String,
    text: Text,
    /// The text after a quote that may end its string.
    held: String,
    /// Characters to read before those of the next chunk.
    queue: VecDeque<char>,
}

/// The consumer of edits.
type Sink<'a> = &'a mut dyn FnMut(Edit<'_>);

impl PartialReader {
    /// Create a reader of a text of up to `max_bytes`, nested at most `max_depth` levels deep.
    pub fn new(schema: Arc<PartialSchema>, max_depth: usize, max_bytes: usize) -> Self {
        Self {
            schema,
            max_depth: max_depth.min(MAX_DEPTH),
            max_bytes,
            bytes: 0,
            reads: 0,
            state: State::Before(Before::Blank),
            frames: Vec::new(),
            content: String::new(),
            text: Text::new('"', false, false),
            held: String::new(),
            queue: VecDeque::new(),
        }
    }

    /// Return true if there will be no more edits.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Return the number of characters read, those read again included.
    #[cfg(test)]
    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    /// Read the next chunk and report the changes to the value.
    pub fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Edit<'_>)) {
        let mut end = chunk.len().min(self.max_bytes - self.bytes);
        while !chunk.is_char_boundary(end) {
            end -= 1;
        }
        let mut rest = &chunk[..end];
        while let Some(ch) = rest.chars().next() {
            let plain = match self.state {
                State::Done => break,
                State::Text => plain(rest, self.text.quote),
                _ => 0,
            };
            let length = if plain > 0 { plain } else { ch.len_utf8() };
            self.bytes += length;
            if plain > 0 {
                self.content.push_str(&rest[..plain]);
                self.reads += plain;
            } else {
                self.queue.push_back(ch);
            }
            while let Some(ch) = self.queue.pop_front() {
                self.reads += 1;
                self.read(ch, sink);
            }
            if self.reads > MAX_READS * (self.bytes + MAX_DEPTH) {
                self.stop();
            }
            rest = &rest[length..];
        }
        self.flush(sink);
        if end < chunk.len() {
            self.stop();
        }
    }

    /// Report the new text of the open string.
    fn flush(&mut self, sink: Sink<'_>) {
        if self.text.live && !self.content.is_empty() {
            sink(Edit::Append(&self.content));
            self.content.clear();
        }
    }

    /// Stop reading: nothing more is certain.
    fn stop(&mut self) {
        self.state = State::Done;
        self.queue.clear();
    }

    fn read(&mut self, ch: char, sink: Sink<'_>) {
        match &mut self.state {
            State::Before(before) => {
                let before = *before;
                self.before(before, ch, sink);
            }
            State::Between => self.between(ch, sink),
            State::Slash if ch == '/' => self.state = State::LineComment,
            State::Slash if ch == '*' => self.state = State::BlockComment { star: false },
            State::LineComment if ch == '\n' => self.state = State::Between,
            State::BlockComment { star: true } if ch == '/' => self.state = State::Between,
            State::BlockComment { star } => *star = ch == '*',
            State::LineComment => {}
            State::Word if is_word_char(ch) => self.content.push(ch),
            State::Word => {
                self.end_word(sink);
                self.again(ch);
            }
            State::Text => self.in_text(ch),
            State::Escape(escape) => {
                if let Escaped::Done { content, rest } = escape.read(ch) {
                    self.content.push_str(&content);
                    self.state = State::Text;
                    self.read_again(&rest);
                }
            }
            State::End(ending) => {
                self.held.push(ch);
                let verdict = ending.read(ch);
                let comma = ending.comma;
                if verdict != Verdict::More {
                    self.end_text(verdict == Verdict::Ends, comma, sink);
                }
            }
            State::Slash | State::Done => self.stop(),
        }
    }

    /// Read `ch` again, unless reading has stopped.
    fn again(&mut self, ch: char) {
        if !self.is_done() {
            self.queue.push_front(ch);
        }
    }

    fn read_again(&mut self, text: &str) {
        if !self.is_done() {
            text.chars().rev().for_each(|ch| self.queue.push_front(ch));
        }
    }

    /// Find the document as repair does: an array only if the text begins with it, else the first
    /// brace.
    fn before(&mut self, before: Before, ch: char, sink: Sink<'_>) {
        let next = match (before, ch) {
            (_, '{') | (Before::Blank | Before::Label | Before::AfterLabel, '[') => {
                return self.value(ch, sink);
            }
            (Before::Ticks(3..), '[') => return self.value(ch, sink),
            // A string may be the whole text.
            (Before::Blank, '"') => return self.stop(),
            (Before::Blank, '`') => Before::Ticks(1),
            (Before::Ticks(count), '`') => Before::Ticks(count + 1),
            (Before::Blank, _) if ch.is_whitespace() => Before::Blank,
            (Before::Ticks(3..) | Before::Label, _) if ch.is_alphanumeric() => Before::Label,
            (Before::Ticks(3..) | Before::Label | Before::AfterLabel, _) if ch.is_whitespace() => {
                Before::AfterLabel
            }
            _ => Before::Prose,
        };
        self.state = State::Before(next);
    }

    fn between(&mut self, ch: char, sink: Sink<'_>) {
        if BLANK.contains(&ch) || is_foreign_blank(ch) {
            return;
        }
        let Some(frame) = self.frames.last_mut() else { return self.stop() };
        let is_object = frame.container == Container::Object;
        match (frame.expect, ch) {
            (_, '/') => self.state = State::Slash,
            (_, '#') => self.state = State::LineComment,
            (Expect::Colon, ':') => frame.expect = Expect::Value,
            (Expect::Colon, _) | (Expect::Value, '}' | ']' | ')') => self.stop(),
            (_, '}') if is_object => self.close(sink),
            (_, ']') if !is_object => self.close(sink),
            // The rest shows which bracket is missing or superfluous.
            (_, '}' | ']' | ')') => self.stop(),
            (Expect::Comma, _) => {
                frame.index += 1;
                frame.expect = Expect::Next;
                // A missing comma is inserted.
                if ch != ',' {
                    self.between(ch, sink);
                }
            }
            (Expect::Next, ',') if is_object => {}
            (Expect::First | Expect::Next, _) if is_object => self.key(ch),
            _ => self.value(ch, sink),
        }
    }

    fn key(&mut self, ch: char) {
        if is_quote(ch) {
            self.open_text(Text::new(ch, true, false));
        } else {
            self.word(ch);
        }
    }

    fn value(&mut self, ch: char, sink: Sink<'_>) {
        match ch {
            '{' => self.open(Container::Object, sink),
            '[' => self.open(Container::Array, sink),
            _ if is_quote(ch) => {
                let place = self.place();
                let live = place.keeps_text(&self.schema);
                self.open_text(Text::new(ch, false, live));
                if live {
                    sink(Edit::OpenText(self.step()));
                }
            }
            _ => self.word(ch),
        }
    }

    fn word(&mut self, ch: char) {
        if !is_word_char(ch) {
            return self.stop();
        }
        self.content.clear();
        self.content.push(ch);
        self.state = State::Word;
    }

    fn end_word(&mut self, sink: Sink<'_>) {
        self.state = State::Between;
        let word = mem::take(&mut self.content);
        let is_key = self.frames.last().is_some_and(|frame| {
            frame.container == Container::Object && frame.expect != Expect::Value
        });
        if is_key {
            return self.end_key(word);
        }
        let text = match scalar::value(&word) {
            Word::Json => word,
            Word::Repaired(_, text) => text,
            Word::Unknown => return self.stop(),
        };
        match serde_json::from_str(&text) {
            Ok(value) => self.scalar(&value, sink),
            Err(_) => self.stop(),
        }
    }

    fn open_text(&mut self, text: Text) {
        self.content.clear();
        self.text = text;
        self.state = State::Text;
    }

    fn in_text(&mut self, ch: char) {
        let text = &mut self.text;
        if closes(text.quote, ch) {
            text.last = ch;
            self.held.clear();
            let [.., frame] = self.frames.as_slice() else { return self.stop() };
            let outer = self.frames.len().checked_sub(2).map(|at| self.frames[at].container);
            self.state = State::End(Ending::new(text.quote, text.is_key, frame.container, outer));
        } else if ch == '\\' {
            self.state = State::Escape(Escape::default());
        } else {
            self.content.push(ch);
        }
    }

    /// Continue after the text that decides about a quote. The rules are those of repair.
    fn end_text(&mut self, ends: bool, comma: bool, sink: Sink<'_>) {
        let held = mem::take(&mut self.held);
        let text = &mut self.text;
        let in_array = self.frames.last().is_some_and(|frame| frame.container == Container::Array);
        let odd = text.inner_quotes % 2 == 1;
        // This may be the second of a pair of inner quotes.
        let in_pair = odd && text.quote == '"' && in_array && comma;
        if ends && !in_pair {
            if text.passed_an_end && odd {
                return self.stop();
            }
            self.state = State::Between;
            self.complete_text(sink);
        } else if text.is_key {
            return self.stop();
        } else {
            text.passed_an_end |= ends;
            text.inner_quotes += 1;
            self.content.push(text.last);
            self.state = State::Text;
        }
        self.read_again(&held);
    }

    fn complete_text(&mut self, sink: Sink<'_>) {
        let content = mem::take(&mut self.content);
        if self.text.is_key {
            return self.end_key(content);
        }
        if !mem::take(&mut self.text.live) {
            return self.scalar(&Value::String(content), sink);
        }
        if !content.is_empty() {
            sink(Edit::Append(&content));
        }
        sink(Edit::CloseText);
        self.expect(Expect::Comma);
    }

    fn end_key(&mut self, key: String) {
        let Some(frame) = self.frames.last_mut() else { return self.stop() };
        frame.expect = Expect::Colon;
        // Of a repeated key the last value counts, so the one that is shown may be wrong.
        if frame.shown && !frame.keys.insert(key.clone()) {
            return self.stop();
        }
        frame.place.narrow_by_key(&self.schema, &key);
        frame.key = key;
    }

    /// Return the schemas of the next value; none if it cannot be reported.
    fn place(&self) -> Place {
        match self.frames.last() {
            None => Place::start(&self.schema),
            Some(frame) if !frame.accepts => Place::unknown(),
            Some(Frame { container: Container::Object, place, key, .. }) => {
                place.member(&self.schema, key)
            }
            Some(frame) => frame.place.item(&self.schema, frame.index),
        }
    }

    fn step(&self) -> Step<'_> {
        match self.frames.last() {
            None => Step::Root,
            Some(Frame { container: Container::Object, key, .. }) => Step::Key(key),
            Some(_) => Step::Item,
        }
    }

    fn scalar(&mut self, value: &Value, sink: Sink<'_>) {
        // Such a number makes the whole text invalid.
        if excess(value).is_some() {
            return self.stop();
        }
        if let Some(Frame { container: Container::Object, place, key, .. }) = self.frames.last_mut()
        {
            place.narrow_by_value(&self.schema, key, value);
        }
        match self.place().scalar(&self.schema, value) {
            Some(value) => sink(Edit::Value(self.step(), &value)),
            None => self.withhold(),
        }
        self.expect(Expect::Comma);
    }

    /// Skip a value that is not certain.
    fn withhold(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && frame.container == Container::Array
        {
            frame.accepts = false;
        }
    }

    fn open(&mut self, container: Container, sink: Sink<'_>) {
        if self.frames.len() == self.max_depth {
            return self.stop();
        }
        let place = self.place().inside(&self.schema, container);
        let shown = !place.is_unknown();
        if shown {
            sink(Edit::Open(self.step(), container));
        } else {
            self.withhold();
        }
        self.frames.push(Frame::new(container, place, shown));
        self.state = State::Between;
    }

    fn close(&mut self, sink: Sink<'_>) {
        if self.frames.pop().is_some_and(|frame| frame.shown) {
            sink(Edit::Close);
        }
        if self.frames.is_empty() {
            return self.stop();
        }
        self.expect(Expect::Comma);
    }

    fn expect(&mut self, expect: Expect) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expect = expect;
        }
    }
}

/// Return the length of the text that stands for itself in a string.
fn plain(text: &str, quote: char) -> usize {
    text.find(|ch| ch == '\\' || closes(quote, ch)).unwrap_or(text.len())
}
