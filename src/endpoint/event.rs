//! What a reply says, and where that goes.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    calls::{CallValidator, CallOutcome},
    message::{FinishReason, ToolCallUpdate, UsageUpdate},
    parser::{Discard, Parser},
    validator::Validator,
};

/// One thing that is now certain about a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Text for the reader.
    Text(String),
    /// What the model thinks.
    Reasoning(String),
    /// A fragment of a native call, where nobody reads calls.
    Fragment(ToolCallUpdate),
    /// A call has begun; its end is bound to come.
    Start {
        /// The position among the calls of the reply.
        index: usize,
        /// The id, if the provider gave one.
        id: Option<String>,
        /// The tool, or what the model took for one.
        name: String,
    },
    /// More of the arguments, byte for byte as the model writes them.
    Delta {
        /// The call.
        index: usize,
        /// The bytes; never half an escape.
        fragment: String,
    },
    /// The call has ended, and been judged.
    End {
        /// The call.
        index: usize,
        /// The tool, or what the model took for one.
        name: String,
        /// The whole span, tags and fences included.
        raw: String,
        /// Whether it can be run.
        outcome: CallOutcome<Value>,
    },
    /// Markup that is neither text nor call.
    Discarded {
        /// The bytes.
        raw: String,
        /// Why they are neither.
        reason: Discard,
    },
    /// A result that the model wrote itself.
    Fabricated {
        /// The tool that it claims to come from.
        name: Option<String>,
        /// The whole span, tags included.
        raw: String,
    },
    /// Tokens that the request has used so far.
    Usage(UsageUpdate),
    /// The reply is over. Comes once, and last.
    Finish(FinishReason),
}

/// How calls in a reply are read.
#[derive(Clone, Debug)]
pub struct CallParsing {
    /// Finds the calls; one that has read nothing.
    pub parser: Parser,
    /// Decides about them.
    pub validator: Arc<CallValidator<Validator>>,
    /// Whether calls are looked for in the text.
    pub inline: bool,
    /// Whether arguments are told while they arrive.
    pub deltas: bool,
}

/// Whoever takes what a reply says.
pub trait EventSink: Send {
    /// Takes the next event, and never waits.
    fn put(&mut self, event: Event);

    /// Waits until there is room for more. The socket is not read meanwhile.
    fn room(&mut self) -> impl Future<Output = ()> + Send;
}
