//! As much of Markdown as it takes to tell an example from a call.

/// Where the text stands with respect to code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Markdown {
    /// Whether only indentation has been seen on this line, and how much.
    pub(super) indent: Option<u8>,
    /// The run of backticks that is being counted.
    pub(super) run: usize,
    /// The run of backticks that opened inline code on this line; 0 if none did.
    inline: usize,
    /// The fenced block that is open.
    pub(super) block: Option<Block>,
    /// The fence around calls in which that block was opened.
    outer: Option<Fence>,
    /// Whether a call that was never closed may still be followed by its fence.
    pub(super) stray_fence: bool,
}

/// The fence around a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// A backtick or a tilde.
    pub(super) mark: u8,
    /// How many of them.
    pub(super) length: usize,
}

/// A fenced block that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) fence: Fence,
    /// Whether the fence was put around calls: then its lines are markup, and what is in it is
    /// no code.
    pub(super) transparent: bool,
}

impl Markdown {
    pub(super) const START: Self =
        Self { indent: Some(0), run: 0, inline: 0, block: None, outer: None, stray_fence: false };

    /// The most that a fence may be indented.
    pub(super) const MAX_INDENT: u8 = 3;

    /// Whether neither a line nor a run of backticks has just begun.
    pub(super) fn is_midline(&self) -> bool {
        self.indent.is_none() && self.run == 0
    }

    /// Opens a block; one of code may stand inside a fence around calls.
    pub(super) fn open(&mut self, fence: Fence, transparent: bool) {
        if let Some(Block { fence, transparent: true }) = self.block {
            self.outer = Some(fence);
        }
        self.block = Some(Block { fence, transparent });
    }

    /// Closes the block that is open.
    pub(super) fn close(&mut self) {
        self.block = self.outer.take().map(|fence| Block { fence, transparent: true });
    }

    pub(super) fn in_block(&self) -> bool {
        self.block.is_some_and(|block| !block.transparent)
    }

    /// Whether a tag that stands here is part of an example.
    pub(super) fn in_code(&self) -> bool {
        self.inline != 0 || self.in_block()
    }

    pub(super) fn newline(&mut self) {
        self.indent = Some(0);
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

    /// The text goes on after a call.
    pub(super) fn after_call(&mut self) {
        self.inline = 0;
        self.run = 0;
        // The fence around calls may close on the line of the last one.
        let transparent = self.block.is_some_and(|block| block.transparent);
        self.indent = transparent.then_some(0);
    }
}
