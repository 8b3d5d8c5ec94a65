//! Text outside calls: prose, Markdown code, and the tags that begin something else.

use super::{
    call::Call,
    frame::{Discard, Frame, Sink},
    grammar::{Closer, InCode},
    machine::{Flow, Pass, State},
    markdown::{Block, Fence, Lead, LineStart, Markdown, is_data},
    markers::{self, Marker},
    spans::Response,
    tag::{Match, TagMatch, attribute},
    work,
};

/// A line that may open or close a fenced block.
#[derive(Clone, Copy, Debug)]
pub(super) struct FenceLine {
    /// Position of its first mark.
    start: usize,
    mark: u8,
    part: FencePart,
}

#[derive(Clone, Copy, Debug)]
enum FencePart {
    /// In the marks.
    Marks,
    /// After the marks, on the same line.
    Label { length: usize, blank: bool },
    /// After the line, which has no label or one for data: the next non-blank character determines
    /// the kind of the block.
    Blank { length: usize, body: usize },
}

/// The first line of a fence before a tag that may turn out to be a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingFence {
    start: usize,
    /// Start of the next line.
    body: usize,
    pub(super) fence: Fence,
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn text(&mut self) -> Flow {
        if let Some(tag) = self.machine.tag.take() {
            return self.text_tag(tag);
        }
        if let Some(flow) = self.begin_text() {
            return flow;
        }
        loop {
            let rest = self.window.from(self.machine.pos);
            let Some(found) = self.find_special(rest) else {
                let end = self.window.end();
                self.machine.pos = end;
                self.emit_text(end - self.held_prefix());
                return Flow::NeedMore;
            };
            let at = self.machine.pos + found;
            self.machine.pos = at + 1;
            match rest[found] {
                b'\n' => {
                    if !self.next_line(&rest[found + 1..])
                        && let Some(flow) = self.begin_text()
                    {
                        return flow;
                    }
                }
                b'`' if self.machine.markdown.in_block() => {}
                b'`' => {
                    self.machine.markdown.run = 1;
                    self.backtick_run();
                }
                _ if self.is_example() && self.machine.fence_end != at => {}
                b'[' => return self.text_tag(TagMatch::at(at, markers::Lead::Bracket)),
                b'<' if self.may_be_tag(&rest[found + 1..]) => {
                    return self.text_tag(TagMatch::new(at));
                }
                b'<' => self.machine.beginning = false,
                _ => {}
            }
        }
    }

    /// Read what has a meaning only at the beginning of text or of a line.
    fn begin_text(&mut self) -> Option<Flow> {
        if self.machine.quoted_at == self.machine.pos {
            self.after_quoted();
        }
        let flow = self.line_start().or_else(|| self.line_mark());
        if flow.is_none() {
            self.backtick_run();
        }
        flow
    }

    /// Begin the next line of `rest`; return false if its beginning has to be looked at.
    fn next_line(&mut self, rest: &[u8]) -> bool {
        let blank = rest.iter().take_while(|&&byte| byte == b'\n').count();
        work::count(blank + 1);
        self.machine.pos += blank;
        self.machine.markdown.newline();
        let Some(&first) = rest.get(blank) else { return false };
        if self.machine.beginning || self.machine.thought {
            return false;
        }
        self.machine.markdown.quoted = match self.grammar.line_starts[usize::from(first)] {
            LineStart::Text => false,
            LineStart::Quote => true,
            LineStart::Other => return false,
        };
        self.machine.markdown.lead = Lead::Text { at: self.machine.pos, alone: true };
        true
    }

    /// Return true if the text at the current position is an example, in which no marker counts.
    fn is_example(&self) -> bool {
        self.grammar.options.in_code == InCode::Text && self.machine.markdown.in_code()
    }

    /// Return true if a `<` before `rest` can begin a tag.
    fn may_be_tag(&self, rest: &[u8]) -> bool {
        let tags = self.grammar.tags();
        match rest.first() {
            Some(b'/') if self.machine.orphan.is_some() => true,
            // Without a block before it, a text that closes one is text.
            Some(b'/')
                if self.machine.left.is_empty()
                    && self.machine.quoted_until.is_empty()
                    && !tags.opens_with_slash =>
            {
                false
            }
            _ => tags.may_begin(rest),
        }
    }

    /// Skip blanks at the start of a line or after markup, note where text begins, and enter the
    /// fence if there is one.
    fn line_start(&mut self) -> Option<Flow> {
        loop {
            let at = self.machine.pos;
            let lead = self.machine.markdown.lead;
            if let Lead::Text { .. } = lead {
                return None;
            }
            // The main loop reports the text so far.
            let byte = self.window.byte(at)?;
            let alone = match (lead, byte) {
                (Lead::Indent(indent), b' ') if indent < Markdown::MAX_INDENT => {
                    self.machine.markdown.lead = Lead::Indent(indent + 1);
                    self.machine.pos += 1;
                    continue;
                }
                (Lead::Markup { .. }, b' ' | b'\t') => {
                    self.machine.pos += 1;
                    continue;
                }
                (Lead::Markup { alone }, _) => alone,
                _ => true,
            };
            self.machine.markdown.lead = Lead::Text { at, alone };
            let markdown = self.grammar.options.in_code == InCode::Text;
            if markdown && matches!(lead, Lead::Indent(_)) {
                match byte {
                    b'`' | b'~' => {
                        let line = FenceLine { start: at, mark: byte, part: FencePart::Marks };
                        self.machine.state = State::FenceLine(line);
                        return Some(Flow::Again);
                    }
                    b'>' | b'|' => self.machine.markdown.quoted = true,
                    _ => {}
                }
            }
        }
    }

    /// Continue a run of backticks at the current position.
    fn backtick_run(&mut self) {
        if self.machine.markdown.run == 0 {
            return;
        }
        let rest = self.window.from(self.machine.pos);
        let more = rest.iter().take_while(|&&byte| byte == b'`').count();
        work::count(more + 1);
        self.machine.pos += more;
        self.machine.markdown.run += more;
        if more < rest.len() {
            self.machine.markdown.end_run(self.machine.markdown.run);
        }
    }

    pub(super) fn text_tag(&mut self, mut tag: TagMatch) -> Flow {
        let wanted = self.machine.wanted_in_text(self.grammar, tag.lead);
        match tag.scan(self.window, &mut self.machine.pos, wanted) {
            Match::More if self.ending.is_none() => {
                self.hold_text(self.mark_start(tag));
                self.machine.tag = Some(tag);
                Flow::NeedMore
            }
            Match::More | Match::Fail => self.not_a_mark(tag),
            // Only a call makes a fence transparent, and only the end of a message ends code.
            Match::Open { marker, .. } if self.machine.markdown.in_code() => {
                match self.grammar.markers(tag.lead).marker(marker) {
                    Marker::Opener { index, .. } => self.open_block(index, tag),
                    _ => self.not_a_mark(tag),
                }
            }
            Match::Close
                if self.machine.pending_fence.is_some() || self.machine.markdown.in_code() =>
            {
                self.not_a_mark(tag)
            }
            Match::Close => {
                self.machine.orphan = None;
                self.orphan(tag.start)
            }
            Match::Open { marker, self_closing } => self.opened(tag, marker, self_closing),
        }
    }

    /// Discard the closing text from `start` to the current position.
    fn orphan(&mut self, start: usize) -> Flow {
        self.emit_text(start);
        self.discard(self.machine.pos, Discard::OrphanClose);
        let alone = self.machine.markdown.opens_line(start);
        self.machine.markdown.after_call(alone);
        Flow::Again
    }

    /// Report the text before `at`, or before the pending fence.
    pub(super) fn hold_text(&mut self, at: usize) {
        self.emit_text(self.machine.pending_fence.map_or(at, |held| held.start));
    }

    /// Continue after the `<` at `at`, which is text.
    pub(super) fn not_a_tag(&mut self, at: usize) -> Flow {
        self.machine.beginning = false;
        self.continue_text(at + 1)
    }

    /// Continue at `at`, which is text.
    pub(super) fn continue_text(&mut self, at: usize) -> Flow {
        self.machine.state = State::Text;
        match self.machine.pending_fence.take() {
            None => self.machine.pos = at,
            // The fence before it was code; continue after its first line.
            Some(held) => self.open_code(held.fence, held.body),
        }
        Flow::Again
    }

    fn open_code(&mut self, fence: Fence, body: usize) {
        self.machine.beginning = false;
        self.machine.markdown.open(fence, false);
        self.machine.markdown.newline();
        self.machine.pos = body;
    }

    fn opened(&mut self, tag: TagMatch, marker: usize, self_closing: bool) -> Flow {
        let (found, start) = (tag, tag.start);
        let end = self.machine.pos;
        let whole = self.window.slice(start, end);
        let marker = self.grammar.markers(tag.lead).marker(marker);
        let opens_block = matches!(marker, Marker::Opener { .. } | Marker::Closer { .. });
        if !opens_block && !matches!(marker, Marker::Reasoning { .. }) {
            self.machine.beginning = false;
        }
        match marker {
            Marker::Tool(tool) => {
                let depth = self.grammar.limits().max_depth;
                let call = Call::new(Some(tool), None, Closer::Tool(tool), (start, end), depth);
                self.begin(call, self_closing)
            }
            Marker::Call { tag, attribute: name, opener } => {
                let Some(written) = attribute(whole, name).filter(|name| !name.is_empty()) else {
                    return match opener {
                        Some(opener) if !self_closing => self.open_block(opener, found),
                        _ => self.not_a_tag(start),
                    };
                };
                let tool = self.grammar.resolve(written);
                let at = start + (written.as_ptr() as usize - whole.as_ptr() as usize);
                let written = Some((at, at + written.len()));
                let depth = self.grammar.limits().max_depth;
                let call = Call::new(tool, written, Closer::Tag(tag), (start, end), depth);
                self.begin(call, self_closing)
            }
            Marker::Opener { index, .. } if !self_closing => self.open_block(index, tag),
            Marker::Opener { .. } => self.not_a_mark(tag),
            Marker::Closer { text, .. } => self.closer(tag, text, self_closing),
            _ if self.machine.pending_fence.is_some() => self.not_a_tag(start),
            Marker::Reasoning { index, .. } => {
                self.machine.markdown.after_span(start);
                self.emit_text(start);
                self.discard(end, Discard::ReasoningTag);
                if !self_closing {
                    self.machine.state = State::Reasoning(index);
                }
                Flow::Again
            }
            Marker::Response { tag } if !self.machine.markdown.begins_text(start) => {
                if !self_closing {
                    self.machine.state = State::QuotedResponse(tag);
                }
                Flow::Again
            }
            Marker::Response { tag } => {
                self.machine.markdown.after_span(start);
                self.emit_text(start);
                let name = attribute(whole, "name").filter(|name| !name.is_empty());
                if self_closing {
                    self.sink.take(Frame::Fabricated { name, raw: whole });
                    self.machine.from = end;
                } else {
                    self.machine.state = State::Response(Response::new(Closer::Tag(tag), name));
                }
                Flow::Again
            }
        }
    }

    /// Discard a text that would close the block that has just been left; others are text, of which
    /// one may end a quoted block.
    fn closer(&mut self, tag: TagMatch, text: &str, self_closing: bool) -> Flow {
        if self.machine.quoted_until.contains(&text) && !self_closing {
            self.machine.quoted_until = &[];
            return self.quoted_mark(tag);
        }
        let start = if is_prefixed(text) { self.mark_start(tag) } else { tag.start };
        let is_stray = self.machine.left.contains(&text)
            && self.machine.markdown.begins_text(start)
            && self.machine.pending_fence.is_none()
            && !self_closing;
        if is_stray { self.orphan(start) } else { self.not_a_mark(tag) }
    }

    /// Discard the pending fence, which is wrapped around a call.
    #[inline]
    pub(super) fn unwrap_fence(&mut self) {
        if let Some(held) = self.machine.pending_fence.take() {
            self.emit_text(held.start);
            self.discard(held.body, Discard::Fence);
            self.machine.markdown.open(held.fence, true);
        }
    }

    pub(super) fn fence_line(&mut self, mut line: FenceLine) -> Flow {
        let limit = self.grammar.limits().max_tag_bytes;
        while let Some(byte) = self.window.byte(self.machine.pos) {
            let at = self.machine.pos;
            match line.part {
                FencePart::Marks if byte == line.mark => {
                    let length = at - line.start;
                    if length > limit && !self.machine.markdown.in_block() {
                        return self.too_many_marks(line.mark, length);
                    }
                    self.machine.pos += 1;
                }
                FencePart::Marks => {
                    let length = at - line.start;
                    if !self.may_be_fence(line.mark, length) {
                        return self.not_a_fence(line.mark, line.start, length);
                    }
                    self.machine.fence_end = at;
                    line.part = FencePart::Label { length, blank: true };
                }
                FencePart::Label { length, blank } => {
                    let white = byte.is_ascii_whitespace();
                    if byte == b'\n' {
                        self.machine.pos += 1;
                        let fence = Fence { mark: line.mark, length };
                        match self.end_fence_line(line.start, fence, blank) {
                            Some(flow) => return flow,
                            None if is_data(self.window.slice(line.start + length, at)) => {
                                line.part = FencePart::Blank { length, body: at + 1 };
                            }
                            None => {
                                self.open_code(fence, at + 1);
                                return Flow::Again;
                            }
                        }
                    } else if byte == line.mark && byte == b'`'
                        || !white && self.machine.markdown.in_block()
                        || at - line.start > limit
                    {
                        return self.not_a_fence(line.mark, line.start, length);
                    } else {
                        line.part = FencePart::Label { length, blank: blank && white };
                        self.machine.pos += 1;
                    }
                }
                FencePart::Blank { length, body } => {
                    let fence = Fence { mark: line.mark, length };
                    if byte.is_ascii_whitespace() && at - body <= limit {
                        self.machine.pos += 1;
                    } else if let Some(lead) = self.lead_in_fence(byte) {
                        self.machine.markdown.lead = Lead::Text { at, alone: true };
                        self.machine.pending_fence =
                            Some(PendingFence { start: line.start, body, fence });
                        self.machine.pos += usize::from(lead == markers::Lead::Angle);
                        return self.text_tag(TagMatch::at(at, lead));
                    } else {
                        self.open_code(fence, body);
                        return Flow::Again;
                    }
                }
            }
        }
        if self.ending.is_some() {
            return self.last_fence_line(line);
        }
        // The lines of a code block are text in any case.
        let held = !self.machine.markdown.in_block();
        self.emit_text(if held { line.start } else { self.machine.pos });
        self.machine.state = State::FenceLine(line);
        Flow::NeedMore
    }

    /// Return true if this many marks at the start of a line can be a fence here.
    fn may_be_fence(&self, mark: u8, length: usize) -> bool {
        match self.machine.markdown.block {
            Some(Block { fence, transparent: false }) => {
                mark == fence.mark && length >= fence.length
            }
            _ => length >= 3,
        }
    }

    /// Continue a run of marks that is too long to buffer as text.
    fn too_many_marks(&mut self, mark: u8, length: usize) -> Flow {
        self.machine.beginning = false;
        if mark == b'`' {
            self.machine.markdown.run = length;
        }
        Flow::Again
    }

    fn not_a_fence(&mut self, mark: u8, start: usize, length: usize) -> Flow {
        self.machine.beginning = false;
        // In a block nothing else can begin here, and the line has been reported.
        if !self.machine.markdown.in_block() {
            if mark == b'`' {
                self.machine.markdown.end_run(length);
            }
            self.machine.pos = start + length;
        }
        Flow::Again
    }

    /// End a fence line; `None` if it opens a block whose kind is not known yet.
    fn end_fence_line(&mut self, start: usize, fence: Fence, blank: bool) -> Option<Flow> {
        let closes = |block: Block| {
            blank && block.fence.mark == fence.mark && fence.length >= block.fence.length
        };
        let markdown = &mut self.machine.markdown;
        match markdown.block {
            Some(block) if closes(block) => {
                markdown.close();
                markdown.newline();
                if block.transparent {
                    self.emit_text(start);
                    self.discard(self.machine.pos, Discard::Fence);
                }
                Some(Flow::Again)
            }
            Some(Block { transparent: false, .. }) => {
                markdown.newline();
                Some(Flow::Again)
            }
            // The fence of an unclosed call.
            _ if blank && std::mem::take(&mut markdown.stray_fence) => {
                markdown.newline();
                Some(Flow::Again)
            }
            _ => None,
        }
    }

    /// End the reply on a fence line.
    fn last_fence_line(&mut self, line: FenceLine) -> Flow {
        let length = match line.part {
            FencePart::Marks => self.machine.pos - line.start,
            FencePart::Label { length, blank: true } => length,
            FencePart::Label { .. } | FencePart::Blank { .. } => 0,
        };
        if let Some(Block { fence, transparent: true }) = self.machine.markdown.block
            && line.mark == fence.mark
            && length >= fence.length
        {
            self.emit_text(line.start);
            self.discard(self.machine.pos, Discard::Fence);
        }
        Flow::Again
    }
}

/// Return true if a byte before the `<` belongs to the marker.
pub(super) fn is_prefixed(text: &str) -> bool {
    text.as_bytes().first() == Some(&markers::PREFIX)
}
