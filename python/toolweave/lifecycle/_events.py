"""Types of stream events, with the fields of each kind as on the wire.

Absent fields are omitted, never None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Envelope(TypedDict, total=False):
    """Fields that events of all kinds may have."""

    chatId: str
    """The id of the chat."""
    sequenceNumber: int
    """The position in the chat's log, from 1 and without gaps; absent until the event is stored."""
    timestampUtc: int
    """The time of storage, in milliseconds since 1970."""
    generationId: str
    """The id of the reply that the event belongs to."""
    role: str
    """The role of the message."""
    fromAgent: str
    """The name of the agent."""
    metadata: Mapping[str, Any]
    """Other data."""


class _OfRun(Envelope, total=False):
    runId: str
    done: bool


class _OfMessage(_OfRun):
    messageId: str


class TextStreamEvent(_OfMessage):
    """A delta of a text; a complete text is one event with `done`."""

    kind: Literal["text"]
    delta: str


class ReasoningStreamEvent(_OfMessage):
    """A delta of reasoning."""

    kind: Literal["reasoning"]
    delta: str


class ToolCallFragment(TypedDict, total=False):
    """A delta of a call; the id may be on the first fragment only."""

    toolCallId: str
    index: int
    functionName: str
    functionArgs: str


class ToolsCallUpdateStreamEvent(_OfMessage):
    """Calls while the model writes them."""

    kind: Literal["tools_call_update"]
    toolCallUpdates: Sequence[ToolCallFragment]


class InvalidReason(TypedDict):
    """The reason why a call cannot run."""

    reason: str
    message: str


class ReportedCall(TypedDict):
    """A complete call, valid or invalid."""

    toolCallId: str
    name: str
    index: int
    arguments: NotRequired[Mapping[str, Any]]
    raw: NotRequired[str]
    repairs: NotRequired[Sequence[Mapping[str, Any]]]
    dialect: NotRequired[str]
    recovered: NotRequired[bool]
    invalid: NotRequired[InvalidReason]


class ToolsCallStreamEvent(_OfMessage):
    """Complete calls, valid or invalid."""

    kind: Literal["tools_call"]
    toolCalls: Sequence[ReportedCall]


class ToolResultStreamEvent(Envelope):
    """The result of a call, or its progress if it is not `done`."""

    kind: Literal["tool_result"]
    runId: NotRequired[str]
    messageId: NotRequired[str]
    toolCallId: str
    result: str
    isError: bool
    done: bool
    name: NotRequired[str]
    errorCode: NotRequired[str]
    duration: NotRequired[float]


class ToolsAggregateEvent(_OfMessage):
    """Adjacent calls of a reply, with their results."""

    kind: Literal["tools_aggregate"]
    toolCalls: Sequence[Mapping[str, Any]]
    toolResults: Sequence[Mapping[str, Any]]


class UsageStreamEvent(_OfMessage):
    """The usage of a reply."""

    kind: Literal["usage"]
    inputTokens: int
    outputTokens: int
    cachedInputTokens: int
    cost: NotRequired[float]


class ErrorStreamEvent(_OfRun):
    """An error of the run or of a call."""

    kind: Literal["error"]
    messageId: NotRequired[str]
    message: str
    code: NotRequired[str]
    toolCallId: NotRequired[str]


class RunStreamEvent(Envelope):
    """The start or the end of a run."""

    kind: Literal["run"]
    runId: str
    messageId: NotRequired[str]
    done: NotRequired[bool]
    status: Literal["started", "finished"]
    stopReason: NotRequired[str]
    error: NotRequired[str]


CallProgress: TypeAlias = Literal[
    "running", "awaiting_approval", "approved", "denied", "awaiting_answer", "deferred"
]
"""The state of a call that has no result yet."""


class ToolStateStreamEvent(_OfRun):
    """A new state of a call that has no result yet."""

    kind: Literal["tool_state"]
    messageId: NotRequired[str]
    toolCallId: str
    state: CallProgress
    key: NotRequired[str]
    question: NotRequired[str]
    schema: NotRequired[Any]
    reason: NotRequired[str]
    decidedBy: NotRequired[str]


class SceneStreamEvent(_OfRun):
    """A step of a run of scenes, as `SceneStep.to_dict` writes it."""

    kind: Literal["scene"]
    messageId: NotRequired[str]
    step: Mapping[str, Any]


class RankedTool(TypedDict):
    """A candidate of a selection, with its score or error."""

    tool: str
    score: NotRequired[float]
    error: NotRequired[str]


class SelectionStreamEvent(_OfRun):
    """The outcome of a selection: a tool or none."""

    kind: Literal["selection"]
    messageId: NotRequired[str]
    tool: NotRequired[str]
    score: NotRequired[float]
    fallback: bool
    calls: int
    duration: float
    ranking: Sequence[RankedTool]


class RawStreamEvent(_OfRun):
    """Raw output of the model."""

    kind: Literal["raw"]
    messageId: NotRequired[str]
    delta: str


StreamEvent: TypeAlias = (
    TextStreamEvent
    | ReasoningStreamEvent
    | ToolsCallUpdateStreamEvent
    | ToolsCallStreamEvent
    | ToolResultStreamEvent
    | ToolsAggregateEvent
    | UsageStreamEvent
    | ErrorStreamEvent
    | RunStreamEvent
    | ToolStateStreamEvent
    | SceneStreamEvent
    | SelectionStreamEvent
    | RawStreamEvent
)
"""Any stream event of a chat."""
