//! Blocks without a marker, which are calls as a whole or not at all.

use super::{Body, Evidence, Flow, OpenBlock, Pass, Sink, State, Step};
use crate::parser::{markdown::Fence, markers::PREFIX};

/// The text between a block and the end of its line, or of the fence around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// Position of the next byte to read.
    at: usize,
    /// Position at which too much would have been read.
    limit: usize,
    /// True if the line ended inside the block.
    ended: bool,
    /// Number of marks that close the fence.
    marks: usize,
    /// True if a blank follows them.
    blank: bool,
}

impl Tail {
    /// Read the byte at the current position; return true if the block stands alone, or false if
    /// something follows it that may not.
    fn step(&mut self, byte: u8, may_follow: bool, fence: Option<Fence>) -> Option<bool> {
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r');
        let Some(fence) = fence else {
            return if is_blank && self.at < self.limit { None } else { Some(may_follow) };
        };
        if self.at >= self.limit {
            return Some(false);
        }
        match byte {
            _ if byte == fence.mark && !self.blank => self.marks += 1,
            b'\n' if self.marks > 0 => return Some(self.marks >= fence.length),
            _ if is_blank || byte == b'\n' => self.blank = self.marks > 0,
            _ => return Some(false),
        }
        None
    }

    /// Return true if the block stands alone in the reply, which has ended.
    fn last(&self, fence: Option<Fence>) -> bool {
        fence.is_none_or(|fence| self.marks == 0 || self.marks >= fence.length)
    }
}

/// The meaning of a step of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exact {
    More,
    Ended,
    NotABlock,
}

impl<S: Sink> Pass<'_, S> {
    /// Keep a step of a block that is not marked.
    pub(super) fn exact_step(&mut self, block: &mut OpenBlock, step: Step) -> Exact {
        block.steps.push(step);
        match step {
            Step::Name { from, to } => match self.grammar.resolve(self.window.slice(from, to)) {
                Some(_) => Exact::More,
                None => Exact::NotABlock,
            },
            Step::Close(at) | Step::Leave(at) => {
                let end = block.steps.iter().rev().find_map(|step| match *step {
                    Step::CallEnd { at, .. } => Some(at),
                    _ => None,
                });
                let Some(end) = end else { return Exact::NotABlock };
                let ended = self.window.slice(end.min(at), at).contains('\n');
                let limit = at.saturating_add(self.grammar.limits().max_tag_bytes);
                block.tail = Some(Tail { at, limit, ended, marks: 0, blank: false });
                Exact::Ended
            }
            _ => Exact::More,
        }
    }

    /// Read what follows the calls of a block that is not marked, and report the block if nothing
    /// else is on its lines.
    pub(super) fn tail(&mut self, mut block: Box<OpenBlock>) -> Flow {
        let Some(mut tail) = block.tail else { return Flow::Again };
        let fence = self.machine.pending_fence.map(|held| held.fence);
        let stands_alone = loop {
            if tail.ended && fence.is_none() {
                break true;
            }
            let Some(byte) = self.window.byte(tail.at) else {
                if self.ending.is_some() {
                    break tail.last(fence);
                }
                self.hold_text(block.start);
                block.tail = Some(tail);
                self.machine.state = State::Block(block);
                return Flow::NeedMore;
            };
            if let Some(stands_alone) = tail.step(byte, self.may_follow(&block, byte), fence) {
                break stands_alone;
            }
            tail.at += 1;
        };
        if stands_alone {
            return self.report_exact(block);
        }
        self.machine.pos = self.machine.pos.max(tail.at);
        self.not_a_block(&block)
    }

    /// Return true if something else may begin with this byte directly after the block.
    fn may_follow(&self, block: &OpenBlock, byte: u8) -> bool {
        matches!(byte, b'\n' | b'<' | b'{' | b'[' | PREFIX)
            // The server has removed what stood between two calls.
            || block.reading.as_ref().is_some_and(|(form, _)| {
                form.block.evidence == Evidence::Stripped
                    && form.block.open.iter().any(|open| self.grammar.begins(open, byte))
            })
    }

    fn report_exact(&mut self, mut block: Box<OpenBlock>) -> Flow {
        for step in std::mem::take(&mut block.steps) {
            if self.block_step(&mut block, step).is_some() {
                break;
            }
        }
        let body = block.reading.as_ref().map(|(form, _)| form.block.body);
        let is_react = matches!(body, Some(Body::React(_)));
        self.machine.thought |= is_react;
        self.machine.acted |= is_react;
        self.machine.beginning = self.grammar.has_lines;
        Flow::Again
    }
}
