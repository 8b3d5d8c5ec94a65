//! The output of the parser: spans of the reply, borrowed, in the order of the text.

use crate::message::wire_names;

/// A part of the reply that is certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Text for the reader.
    Text(&'a str),
    /// Text from inside a reasoning tag.
    Reasoning(&'a str),
    /// The start of a call; its end always follows.
    CallStart {
        /// The position among the calls of the reply.
        index: usize,
        /// The id that the provider gave, or None for a call in text.
        id: Option<&'a str>,
        /// The tool's name, as registered if it is known, else as written.
        name: &'a str,
    },
    /// More of the payload of the open call, byte for byte.
    CallDelta {
        /// Index of the call.
        index: usize,
        /// The text; never part of an escape.
        fragment: &'a str,
    },
    /// The end of the open call.
    CallEnd(FoundCall<'a>),
    /// Markup that is neither text nor a call.
    Discarded {
        /// The text.
        raw: &'a str,
        /// The reason.
        reason: Discard,
    },
    /// A tool's result written by the model itself.
    Fabricated {
        /// The tool named in it.
        name: Option<&'a str>,
        /// The whole span, tags included.
        raw: &'a str,
    },
}

/// A call found in the reply, before its arguments are validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCall<'a> {
    /// The position among the calls of the reply.
    pub index: usize,
    /// Index of the tool among the registered ones, if it is one of them.
    pub tool: Option<usize>,
    /// The tool's name, as registered if it is known, else as written.
    pub name: &'a str,
    /// The name as written.
    pub written: &'a str,
    /// The whole span, tags and fences included. Of several calls in one tag the first has the
    /// opening tag and the last the closing one.
    pub raw: &'a str,
    /// The arguments: the call's deltas, concatenated.
    pub payload: &'a str,
    /// True if a code fence was opened before the payload.
    pub fenced: bool,
    /// The state in which the payload ended.
    pub outcome: Outcome,
    /// True if the payload is JSON except for surrogate escapes without a partner.
    pub lone_surrogates: bool,
}

/// The state in which a payload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Empty: the tags have no content.
    Empty,
    /// One complete JSON object.
    Whole {
        /// False if strings contain raw control characters or unknown escapes.
        strict: bool,
        /// True if the closing tag was missing.
        implicit_close: bool,
    },
    /// Text that stops being JSON, up to a closing or opening tag.
    Broken,
    /// Text that does not begin as JSON, up to the closing tag.
    Prose,
    /// Incomplete at the end of the reply.
    Unclosed,
    /// Beyond a limit; the rest of the payload follows in discarded pieces.
    TooLarge(Excess),
}

/// The limit that a payload exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// `max_argument_bytes`.
    Bytes,
    /// `max_depth`.
    Depth,
}

wire_names! {
    /// The reason why markup is neither text nor a call.
    Discard {
        /// The opening or closing tag of reasoning.
        ReasoningTag = "reasoning_tag",
        /// A line of a code fence that was wrapped around calls.
        Fence = "fence",
        /// A closing tag whose call had ended already.
        OrphanClose = "orphan_close",
        /// The rest of a payload or a result that exceeds a limit.
        TooLarge = "too_large",
        /// Arguments of a native call that had ended already.
        LateFragment = "late_fragment",
    }
}

/// A receiver of the parser's frames.
pub trait Sink {
    /// Receive the next frame. Its spans are only valid during this call.
    fn take(&mut self, frame: Frame<'_>);
}

impl<F: FnMut(Frame<'_>)> Sink for F {
    fn take(&mut self, frame: Frame<'_>) {
        self(frame);
    }
}
