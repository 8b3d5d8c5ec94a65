//! Finding tool calls in a reply while it streams.
//!
//! Feed text as it arrives with [`Parser::push`]. Each call reports, as [`Frame`]s, what is now
//! certain; a tag cut in half waits for the next chunk. End the reply with [`Parser::finish`].
//! However the reply is cut, the same frames come out once neighbouring pieces of text are
//! joined, and every byte of it is in exactly one of them. Whether a call's arguments are any
//! good is decided one floor up, in [`calls`](crate::calls).
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

mod spans;
mod call;
mod dialect;
mod escape;
mod frame;
mod grammar;
mod html;
mod json;
mod limits;
mod machine;
mod markdown;
mod native;
mod tag;
#[cfg(test)]
mod tests;
mod text;
mod window;
pub(crate) mod work;

pub(crate) use self::tag::{attribute, opening_tag};
pub use self::{
    dialect::{Dialect, Form, NameRule, PayloadRule},
    frame::{Discard, Excess, FoundCall, Frame, Outcome, Sink},
    grammar::{GrammarError, InCode, Options, REASONING_TAGS},
    limits::{LimitError, Limits},
    machine::{Ending, Plain},
};

use std::sync::Arc;

use self::{
    grammar::Grammar,
    machine::{Machine, Pass},
    window::Window,
};

/// Splits a streamed reply into text and calls.
#[derive(Clone, Debug)]
pub struct Parser {
    grammar: Arc<Grammar>,
    machine: Machine,
    /// The bytes of the reply that are still needed.
    buffer: String,
    /// Number of bytes that came before them.
    base: usize,
}

/// An empty buffer keeps no more than this, however long the last call was.
const MAX_RETAINED_CAPACITY: usize = 64 << 10;

impl Parser {
    /// Create a parser for calls to these tools.
    pub fn new<I>(tools: I, options: Options) -> Result<Self, GrammarError>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let tools = tools.into_iter().map(Into::into).collect();
        Ok(Self {
            grammar: Arc::new(Grammar::new(tools, options)?),
            machine: Machine::new(),
            buffer: String::new(),
            base: 0,
        })
    }

    /// Return a parser for the same tools and options that has read nothing. It costs next to
    /// nothing.
    #[must_use]
    pub fn fresh(&self) -> Self {
        Self {
            grammar: Arc::clone(&self.grammar),
            machine: Machine::new(),
            buffer: String::new(),
            base: 0,
        }
    }

    /// Take the next chunk and report what it makes certain.
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

    /// Take the next chunk if it is plain, which most chunks are, and says what it is.
    ///
    /// [`push`](Self::push) begins with this. A caller that can do more with a whole chunk than
    /// with a span of it may call it first; `None` means that nothing has been taken.
    #[inline]
    pub fn push_plain(&mut self, chunk: &str) -> Option<Plain> {
        let plain = self.machine.plain(&self.grammar, chunk)?;
        if plain == Plain::Text {
            self.base = self.machine.from;
        } else {
            work::done(chunk.len());
            self.buffer.push_str(chunk);
        }
        Some(plain)
    }

    /// End the reply, report the rest and gets ready for the next one.
    pub fn finish(&mut self, ending: Ending, sink: &mut impl Sink) {
        self.advance("", Some(ending), sink);
        self.reset();
    }

    /// Forget the reply.
    pub fn reset(&mut self) {
        self.machine = Machine::new();
        self.buffer = String::new();
        self.base = 0;
    }

    /// Return the number of bytes that are held back.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn advance(&mut self, chunk: &str, ending: Option<Ending>, sink: &mut impl Sink) {
        if self.buffer.is_empty() {
            self.pass(chunk, ending, sink);
            let rest = &chunk[self.machine.from - self.base..];
            work::done(rest.len());
            self.buffer.push_str(rest);
        } else {
            let mut text = std::mem::take(&mut self.buffer);
            text.push_str(chunk);
            work::done(chunk.len());
            self.pass(&text, ending, sink);
            let done = self.machine.from - self.base;
            if done == text.len() && text.capacity() > MAX_RETAINED_CAPACITY {
                text = String::new();
            } else if done > 0 {
                work::done(text.len() - done);
                text.drain(..done);
            }
            self.buffer = text;
        }
        self.base = self.machine.from;
    }

    fn pass(&mut self, text: &str, ending: Option<Ending>, sink: &mut impl Sink) {
        let window = Window::new(text, self.base);
        let machine = &mut self.machine;
        Pass { grammar: &self.grammar, window, ending, machine, sink }.run();
    }
}
