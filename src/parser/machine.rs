//! The state between two chunks, and the pass that advances it.

use super::{
    block::OpenBlock,
    call::Call,
    frame::{Discard, Frame, Sink},
    grammar::{Closer, Grammar},
    literal::Literal,
    markdown::Markdown,
    markers::Lead,
    observation::Observation,
    search::{Bracket, is_plain},
    spans::Response,
    tag::{Match, TagMatch, Wanted},
    text::{FenceLine, PendingFence},
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
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(super) struct Machine {
    /// Position of the next byte to read.
    pub(super) pos: usize,
    /// Position of the first byte that has not been reported.
    pub(super) from: usize,
    pub(super) state: State,
    /// True if a chunk of text without special bytes simply continues the text before it: nothing
    /// is held back, and the line has begun.
    midline: bool,
    /// A tag that may have begun, in any state.
    pub(super) tag: Option<TagMatch>,
    /// A text that closes a span and may have begun.
    pub(super) literal: Option<Literal>,
    pub(super) markdown: Markdown,
    /// The first line of a fence, kept until it is known whether a call follows.
    pub(super) pending_fence: Option<PendingFence>,
    /// The closing tag that was missing from the last call.
    pub(super) orphan: Option<Closer>,
    /// The texts that would close the block that has just been left.
    pub(super) left: &'static [&'static str],
    /// True if the reply has no text yet but white space, so that shaped blocks count here.
    pub(super) beginning: bool,
    /// True if the reply has a line of [`React`](super::React).
    pub(super) thought: bool,
    /// True if the reply has a call of [`React`](super::React).
    pub(super) acted: bool,
    /// Position from which on the beginning of a line may be a marker.
    pub(super) line_from: usize,
    /// Position after a quoted marker and white space, where a marker is quoted as well;
    /// [`NOWHERE`](Self::NOWHERE) if there is none.
    pub(super) quoted_at: usize,
    /// The texts that would close the quoted block at the current position. All markers in it are
    /// quoted.
    pub(super) quoted_until: &'static [&'static str],
    /// Position after the marks that may close the open fence; [`NOWHERE`](Self::NOWHERE) if there
    /// are none.
    pub(super) fence_end: usize,
    /// True if the last character that has been dropped is a quotation mark.
    pub(super) quotation: bool,
    /// The dialect of the last block.
    pub(super) dialect: Option<&'static str>,
    /// Number of calls that have begun.
    pub(super) calls: usize,
}

/// The kind of text at the current position.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// At the beginning of the reply, which may open reasoning.
    Start,
    Text,
    FenceLine(FenceLine),
    Call(Box<Call>),
    Block(Box<OpenBlock>),
    Reasoning(usize),
    Response(Response),
    Observation(Observation),
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
    /// A position that no text has.
    const NOWHERE: usize = usize::MAX;

    /// Advance past `chunk` if it is plain.
    #[inline]
    pub(super) fn plain(&mut self, grammar: &Grammar, chunk: &str) -> Option<Plain> {
        if chunk.is_empty() {
            return None;
        }
        if self.midline {
            if !is_plain(chunk.as_bytes(), grammar) {
                return None;
            }
            self.pos += chunk.len();
            self.from = self.pos;
            return Some(Plain::Text);
        }
        if let Some(tag) = self.tag {
            return self.continue_tag(tag, grammar, chunk);
        }
        match &mut self.state {
            State::Call(call) => {
                let plain = call.plain(grammar, self.pos, chunk)?;
                self.pos += chunk.len();
                Some(plain)
            }
            State::Block(block) => {
                let plain = block.plain(grammar, self.pos, chunk)?;
                self.pos += chunk.len();
                Some(plain)
            }
            _ => None,
        }
    }

    /// Advance past `chunk` if it continues a possible tag in text or around a call.
    fn continue_tag(&mut self, mut tag: TagMatch, grammar: &Grammar, chunk: &str) -> Option<Plain> {
        let wanted = match &self.state {
            State::Text => self.wanted_in_text(grammar, tag.lead),
            State::Call(call) => call.wanted_close(grammar)?,
            _ => return None,
        };
        let mut pos = self.pos;
        if tag.scan(Window::new(chunk, pos), &mut pos, wanted) != Match::More {
            return None;
        }
        self.pos = pos;
        self.tag = Some(tag);
        Some(Plain::Nothing)
    }

    /// Enter a state during a step, which leaves the machine in [`Text`](State::Text).
    pub(super) fn enter(&mut self, state: State) {
        // Nothing to drop, which the compiler cannot know.
        std::mem::forget(std::mem::replace(&mut self.state, state));
    }

    /// Note whether the input ends in the middle of a line of text.
    fn note_midline(&mut self) {
        self.midline = matches!(self.state, State::Text)
            && self.tag.is_none()
            && self.pos == self.from
            && self.markdown.is_midline()
            // White space has a meaning here.
            && !self.beginning
            && self.quoted_at != self.pos;
    }

    /// Return the tags and other markers that are recognized in text.
    pub(super) fn wanted_in_text<'g>(&self, grammar: &'g Grammar, lead: Lead) -> Wanted<'g> {
        let orphan = self.orphan.filter(|_| lead == Lead::Angle);
        Wanted {
            open: Some(grammar.markers(lead)),
            close: orphan.map(|closer| grammar.closer(closer)),
            limit: grammar.limits().max_tag_bytes,
        }
    }

    pub(super) fn new(grammar: &Grammar) -> Self {
        let may_open = grammar.initial.is_some() || !grammar.leading.is_empty();
        Self {
            pos: 0,
            from: 0,
            state: if may_open { State::Start } else { State::Text },
            midline: false,
            tag: None,
            literal: None,
            markdown: Markdown::START,
            pending_fence: None,
            orphan: None,
            left: &[],
            beginning: grammar.has_lines,
            thought: false,
            acted: false,
            line_from: 0,
            quoted_at: Self::NOWHERE,
            quoted_until: &[],
            fence_end: Self::NOWHERE,
            quotation: false,
            dialect: None,
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
    pub(super) bracket: Option<Bracket>,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> Pass<'_, S> {
    /// Report everything that is certain.
    pub(super) fn run(&mut self) {
        loop {
            let state = match self.machine.state {
                State::Text => State::Text,
                _ => std::mem::replace(&mut self.machine.state, State::Text),
            };
            let flow = match state {
                State::Start => self.start(),
                State::Text => self.text(),
                State::FenceLine(line) => self.fence_line(line),
                State::Call(call) => self.call(call),
                State::Block(block) => self.block(block),
                State::Reasoning(tag) => self.reasoning(tag),
                State::Response(response) => self.response(response),
                State::Observation(observation) => self.observation(observation),
                State::QuotedResponse(tag) => self.quoted_response(tag),
            };
            if flow == Flow::NeedMore {
                return self.machine.note_midline();
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
