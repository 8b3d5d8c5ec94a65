//! The types of stream events.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::{Role, ToolCall, ToolCallUpdate, ToolResult, Usage};

/// The largest integer that all languages represent exactly: 2^53 - 1.
pub(super) const LARGEST: u64 = (1 << 53) - 1;

/// An event in a chat.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// The fields common to all events: time, place and associations.
    pub head: EventHead,
    /// The fields of its kind.
    pub body: EventBody,
}

/// The fields common to events of all kinds.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct EventHead {
    /// The id of the chat.
    pub chat_id: Option<String>,
    /// The position in the chat's log, from 1 and without gaps. Absent in an event that has not
    /// been stored.
    #[cfg_attr(test, schemars(range(min = 1, max = 9_007_199_254_740_991_u64)))]
    pub sequence_number: Option<u64>,
    /// The time at which the event was stored, in milliseconds since 1970.
    #[cfg_attr(test, schemars(range(max = 9_007_199_254_740_991_u64)))]
    pub timestamp_utc: Option<u64>,
    /// The id of the message that the event belongs to.
    pub message_id: Option<String>,
    /// The id of the run that the event belongs to.
    pub run_id: Option<String>,
    /// The id of the model reply that the event belongs to.
    pub generation_id: Option<String>,
    /// The role of the sender.
    pub role: Option<Role>,
    /// The name of the agent that sent the event.
    pub from_agent: Option<String>,
    /// True if this is the last event of its message or, for a result, if it is the result itself.
    pub done: Option<bool>,
    /// Additional data: a JSON object.
    pub metadata: Option<Map<String, Value>>,
    /// Unknown fields of the wire JSON, in the same structure; they are preserved when written.
    #[cfg_attr(test, schemars(skip))]
    pub extra: Map<String, Value>,
}

/// The fields of an event, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum EventBody {
    /// A piece of text.
    Text(TextStreamEvent),
    /// A piece of reasoning.
    Reasoning(ReasoningStreamEvent),
    /// Fragments of calls that are being written.
    ToolsCallUpdate(ToolsCallUpdateStreamEvent),
    /// Complete calls.
    ToolsCall(ToolsCallStreamEvent),
    /// A result, or progress towards it.
    ToolResult(ToolResultStreamEvent),
    /// Consecutive calls of a reply, with their results.
    ToolsAggregate(ToolsAggregateEvent),
    /// The token usage of a model request.
    Usage(Usage),
    /// An error.
    Error(ErrorStreamEvent),
    /// The start or end of a run.
    Run(RunStreamEvent),
    /// The state of a call.
    ToolState(ToolStateStreamEvent),
    /// A step of a scene run.
    Scene(SceneStreamEvent),
    /// The selection of a tool.
    Selection(SelectionStreamEvent),
    /// The raw text of the model.
    Raw(RawStreamEvent),
    /// An event of an unknown kind, preserved unchanged.
    Unknown {
        /// The name of the kind on the wire.
        kind: String,
        /// All fields that are not part of the head.
        fields: Map<String, Value>,
    },
}

impl EventBody {
    /// The names of the known kinds.
    pub(super) const KINDS: [&str; 13] = [
        "text",
        "reasoning",
        "tools_call_update",
        "tools_call",
        "tool_result",
        "tools_aggregate",
        "usage",
        "error",
        "run",
        "tool_state",
        "scene",
        "selection",
        "raw",
    ];

    /// Return the name of the kind on the wire.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Reasoning(_) => "reasoning",
            Self::ToolsCallUpdate(_) => "tools_call_update",
            Self::ToolsCall(_) => "tools_call",
            Self::ToolResult(_) => "tool_result",
            Self::ToolsAggregate(_) => "tools_aggregate",
            Self::Usage(_) => "usage",
            Self::Error(_) => "error",
            Self::Run(_) => "run",
            Self::ToolState(_) => "tool_state",
            Self::Scene(_) => "scene",
            Self::Selection(_) => "selection",
            Self::Raw(_) => "raw",
            Self::Unknown { kind, .. } => kind,
        }
    }
}

/// A piece of text of a message. A complete text is one event that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct TextStreamEvent {
    /// The text to append.
    pub delta: String,
}

/// A piece of the model's reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ReasoningStreamEvent {
    /// The text to append.
    pub delta: String,
}

/// Fragments of calls that are being written, matched by id or, if only the first fragment has one,
/// by index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsCallUpdateStreamEvent {
    /// The fragments.
    pub tool_call_updates: Vec<ToolCallUpdate>,
}

/// Complete calls.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsCallStreamEvent {
    /// The calls.
    pub tool_calls: Vec<ReportedCall>,
}

/// A call, with the reason why it cannot run, if any.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ReportedCall {
    /// The call. Its arguments are null if it is invalid and has none.
    #[cfg_attr(test, schemars(flatten))]
    pub call: ToolCall,
    /// The reason why the call cannot run, if it cannot.
    pub invalid: Option<InvalidReason>,
}

/// The reason why a call cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InvalidReason {
    /// The kind of error, such as `schema_violation`.
    pub reason: String,
    /// A description, as a sentence.
    pub message: String,
}

/// The result of a call or, while it is not done, progress towards it. The first result counts.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolResultStreamEvent {
    /// The id of the call.
    pub tool_call_id: String,
    /// The text that the model reads; while it is not done, a progress text.
    pub result: String,
    /// True if the call failed.
    pub is_error: bool,
    /// The name of the tool.
    pub name: Option<String>,
    /// The reason why the call failed, such as `timeout`.
    pub error_code: Option<String>,
    /// Duration of the tool's execution, in seconds.
    pub duration: Option<f64>,
}

/// Consecutive calls of a reply, with their results in the same order. A call without a result is
/// pending.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsAggregateEvent {
    /// The calls.
    pub tool_calls: Vec<ToolCall>,
    /// The results of the calls.
    pub tool_results: Vec<ToolResult>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ErrorStreamEvent {
    /// A description, as a sentence.
    pub message: String,
    /// The error code.
    pub code: Option<String>,
    /// The id of the affected call, if any.
    pub tool_call_id: Option<String>,
}

/// The start or end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct RunStreamEvent {
    /// The new status.
    pub status: RunStatus,
    /// The reason why the run ended, such as `completed` or `interrupted`.
    pub stop_reason: Option<String>,
    /// A description of the error, as a sentence.
    pub error: Option<String>,
}

/// The state of a call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolStateStreamEvent {
    /// The id of the call.
    pub tool_call_id: String,
    /// `running`, `awaiting_approval`, `approved`, `denied`, `awaiting_answer` or `deferred`.
    pub state: String,
    /// The key with which to resolve the call, if it is waiting.
    pub key: Option<String>,
    /// The question to answer.
    pub question: Option<String>,
    /// The JSON Schema of an answer.
    pub schema: Option<Value>,
    /// The reason why approval is needed, or was given or denied.
    pub reason: Option<String>,
    /// The person or component that decided on the approval.
    pub decided_by: Option<String>,
}

/// A step of a scene run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct SceneStreamEvent {
    /// The step.
    pub step: Map<String, Value>,
}

/// The selection of a tool by the scores of a model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct SelectionStreamEvent {
    /// The name of the selected tool, if any.
    pub tool: Option<String>,
    /// The tool's score, from 0 to 100.
    pub score: Option<f64>,
    /// True if the tool is the fallback.
    pub fallback: bool,
    /// Number of model requests.
    pub calls: u64,
    /// Duration of the selection, in seconds.
    pub duration: f64,
    /// The candidates, best first.
    pub ranking: Vec<RankedTool>,
}

/// A candidate of a selection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RankedTool {
    /// The name of the tool.
    pub tool: String,
    /// The tool's score, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The reason why there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A piece of the model's raw output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct RawStreamEvent {
    /// The text to append.
    pub delta: String,
}

crate::message::wire_names! {
    /// The status of a run.
    RunStatus {
        /// The run has started.
        Started = "started",
        /// The run has finished.
        Finished = "finished",
    }
}

crate::message::wire_names! {
    /// The state of a call.
    CallState {
        /// The arguments are being written.
        Writing = "writing",
        /// The call is complete, and no later event has arrived.
        Pending = "pending",
        /// The tool is running.
        Running = "running",
        /// The call is waiting for approval.
        AwaitingApproval = "awaiting_approval",
        /// The call was approved.
        Approved = "approved",
        /// The call is waiting for an answer to its question.
        AwaitingAnswer = "awaiting_answer",
        /// The result arrives later, perhaps long after the run.
        Deferred = "deferred",
        /// The call has a result.
        Success = "success",
        /// The call failed.
        Error = "error",
        /// The call was denied.
        Denied = "denied",
        /// The run ended before the call did.
        Interrupted = "interrupted",
        /// The call timed out.
        Timeout = "timeout",
    }
}
