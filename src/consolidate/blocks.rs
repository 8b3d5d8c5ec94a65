//! Splitting a text into its calls, results and texts, in order.
//!
//! The parser finds the blocks. This module interprets the layout around them: the line breaks and
//! `---` lines that separate blocks are not text, and each result belongs to a call.

use std::collections::{HashMap, VecDeque};

use super::{escape::restore, layout::RULE, response::Response};
use crate::{
    message::ToolCall,
    parser::{Discard, Ending, FoundCall, Frame, Parser},
};

/// A piece of a text.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most pieces are calls, and none is kept")]
pub(super) enum Piece<'t> {
    Text(String),
    Reasoning(&'t str),
    /// A call, with its result if that is in the same text.
    Call(ToolCall, Option<Response<'t>>),
    /// A result without its call.
    Result(Response<'t>),
}

/// The origin of a text, which determines its layout.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'n> {
    /// Written by `consolidate`: every character of a text counts, and a result directly after a
    /// call belongs to it. `breaks` is true for each block if the line break before it belongs to
    /// the preceding text.
    Consolidated { breaks: &'n [bool] },
    /// Written by others: white space between blocks is not text, and a result belongs to the first
    /// call of its name that has none.
    Other,
}

/// A part of a text, as the parser sees it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most parts are calls, and none is kept")]
enum Span<'t> {
    /// Text that is still escaped.
    Text {
        from: usize,
        to: usize,
    },
    /// Text that is not escaped: markup that is not a block.
    Raw {
        from: usize,
        to: usize,
    },
    Reasoning(&'t str),
    Call(ToolCall, Option<Response<'t>>),
    Result(Response<'t>),
    /// A result that has been moved to its call.
    Taken,
}

/// Split `text` into pieces.
///
/// # Arguments
///
/// * `parser`: the parser, which must not have read anything yet.
/// * `call`: converts a call that the parser found; `None` leaves it as text.
/// * `is_result`: true if a block is a result; otherwise it stays text.
pub(super) fn pieces<'t>(
    text: &'t str,
    mut parser: Parser,
    origin: Origin<'_>,
    mut call: impl FnMut(&FoundCall<'_>) -> Option<ToolCall>,
    mut is_result: impl FnMut(&Response<'t>) -> bool,
) -> Vec<Piece<'t>> {
    let mut spans: Vec<Span<'t>> = Vec::new();
    let mut at = 0;
    let mut sink = |frame: Frame<'_>| {
        // Every byte is in exactly one frame other than starts and deltas, in order.
        let from = at;
        let span = match frame {
            Frame::CallStart { .. } | Frame::CallDelta { .. } => return,
            Frame::Text(part) => {
                at += part.len();
                Some(Span::Text { from, to: at })
            }
            Frame::Reasoning(part) => {
                at += part.len();
                Some(Span::Reasoning(&text[from..at]))
            }
            Frame::Discarded { raw, reason } => {
                at += raw.len();
                (reason == Discard::TooLarge).then_some(Span::Raw { from, to: at })
            }
            Frame::Fabricated { raw, .. } => {
                at += raw.len();
                let found = Response::read(&text[from..at]).filter(&mut is_result);
                Some(found.map_or(Span::Raw { from, to: at }, Span::Result))
            }
            Frame::CallEnd(found) => {
                at += found.raw.len();
                Some(match call(&found) {
                    Some(call) => Span::Call(call, None),
                    None => Span::Raw { from, to: at },
                })
            }
        };
        match (spans.last_mut(), span) {
            (Some(Span::Text { to, .. }), Some(Span::Text { from, to: end })) if *to == from => {
                *to = end;
            }
            (_, span) => spans.extend(span),
        }
    };
    parser.push(text, &mut sink);
    parser.finish(Ending::Complete, &mut sink);
    match origin {
        Origin::Consolidated { .. } => pair_adjacent(text, &mut spans),
        Origin::Other => pair_by_name(&mut spans),
    }
    let (pieces, gap) = (Vec::with_capacity(spans.len()), Vec::new());
    PieceBuilder { text, origin, pieces, blocks: 0, gap, after_block: false }.run(spans)
}

/// Give each call the result directly after it.
fn pair_adjacent<'t>(text: &'t str, spans: &mut [Span<'t>]) {
    for at in 2..spans.len() {
        let (before, here) = spans.split_at_mut(at);
        let [.., Span::Call(call, answer @ None), Span::Text { from, to }] = before else {
            continue;
        };
        if matches!(&here[0], Span::Result(found) if found.name == call.name)
            && &text[*from..*to] == "\n"
            && let Span::Result(found) = std::mem::replace(&mut here[0], Span::Taken)
        {
            *answer = Some(found);
        }
    }
}

/// Give each result to the first call of its name that has none.
fn pair_by_name(spans: &mut [Span<'_>]) {
    let mut open: HashMap<String, VecDeque<usize>> = HashMap::new();
    for at in 0..spans.len() {
        match &spans[at] {
            Span::Call(call, _) => open.entry(call.name.clone()).or_default().push_back(at),
            Span::Result(found) => {
                let Some(call_at) = open.get_mut(&found.name).and_then(VecDeque::pop_front) else {
                    continue;
                };
                let found = std::mem::replace(&mut spans[at], Span::Taken);
                if let (Span::Call(_, answer), Span::Result(found)) = (&mut spans[call_at], found) {
                    *answer = Some(found);
                }
            }
            _ => {}
        }
    }
}

/// Converter from spans to pieces.
struct PieceBuilder<'t, 'n> {
    text: &'t str,
    origin: Origin<'n>,
    pieces: Vec<Piece<'t>>,
    /// The number of blocks among them.
    blocks: usize,
    /// The text since the last block; each part is marked as escaped or not.
    gap: Vec<(&'t str, bool)>,
    after_block: bool,
}

/// The item that follows a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Block,
    /// A result without its call, separated from text by a `---` line.
    Orphan,
    Reasoning,
    End,
}

impl<'t> PieceBuilder<'t, '_> {
    fn run(mut self, spans: Vec<Span<'t>>) -> Vec<Piece<'t>> {
        let has_markup =
            spans.iter().any(|span| !matches!(span, Span::Text { .. } | Span::Raw { .. }));
        for span in spans {
            let (next, piece) = match span {
                Span::Text { from, to } => {
                    self.gap.push((&self.text[from..to], true));
                    continue;
                }
                Span::Raw { from, to } => {
                    self.gap.push((&self.text[from..to], false));
                    continue;
                }
                Span::Reasoning(thought) => (Next::Reasoning, Some(Piece::Reasoning(thought))),
                Span::Call(call, answer) => (Next::Block, Some(Piece::Call(call, answer))),
                Span::Result(found) => (Next::Orphan, Some(Piece::Result(found))),
                Span::Taken => (Next::Block, None),
            };
            self.flush(next, has_markup);
            self.blocks += usize::from(matches!(piece, Some(Piece::Call(..) | Piece::Result(_))));
            self.pieces.extend(piece);
            self.after_block = next != Next::Reasoning;
        }
        self.flush(Next::End, has_markup);
        self.pieces
    }

    /// Emit the text so far as a piece, without the layout around blocks.
    fn flush(&mut self, next: Next, has_markup: bool) {
        let mut gap = std::mem::take(&mut self.gap);
        if self.after_block
            && let Some((first, true)) = gap.first_mut()
        {
            let line = self.without_break(first);
            *first = line.strip_prefix(RULE).unwrap_or(line);
        }
        let is_only = gap.len() == 1;
        if let Some((last, true)) = gap.last_mut() {
            if next == Next::Orphan && (is_only && *last == RULE || last.ends_with("\n---\n")) {
                *last = &last[..last.len() - RULE.len()];
            }
            if matches!(next, Next::Block | Next::Orphan) && !self.has_own_break() {
                let line = if self.is_other() { last.strip_suffix("\r\n") } else { None };
                // The last of several line breaks, or an only one, belongs to the text.
                let line = line.or_else(|| last.strip_suffix('\n'));
                *last =
                    line.filter(|text| !text.is_empty() && !text.ends_with('\n')).unwrap_or(last);
            }
        }
        let mut text = String::new();
        for (part, is_escaped) in gap {
            if is_escaped {
                text.push_str(&restore(part));
            } else {
                text.push_str(part);
            }
        }
        let is_layout = self.is_other() && has_markup && {
            let bare = text.trim();
            bare.is_empty() || bare == RULE.trim() && self.after_block && next == Next::Block
        };
        if !text.is_empty() && !is_layout {
            self.pieces.push(Piece::Text(text));
        }
    }

    fn is_other(&self) -> bool {
        matches!(self.origin, Origin::Other)
    }

    /// Return true if the line break before the next block belongs to the preceding text.
    fn has_own_break(&self) -> bool {
        match self.origin {
            Origin::Consolidated { breaks } => {
                breaks.get(self.blocks).is_some_and(|is_own| *is_own)
            }
            Origin::Other => false,
        }
    }

    /// Remove the line break that ends the line of the preceding block.
    fn without_break(&self, gap: &'t str) -> &'t str {
        let line = if self.is_other() { gap.strip_prefix("\r\n") } else { None };
        line.or_else(|| gap.strip_prefix('\n')).unwrap_or(gap)
    }
}
