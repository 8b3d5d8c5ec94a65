//! The beginning and the end of a block.

use super::{
    Body, Discard, Evidence, Flow, OpenBlock, OpenedBlock, Outcome, Pass, React, Reader, Sink,
    State,
};
use crate::parser::{observation::Observation, tag::TagMatch, text::is_prefixed, work};

/// The form of a block.
pub(super) enum Decision {
    Form(OpenedBlock),
    None,
    NeedMore,
}

impl<S: Sink> Pass<'_, S> {
    /// Open the block whose opener has just been read.
    pub(in crate::parser) fn open_block(&mut self, opener: usize, tag: TagMatch) -> Flow {
        let found = self.grammar.opener(opener);
        let start = if is_prefixed(&found.text) {
            match self.mark_start(tag) {
                start if start < tag.start => start,
                _ => return self.not_a_mark(tag),
            }
        } else {
            tag.start
        };
        let in_code = self.machine.markdown.in_code();
        let quoted = in_code || self.is_quoted(start);
        if in_code && !self.may_end_message(opener) {
            return self.not_a_mark(tag);
        }
        let of_react = |form: &OpenedBlock| matches!(form.block.body, Body::React(_));
        if found.blocks.iter().any(of_react) && *found.text != *React::CALL {
            return if quoted { self.quoted_mark(tag) } else { self.react_line(opener, tag) };
        }
        let block = OpenBlock {
            opener,
            tag,
            start,
            opened: self.machine.pos,
            begins: self.machine.pos,
            tried: self.machine.pos,
            quoted,
            opens_line: self.machine.markdown.opens_line(start),
            confirmed: false,
            reading: None,
            call: None,
            ends_at: None,
            steps: Vec::new(),
            tail: None,
        };
        self.block(Box::new(block))
    }

    /// Act on a line that is not a call but shows that calls may follow, or a result.
    fn react_line(&mut self, opener: usize, tag: TagMatch) -> Flow {
        if self.machine.pending_fence.is_some() {
            return self.not_a_mark(tag);
        }
        if *self.grammar.opener(opener).text == *React::RESULT && self.machine.acted {
            self.emit_text(tag.start);
            self.machine.state = State::Observation(Observation::new());
            return Flow::Again;
        }
        self.machine.thought |= *self.grammar.opener(opener).text == *React::THOUGHT;
        self.not_a_mark(tag)
    }

    /// Choose the form of a block by its first bytes: the first form that fits.
    pub(super) fn decide(&mut self, block: &mut OpenBlock) -> Decision {
        let limit = block.opened.saturating_add(self.grammar.limits().max_tag_bytes);
        while block.begins < limit
            && self.window.byte(block.begins).is_some_and(|byte| byte.is_ascii_whitespace())
        {
            block.begins += 1;
        }
        if self.is_undecided(block, limit) {
            return Decision::NeedMore;
        }
        let fenced = self.machine.pending_fence.is_some();
        let may_be = |form: &&OpenedBlock| {
            let body = form.block.body;
            !fenced || form.block.evidence == Evidence::Shaped && matches!(body, Body::Envelopes(_))
        };
        let forms = &self.grammar.opener(block.opener).blocks;
        // Dialects share texts, of which the one in use decides.
        let is_boundary = |form: &&OpenedBlock| matches!(form.block.body, Body::Boundary(_));
        let mut boundaries = forms.iter().filter(is_boundary);
        if let Some(form) = boundaries.find(|form| self.is_in_use(form.dialect)) {
            return Decision::Form(*form);
        }
        for &form in forms.iter().filter(may_be) {
            let is_exact = form.block.evidence != Evidence::Marked;
            // The opener of a block that is not marked belongs to its body.
            let from = if is_exact { block.start } else { block.begins };
            let bytes = self.window.from(from);
            let most = (limit - from).min(bytes.len());
            match Reader::begins(form.block, &bytes[..most]) {
                Some(true) => {
                    if is_exact {
                        block.opened = block.start;
                    }
                    return Decision::Form(form);
                }
                Some(false) => {}
                None => {
                    work::count(most);
                    if self.ending.is_none() && most == bytes.len() {
                        return Decision::NeedMore;
                    }
                }
            }
        }
        Decision::None
    }

    /// Return true if the input since the last try continues a name, which decides nothing before
    /// it ends.
    fn is_undecided(&self, block: &mut OpenBlock, limit: usize) -> bool {
        /// Length of the longest text, apart from names, that a form begins with.
        const LONGEST: usize = 32;
        let end = self.window.end();
        let tried = std::mem::replace(&mut block.tried, end);
        if self.ending.is_some() || end >= limit || tried < block.begins + LONGEST {
            return false;
        }
        let since = self.window.from(tried);
        work::count(since.len());
        since.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    /// Give a block back as text; what follows its opener is read again.
    pub(super) fn not_a_block(&mut self, block: &OpenBlock) -> Flow {
        if block.confirmed {
            return self.leave_block(block, block.start);
        }
        if block.is_exact() {
            // Reading the same text once more for each line of it would cost too much.
            self.machine.line_from = self.machine.line_from.max(self.machine.pos);
        }
        self.not_a_mark(block.tag)
    }

    /// Continue as text at `at`, after a block.
    pub(super) fn leave_block(&mut self, block: &OpenBlock, at: usize) -> Flow {
        self.machine.pos = at;
        self.machine.left = block.closers();
        self.machine.markdown.after_call(block.opens_line);
        self.machine.state = State::Text;
        Flow::Again
    }

    /// End a block that cannot be read on.
    pub(super) fn fail_block(&mut self, block: &mut OpenBlock) -> Flow {
        self.start_if_payload(block);
        let Some(call) = block.call.as_ref().filter(|call| call.started) else {
            return self.not_a_block(block);
        };
        let (end, outcome) = match call.payload_end {
            Some(end) => (end, Outcome::Whole { strict: false, implicit_close: true }),
            None => (self.window.boundary(self.machine.pos), Outcome::Broken),
        };
        if call.overflow {
            self.discard(end, Discard::TooLarge);
        }
        self.end_block_call(block, end, outcome);
        self.leave_block(block, end)
    }
}
