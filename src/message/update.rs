//! Updates: the pieces in which a reply and its results arrive.

use super::{
    call::{ToolCall, ToolResult},
    names::FinishReason,
};

/// A piece of a reply, or a result of one of its calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Reasoning(String),
    /// A fragment of a native call.
    ToolCallUpdate(ToolCallUpdate),
    /// A complete call, found in text by the parser.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
    /// The token usage of the request so far.
    Usage(UsageUpdate),
    /// The end of the reply. Arrives once, after everything but results.
    Finish(FinishReason),
}

/// A fragment of a native call.
///
/// Fragments of a call are matched by id or, if only the first one has an id, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolCallUpdate {
    /// The id of the call.
    pub tool_call_id: Option<String>,
    /// The provider's index of the call within the reply.
    pub index: Option<usize>,
    /// The name of the tool, or the next piece of it. A repetition of the complete name is
    /// tolerated.
    pub function_name: Option<String>,
    /// The next piece of the text of the arguments.
    pub function_args: Option<String>,
}

/// Tokens used by the request so far, not since the previous update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageUpdate {
    /// Number of prompt tokens, including cached ones.
    pub input_tokens: u64,
    /// Number of reply tokens.
    pub output_tokens: u64,
    /// Number of `input_tokens` that were in the provider's cache.
    pub cached_input_tokens: u64,
    /// Number of `output_tokens` that were reasoning.
    pub reasoning_tokens: u64,
}
