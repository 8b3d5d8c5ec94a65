//! Messages and tool calls: the vocabulary every other module speaks.
//!
//! A [`Message`] is an [`Envelope`] (who, when, on whose behalf) around a [`Content`]. It goes
//! over the wire as JSON ([`Message::to_json`], [`Message::from_json`]), to and from the chat
//! formats of providers ([`openai`], [`anthropic`]), and is put together from what streams by
//! the [`Joiner`].
//!
//! ```
//! use toolweave::message::{Content, Joiner, Message, Role, Update};
//!
//! let mut joiner = Joiner::new();
//! joiner.push(Update::Text("Hel".into()));
//! joiner.push(Update::Text("lo".into()));
//! let messages = joiner.finish().messages;
//! assert_eq!(messages, [Message::new(Role::Assistant, Content::Text("Hello".into()))]);
//!
//! let json = messages[0].to_json();
//! assert_eq!(json, r#"{"kind":"text","role":"assistant","text":"Hello"}"#);
//! assert_eq!(Message::from_json(&json).unwrap(), messages[0]);
//! ```

pub mod anthropic;
mod call;
mod error;
mod exchange;
pub(crate) mod fields;
mod joiner;
mod names;
pub mod openai;
mod parts;
mod problem;
pub(crate) mod slots;
pub(crate) mod spelling;
mod turns;
mod update;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

#[cfg(feature = "python")]
pub(crate) use self::call::order_by_calls;
pub use self::{
    call::{ErrorCode, Repair, RepairKind, ToolCall, ToolResult},
    error::{MessageError, Place},
    joiner::{JoinedReply, Joiner},
    names::{FinishReason, MessageKind, Role},
    problem::Problem,
    turns::Dangling,
    update::{ToolCallUpdate, Update, UsageUpdate},
};
pub(crate) use self::{joiner::is_blank, names::wire_names};

use serde_json::{Map, Value};

/// What every message carries besides its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// Who speaks.
    pub role: Role,
    /// The message's own id.
    pub id: Option<String>,
    /// The agent that produced the message.
    pub from_agent: Option<String>,
    /// The model reply that the message belongs to.
    pub generation_id: Option<String>,
    /// The run that the message belongs to.
    pub run_id: Option<String>,
    /// The conversation that the message belongs to.
    pub chat_id: Option<String>,
    /// Whether a text holds calls and results as natural text, to be passed on as it stands. Only
    /// `consolidate` and the program set it; for other kinds of content it means nothing.
    pub natural: bool,
    /// Anything else: a JSON object, never flattened into the fields above.
    pub metadata: Map<String, Value>,
    /// What wire JSON held beyond the fields that this version knows, in the same shape; it is
    /// written back as it was. Empty for messages that were made here.
    pub extra: Map<String, Value>,
}

impl Envelope {
    /// An envelope that says only who speaks.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            id: None,
            from_agent: None,
            generation_id: None,
            run_id: None,
            chat_id: None,
            natural: false,
            metadata: Map::new(),
            extra: Map::new(),
        }
    }
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who, when and on whose behalf.
    pub envelope: Envelope,
    /// What was said.
    pub content: Content,
}

impl Message {
    /// A message with an envelope that says only who speaks.
    pub fn new(role: Role, content: Content) -> Self {
        Self { envelope: Envelope::new(role), content }
    }
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// What the model thought before it answered.
    Reasoning(String),
    /// Calls that the model made.
    ToolCalls(Vec<ToolCall>),
    /// Results of calls.
    ToolResults(Vec<ToolResult>),
    /// Calls with their results, in the same order, matched by id. A call without a
    /// result is pending.
    Aggregate {
        /// The calls.
        calls: Vec<ToolCall>,
        /// Their results.
        results: Vec<ToolResult>,
    },
    /// What a model request used.
    Usage(Usage),
    /// A kind that this version does not know, kept as it came.
    Unknown {
        /// Its name on the wire.
        kind: String,
        /// Everything in it that is not part of the envelope.
        fields: Map<String, Value>,
    },
}

impl Content {
    /// The name of the kind on the wire.
    pub fn kind(&self) -> &str {
        let known = match self {
            Self::Text(_) => MessageKind::Text,
            Self::Reasoning(_) => MessageKind::Reasoning,
            Self::ToolCalls(_) => MessageKind::ToolsCall,
            Self::ToolResults(_) => MessageKind::ToolResult,
            Self::Aggregate { .. } => MessageKind::ToolsAggregate,
            Self::Usage(_) => MessageKind::Usage,
            Self::Unknown { kind, .. } => return kind,
        };
        known.as_str()
    }
}

/// Tokens and money spent on one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// Those of `input_tokens` that the provider had in its cache.
    pub cached_input_tokens: u64,
    /// What the request cost, in the currency of the caller's price table.
    pub cost: Option<f64>,
}
