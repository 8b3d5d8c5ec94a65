//! Problems that the joiner found in a stream.

use thiserror::Error;

use super::{
    call::{ToolCall, ToolResult},
    names::FinishReason,
};

/// A problem in a stream. No data is lost: the problem contains whatever is in no message.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The arguments of a native call are not a JSON object. The call is in no message.
    #[error("arguments of tool call {id:?} ({name}) must be a JSON object: {reason}")]
    InvalidArguments {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The text that the model wrote.
        text: String,
        /// The reason why it is invalid.
        reason: String,
    },
    /// The reply was cut off inside a native call. The call is in no message.
    #[error("the reply was cut off inside tool call {id:?} ({name})")]
    Unclosed {
        /// The id of the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments so far.
        text: String,
    },
    /// No fragment of a native call has a tool name. The call is in no message.
    #[error("tool call {id:?} has no tool name")]
    Unnamed {
        /// The id of the call.
        id: String,
        /// The text of its arguments.
        text: String,
    },
    /// A fragment has another tool name after the arguments have begun. The first name is kept.
    #[error("tool call {id:?} is for {name:?}, but a later fragment has the name {other:?}")]
    Renamed {
        /// The id of the call.
        id: String,
        /// The first name.
        name: String,
        /// The other name.
        other: String,
    },
    /// A fragment arrived after the complete call. The fragment is ignored.
    #[error("a fragment of tool call {id:?} arrived after the complete call")]
    LateFragment {
        /// The id of the call.
        id: String,
        /// The text of the fragment.
        text: String,
    },
    /// A complete call arrived twice. The first is kept.
    #[error("tool call {:?} arrived twice; the first is kept", call.id)]
    DuplicateCall {
        /// The second call.
        call: Box<ToolCall>,
    },
    /// A result arrived twice. The first is kept.
    #[error("the result of tool call {:?} arrived twice; the first is kept", result.tool_call_id)]
    DuplicateResult {
        /// The second result.
        result: ToolResult,
    },
    /// A result belongs to no call of this reply. It is in a separate message.
    #[error("a result arrived for {id:?}, which is not a call of this reply")]
    NoCall {
        /// The id of the missing call.
        id: String,
    },
    /// An update other than a result arrived after the end. It is still applied.
    #[error("{what} arrived after the end of the reply")]
    AfterFinish {
        /// A description of the update.
        what: &'static str,
    },
    /// The reply ended twice. The first reason is kept.
    #[error("the reply ended twice; the second time with {:?}", reason.as_str())]
    SecondFinish {
        /// The second reason.
        reason: FinishReason,
    },
}

impl Problem {
    /// Return the name of the kind of problem.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::InvalidArguments { .. } => "invalid_arguments",
            Self::Unclosed { .. } => "unclosed",
            Self::Unnamed { .. } => "unnamed",
            Self::Renamed { .. } => "renamed",
            Self::LateFragment { .. } => "late_fragment",
            Self::DuplicateCall { .. } => "duplicate_call",
            Self::DuplicateResult { .. } => "duplicate_result",
            Self::NoCall { .. } => "no_call",
            Self::AfterFinish { .. } => "after_finish",
            Self::SecondFinish { .. } => "second_finish",
        }
    }

    /// Return the id of the affected call.
    pub fn tool_call_id(&self) -> Option<&str> {
        match self {
            Self::InvalidArguments { id, .. }
            | Self::Unclosed { id, .. }
            | Self::Unnamed { id, .. }
            | Self::Renamed { id, .. }
            | Self::LateFragment { id, .. }
            | Self::NoCall { id } => Some(id),
            Self::DuplicateCall { call } => Some(&call.id),
            Self::DuplicateResult { result } => Some(&result.tool_call_id),
            Self::AfterFinish { .. } | Self::SecondFinish { .. } => None,
        }
    }

    /// Return the name of the affected tool.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::InvalidArguments { name, .. }
            | Self::Unclosed { name, .. }
            | Self::Renamed { name, .. } => Some(name),
            Self::DuplicateCall { call } => Some(&call.name),
            Self::DuplicateResult { result } => Some(&result.name),
            _ => None,
        }
    }

    /// Return the text that is in no message: arguments, a result, another name.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::InvalidArguments { text, .. }
            | Self::Unclosed { text, .. }
            | Self::Unnamed { text, .. }
            | Self::LateFragment { text, .. } => Some(text.clone()),
            Self::Renamed { other, .. } => Some(other.clone()),
            Self::DuplicateCall { call } => Some(call.arguments.to_string()),
            Self::DuplicateResult { result } => Some(result.result.clone()),
            Self::NoCall { .. } | Self::AfterFinish { .. } | Self::SecondFinish { .. } => None,
        }
    }
}
