//! Messages and tool calls, the data types of all other modules.
//!
//! A [`Message`] consists of an [`Envelope`] (role, ids, metadata) and a [`Content`]. It is
//! serialized as JSON ([`Message::to_json`], [`Message::from_json`]), converted to and from the
//! chat formats of providers ([`openai`], [`anthropic`]), and assembled from a stream of updates by
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
mod conversation;
mod error;
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
    call::{ErrorCode, NATIVE, NATURAL, Repair, RepairKind, ToolCall, ToolResult},
    error::{MessageError, Place},
    joiner::{JoinedReply, Joiner},
    names::{FinishReason, MessageKind, Role},
    problem::Problem,
    turns::Dangling,
    update::{ToolCallUpdate, Update, UsageUpdate},
};
pub(crate) use self::{joiner::is_blank, names::wire_names};

use serde_json::{Map, Value};

/// The fields of a message besides its content.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The role of the sender.
    pub role: Role,
    /// The id of the message.
    pub id: Option<String>,
    /// The name of the agent that produced the message.
    pub from_agent: Option<String>,
    /// The id of the model reply that the message belongs to.
    pub generation_id: Option<String>,
    /// The id of the run that the message belongs to.
    pub run_id: Option<String>,
    /// The id of the conversation that the message belongs to.
    pub chat_id: Option<String>,
    /// True if a text contains calls and results as natural text, to be passed on unchanged. Set
    /// only by `consolidate` and by the application; ignored for other kinds of content.
    pub natural: bool,
    /// Additional data: a JSON object, never flattened into the fields above.
    pub metadata: Map<String, Value>,
    /// Unknown fields of the wire JSON, in the same structure; they are preserved when written.
    /// Empty for new messages.
    pub extra: Map<String, Value>,
}

impl Envelope {
    /// Create an envelope with only a role.
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

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The role, ids and metadata.
    pub envelope: Envelope,
    /// The content.
    pub content: Content,
}

impl Message {
    /// Create a message with only a role and content.
    pub fn new(role: Role, content: Content) -> Self {
        Self { envelope: Envelope::new(role), content }
    }
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// The reasoning of the model before its reply.
    Reasoning(String),
    /// Tool calls of the model.
    ToolCalls(Vec<ToolCall>),
    /// Results of tool calls.
    ToolResults(Vec<ToolResult>),
    /// Calls with their results, in the same order, matched by id. A call without a result is
    /// pending.
    Aggregate {
        /// The calls.
        calls: Vec<ToolCall>,
        /// The results.
        results: Vec<ToolResult>,
    },
    /// The token usage of a model request.
    Usage(Usage),
    /// Content of an unknown kind, preserved unchanged.
    Unknown {
        /// The name of the kind on the wire.
        kind: String,
        /// All fields that are not part of the envelope.
        fields: Map<String, Value>,
    },
}

impl Content {
    /// Return the name of the kind on the wire.
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

    /// Return the calls, with or without results.
    pub(crate) fn calls(&self) -> &[ToolCall] {
        match self {
            Self::ToolCalls(calls) | Self::Aggregate { calls, .. } => calls,
            _ => &[],
        }
    }

    /// Return the results, with or without calls.
    pub(crate) fn results(&self) -> &[ToolResult] {
        match self {
            Self::ToolResults(results) | Self::Aggregate { results, .. } => results,
            _ => &[],
        }
    }
}

/// The token usage of a model request so far.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "UsageStreamEvent", rename_all = "camelCase"))]
pub struct Usage {
    /// Number of prompt tokens, including cached ones.
    pub input_tokens: u64,
    /// Number of reply tokens.
    pub output_tokens: u64,
    /// Number of `inputTokens` that were in the provider's cache.
    pub cached_input_tokens: u64,
    /// Cost of the request, in the currency of the price table.
    pub cost: Option<f64>,
}
