"""Stream events: what each kind holds, as it stands on the wire.

Nothing in them is None: what there is not is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Envelope(TypedDict, total=False):
    """What events of all kinds may hold."""

    chatId: str
    """The chat."""
    sequenceNumber: int
    """The position in the chat's log, from 1 and without gaps; not there before it is stored."""
    timestampUtc: int
    """When it was stored, in milliseconds since 1970."""
    generationId: str
    """The reply of the model that it belongs to."""
    role: str
    """Who speaks."""
    fromAgent: str
    """The agent that speaks."""
    metadata: Mapping[str, Any]
    """Anything else."""


class _OfRun(Envelope, total=False):
    runId: str
    done: bool


class _OfMessage(_OfRun):
    messageId: str


class TextStreamEvent(_OfMessage):
    """More of a text; a whole one has `done` at once."""

    kind: Literal["text"]
    delta: str


class ReasoningStreamEvent(_OfMessage):
    """More of a thought."""

    kind: Literal["reasoning"]
    delta: str


class ToolCallFragment(TypedDict, total=False):
    """More of a call; the id may be on the first fragment only."""

    toolCallId: str
    index: int
    functionName: str
    functionArgs: str


class ToolsCallUpdateStreamEvent(_OfMessage):
    """Calls while the model writes them."""

    kind: Literal["tools_call_update"]
    toolCallUpdates: Sequence[ToolCallFragment]


class InvalidReason(TypedDict):
    """Why a call cannot run."""

    reason: str
    message: str


class ReportedCall(TypedDict):
    """A call as it was read."""

    toolCallId: str
    name: str
    index: int
    arguments: NotRequired[Mapping[str, Any]]
    raw: NotRequired[str]
    repairs: NotRequired[Sequence[Mapping[str, Any]]]
    invalid: NotRequired[InvalidReason]


class ToolsCallStreamEvent(_OfMessage):
    """Calls that are whole, whether they can run or not."""

    kind: Literal["tools_call"]
    toolCalls: Sequence[ReportedCall]


class ToolResultStreamEvent(Envelope):
    """The result of a call, or its progress where it is not `done`."""

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
    """Calls that stand together in a reply, with their results."""

    kind: Literal["tools_aggregate"]
    toolCalls: Sequence[Mapping[str, Any]]
    toolResults: Sequence[Mapping[str, Any]]


class UsageStreamEvent(_OfMessage):
    """What a reply has used."""

    kind: Literal["usage"]
    inputTokens: int
    outputTokens: int
    cachedInputTokens: int
    cost: NotRequired[float]


class ErrorStreamEvent(_OfRun):
    """Something went wrong."""

    kind: Literal["error"]
    messageId: NotRequired[str]
    message: str
    code: NotRequired[str]
    toolCallId: NotRequired[str]


class RunStreamEvent(Envelope):
    """A run begins or ends."""

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
"""What becomes of a call before it has a result."""


class ToolStateStreamEvent(_OfRun):
    """What becomes of a call before it has a result."""

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
    """A tool that was asked about."""

    tool: str
    score: NotRequired[float]
    error: NotRequired[str]


class SelectionStreamEvent(_OfRun):
    """A tool was selected, or none."""

    kind: Literal["selection"]
    messageId: NotRequired[str]
    tool: NotRequired[str]
    score: NotRequired[float]
    fallback: bool
    calls: int
    duration: float
    ranking: Sequence[RankedTool]


class RawStreamEvent(_OfRun):
    """What the model wrote, as it came."""

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
"""One thing that happened in a chat."""
