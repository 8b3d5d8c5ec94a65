//! The events of a chat, and their reduction to a snapshot.
//!
//! A [`StreamEvent`] consists of a [head](EventHead) (place, time, message, reply and run) and a
//! [body](EventBody) that depends on its kind. It is serialized as JSON, in which unknown kinds and
//! fields are preserved. A [`StreamReducer`] reduces the events of a chat to a [`Snapshot`], in any
//! order and with any repetition.
//!
//! ```
//! use toolweave::lifecycle::{StreamEvent, StreamReducer};
//!
//! let mut reducer = StreamReducer::new();
//! for event in [
//!     r#"{"kind":"text","sequenceNumber":2,"messageId":"m","delta":"lo","done":true}"#,
//!     r#"{"kind":"text","sequenceNumber":1,"messageId":"m","delta":"Hel"}"#,
//!     r#"{"kind":"text","sequenceNumber":2,"messageId":"m","delta":"lo","done":true}"#,
//! ] {
//!     reducer.push(StreamEvent::from_json(event)?)?;
//! }
//! let message = &reducer.snapshot(None).messages[0];
//! assert_eq!(message.text.as_deref(), Some("Hello"));
//! assert!(message.done);
//! # Ok::<(), toolweave::message::MessageError>(())
//! ```
//!
//! # Rules
//!
//! Implementations in other languages follow these rules; `tests/cases/lifecycle` has test cases
//! for them, and `schemas` the JSON Schemas of events and snapshots.
//!
//! **Order.** A snapshot is a function of the set of events: they are applied in the order of their
//! `sequenceNumber`, including those after a gap. Of two events with one number, the one that
//! arrived first counts; if they differ, that is the problem `conflict`. An event whose `chatId`
//! differs from that of the first event with one is the problem `other_chat`, and is not applied.
//! At most the first hundred missing ranges and problems are reported, by number; among problems
//! with one number, those of a single event come first, then `no_call`, then `conflict`.
//!
//! **Fields.** A field that is null counts as absent. An event without a required field is
//! rejected; so is an update of a call with none of `toolCallId`, `index`, `functionName` and
//! `functionArgs`. Unknown fields do not appear in a snapshot, except those of `step`, `metadata`,
//! `arguments`, `schema`, of repairs and of unknown kinds, which are passed on unchanged. An
//! unknown field that looks like a misspelling of an absent one is rejected, in events and in the
//! objects of their lists: a name that is equal except for case, `_` and `-` or, if the known name
//! has five letters or more, is one edit away (an extra, missing or wrong letter, or two swapped
//! ones). So is a kind that equals a known one except for case, `_` and `-`. A result in an
//! aggregate may omit `name`; it then has the name of its call.
//!
//! **Messages.** Texts, reasoning, calls and usage are identified by kind and `messageId`; each
//! error and each event of an unknown kind makes a message of its own, `<kind>.<sequenceNumber>` if
//! it has no `messageId`. Messages are in the order of their first events. `role` is that of the
//! first event, or `assistant`; `runId`, `generationId`, `fromAgent` and `metadata` come from the
//! first event that has them.
//!
//! A message is `done` if one of its events was, or its run has finished. Usage and errors are done
//! from the beginning. Calls are done when their aggregate has arrived or, without it, when their
//! run has finished and the state of each is final (see below).
//!
//! - `text`, `reasoning`: the deltas are joined. A non-empty delta after an event with `done` is
//!   joined too, and is the problem `after_done`.
//! - `usage`: the latest event counts, as a whole.
//! - `error`: `message`, `code`, `toolCallId`. An unknown kind: `unknown` has all its fields except
//!   those common to events of every kind.
//!
//! **Runs** are in the order of their first `run` events, with the fields of the latest. **Scenes**
//! and **selections** are listed in order, **raw** text is joined by `generationId`.
//!
//! **Calls** of one message (of kind `tools_call`, and `tools_aggregate` once that event has
//! arrived) are in the order of their first events. Fragments are matched by `toolCallId`. A
//! fragment with a new id continues the call at its `index` if that has no id so far; otherwise it
//! begins a call. A fragment without an id continues the latest call with its `index` or, without
//! an index, the latest call, unless it names a tool: then it begins a call. Empty ids and names
//! count as absent.
//!
//! - `name`: fragments are pieces of it until the arguments begin; a repetition of the complete
//!   name is tolerated. After that, another name is the problem `renamed`, and is ignored.
//! - `argumentsText`: the joined fragments of the arguments, whatever arrives later; numbers keep
//!   every digit there. `arguments`, `repairs` (if any), `invalid` and the final `name` come with
//!   the complete call.
//! - `index`: that of the complete call, or 0 if it has none; before, that of the first fragment
//!   with one; otherwise the position in the message.
//! - A complete call (`tools_call` or `tools_aggregate`) is matched by its id or, if there is none
//!   with it, with the call at its index if that has no id. A fragment with arguments after it is
//!   the problem `late_fragment`, and is ignored. The first complete call counts: a second
//!   `tools_call` is the problem `duplicate_call`; an aggregate only adds `arguments` that an
//!   invalid call lacks.
//! - A call without an id is called `call_<position>`, followed by as many `_` as needed to make it
//!   unique in the message.
//!
//! **Results and states** (`tool_result`, `tool_state`) belong to the call with their `toolCallId`
//! in one message: their `messageId`, without a trailing `_result_<toolCallId>`; without a
//! `messageId`, `<generationId>.calls`; without a `generationId` as well, the message of the latest
//! call with this id. If there is no such call yet, they wait for it: for the first call that gets
//! this id in this message or, if they name no message, in any. Those for a specific message take
//! precedence over those for any. A call that never arrives is the problem `no_call`, at the first
//! event that refers to it.
//!
//! - A result that is not `done` is progress: the last twenty are kept. `startedUtc` is the time of
//!   the first progress or state `running`.
//! - The first result that is `done` counts, with its time as `finishedUtc`; a second one is the
//!   problem `duplicate_result`. An aggregate gives results to calls that have none, without a
//!   time. `isError` is true if the event says so or has an `errorCode`.
//! - The latest values of `key`, `question`, `schema`, `reason` and `decidedBy` count. `approved`
//!   is true after the state `approved` and false after `denied`, whatever arrives later.
//!
//! **The state of a call** is the first of these that applies:
//!
//! 1. With a result: `denied`, `interrupted` or `timeout` if that is its `errorCode`; else `error`
//!    if `isError`, else `success`.
//! 2. `error` if it is invalid.
//! 3. The state in the latest `tool_state`, or `running` after progress, or else `pending` if it is
//!    complete, or else `writing`; the next items refer to this state. A state that cannot be
//!    reported is the problem `unknown_state`, and is ignored.
//! 4. `denied` is final.
//! 5. If the run of the message has finished, `interrupted`, unless the state is `deferred`, or the
//!    run's `stopReason` is and the state is `awaiting_approval` or `awaiting_answer`.
//! 6. `timeout` if the latest `timestampUtc` of its events is older than the pending timeout before
//!    `now`, unless the state is one of these three.
//!
//! `success`, `error`, `denied`, `interrupted` and `timeout` are final. In items 5 and 6 this is
//! provisional: a result that still arrives is applied.

mod call;
mod entry;
mod event;
mod messages;
mod reducer;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod wire;

pub use self::{
    event::{
        CallState, ErrorStreamEvent, EventBody, EventHead, InvalidReason, RankedTool,
        RawStreamEvent, ReasoningStreamEvent, ReportedCall, RunStatus, RunStreamEvent,
        SceneStreamEvent, SelectionStreamEvent, StreamEvent, TextStreamEvent,
        ToolResultStreamEvent, ToolStateStreamEvent, ToolsAggregateEvent, ToolsCallStreamEvent,
        ToolsCallUpdateStreamEvent,
    },
    reducer::StreamReducer,
    snapshot::{
        ProblemKind, Snapshot, SnapshotCall, SnapshotMessage, SnapshotProblem, SnapshotRaw,
        SnapshotRun, SnapshotScene, SnapshotSelection,
    },
};
