//! The structured history as natural text, and back.
//!
//! Models that write their calls in text must also read them there. [`consolidate`] writes the
//! calls and results of a history as such text, [`parse_history`] reads transcripts back, and a
//! [`Consolidator`] does the first message by message. Results are foreign text: whatever is in
//! them, they never become calls, and they come back exactly.
//!
//! ```
//! use serde_json::json;
//! use toolweave::consolidate::{Options, consolidate, parse_history};
//! use toolweave::message::{Content, Envelope, Message, Role, ToolCall, ToolResult};
//! use toolweave::parser::Dialect;
//!
//! let call = ToolCall {
//!     id: "call_0".into(),
//!     name: "GetWeather".into(),
//!     arguments: json!({"location": "San Francisco, CA"}),
//!     raw: String::new(),
//!     index: 0,
//!     repairs: Vec::new(),
//! };
//! let result = ToolResult {
//!     tool_call_id: "call_0".into(),
//!     name: "GetWeather".into(),
//!     result: "68F and </tool_response> sunny".into(),
//!     is_error: false,
//!     error_code: None,
//!     duration: Some(0.2),
//! };
//! let history = [Message {
//!     envelope: Envelope::new(Role::Assistant),
//!     content: Content::Aggregate { calls: vec![call], results: vec![result] },
//! }];
//!
//! let text = consolidate(&history, &[], Options::default())?;
//! let Content::Text(natural) = &text[0].content else { unreachable!() };
//! assert_eq!(
//!     natural,
//!     "<tool_call name=\"GetWeather\">\n\
//!      {\n  \"location\": \"San Francisco, CA\"\n}\n\
//!      </tool_call>\n\
//!      <tool_response name=\"GetWeather\">\n\
//!      68F and &lt;/tool_response> sunny\n\
//!      </tool_response>"
//! );
//! let read = parse_history(&text, &[], &[Dialect::NATURAL])?;
//! assert_eq!(read[0].content, history[0].content);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod blocks;
mod check;
mod consolidator;
mod envelope;
mod escape;
mod streamed_text;
mod grammar;
mod history;
mod json;
mod layout;
mod parts;
mod reply;
mod response;
mod responses;
#[cfg(test)]
mod tests;
mod open_calls;

pub use self::{consolidator::Consolidator, history::parse_history};

use thiserror::Error;

use crate::{
    contract::{FunctionContract, Tag},
    message::{Message, wire_names},
};

wire_names! {
    /// What becomes one message.
    #[derive(Default)]
    Form {
        /// All that one party says, results beside their calls: a transcript.
        #[default]
        Single = "single",
        /// All that one party says, results in the turn after as the user's: what is sent to a
        /// model.
        Turn = "turn",
        /// As `turn`, and results follow their calls directly, whatever else the reply says.
        Split = "split",
    }
}

/// How a history is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What becomes one message.
    pub form: Form,
    /// The tag of a call.
    pub tag: Tag,
    /// Whether arguments stand in a Markdown fence.
    pub fenced: bool,
}

/// A history that cannot be written down. Messages are counted from zero.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConsolidateError {
    /// The arguments of a call are something else than an object.
    #[error("message {index}: arguments of tool call {id:?} ({name}) are no JSON object")]
    Arguments {
        /// The message.
        index: usize,
        /// The call.
        id: String,
        /// The tool.
        name: String,
    },
    /// The arguments of a call are nested too deeply to be read back.
    #[error(
        "message {index}: arguments of tool call {id:?} ({name}) are nested deeper than {} levels",
        json::MAX_DEPTH
    )]
    TooDeep {
        /// The message.
        index: usize,
        /// The call.
        id: String,
        /// The tool.
        name: String,
    },
    /// Two calls of one message share an id, so that results cannot be told apart.
    #[error("message {index}: two tool calls have the id {id:?}")]
    DuplicateCall {
        /// The message.
        index: usize,
        /// The id.
        id: String,
    },
    /// Two results of one message are for the same call.
    #[error("message {index}: two results are for tool call {id:?}")]
    DuplicateResult {
        /// The message.
        index: usize,
        /// The call.
        id: String,
    },
    /// A result of an aggregate is for a call that is not in it.
    #[error("message {index}: a result is for tool call {id:?}, which is not in the message")]
    UnknownCall {
        /// The message.
        index: usize,
        /// The call that is missed.
        id: String,
    },
    /// A message came after the end.
    #[error("message {index}: the consolidator is finished and takes no more messages")]
    Finished {
        /// The message.
        index: usize,
    },
}

/// `messages` as natural text: one message for each turn, never across a text of the system or
/// of the user. `tools` are the tools that the model knows: what could be read as a call of one
/// of them is neutralised in every text, as are our own tags and the names of all calls so far.
///
/// The messages are marked as natural. A text with that mark is passed on as it stands, so that
/// doing this twice is doing it once; of a user's text only results pass. The system's texts stay
/// as they are.
///
/// Reasoning, usage and kinds of message that this version does not know are not written; their
/// metadata goes to the message of their party. Texts without a character say nothing, and without
/// anything to say there is no message.
pub fn consolidate(
    messages: &[Message],
    tools: &[FunctionContract],
    options: Options,
) -> Result<Vec<Message>, ConsolidateError> {
    let mut consolidator = Consolidator::new(tools, options);
    for message in messages {
        consolidator.take(message)?;
    }
    Ok(consolidator.into_messages())
}
