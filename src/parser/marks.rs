//! Markers of blocks in text: where they are looked for, and where they are quoted.

use super::{
    frame::Sink,
    machine::{Flow, Pass},
    markers::{Lead, PREFIX},
    tag::TagMatch,
};

impl<S: Sink> Pass<'_, S> {
    /// Look for a marker at the beginning of a line or of the reply.
    pub(super) fn line_mark(&mut self) -> Option<Flow> {
        let pos = self.machine.pos;
        if !self.machine.beginning && !self.machine.markdown.opens_line(pos) {
            return None;
        }
        if self.machine.markdown.in_code() || pos < self.machine.line_from {
            return None;
        }
        let lead = self.line_lead();
        if lead == Lead::Beginning {
            while matches!(self.window.byte(self.machine.pos), Some(b' ' | b'\t' | b'\r')) {
                self.machine.pos += 1;
            }
        }
        let at = self.machine.pos;
        let byte = self.window.byte(at)?;
        if self.grammar.markers(lead).may_begin(self.window.from(at)) {
            return Some(self.text_tag(TagMatch::at(at, lead)));
        }
        if !matches!(byte, b'<' | b'\n') {
            self.machine.beginning = false;
        }
        None
    }

    fn line_lead(&self) -> Lead {
        match (self.machine.beginning, self.machine.thought) {
            (true, _) => Lead::Beginning,
            (false, true) => Lead::Thought,
            (false, false) => Lead::Line,
        }
    }

    /// Return the place of a marker that may begin with `byte`, the first one in a fence.
    pub(super) fn lead_in_fence(&self, byte: u8) -> Option<Lead> {
        let lead = match byte {
            b'<' => return Some(Lead::Angle),
            _ if self.machine.beginning => Lead::Beginning,
            _ => Lead::Line,
        };
        let can_begin = self.grammar.has_lines && self.grammar.markers(lead).can_begin(byte);
        can_begin.then_some(lead)
    }

    /// Return the number of bytes at the end of the input that may belong to a marker.
    pub(super) fn held_prefix(&self) -> usize {
        let end = self.window.end();
        let held = self.ending.is_none()
            && self.grammar.has_prefixed()
            && end > self.machine.from
            && self.window.byte(end - 1) == Some(PREFIX);
        usize::from(held)
    }

    /// Return the position at which the marker begins if a byte before its `<` belongs to it.
    pub(super) fn mark_start(&self, tag: TagMatch) -> usize {
        let has_prefix = tag.lead == Lead::Angle
            && self.grammar.has_prefixed()
            && tag.start > self.machine.from
            && self.window.byte(tag.start - 1) == Some(PREFIX);
        tag.start - usize::from(has_prefix)
    }

    /// Continue after what seemed to begin a marker, which is text.
    pub(super) fn not_a_mark(&mut self, tag: TagMatch) -> Flow {
        match tag.lead {
            Lead::Angle | Lead::Bracket => self.not_a_tag(tag.start),
            Lead::Line | Lead::Beginning | Lead::Thought => {
                // The same text may begin a tag.
                self.machine.line_from = self.machine.line_from.max(tag.start + 1);
                self.machine.beginning &= self.window.byte(tag.start) == Some(b'<');
                self.continue_text(tag.start)
            }
        }
    }

    /// Return true if the marker at `start` is quoted.
    pub(super) fn is_quoted(&self, start: usize) -> bool {
        let before = self.window.before(start);
        self.machine.markdown.quoted
            || self.machine.quoted_at == start
            || !self.machine.quoted_until.is_empty()
            // What ends directly before it may be a call, which is no text.
            || !self.machine.markdown.begins_text(start)
                && if before.is_empty() {
                self.machine.quotation
            } else {
                ends_with_quotation_mark(before)
            }
    }

    /// Continue after a quoted marker, which is text.
    pub(super) fn quoted_mark(&mut self, tag: TagMatch) -> Flow {
        if self.machine.pending_fence.is_some() {
            return self.not_a_mark(tag);
        }
        let end = self.machine.pos;
        self.machine.quoted_at = end;
        self.machine.beginning = false;
        self.continue_text(end)
    }

    /// Skip the white space after a quoted marker.
    pub(super) fn after_quoted(&mut self) {
        while let Some(byte) = self.window.byte(self.machine.pos).filter(u8::is_ascii_whitespace) {
            self.machine.pos += 1;
            if byte == b'\n' {
                self.machine.markdown.newline();
            }
        }
        self.machine.quoted_at = self.machine.pos;
    }
}

/// Return true if the last character of `text` is a quotation mark.
#[inline]
pub(super) fn ends_with_quotation_mark(text: &str) -> bool {
    match text.as_bytes().last() {
        None => false,
        Some(byte) if byte.is_ascii() => matches!(byte, b'"' | b'\''),
        Some(_) => text.ends_with(is_wide_quotation_mark),
    }
}

/// Return true if `ch` is a quotation mark beyond ASCII.
fn is_wide_quotation_mark(ch: char) -> bool {
    matches!(
        ch,
        '\u{2018}'..='\u{201f}'
            | '\u{ab}'
            | '\u{bb}'
            | '\u{2039}'
            | '\u{203a}'
            | '\u{300c}'..='\u{300f}'
            | '\u{301d}'..='\u{301f}'
            | '\u{ff02}'
            | '\u{ff07}'
    )
}
