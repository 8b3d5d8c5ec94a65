//! The structured history as natural text, and back.
//!
//! Models that write their calls in text must also read them there. [`consolidate`] writes the
//! calls and results of a history as such text, [`parse_history`] reads it back, and a
//! [`Consolidator`] does the first message by message. Results are foreign text: whatever is in
//! them, they never become calls, and they come back exactly.
//!
//! ```
//! use serde_json::json;
//! use toolweave::consolidate::{Options, consolidate, parse_history};
//! use toolweave::message::{Content, Envelope, Message, Role, ToolCall, ToolResult};
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
//! assert_eq!(parse_history(&text[0], &[])[0].content, history[0].content);
//! # Ok::<_, toolweave::consolidate::ConsolidateError>(())
//! ```

mod consolidator;
mod envelope;
mod escape;
mod history;
mod json;
mod layout;
mod split;
#[cfg(test)]
mod tests;
mod turns;

pub use self::{
    consolidator::Consolidator,
    history::{parse_history, parse_text},
};

use thiserror::Error;

use crate::{
    contract::{FunctionContract, Tag},
    message::Message,
};

/// How calls and results are told apart by who says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// One message: a transcript.
    #[default]
    Single,
    /// Calls stay with the assistant, results follow as the user's: what is sent to a model.
    Split,
}

impl Form {
    /// The name of this option.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Split => "split",
        }
    }

    /// The form with this name of the option.
    pub fn from_wire(name: &str) -> Option<Self> {
        [Self::Single, Self::Split].into_iter().find(|form| form.as_str() == name)
    }
}

/// How a history is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// In one message, or split between those who speak.
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

/// `messages` as natural text. `tools` are the tools that the model knows: what could be read
/// as a call of one of them is neutralised in every text, as are our own tags and the names of
/// all calls so far.
///
/// Reasoning, usage and kinds of message that this version does not know are left out, and so are texts without a character. Without anything to
/// say there is no message.
pub fn consolidate(
    messages: &[Message],
    tools: &[FunctionContract],
    options: Options,
) -> Result<Vec<Message>, ConsolidateError> {
    match options.form {
        Form::Split => split::split(messages, tools, options),
        Form::Single => {
            let mut consolidator = Consolidator::new(tools, options.tag, options.fenced);
            for message in messages {
                consolidator.push(message)?;
            }
            consolidator.finish();
            Ok(consolidator.message().into_iter().collect())
        }
    }
}
