//! Events of a reply, and the sink that receives them.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    calls::{CallOutcome, CallValidator},
    message::{FinishReason, ToolCallUpdate, UsageUpdate},
    parser::{CallId, Discard, Parser},
    validator::Validator,
};

/// An event of a reply. Events are never taken back.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Text of the reply.
    Text(String),
    /// Reasoning of the model.
    Reasoning(String),
    /// A fragment of a native call, if calls are not parsed.
    Fragment(ToolCallUpdate),
    /// The start of a call. An `End` always follows.
    Start {
        /// The position among the calls of the reply.
        index: usize,
        /// The id, if the provider sent one or the model wrote one.
        id: Option<CallId<String>>,
        /// The name of the tool as the model wrote it.
        name: String,
        /// True for a call in the text of a reply to a request with native tools.
        recovered: bool,
    },
    /// More of the arguments, byte for byte as the model writes them.
    Delta {
        /// The index of the call.
        index: usize,
        /// The bytes; an escape sequence is never split.
        fragment: String,
    },
    /// The end of a call, with its verdict.
    End {
        /// The index of the call.
        index: usize,
        /// The name of the tool as the model wrote it.
        name: String,
        /// The whole span, including tags and fences.
        raw: String,
        /// True for a call in the text of a reply to a request with native tools.
        recovered: bool,
        /// The dialect in which the call is written.
        dialect: &'static str,
        /// The validated arguments, or the reason why the call is invalid.
        outcome: CallOutcome<Value>,
    },
    /// Markup that is neither text nor a call.
    Discarded {
        /// The markup.
        raw: String,
        /// The reason why it was discarded.
        reason: Discard,
    },
    /// A result that the model wrote itself.
    Fabricated {
        /// The tool that the result claims to come from.
        name: Option<String>,
        /// The whole span, including tags.
        raw: String,
    },
    /// Tokens that the request has used so far.
    Usage(UsageUpdate),
    /// The end of the reply. Emitted once, as the last event.
    Finish {
        /// The reason.
        reason: FinishReason,
        /// The word of the server, if it is not a known reason.
        unknown: Option<String>,
    },
}

/// Settings for parsing and validating the calls of a reply.
#[derive(Clone, Debug)]
pub struct CallParsing {
    /// The parser that finds calls. It must not have read anything yet.
    pub parser: Parser,
    /// The judge that validates them.
    pub validator: Arc<CallValidator<Validator>>,
    /// True to look for calls in the text.
    pub inline: bool,
    /// True if calls in the text are recovered ones: the request had native tools.
    pub recovered: bool,
    /// True to emit arguments while they arrive.
    pub deltas: bool,
}

/// A receiver of the events of a reply.
pub trait EventSink: Send {
    /// Accept the next event without waiting.
    fn put(&mut self, event: Event);

    /// Wait until there is room for more events. The socket is not read meanwhile.
    fn room(&mut self) -> impl Future<Output = ()> + Send;
}

/// A sink without a limit, for replies that have arrived already.
impl EventSink for Vec<Event> {
    fn put(&mut self, event: Event) {
        self.push(event);
    }

    async fn room(&mut self) {}
}
