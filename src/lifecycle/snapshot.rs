//! Snapshots: the reduced state of a chat.

use serde::Serialize;
use serde_json::{Map, Value};

use super::event::{CallState, InvalidReason, RankedTool, RunStatus};
#[cfg(test)]
use crate::message::Repair;
use crate::message::Role;

/// A chat, or what is known of it, as somebody would want to see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The chat, once an event has named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// The end of the gapless beginning: everything up to here has come.
    pub last_sequence_number: u64,
    /// What has not come although something after it has, as first and last number; the first
    /// hundred ranges.
    pub missing: Vec<(u64, u64)>,
    /// What was said and done, in the order in which it began.
    pub messages: Vec<SnapshotMessage>,
    /// The runs, in the order in which they were first heard of.
    pub runs: Vec<SnapshotRun>,
    /// The steps of scene runs.
    pub scenes: Vec<SnapshotScene>,
    /// The tools that were chosen.
    pub selections: Vec<SnapshotSelection>,
    /// What the model wrote, by reply.
    pub raw: Vec<SnapshotRaw>,
    /// What could not be taken as it came, by number; the first hundred.
    pub problems: Vec<SnapshotProblem>,
}

impl Snapshot {
    /// Return the snapshot as a JSON object.
    pub fn to_json_value(&self) -> Value {
        // A snapshot contains nothing that JSON cannot represent.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// One message. Which of the optional fields are there depends on the kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotMessage {
    /// The message.
    pub message_id: String,
    /// `text`, `reasoning`, `tools_call` (calls), `tools_aggregate` (calls whose aggregate has
    /// come), `usage`, `error`, or a kind that this version does not know.
    pub kind: String,
    /// Who speaks.
    pub role: Role,
    /// The first event that spoke of it; no two messages have the same.
    pub sequence_number: u64,
    /// Whether nothing more is to come.
    pub done: bool,
    /// The run that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The model's reply that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<String>,
    /// The agent that speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<String>,
    /// Anything else: a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Of texts and thoughts: what was said so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of calls: the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<SnapshotCall>>,
    /// Of usage: tokens of the prompt, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of usage: tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Of usage: those of `inputTokens` that the provider had in its cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Of usage: what the request cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Of an error: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Of an error: a name for what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Of an error: the call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Of a kind that this version does not know: the event's own fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Map<String, Value>>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotCall {
    /// The call; `call_<position>` while no id has come.
    pub tool_call_id: String,
    /// The tool; empty while nobody has named it.
    pub name: String,
    /// The position among the calls of the reply.
    pub index: usize,
    /// The arguments as the fragments spelled them; empty if none came.
    pub arguments_text: String,
    /// The arguments, once the call is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// What had to be mended, if anything had.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Vec<Repair>>"))]
    pub repairs: Option<Vec<Value>>,
    /// Why it cannot run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<InvalidReason>,
    /// How far it has come.
    pub state: CallState,
    /// What to resolve, where somebody has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// What an answer has to be, as JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Why approval is needed, or was given or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether approval was given, once it was decided on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Who gave or refused approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// How far the tool has come, latest last; the last twenty.
    pub progress: Vec<String>,
    /// What the tool answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether it failed. There when the result is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// How long the tool ran, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// When it began to run, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_utc: Option<u64>,
    /// When its result was stored, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_utc: Option<u64>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRun {
    /// The run.
    pub run_id: String,
    /// Whether it is at work.
    pub status: RunStatus,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// A sentence that says what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One step of a scene run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotScene {
    /// The event that told it.
    pub sequence_number: u64,
    /// When, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_utc: Option<u64>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The model's reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<String>,
    /// The step.
    pub step: Map<String, Value>,
}

/// One choice of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotSelection {
    /// The event that told it.
    pub sequence_number: u64,
    /// When, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp_utc: Option<u64>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The model's reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<String>,
    /// The tool that was chosen, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its score, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// What the model wrote in one reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRaw {
    /// The reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_id: Option<String>,
    /// What was written so far.
    pub text: String,
}

/// Something that could not be taken as it came.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SnapshotProblem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// The event at fault.
    pub sequence_number: u64,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

crate::message::wire_names! {
    /// A problem with an event in the context of others.
    ProblemKind {
        /// Another event has the same number; the one that arrived first counts.
        Conflict = "conflict",
        /// The event belongs to another chat, and was not applied.
        OtherChat = "other_chat",
        /// The message was already done; the text was still added.
        AfterDone = "after_done",
        /// The call was already complete; the fragment was ignored.
        LateFragment = "late_fragment",
        /// A fragment names another tool after the arguments have begun; the first name counts.
        Renamed = "renamed",
        /// The call was already complete; the first one counts.
        DuplicateCall = "duplicate_call",
        /// The call already had a result; the first one counts.
        DuplicateResult = "duplicate_result",
        /// The state is unknown to this version, and was ignored.
        UnknownState = "unknown_state",
        /// The call has not arrived.
        NoCall = "no_call",
    }
}
