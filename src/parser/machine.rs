//! The state between two chunks, and the pass that advances it.

use super::{
    call::Call,
    frame::{Discard, Frame, Sink},
    grammar::{Closer, Grammar},
    markdown::Markdown,
    spans::Response,
    tag::{Match, TagMatch, Wanted},
    text::{FenceLine, PendingFence, find_special},
    window::Window,
};

/// The way in which a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model finished.
    Complete,
    /// The model was cut off: open calls must not be completed.
    Truncated,
}

/// The state between two chunks, apart from the buffered text.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Position of the next byte to read.
    pub(super) pos: usize,
    /// Position of the first byte that has not been reported.
    pub(super) from: usize,
    pub(super) state: State,
    /// A tag that may have begun, in any state.
    pub(super) tag: Option<TagMatch>,
    pub(super) markdown: Markdown,
    /// The first line of a fence, kept until it is known whether a call follows.
    pub(super) pending_fence: Option<PendingFence>,
    /// The closing tag that was missing from the last call.
    pub(super) orphan: Option<Closer>,
    /// Number of calls that have begun.
    pub(super) calls: usize,
}

/// The kind of text at the current position.
#[derive(Clone, Debug)]
pub(super) enum State {
    Text,
    FenceLine(FenceLine),
    Call(Box<Call>),
    Reasoning(usize),
    Response(Response),
    /// A result within a sentence, with the tag that closes it.
    QuotedResponse(&'static str),
}

/// The result of one step of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The state changed; continue.
    Again,
    /// More input is needed before anything else is certain.
    NeedMore,
}

/// The kind of a plain chunk, which simply continues the text before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Text.
    Text,
    /// Part of a string in the payload of the open call.
    Fragment {
        /// The call.
        index: usize,
    },
    /// A chunk without output: part of a possible tag, or of a payload whose deltas are not reported.
    Nothing,
}

impl Machine {
    /// Advance past `chunk` if it is plain.
    #[inline]
    pub(super) fn plain(&mut self, grammar: &Grammar, chunk: &str) -> Option<Plain> {
        if chunk.is_empty() {
            return None;
        }
        if let Some(tag) = self.tag {
            return self.continue_tag(tag, grammar, chunk);
        }
        match &mut self.state {
            State::Text => {
                if self.pos != self.from
                    || !self.markdown.is_midline()
                    || find_special(chunk.as_bytes()).is_some()
                {
                    return None;
                }
                self.pos += chunk.len();
                self.from = self.pos;
                Some(Plain::Text)
            }
            State::Call(call) => {
                let plain = call.plain(grammar, self.pos, chunk)?;
                self.pos += chunk.len();
                Some(plain)
            }
            _ => None,
        }
    }

    /// Advance past `chunk` if it continues a possible tag in text.
    fn continue_tag(&mut self, mut tag: TagMatch, grammar: &Grammar, chunk: &str) -> Option<Plain> {
        if !matches!(self.state, State::Text) {
            return None;
        }
        let mut pos = self.pos;
        let wanted = self.wanted_in_text(grammar);
        if tag.scan(Window::new(chunk, pos), &mut pos, wanted) != Match::More {
            return None;
        }
        self.pos = pos;
        self.tag = Some(tag);
        Some(Plain::Nothing)
    }

    /// Return the tags that are recognized in text.
    pub(super) fn wanted_in_text<'g>(&self, grammar: &'g Grammar) -> Wanted<'g> {
        Wanted {
            open: Some(&grammar.markers),
            close: self.orphan.map(|closer| grammar.closer(closer)),
            limit: grammar.limits().max_tag_bytes,
        }
    }

    pub(super) fn new() -> Self {
        Self {
            pos: 0,
            from: 0,
            state: State::Text,
            tag: None,
            markdown: Markdown::START,
            pending_fence: None,
            orphan: None,
            calls: 0,
        }
    }
}

/// One pass over the buffered text.
pub(super) struct Pass<'a, S> {
    pub(super) grammar: &'a Grammar,
    pub(super) window: Window<'a>,
    /// The ending of the reply, once it has ended.
    pub(super) ending: Option<Ending>,
    pub(super) machine: &'a mut Machine,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Pass<'_, S> {
    /// Report everything that is certain.
    pub(super) fn run(&mut self) {
        loop {
            let flow = match std::mem::replace(&mut self.machine.state, State::Text) {
                State::Text => self.text(),
                State::FenceLine(line) => self.fence_line(line),
                State::Call(call) => self.call(call),
                State::Reasoning(tag) => self.reasoning(tag),
                State::Response(response) => self.response(response),
                State::QuotedResponse(tag) => self.quoted_response(tag),
            };
            if flow == Flow::NeedMore {
                return;
            }
        }
    }

    /// Report the text up to `to`.
    pub(super) fn emit_text(&mut self, to: usize) {
        if to > self.machine.from {
            self.sink.take(Frame::Text(self.window.slice(self.machine.from, to)));
            self.machine.from = to;
        }
    }

    /// Report the bytes up to `to` as neither text nor call.
    pub(super) fn discard(&mut self, to: usize, reason: Discard) {
        if to > self.machine.from {
            let raw = self.window.slice(self.machine.from, to);
            self.sink.take(Frame::Discarded { raw, reason });
            self.machine.from = to;
        }
    }
}
