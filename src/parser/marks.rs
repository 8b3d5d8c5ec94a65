//! Markers of blocks in text: where they are looked for, and where they are quoted.

use memchr::memchr_iter;

use super::{
    frame::Sink,
    machine::{Flow, Pass},
    markers::{Lead, PREFIX},
    tag::TagMatch,
    work,
};

impl<S: Sink> Pass<'_, S> {
    /// Look for a marker at the beginning of a line or of the reply.
    pub(super) fn line_mark(&mut self) -> Option<Flow> {
        let byte = self.window.byte(self.machine.pos)?;
        let may_begin = self.machine.beginning || self.grammar.begins_line[usize::from(byte)];
        if !may_begin
            || self.machine.markdown.in_code()
            || self.machine.pos < self.machine.line_from
        {
            return None;
        }
        let lead = self.line_lead()?;
        if lead == Lead::Beginning {
            while matches!(self.window.byte(self.machine.pos), Some(b' ' | b'\t' | b'\r')) {
                self.machine.pos += 1;
            }
        }
        let at = self.machine.pos;
        let byte = self.window.byte(at)?;
        if self.grammar.markers(lead).can_begin(byte) {
            return Some(self.text_tag(TagMatch::at(at, lead)));
        }
        if !matches!(byte, b'<' | b'\n') {
            self.machine.beginning = false;
        }
        None
    }

    fn line_lead(&self) -> Option<Lead> {
        let machine = &self.machine;
        match machine.beginning {
            true => Some(Lead::Beginning),
            false if !machine.markdown.opens_line(machine.pos) => None,
            false if machine.thought => Some(Lead::Thought),
            false => Some(Lead::Line),
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

    /// Return the offset of the next `[` that may begin a marker, if it is less than `end`.
    /// Offsets count from the current position.
    pub(super) fn bracket_before(&mut self, end: usize) -> Option<usize> {
        let pos = self.machine.pos;
        let at = match self.bracket {
            Some((from, at)) if (from..=at).contains(&pos) => at,
            _ => {
                let at = pos + self.next_bracket();
                self.bracket = Some((pos, at));
                at
            }
        };
        Some(at - pos).filter(|&offset| offset < end)
    }

    fn next_bracket(&self) -> usize {
        let rest = self.window.from(self.machine.pos);
        let markers = self.grammar.markers(Lead::Bracket);
        let may_begin = |&at: &usize| rest.get(at + 1).is_none_or(|&next| markers.can_begin(next));
        let found = memchr_iter(b'[', rest).find(may_begin).unwrap_or(rest.len());
        work::count(found);
        found
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
pub(super) fn ends_with_quotation_mark(text: &str) -> bool {
    match text.as_bytes().last() {
        None => false,
        Some(byte) if byte.is_ascii() => matches!(byte, b'"' | b'\''),
        Some(_) => text.ends_with(|ch: char| {
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
        }),
    }
}
