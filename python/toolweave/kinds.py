"""Closed sets of names, as they stand on the wire.

Each member is a `str` and equal to its wire name. Wherever one is taken, the plain string will do.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class _StrEnum(str, Enum):
    # What `Enum` does anyway, said so that type checkers know the signature.
    def __new__(cls, value: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        return member

    # As in `enum.StrEnum` (Python 3.11): formatting gives the wire name in every version.
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Role(_StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    """Instructions that precede the conversation."""
    USER = "user"
    """The person, and whatever is reported to the model on their behalf."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """A tool, in histories that give tools a voice of their own."""


class MessageKind(_StrEnum):
    """What a message holds."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOLS_CALL = "tools_call"
    TOOL_RESULT = "tool_result"
    TOOLS_AGGREGATE = "tools_aggregate"
    USAGE = "usage"


class ErrorCode(_StrEnum):
    """Why a call has no proper result."""

    UNKNOWN_TOOL = "unknown_tool"
    """No tool of that name."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments are not JSON or do not fit the schema."""
    TOOL_ERROR = "tool_error"
    """The tool raised."""
    TIMEOUT = "timeout"
    """The tool took too long."""
    CANCELLED = "cancelled"
    """The tool cancelled itself."""
    INTERRUPTED = "interrupted"
    """The run ended while the tool was at work."""
    DENIED = "denied"
    """Approval was refused."""
    RATE_LIMITED = "rate_limited"
    """A rate limit was hit."""
    TOO_LARGE = "too_large"
    """The arguments or the result were too large."""
    TOO_MANY = "too_many"
    """The reply made more calls than it may."""


class FinishReason(_StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """The model had said everything, or met a stop word."""
    LENGTH = "length"
    """The limit of tokens cut the reply off."""
    TOOL_CALLS = "tool_calls"
    """The model waits for the results of its calls."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the rest."""
    MISSING = "missing"
    """The stream ended without saying why."""


class Outcome(_StrEnum):
    """What came of saying a result that comes later."""

    RESOLVED = "resolved"
    """The result is taken."""
    DUPLICATE = "duplicate"
    """The same result was there already."""
    NOT_FOUND = "not_found"
    """Nobody waits for that key."""
    CONFLICT = "conflict"
    """Another result was there already, and stays."""


class StopReason(_StrEnum):
    """Why an agent's run ended."""

    COMPLETED = "completed"
    """The model answered without calling tools."""
    DEFERRED = "deferred"
    """The result of a call comes later: resolve it, and resume."""
    MAX_ITERATIONS = "max_iterations"
    """The model still called tools in the last permitted round."""
    LOOP = "loop"
    """The model made the same calls again and again, and they gave the same results."""
    CANCELLED = "cancelled"
    """The run was told to stop."""
    TIMEOUT = "timeout"
    """The run took too long, and was stopped."""
    EMPTY = "empty"
    """The model said nothing and called nothing, twice in a row or in the last permitted round."""
    LENGTH = "length"
    """The limit of tokens cut the answer off."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the rest of the answer."""
    MISSING = "missing"
    """The answer ended without a word of why; it may be cut off."""


class SceneStatus(_StrEnum):
    """What a step of a scene run tells."""

    INITIALIZING = "Initializing"
    """The run begins."""
    LOADING_CACHE = "LoadingCache"
    """The conversation is loaded."""
    EXECUTING_MAIN_ACTORS = "ExecutingMainActors"
    """The main actors say their lines."""
    SUMMARIZING = "Summarizing"
    """A long history is summed up."""
    PLANNING = "Planning"
    """A plan is made."""
    DIRECTOR_DECISION = "DirectorDecision"
    """A scene was picked, or it was decided whether another one follows."""
    EXECUTING_SCENE = "ExecutingScene"
    """A scene is entered."""
    FUNCTION_REQUEST = "FunctionRequest"
    """A tool is called."""
    FUNCTION_PROGRESS = "FunctionProgress"
    """A tool that runs has something to show."""
    FUNCTION_COMPLETED = "FunctionCompleted"
    """A tool has answered."""
    TOOL_SKIPPED = "ToolSkipped"
    """A call is not run, since the reply was too expensive."""
    STREAMING = "Streaming"
    """The model writes: a piece of text."""
    RUNNING = "Running"
    """The model has said something."""
    AWAITING_CLIENT = "AwaitingClient"
    """The client is to run a tool, and to come back with its result."""
    GENERATING_FINAL_RESPONSE = "GeneratingFinalResponse"
    """The final answer is asked for."""
    SAVING_CACHE = "SavingCache"
    """The conversation is saved."""
    ERROR = "Error"
    """Something failed; the run only if the step is fatal."""
    COMPLETED = "Completed"
    """The run is over, however it ended: the last step, and the only one of its kind."""


class SceneStopReason(_StrEnum):
    """Why a scene run ended."""

    COMPLETED = "completed"
    """There is an answer."""
    MAX_ITERATIONS = "max_iterations"
    """The model still called tools, or wanted more scenes, in the last permitted round."""
    BUDGET = "budget"
    """More was spent than the budget allows."""
    RATE_LIMITED = "rate_limited"
    """There were too many requests."""
    UNAUTHORIZED = "unauthorized"
    """A hook did not allow the request."""
    CANCELLED = "cancelled"
    """The run was told to stop."""
    AWAITING_CLIENT = "awaiting_client"
    """The client runs tools: go on with their results."""
    ERROR = "error"
    """Something failed; the step before the last says what."""
