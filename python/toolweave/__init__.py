"""Inline tool calls for language models."""

from __future__ import annotations

import importlib as _importlib
import logging as _logging
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import TypeAlias as _TypeAlias

from ._core import (
    Consolidator,
    Diagnostic,
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
    Origin,
    Parser,
    PromptTemplate,
    Ranking,
    RankingResult,
    ReasoningDelta,
    ReasoningMessage,
    RegistrySnapshot,
    Repair,
    ReplyReader,
    ScoreReading,
    SearchIndex,
    StreamReducer,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolCallMessage,
    ToolCallStart,
    ToolCallUpdate,
    ToolEntry,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
    Validator,
    Violation,
    __version__,
    check_stream_event,
    consolidate,
    from_anthropic,
    from_openai,
    message_from_dict,
    message_from_json,
    parse,
    parse_history,
    render_contracts,
    repair_json,
    structure_schema,
    supertypes,
    system_prompt,
    to_anthropic,
    to_openai,
    type_name,
)
from .exceptions import (
    ConsolidationError,
    ContractError,
    HandlerError,
    InvalidJSONError,
    MaxIterationsError,
    MessageError,
    ModelError,
    ModelRetry,
    PoolError,
    RateLimitedError,
    RegistryError,
    ResultError,
    SchemaError,
    ToolDefinitionError,
    ToolError,
    ToolFailed,
    ToolUseError,
    ToolUseParsingError,
    ToolweaveError,
    TransientToolError,
    ValidationError,
)
from .kinds import (
    ErrorCode,
    FinishReason,
    MessageKind,
    Outcome,
    Role,
    SceneStatus,
    SceneStopReason,
    StopReason,
)
from .options import ParserOptions, Tools
from .streams import Event, parse_stream

if _TYPE_CHECKING:
    from .agent import Agent, AgentEvent, AgentResult, AgentRun
    from .conversations import Conversation, ConversationStore, MemoryConversations
    from .costs import Budget, Cost, CostDelta, CostMeter, Price, PriceTable, estimate_tokens
    from .executor import (
        Deferred,
        DeferredResults,
        PendingResult,
        ToolApproval,
        ToolApprovalRequested,
        ToolDeferred,
        ToolEvent,
        ToolExecutor,
        ToolProgress,
        ToolQuestion,
        ToolRun,
        ToolStarted,
    )
    from .handlers import HandlerRun, load_handler, run_handler
    from .lifecycle import StreamEvent, Transcriber
    from .limits import RateLimiter
    from .natural import FunctionCalling, NaturalToolUse, NaturalToolUseParser
    from .protocols import (
        Approval,
        Approver,
        ChatModel,
        Journal,
        Messages,
        Model,
        ModelOptions,
        Observer,
    )
    from .registry import ToolRegistry
    from .scenes import (
        Scene,
        SceneContext,
        SceneManager,
        SceneRequest,
        SceneResult,
        SceneRun,
        SceneStep,
    )
    from .selection import Score, Selection, SelectionPolicy, ToolSelector
    from .summary import Summarizer
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
    "Agent",
    "AgentEvent",
    "AgentResult",
    "AgentRun",
    "Approval",
    "Approver",
    "Budget",
    "ChatModel",
    "ConsolidationError",
    "Consolidator",
    "ContractError",
    "Conversation",
    "ConversationStore",
    "Cost",
    "CostDelta",
    "CostMeter",
    "Deferred",
    "DeferredResults",
    "Diagnostic",
    "Discarded",
    "ErrorCode",
    "Event",
    "EventStream",
    "FabricatedResult",
    "FinishReason",
    "FinishUpdate",
    "FunctionCalling",
    "FunctionContract",
    "HandlerError",
    "HandlerRun",
    "InvalidJSONError",
    "InvalidToolCall",
    "JoinProblem",
    "Joined",
    "Joiner",
    "Journal",
    "Limits",
    "MaxIterationsError",
    "MemoryConversations",
    "Message",
    "MessageBase",
    "MessageError",
    "MessageKind",
    "Messages",
    "Model",
    "ModelError",
    "ModelOptions",
    "ModelRetry",
    "NaturalToolUse",
    "NaturalToolUseParser",
    "Observer",
    "Origin",
    "Outcome",
    "Parser",
    "ParserOptions",
    "PendingResult",
    "PoolError",
    "Price",
    "PriceTable",
    "PromptTemplate",
    "Ranking",
    "RankingResult",
    "RateLimit",
    "RateLimitedError",
    "RateLimiter",
    "ReasoningDelta",
    "ReasoningMessage",
    "RegistryError",
    "RegistrySnapshot",
    "Repair",
    "ReplyReader",
    "ResultError",
    "RetryPolicy",
    "Role",
    "Scene",
    "SceneContext",
    "SceneManager",
    "SceneRequest",
    "SceneResult",
    "SceneRun",
    "SceneStatus",
    "SceneStep",
    "SceneStopReason",
    "SchemaError",
    "Score",
    "ScoreReading",
    "SearchIndex",
    "Selection",
    "SelectionPolicy",
    "StopReason",
    "StreamEvent",
    "StreamReducer",
    "Summarizer",
    "TextDelta",
    "TextMessage",
    "Tool",
    "ToolAggregateMessage",
    "ToolApproval",
    "ToolApprovalRequested",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallMessage",
    "ToolCallStart",
    "ToolCallUpdate",
    "ToolContext",
    "ToolDeferred",
    "ToolDefinitionError",
    "ToolEntry",
    "ToolError",
    "ToolEvent",
    "ToolExecutor",
    "ToolFailed",
    "ToolOptions",
    "ToolProgress",
    "ToolQuestion",
    "ToolRegistry",
    "ToolResult",
    "ToolResultMessage",
    "ToolRun",
    "ToolSelector",
    "ToolStarted",
    "ToolUseError",
    "ToolUseParsingError",
    "Tools",
    "Toolset",
    "ToolweaveError",
    "Transcriber",
    "TransientToolError",
    "UnknownMessage",
    "Update",
    "UsageMessage",
    "UsageUpdate",
    "ValidationError",
    "Validator",
    "Violation",
    "__version__",
    "check_stream_event",
    "consolidate",
    "estimate_tokens",
    "from_anthropic",
    "from_openai",
    "load_handler",
    "message_from_dict",
    "message_from_json",
    "parse",
    "parse_history",
    "parse_stream",
    "render_contracts",
    "repair_json",
    "run_handler",
    "structure_schema",
    "supertypes",
    "system_prompt",
    "to_anthropic",
    "to_openai",
    "tool",
    "type_name",
]

# Records go to `toolweave.<area>`; who hears them is the application's choice.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

# Loaded when one of their names is first used: whoever only parses replies does not pay for them.
_LATER = {
    "agent": (
        "Agent",
        "AgentEvent",
        "AgentResult",
        "AgentRun",
    ),
    "conversations": (
        "Conversation",
        "ConversationStore",
        "MemoryConversations",
    ),
    "costs": (
        "Budget",
        "Cost",
        "CostDelta",
        "CostMeter",
        "Price",
        "PriceTable",
        "estimate_tokens",
    ),
    "executor": (
        "Deferred",
        "DeferredResults",
        "PendingResult",
        "ToolApproval",
        "ToolApprovalRequested",
        "ToolDeferred",
        "ToolEvent",
        "ToolExecutor",
        "ToolProgress",
        "ToolQuestion",
        "ToolRun",
        "ToolStarted",
    ),
    "handlers": (
        "HandlerRun",
        "load_handler",
        "run_handler",
    ),
    "lifecycle": (
        "StreamEvent",
        "Transcriber",
    ),
    "limits": ("RateLimiter",),
    "natural": (
        "FunctionCalling",
        "NaturalToolUse",
        "NaturalToolUseParser",
    ),
    "protocols": (
        "Approval",
        "Approver",
        "ChatModel",
        "Journal",
        "Messages",
        "Model",
        "ModelOptions",
        "Observer",
    ),
    "registry": ("ToolRegistry",),
    "scenes": (
        "Scene",
        "SceneContext",
        "SceneManager",
        "SceneRequest",
        "SceneResult",
        "SceneRun",
        "SceneStep",
    ),
    "selection": (
        "Score",
        "Selection",
        "SelectionPolicy",
        "ToolSelector",
    ),
    "summary": ("Summarizer",),
    "tools": (
        "RateLimit",
        "RetryPolicy",
        "Tool",
        "ToolContext",
        "ToolOptions",
        "Toolset",
        "tool",
    ),
}
_HOMES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
