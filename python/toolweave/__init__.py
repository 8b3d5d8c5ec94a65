"""Inline tool calls for language models."""

from __future__ import annotations

import logging as _logging
from typing import TypeAlias as _TypeAlias

from ._core import (
    Consolidator,
    Discarded,
    EventStream,
    FabricatedResult,
    FinishUpdate,
    FunctionContract,
    InvalidToolCall,
    Joined,
    Joiner,
    JoinProblem,
    Limits,
    MessageBase,
    Parser,
    ReasoningDelta,
    ReasoningMessage,
    Repair,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolCallMessage,
    ToolCallStart,
    ToolCallUpdate,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
    Validator,
    Violation,
    __version__,
    consolidate,
    from_anthropic,
    from_openai,
    message_from_dict,
    message_from_json,
    parse,
    parse_history,
    render_contracts,
    repair_json,
    system_prompt,
    to_anthropic,
    to_openai,
)
from .exceptions import (
    ConsolidationError,
    ContractError,
    InvalidJSONError,
    MessageError,
    ModelRetry,
    SchemaError,
    ToolDefinitionError,
    ToolError,
    ToolFailed,
    ToolweaveError,
    ValidationError,
)
from .kinds import ErrorCode, FinishReason, MessageKind, Role
from .options import ParserOptions, Tools
from .streams import Event, parse_stream
from .tools import RateLimit, RetryPolicy, Tool, ToolContext, ToolOptions, Toolset, tool

Message: _TypeAlias = (
    TextMessage
    | ReasoningMessage
    | ToolCallMessage
    | ToolResultMessage
    | ToolAggregateMessage
    | UsageMessage
    | UnknownMessage
)
"""One entry of a conversation."""

Update: _TypeAlias = (
    TextDelta | ReasoningDelta | ToolCallUpdate | ToolCall | ToolResult | UsageUpdate | FinishUpdate
)
"""One piece of a reply, or a result of one of its calls: what a `Joiner` takes."""

__all__ = [
    "ConsolidationError",
    "Consolidator",
    "ContractError",
    "Discarded",
    "ErrorCode",
    "Event",
    "EventStream",
    "FabricatedResult",
    "FinishReason",
    "FinishUpdate",
    "FunctionContract",
    "InvalidJSONError",
    "InvalidToolCall",
    "JoinProblem",
    "Joined",
    "Joiner",
    "Limits",
    "Message",
    "MessageBase",
    "MessageError",
    "MessageKind",
    "ModelRetry",
    "Parser",
    "ParserOptions",
    "RateLimit",
    "ReasoningDelta",
    "ReasoningMessage",
    "Repair",
    "RetryPolicy",
    "Role",
    "SchemaError",
    "TextDelta",
    "TextMessage",
    "Tool",
    "ToolAggregateMessage",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallMessage",
    "ToolCallStart",
    "ToolCallUpdate",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolFailed",
    "ToolOptions",
    "ToolResult",
    "ToolResultMessage",
    "Tools",
    "Toolset",
    "ToolweaveError",
    "UnknownMessage",
    "Update",
    "UsageMessage",
    "UsageUpdate",
    "ValidationError",
    "Validator",
    "Violation",
    "__version__",
    "consolidate",
    "from_anthropic",
    "from_openai",
    "message_from_dict",
    "message_from_json",
    "parse",
    "parse_history",
    "parse_stream",
    "render_contracts",
    "repair_json",
    "system_prompt",
    "to_anthropic",
    "to_openai",
    "tool",
]

# Records go to `toolweave.<area>`; who hears them is the application's choice.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())
