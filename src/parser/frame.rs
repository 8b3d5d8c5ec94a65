//! What the parser reports: spans of the reply, borrowed, in the order written.

use crate::message::wire_names;

/// One thing that is now certain about the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Text for the reader.
    Text(&'a str),
    /// Text from inside a reasoning tag.
    Reasoning(&'a str),
    /// A call has begun; its end is bound to come.
    CallStart {
        /// The position among the calls of the reply.
        index: usize,
        /// The id that the provider gave it. A call in text has none: whoever takes it makes one.
        id: Option<&'a str>,
        /// The tool: as registered if it is known, else as written.
        name: &'a str,
    },
    /// More of the payload of the call that is open, byte for byte.
    CallDelta {
        /// The call.
        index: usize,
        /// The bytes; never half an escape.
        fragment: &'a str,
    },
    /// The call that was open has ended.
    CallEnd(FoundCall<'a>),
    /// Markup that is neither text nor call.
    Discarded {
        /// The bytes.
        raw: &'a str,
        /// Why they are neither.
        reason: Discard,
    },
    /// A result that the model wrote itself.
    Fabricated {
        /// The tool that it claims to come from.
        name: Option<&'a str>,
        /// The whole span, tags included.
        raw: &'a str,
    },
}

/// A call as it stands in the reply, before anybody judged its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCall<'a> {
    /// The position among the calls of the reply.
    pub index: usize,
    /// The tool's position among those registered, if it is one of them.
    pub tool: Option<usize>,
    /// The tool: as registered if it is known, else as written.
    pub name: &'a str,
    /// The name as written.
    pub written: &'a str,
    /// The whole span, tags and fences included. Of several calls in one tag the first has the
    /// opening tag and the last the closing one.
    pub raw: &'a str,
    /// The arguments: what the call's deltas add up to.
    pub payload: &'a str,
    /// True if a code fence was opened before the payload.
    pub fenced: bool,
    /// How far the payload got.
    pub outcome: Outcome,
    /// True if the payload, otherwise sound, has surrogate escapes without a partner.
    pub lone_surrogates: bool,
}

/// How far a payload got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing stood between the tags.
    Empty,
    /// One JSON object to its last brace.
    Whole {
        /// False if strings in it hold raw control characters or unknown escapes.
        strict: bool,
        /// True if the closing tag was missing.
        implicit_close: bool,
    },
    /// Something that stopped being JSON, up to a closing or opening tag.
    Broken,
    /// Something that never began to be JSON, up to the closing tag.
    Prose,
    /// Cut off by the end of the reply.
    Unclosed,
    /// Past a limit; the rest of the payload follows as discarded pieces.
    TooLarge(Excess),
}

/// The limit that a payload went past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// `max_argument_bytes`.
    Bytes,
    /// `max_depth`.
    Depth,
}

wire_names! {
    /// Why markup is neither text nor call.
    Discard {
        /// The opening or closing tag of reasoning.
        ReasoningTag = "reasoning_tag",
        /// A line of a code fence that was wrapped around calls.
        Fence = "fence",
        /// A closing tag whose call had already ended.
        OrphanClose = "orphan_close",
        /// The rest of something that went past a limit.
        TooLarge = "too_large",
        /// Arguments of a native call that had ended.
        LateFragment = "late_fragment",
    }
}

/// Whoever takes what the parser reports.
pub trait Sink {
    /// Take the next frame. Its spans live only for this call.
    fn take(&mut self, frame: Frame<'_>);
}

impl<F: FnMut(Frame<'_>)> Sink for F {
    fn take(&mut self, frame: Frame<'_>) {
        self(frame);
    }
}
