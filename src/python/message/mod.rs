//! Python classes for [`crate::message`].

mod base;
mod call;
mod classes;
mod convert;
mod extract;
mod joiner;
mod names;
mod provider;
mod update;

pub(crate) use self::{
    base::PyMessageBase,
    call::{PyRepair, PyToolCall, PyToolResult, dialect_name},
    classes::{
        PyReasoningMessage, PyTextMessage, PyToolAggregateMessage, PyToolCallMessage,
        PyToolResultMessage, PyUnknownMessage, PyUsageMessage,
    },
    convert::{message_from_dict, message_from_json, messages_to_python},
    extract::{Detail, extract},
    joiner::{PyJoinProblem, PyJoinedReply, PyJoiner, try_update},
    provider::{from_anthropic, from_openai, to_anthropic, to_openai},
    update::{PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate},
};
