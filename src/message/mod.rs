//! Messages and tool calls: the vocabulary every other module speaks.

mod call;

pub(crate) use self::call::wire_names;
pub use self::call::{ErrorCode, Repair, RepairKind, ToolCall, ToolResult};

use serde_json::{Map, Value};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions that precede the conversation.
    System,
    /// The person, and whatever is reported to the model on their behalf.
    User,
    /// The model.
    Assistant,
    /// A tool, in histories that give tools a voice of their own.
    Tool,
}

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
    /// Anything else: a JSON object, never flattened into the fields above.
    pub metadata: Map<String, Value>,
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
            metadata: Map::new(),
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
