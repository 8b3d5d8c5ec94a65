//! What a reply turned out to be, in the order written.

use crate::{
    message::{ToolCall, wire_names},
    parser::Discard,
    validator::Violation,
};

/// One thing that is now certain about a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Text for the reader.
    Text(String),
    /// Text from inside a reasoning tag.
    Reasoning(String),
    /// A call has begun.
    ToolCallStart {
        /// The position among the calls of the reply.
        index: usize,
        /// The id that the call will have.
        id: String,
        /// The tool, or what the model took for one.
        name: String,
    },
    /// More of the arguments, byte for byte as the model writes them.
    ToolCallDelta {
        /// The call.
        index: usize,
        /// The bytes; never half an escape.
        fragment: String,
    },
    /// A call that can be run: complete, and valid by its schema.
    ToolCall(ToolCall),
    /// A call that cannot be run.
    InvalidToolCall(InvalidToolCall),
    /// Markup that is neither text nor call.
    Discarded {
        /// The bytes.
        raw: String,
        /// Why they are neither.
        reason: Discard,
    },
    /// A result that the model wrote itself.
    FabricatedResult {
        /// The tool that it claims to come from.
        name: Option<String>,
        /// The whole span, tags included.
        raw: String,
    },
}

/// A call that cannot be run, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidToolCall {
    /// The position among the calls of the reply.
    pub index: usize,
    /// Unique within the reply.
    pub id: String,
    /// The tool, or what the model took for one.
    pub name: String,
    /// What is wrong.
    pub kind: InvalidKind,
    /// The whole span, tags and fences included.
    pub raw: String,
    /// The particulars; at least one. What could be mended is not among them.
    pub violations: Vec<Violation>,
    /// The arguments that do not fit the schema, as far as they could be mended.
    pub arguments: Option<serde_json::Value>,
}

wire_names! {
    /// What is wrong with a call.
    InvalidKind {
        /// No tool has that name.
        UnknownTool = "unknown_tool",
        /// The arguments are not JSON and could not be mended.
        InvalidJson = "invalid_json",
        /// The arguments do not fit the schema.
        SchemaViolation = "schema_violation",
        /// The reply ended inside the call.
        Unclosed = "unclosed",
        /// The arguments are too large or too deep.
        TooLarge = "too_large",
        /// The reply made more calls than it may.
        TooMany = "too_many",
    }
}

wire_names! {
    /// How far arguments may be mended.
    RepairMode {
        /// Not at all.
        None = "none",
        /// Broken JSON is mended.
        Syntax = "syntax",
        /// Values of the wrong type are brought to the declared one as well.
        Schema = "schema",
    }
}
