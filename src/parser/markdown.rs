//! As much of Markdown as it takes to tell an example from a call.

/// Where the text stands with respect to code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markdown {
    /// How the line has begun.
    pub(super) lead: Lead,
    /// The run of backticks that is being counted.
    pub(super) run: usize,
    /// The run of backticks that opened inline code on this line; 0 if none did.
    inline: usize,
    /// The fenced block that is open.
    pub(super) block: Option<Block>,
    /// The fence around calls in which that block was opened.
    outer: Option<Fence>,
    /// True if a call that was never closed may still be followed by its fence.
    pub(super) stray_fence: bool,
}

/// How a line has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// With indentation, and how much of it; nothing else so far.
    Indent(u8),
    /// With markup that is no text, or with text and such markup right before here; only blanks
    /// since then.
    Markup {
        /// True if there is no text before the markup.
        alone: bool,
    },
    /// As above, and then with text.
    Text {
        /// Where that text begins.
        at: usize,
        /// True if there is no text before it on the line.
        alone: bool,
    },
}

/// The fence around a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// A backtick or a tilde.
    pub(super) mark: u8,
    /// Number of of that them.
    pub(super) length: usize,
}

/// A fenced block that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) fence: Fence,
    /// True if the fence was put around calls: then its lines are markup, and what is in it is no
    /// code.
    pub(super) transparent: bool,
}

impl Markdown {
    pub(super) const START: Self = Self {
        lead: Lead::Indent(0),
        run: 0,
        inline: 0,
        block: None,
        outer: None,
        stray_fence: false,
    };

    /// The most that a fence may be indented.
    pub(super) const MAX_INDENT: u8 = 3;

    /// Return true if neither a line nor a run of backticks has just begun.
    pub(super) fn is_midline(&self) -> bool {
        matches!(self.lead, Lead::Text { .. }) && self.run == 0
    }

    /// Return true if what stands at `at` is the first on its line, markup that is no text aside.
    pub(super) fn opens_line(&self, at: usize) -> bool {
        self.lead == Lead::Text { at, alone: true }
    }

    /// Return true if what stands at `at` is the first on its line, or the first after markup.
    pub(super) fn begins_text(&self, at: usize) -> bool {
        matches!(self.lead, Lead::Text { at: begin, .. } if begin == at)
    }

    /// Open a block; one of code may stand inside a fence around calls.
    pub(super) fn open(&mut self, fence: Fence, transparent: bool) {
        if let Some(Block { fence, transparent: true }) = self.block {
            self.outer = Some(fence);
        }
        self.block = Some(Block { fence, transparent });
    }

    /// Close the block that is open.
    pub(super) fn close(&mut self) {
        self.block = self.outer.take().map(|fence| Block { fence, transparent: true });
    }

    pub(super) fn in_block(&self) -> bool {
        self.block.is_some_and(|block| !block.transparent)
    }

    /// Return true if a tag that stands here is part of an example.
    pub(super) fn in_code(&self) -> bool {
        self.inline != 0 || self.in_block()
    }

    pub(super) fn newline(&mut self) {
        self.lead = Lead::Indent(0);
        self.inline = 0;
        self.run = 0;
    }

    /// A run of backticks has ended: it opens inline code, or closes that of its own length.
    pub(super) fn end_run(&mut self, length: usize) {
        if self.inline == 0 {
            self.inline = length;
        } else if self.inline == length {
            self.inline = 0;
        }
        self.run = 0;
    }

    /// The fence around a call has been closed.
    pub(super) fn close_transparent(&mut self) {
        if self.block.is_some_and(|block| block.transparent) {
            self.close();
        }
    }

    /// The text goes on after a call, or what is left of one. `alone` says whether that was the
    /// first on its line.
    pub(super) fn after_call(&mut self, alone: bool) {
        self.inline = 0;
        self.run = 0;
        // The fence around calls may close on the line of the last one.
        let transparent = self.block.is_some_and(|block| block.transparent);
        self.lead = if transparent { Lead::Indent(0) } else { Lead::Markup { alone } };
    }

    /// The text goes on after a span that is none, and that began at `at`.
    pub(super) fn after_span(&mut self, at: usize) {
        if let Lead::Text { at: begin, alone } = self.lead
            && begin == at
        {
            self.lead = Lead::Markup { alone };
        }
    }
}

/// What fences around calls are labelled with, if they have a label: forms of data, and names for
/// calls. Any other label is that of a language in which tags mean something else.
const DATA: [&str; 15] = [
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "ndjson",
    "xml",
    "yaml",
    "yml",
    "tool",
    "tools",
    "tool_call",
    "tool_calls",
    "tool_code",
    "function_call",
    "function_calls",
];

/// Return true if a fence with this after its marks may be one around calls.
pub(super) fn is_data(info: &str) -> bool {
    let label = info.split_ascii_whitespace().next();
    label.is_none_or(|label| DATA.iter().any(|data| data.eq_ignore_ascii_case(label)))
}
