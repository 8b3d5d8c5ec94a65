//! What streams: the pieces that a reply and its results arrive in.

use super::{
    call::{ToolCall, ToolResult},
    names::FinishReason,
};

/// One piece of a reply, or a result of one of its calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// More text.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// More of a call that the provider's own protocol carries.
    ToolCallUpdate(ToolCallUpdate),
    /// A whole call, as the parser finds it in text.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// What the request has used so far.
    Usage(UsageUpdate),
    /// The reply is over. Comes once, after everything but results.
    Finish(FinishReason),
}

/// A fragment of a native call.
///
/// The fragments of a call are held together by its id or, where only the first one has
/// it, by the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolCallUpdate {
    /// The call's id.
    pub tool_call_id: Option<String>,
    /// The provider's number for the call within the reply.
    pub index: Option<usize>,
    /// The tool's name, or the next piece of it. A repetition of the whole is tolerated.
    pub function_name: Option<String>,
    /// The next piece of the text of the arguments.
    pub function_args: Option<String>,
}

/// Tokens that the request has used so far, not since the last update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageUpdate {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// Those of `input_tokens` that the provider had in its cache.
    pub cached_input_tokens: u64,
}
