//! What happens in a chat, event by event, and what the events come to.
//!
//! A [`StreamEvent`] is a [head](EventHead) (where, when, of which message, reply and run) and a
//! [body](EventBody) of some kind. It goes over the wire as JSON, in which kinds and fields that
//! this version does not know survive. A [`StreamReducer`] turns the events of a chat into a
//! [`Snapshot`], in whatever order they come and however often.
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
//! Whoever reduces events in another language follows these; `tests/cases/lifecycle` has cases
//! for them, and `schemas` the JSON Schemas of events and snapshots.
//!
//! **Order.** A snapshot is a function of the set of events: they are taken in in the order of
//! their `sequenceNumber`, those after a gap as well. Of two events with one number the one that
//! came first counts; if they differ, that is the problem `conflict`. An event of another chat
//! than that of the first event with a `chatId` is the problem `other_chat`, and is not taken in.
//! Of missing ranges and of problems the first hundred are told, by number; of problems with one
//! number those of one event come first, then `no_call`, then `conflict`.
//!
//! **Fields.** A field that is null counts as absent. An event that lacks what its kind needs is
//! refused; so is an update of a call that says none of `toolCallId`, `index`, `functionName` and
//! `functionArgs`. Unknown fields do not show in a snapshot, other than those of `step`, `metadata`,
//! `arguments`, `schema`, of repairs and of unknown kinds, which are passed on as they are. An
//! unknown field that looks like a misspelling of one that is absent is refused, in events and in
//! the objects of their lists: a name that is the same but for case, `_` and `-` or, where the
//! known name has five letters or more, is one edit away (a letter too many, too few or wrong, or
//! two swapped). So is a kind that is a known one but for case, `_` and `-`. A result in an
//! aggregate may leave out `name`: that of its call holds.
//!
//! **Messages.** Texts, thoughts, calls and usage are told apart by kind and `messageId`; errors
//! and unknown kinds make a message each, `<kind>.<sequenceNumber>` if they have no `messageId`.
//! Messages are in the order of the first event of each. `role` is that of this first event,
//! `assistant` if it has none; `runId`, `generationId`, `fromAgent` and `metadata` are what the
//! first event says that says anything.
//!
//! A message is `done` if an event of it was, or its run has finished. Usage and errors are done
//! from the beginning. Calls are done when their aggregate has come or, without it, when their
//! run has finished and the state of each is final (see below).
//!
//! - `text`, `reasoning`: the deltas are joined. A delta that is not empty, of a message whose
//!   events have said `done`, is joined too, and is the problem `after_done`.
//! - `usage`: the latest event counts, as a whole.
//! - `error`: `message`, `code`, `toolCallId`. An unknown kind: `unknown` has all its fields but
//!   those that events of every kind may have.
//!
//! **Runs** are in the order in which a `run` event first spoke of each, with what the latest
//! says. **Scenes** and **selections** are listed as they come, **raw** text is joined by
//! `generationId`.
//!
//! **Calls** of one message (of kind `tools_call`, and `tools_aggregate` once that event has
//! come) are in the order in which they were first seen. Fragments are held together by
//! `toolCallId`. One with an id that is new is more of the call at its `index` if that has no id
//! so far, else a new call. One without an id is more of the call that was last seen with its
//! `index` or, without an index, of the latest call, unless it names a tool: then it begins one.
//! Empty ids and names count as absent.
//!
//! - `name`: fragments are pieces of it until the arguments begin; the whole name once more is
//!   tolerated. After that, another name is the problem `renamed`, and not taken.
//! - `argumentsText`: the fragments of the arguments, joined, whatever comes later; numbers
//!   keep every digit in there. `arguments`, `repairs` (if there are any), `invalid` and the final
//!   `name` come with the whole call.
//! - `index`: that of the whole call, 0 if it gives none; before, that of the first fragment
//!   with one; else the position in the message.
//! - A whole call (`tools_call` or `tools_aggregate`) is the one with its id or, if there is none,
//!   the one at its index if that has no id. A fragment that brings arguments after it is the
//!   problem `late_fragment`, and not taken. The first whole call stays: a second of `tools_call`
//!   is the problem `duplicate_call`; an aggregate adds nothing but `arguments` that an invalid
//!   call lacks.
//! - A call that no id has come for is called `call_<position>`, with as many `_` behind it as it
//!   takes to be the only one in the message.
//!
//! **Results and states** (`tool_result`, `tool_state`) belong to the call with their `toolCallId`
//! in one message: their `messageId`, without `_result_<toolCallId>` at its end; if there is no
//! `messageId`, `<generationId>.calls`; if there is no `generationId` either, the message in which
//! the call with this id came last. If no such call is there yet, what they say waits for it: for
//! the first call that gets this id in this message or, if they say no message, in any. What was
//! said for a certain message goes before what was said for any. A call that has not come is the
//! problem `no_call`, at the first event that spoke of it.
//!
//! - A result that is not `done` is progress: the last twenty are kept. `startedUtc` is the time
//!   of the first progress or state `running`.
//! - The first result that is `done` stays, with its time as `finishedUtc`; a second one is the
//!   problem `duplicate_result`. An aggregate gives results to calls that have none, without a
//!   time. `isError` is true if the event says so or has an `errorCode`.
//! - Of `key`, `question`, `schema`, `reason` and `decidedBy`, the latest that was said counts.
//!   `approved` is true after the state `approved` and false after `denied`, whatever comes later.
//!
//! **The state of a call** is the first of these that holds:
//!
//! 1. With a result: `denied`, `interrupted` or `timeout` if that is its `errorCode`; else `error`
//!    if `isError`, else `success`.
//! 2. `error` if it is invalid.
//! 3. What the latest `tool_state` or progress said (progress says `running`), or else `pending`
//!    if it is whole, or else `writing`: this is what the next ones speak of. A state that is none
//!    of those that can be said is the problem `unknown_state`, and not taken.
//! 4. `denied` stays.
//! 5. If the run of the message has finished, `interrupted`, unless the state is `deferred`, or the
//!    run's `stopReason` is and the state is `awaiting_approval` or `awaiting_answer`.
//! 6. `timeout` if nothing was heard of it for more than the pending timeout before `now`, unless
//!    the state is one of these three. What is heard is the latest `timestampUtc` of its events.
//!
//! `success`, `error`, `denied`, `interrupted` and `timeout` are final, but for 5 and 6 only as
//! far as anybody knows: a result that comes all the same is taken.

mod call;
mod entry;
mod event;
mod messages;
mod reducer;
#[cfg(test)]
mod schema;
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
        ToolsCallUpdateStreamEvent, UsageStreamEvent,
    },
    reducer::StreamReducer,
    snapshot::{
        ProblemKind, Snapshot, SnapshotCall, SnapshotMessage, SnapshotProblem, SnapshotRaw,
        SnapshotRun, SnapshotScene, SnapshotSelection,
    },
};
