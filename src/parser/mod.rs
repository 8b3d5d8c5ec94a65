//! Incremental parsing of tool calls in a streamed reply.
//!
//! Feed text as it arrives with [`Parser::push`]. Each call reports, as [`Frame`]s, what is now
//! certain; a tag cut in half waits for the next chunk. End the reply with [`Parser::finish`]. Any
//! split of the reply gives the same frames once neighbouring pieces of text are joined, and every
//! byte is in exactly one frame. The arguments of calls are validated by [`calls`](crate::calls).
//!
//! ```
//! use toolweave::parser::{Ending, Frame, Options, Parser};
//!
//! let mut parser = Parser::new(["GetWeather"], Options::default())?;
//! let mut seen = Vec::new();
//! for chunk in ["Sure. <GetW", "eather>{\"city\": \"Oslo\"}</Get", "Weather>"] {
//!     parser.push(chunk, &mut |frame: Frame<'_>| match frame {
//!         Frame::Text(text) => seen.push(text.to_owned()),
//!         Frame::CallEnd(found) => seen.push(format!("{} {}", found.name, found.payload)),
//!         _ => {}
//!     });
//! }
//! parser.finish(Ending::Complete, &mut |_: Frame<'_>| unreachable!("all was certain"));
//! assert_eq!(seen, ["Sure. ", "GetWeather {\"city\": \"Oslo\"}"]);
//! # Ok::<(), toolweave::parser::GrammarError>(())
//! ```

mod block;
mod call;
mod dialect;
mod escape;
mod frame;
mod grammar;
mod html;
mod json;
mod limits;
mod literal;
mod machine;
mod markdown;
mod markers;
mod marks;
mod native;
mod observation;
mod reasoning;
mod search;
mod spans;
mod tag;
#[cfg(test)]
mod tests;
mod text;
mod window;
pub(crate) mod work;

pub use self::{
    block::{
        BareKeys, Body, Boundary, CallName, CallTags, Envelopes, Harmony, Headed, Header, Mark,
        Pairs, Parameters, Python, React,
    },
    dialect::{
        ArgumentMarkup, Block, CallMarkup, Dialect, Entry, Evidence, Form, IdForm, JsonLayout,
        JsonList, MemberMarkup, NameRule, PayloadRule, ResultContent, ResultMarkup, Several,
        Teaching, ToolList, Values, Writing,
    },
    frame::{CallId, Discard, Excess, FoundCall, Frame, Outcome, Sink, Syntax},
    grammar::{Dialects, GrammarError, InCode, Options, REASONING_TAGS},
    html::is_element as is_html_element,
    limits::{LimitError, Limits},
    machine::{Ending, Plain},
    markers::is_tag,
};
pub(crate) use self::{
    escape::{Escape, EscapeStep, Faults},
    tag::{attribute, opening_tag},
};

use std::sync::Arc;

use self::{
    grammar::Grammar,
    machine::{Machine, Pass, State},
    window::Window,
};

/// A parser that splits a streamed reply into text and calls.
#[derive(Clone, Debug)]
pub struct Parser {
    grammar: Arc<Grammar>,
    machine: Machine,
    /// The part of the reply that is still needed.
    buffer: String,
    /// Number of bytes before that part.
    base: usize,
}

/// Capacity in bytes that an empty buffer may keep.
const MAX_RETAINED_CAPACITY: usize = 64 << 10;

impl Parser {
    /// Create a parser for calls to these tools.
    pub fn new<I>(tools: I, options: Options) -> Result<Self, GrammarError>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let tools = tools.into_iter().map(Into::into).collect();
        Ok(Self::of(Arc::new(Grammar::new(tools, options)?)))
    }

    fn of(grammar: Arc<Grammar>) -> Self {
        let machine = Machine::new(&grammar);
        Self { grammar, machine, buffer: String::new(), base: 0 }
    }

    /// Return a parser for the same tools and options without any input. Nothing is compiled again.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self::of(Arc::clone(&self.grammar))
    }

    /// Read the next chunk and report the events that are now certain.
    pub fn push(&mut self, chunk: &str, sink: &mut impl Sink) {
        match self.push_plain(chunk) {
            None => self.advance(chunk, None, sink),
            Some(Plain::Text) => sink.take(Frame::Text(chunk)),
            Some(Plain::Fragment { index }) => {
                sink.take(Frame::CallDelta { index, fragment: chunk });
            }
            Some(Plain::Nothing) => {}
        }
    }

    /// Read the next chunk if it is plain, as most chunks are, and return its kind.
    ///
    /// [`push`](Self::push) begins with this. A caller that handles whole chunks better than spans
    /// may call it first; `None` means that nothing has been read.
    #[inline]
    pub fn push_plain(&mut self, chunk: &str) -> Option<Plain> {
        let plain = self.machine.plain(&self.grammar, chunk)?;
        if plain == Plain::Text {
            self.base = self.machine.from;
            self.note_quotation(chunk);
        } else {
            work::count(chunk.len());
            self.buffer.push_str(chunk);
        }
        Some(plain)
    }

    /// End the reply, report its remaining events and prepare for the next reply.
    pub fn finish(&mut self, ending: Ending, sink: &mut impl Sink) {
        self.advance("", Some(ending), sink);
        self.reset();
    }

    /// Report text that is held back, where more could have made it a call, as text.
    ///
    /// Do this before a call that is transported apart from the text. An open call stays open.
    pub fn flush_text(&mut self, sink: &mut impl Sink) {
        let is_text = matches!(self.machine.state, State::Text | State::FenceLine(_));
        if is_text && !self.buffer.is_empty() {
            self.advance("", Some(Ending::Complete), sink);
        }
    }

    /// Discard the reply.
    pub fn reset(&mut self) {
        *self = self.fresh();
    }

    /// Return the number of buffered bytes.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn advance(&mut self, chunk: &str, ending: Option<Ending>, sink: &mut impl Sink) {
        if self.buffer.is_empty() {
            self.pass(chunk, ending, sink);
            let (done, rest) = chunk.split_at(self.machine.from - self.base);
            self.note_quotation(done);
            if !rest.is_empty() {
                work::count(rest.len());
                self.buffer.push_str(rest);
            }
        } else {
            let mut text = std::mem::take(&mut self.buffer);
            text.push_str(chunk);
            work::count(chunk.len());
            self.pass(&text, ending, sink);
            let done = self.machine.from - self.base;
            self.note_quotation(&text[..done]);
            if done == text.len() && text.capacity() > MAX_RETAINED_CAPACITY {
                text = String::new();
            } else if done == text.len() {
                text.clear();
            } else if done > 0 {
                work::count(text.len() - done);
                text.drain(..done);
            }
            self.buffer = text;
        }
        self.base = self.machine.from;
    }

    /// Note whether the text before the buffer, which ends with `done`, ends with a quotation mark.
    #[inline]
    fn note_quotation(&mut self, done: &str) {
        if self.grammar.has_blocks && !done.is_empty() {
            self.machine.quotation = marks::ends_with_quotation_mark(done);
        }
    }

    fn pass(&mut self, text: &str, ending: Option<Ending>, sink: &mut impl Sink) {
        let window = Window::new(text, self.base);
        let machine = &mut self.machine;
        Pass { grammar: &self.grammar, window, ending, machine, bracket: None, sink }.run();
    }
}
