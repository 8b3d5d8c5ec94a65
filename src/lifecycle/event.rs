//! The types of stream events.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::{Role, ToolCall, ToolCallUpdate, ToolResult};

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

/// What events of every kind may say.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct EventHead {
    /// The chat.
    pub chat_id: Option<String>,
    /// The position in the chat's log, from 1 and without gaps. Not there yet in an event that is
    /// not stored.
    #[cfg_attr(test, schemars(range(min = 1, max = 9_007_199_254_740_991_u64)))]
    pub sequence_number: Option<u64>,
    /// When the event was stored, in milliseconds since 1970.
    #[cfg_attr(test, schemars(range(max = 9_007_199_254_740_991_u64)))]
    pub timestamp_utc: Option<u64>,
    /// The message that the event adds to.
    pub message_id: Option<String>,
    /// The run that the event belongs to.
    pub run_id: Option<String>,
    /// The model's reply that the event belongs to.
    pub generation_id: Option<String>,
    /// Who speaks.
    pub role: Option<Role>,
    /// The agent that speaks.
    pub from_agent: Option<String>,
    /// Whether this was the last of its message or, of a result, whether it is the result.
    pub done: Option<bool>,
    /// Anything else: a JSON object.
    pub metadata: Option<Map<String, Value>>,
    /// What the wire held beyond the fields that this version knows, in the same shape; it is
    /// written back as it was.
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
    Usage(UsageStreamEvent),
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

/// More text of a message. A whole text is one event that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct TextStreamEvent {
    /// What is added.
    pub delta: String,
}

/// More of what the model thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ReasoningStreamEvent {
    /// What is added.
    pub delta: String,
}

/// Fragments of calls that are being written, held together by id or, where only the first
/// fragment has one, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsCallUpdateStreamEvent {
    /// The fragments.
    pub tool_call_updates: Vec<ToolCallUpdate>,
}

/// Calls that are whole.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsCallStreamEvent {
    /// The calls.
    pub tool_calls: Vec<ReportedCall>,
}

/// A call, with what keeps it from running.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "ToldCall", rename_all = "camelCase")
)]
pub struct ReportedCall {
    /// The call. Its arguments are null where it is invalid and has none.
    #[cfg_attr(test, schemars(flatten))]
    pub call: ToolCall,
    /// Why it cannot run, if it cannot.
    pub invalid: Option<InvalidReason>,
}

/// Why a call cannot run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InvalidReason {
    /// The kind of fault, such as `schema_violation`.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// The result of a call or, while it is not done, progress on the way to it. The first result
/// stays.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolResultStreamEvent {
    /// The call.
    pub tool_call_id: String,
    /// What the model reads; while it is not done, how far the tool has come.
    pub result: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The tool.
    pub name: Option<String>,
    /// Why it failed, such as `timeout`.
    pub error_code: Option<String>,
    /// How long the tool ran, in seconds.
    pub duration: Option<f64>,
}

/// Calls that stand together in a reply, with their results in the same order. A call without a
/// result is pending.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolsAggregateEvent {
    /// The calls.
    pub tool_calls: Vec<ToolCall>,
    /// Their results.
    pub tool_results: Vec<ToolResult>,
}

/// What a model request has used so far.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct UsageStreamEvent {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// Those of `inputTokens` that the provider had in its cache.
    pub cached_input_tokens: u64,
    /// What the request cost, in the currency of the price table.
    pub cost: Option<f64>,
}

/// Something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ErrorStreamEvent {
    /// A sentence.
    pub message: String,
    /// A name for what went wrong.
    pub code: Option<String>,
    /// The call that it is about, if it is about one.
    pub tool_call_id: Option<String>,
}

/// A run began or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct RunStreamEvent {
    /// Whether it began or ended.
    pub status: RunStatus,
    /// Why it ended, such as `completed` or `interrupted`.
    pub stop_reason: Option<String>,
    /// A sentence that says what went wrong.
    pub error: Option<String>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolStateStreamEvent {
    /// The call.
    pub tool_call_id: String,
    /// `running`, `awaiting_approval`, `approved`, `denied`, `awaiting_answer` or `deferred`.
    pub state: String,
    /// What to resolve, where somebody has to.
    pub key: Option<String>,
    /// What is asked.
    pub question: Option<String>,
    /// What an answer has to be, as JSON Schema.
    pub schema: Option<Value>,
    /// Why approval is needed, or was given or refused.
    pub reason: Option<String>,
    /// Who gave or refused approval.
    pub decided_by: Option<String>,
}

/// A step of a scene run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct SceneStreamEvent {
    /// The step.
    pub step: Map<String, Value>,
}

/// A tool was chosen by the scores that a model gave.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct SelectionStreamEvent {
    /// The tool that was chosen, if one was.
    pub tool: Option<String>,
    /// Its score, from 0 to 100.
    pub score: Option<f64>,
    /// Whether it is the one for when nothing else fits.
    pub fallback: bool,
    /// How often a model was asked.
    pub calls: u64,
    /// How long it took, in seconds.
    pub duration: f64,
    /// The tools that were asked about, best first.
    pub ranking: Vec<RankedTool>,
}

/// A tool that was asked about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RankedTool {
    /// The tool.
    pub tool: String,
    /// Its score, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What the model wrote, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct RawStreamEvent {
    /// What is added.
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
