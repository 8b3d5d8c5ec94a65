//! A request for a reply, whichever API it came through.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{alias::Aliases, error::ApiError};
use crate::{
    contract::FunctionContract,
    message::{Message, openai::from_openai},
};

/// A request for a reply with tools.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The name of the model; empty if the client names none.
    pub model: String,
    /// The names of tools that the upstream sees in place of the client's; in all other fields
    /// they are replaced.
    pub aliases: Aliases,
    /// The request as one for chat completions, with native tools.
    pub body: Map<String, Value>,
    /// The same as text, to be sent unchanged.
    pub native: Bytes,
    /// The conversation; `None` if it is to be read from `body`.
    pub messages: Option<Vec<Message>>,
    /// The tools that the model may call. Empty if it may call none.
    pub contracts: Vec<FunctionContract>,
    /// The calls that the reply must have.
    pub choice: Choice,
    /// True if a reply may have several calls.
    pub parallel: bool,
    /// True if the client reads the reply while it is written.
    pub stream: bool,
    /// True if the client reads the usage of a streamed reply.
    pub include_usage: bool,
}

/// The calls that a reply must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Any, or none.
    Auto,
    /// At least one, of any of the tools in the request.
    Required,
}

impl ChatRequest {
    /// Return the conversation.
    ///
    /// # Errors
    /// Fails if a message is invalid; the error names its field.
    pub fn conversation(&self) -> Result<Vec<Message>, ApiError> {
        if let Some(messages) = &self.messages {
            return Ok(messages.clone());
        }
        match self.body.get("messages") {
            Some(Value::Array(messages)) => Ok(from_openai(messages.clone())?),
            Some(other) => Err(ApiError::unexpected("messages", "a list of messages", other)),
            None => Err(ApiError::field("messages", "is missing; it must be a list of messages")),
        }
    }

    /// Return the ids of the calls in the conversation.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        let messages = self.body.get("messages").and_then(Value::as_array).into_iter().flatten();
        let calls = messages.filter_map(|message| message.get("tool_calls")?.as_array()).flatten();
        calls.filter_map(|call| call.get("id")?.as_str())
    }
}
