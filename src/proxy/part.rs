//! The parts of a reply, and the trait that writes them in the format of an API.

use serde::Serialize;
use serde_json::Value;

use super::error::ApiError;
use crate::{
    calls::InvalidKind,
    message::{FinishReason, UsageUpdate},
};

/// A part of a reply. Parts are final: they are never taken back.
#[derive(Clone, Debug, PartialEq)]
pub enum Part<'a> {
    /// Text, as it is written.
    Text(&'a str),
    /// Reasoning, as it is written.
    Reasoning(&'a str),
    /// A valid call, once it is complete.
    Call(Call<'a>),
    /// The beginning of a call whose arguments are streamed as they are written, valid or not. Only
    /// streams have such calls, and other parts may come before their end.
    CallStart {
        /// The position among the calls of the reply.
        index: usize,
        /// The id, unique in the conversation.
        id: &'a str,
        /// The name of the tool.
        name: &'a str,
    },
    /// More of the arguments of a call that has begun, as the model writes them.
    CallDelta {
        /// The position of the call.
        index: usize,
        /// The text.
        fragment: &'a str,
    },
    /// The end of a call that has begun.
    CallEnd {
        /// The position of the call.
        index: usize,
        /// False if the reply ended within the call.
        is_complete: bool,
    },
    /// A remark of the proxy.
    Notice(&'a Notice),
    /// The end of the reply. It comes once, as the last part.
    Finish {
        /// The reason: `ToolCalls` if the reply has calls.
        reason: FinishReason,
        /// The tokens that the reply took, with all requests that were sent for it.
        usage: Option<UsageUpdate>,
    },
}

/// A valid call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// The position among the calls of the reply.
    pub index: usize,
    /// The id, unique in the conversation.
    pub id: &'a str,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments, as JSON.
    pub arguments: &'a str,
}

/// A remark of the proxy on what it did with a part of the model's reply. APIs have no place for
/// it; clients get it in a field named `toolweave`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A call that cannot be run, even after the model was asked for it again. It is in the text,
    /// or it was streamed as it was written.
    InvalidToolCall {
        /// The name of the tool, as the model wrote it.
        name: String,
        /// The kind of error.
        kind: InvalidKind,
        /// The errors, in one sentence each.
        message: String,
    },
    /// A call that was streamed as it was written, and cannot be run without a repair.
    UnrepairedToolCall {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments, repaired and valid.
        arguments: Value,
    },
    /// A further call of a reply that may only have one. It is omitted.
    OmittedToolCall {
        /// The name of the tool.
        name: String,
    },
    /// No call, although one was required.
    MissingToolCall {
        /// The requirement.
        message: String,
    },
    /// A result that the model wrote itself. It is omitted.
    FabricatedResult {
        /// The tool that the result claims to come from.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

/// A writer of one reply in the format of an API: as events while it is written, or as one document.
pub trait ReplyWriter: Send {
    /// Append a part to the body of the response.
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>);

    /// Append an error that ends a reply of which a part has been sent.
    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>);
}
