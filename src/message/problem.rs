//! What the joiner found wrong with a stream.

use thiserror::Error;

use super::{
    call::{ToolCall, ToolResult},
    names::FinishReason,
};

/// Something in a stream that could not be taken as it came. Nothing is lost: what did not go
/// into a message is in here.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The arguments of a native call are no JSON object. The call is in no message.
    #[error("arguments of tool call {id:?} ({name}) are no JSON object: {reason}")]
    InvalidArguments {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What the model wrote.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The reply was cut off inside a native call. The call is in no message.
    #[error("the reply was cut off inside tool call {id:?} ({name})")]
    Unclosed {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments so far.
        text: String,
    },
    /// No fragment of a native call named a tool. The call is in no message.
    #[error("tool call {id:?} names no tool")]
    Unnamed {
        /// The call.
        id: String,
        /// Its arguments.
        text: String,
    },
    /// A fragment named another tool after the arguments had begun. The first name stays.
    #[error("tool call {id:?} is for {name:?}, but a later fragment says {other:?}")]
    Renamed {
        /// The call.
        id: String,
        /// The name that stays.
        name: String,
        /// The other one.
        other: String,
    },
    /// A fragment came for a call that was whole already. The fragment is ignored.
    #[error("tool call {id:?} was whole already when another fragment of it came")]
    LateFragment {
        /// The call.
        id: String,
        /// The fragment of its arguments.
        text: String,
    },
    /// A whole call came twice. The first stays.
    #[error("tool call {:?} came twice; the first stays", call.id)]
    DuplicateCall {
        /// The second.
        call: Box<ToolCall>,
    },
    /// A result came twice. The first stays.
    #[error("the result of tool call {:?} came twice; the first stays", result.tool_call_id)]
    DuplicateResult {
        /// The second.
        result: ToolResult,
    },
    /// A result answers no call of this reply. It stands in a message of its own.
    #[error("a result came for {id:?}, but the reply makes no such call")]
    NoCall {
        /// The call that is missed.
        id: String,
    },
    /// Something other than a result came after the end. It is taken all the same.
    #[error("{what} came after the end of the reply")]
    AfterFinish {
        /// What it was.
        what: &'static str,
    },
    /// The reply ended twice. The first reason stays.
    #[error("the reply ended twice; the second time with {:?}", reason.as_str())]
    SecondFinish {
        /// The second reason.
        reason: FinishReason,
    },
}

impl Problem {
    /// A name for the kind of problem.
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

    /// The call that it is about.
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

    /// The tool that it is about.
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

    /// The text that is in no message: arguments, a result, another name.
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
