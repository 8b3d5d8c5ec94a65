"""Enumerations of wire names.

Each member is a `str` equal to its wire name, so a plain string is accepted wherever a member is.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ErrorCode",
    "FinishReason",
    "MessageKind",
    "Outcome",
    "Role",
    "SceneStatus",
    "SceneStopReason",
    "StopReason",
]


class _StrEnum(str, Enum):
    # The same as the default of `Enum`; defined so that type checkers know the signature.
    def __new__(cls, value: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        return member

    # As in `enum.StrEnum` (Python 3.11): formatting yields the wire name in every Python version.
    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Role(_StrEnum):
    """Author of a message."""

    SYSTEM = "system"
    """Instructions that precede the conversation."""
    USER = "user"
    """The user, and input reported to the model on the user's behalf."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """A tool, in histories that have a separate role for tools."""


class MessageKind(_StrEnum):
    """Kind of content of a message."""

    TEXT = "text"
    REASONING = "reasoning"
    TOOLS_CALL = "tools_call"
    TOOL_RESULT = "tool_result"
    TOOLS_AGGREGATE = "tools_aggregate"
    USAGE = "usage"


class ErrorCode(_StrEnum):
    """Reason why a call failed."""

    UNKNOWN_TOOL = "unknown_tool"
    """No tool of that name."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments are not JSON or do not match the schema."""
    TOOL_ERROR = "tool_error"
    """The tool raised an exception."""
    TIMEOUT = "timeout"
    """The tool timed out."""
    CANCELLED = "cancelled"
    """The tool cancelled itself."""
    INTERRUPTED = "interrupted"
    """The run ended while the tool was running."""
    DENIED = "denied"
    """Approval was refused."""
    RATE_LIMITED = "rate_limited"
    """A rate limit was exceeded."""
    TOO_LARGE = "too_large"
    """The arguments or the result were too large."""
    TOO_MANY = "too_many"
    """The reply made more calls than are allowed."""


class FinishReason(_StrEnum):
    """Reason why a reply ended."""

    STOP = "stop"
    """The model finished its reply or generated a stop sequence."""
    LENGTH = "length"
    """The reply was cut off at the token limit."""
    TOOL_CALLS = "tool_calls"
    """The model waits for the results of its calls."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the rest of the reply."""
    MISSING = "missing"
    """The stream ended without a reason."""


class Outcome(_StrEnum):
    """Outcome of resolving a deferred result."""

    RESOLVED = "resolved"
    """The result was accepted."""
    DUPLICATE = "duplicate"
    """The same result had already been delivered."""
    NOT_FOUND = "not_found"
    """No result is pending under that key."""
    CONFLICT = "conflict"
    """A different result had already been delivered, and is kept."""


class StopReason(_StrEnum):
    """Reason why the run of an agent ended."""

    COMPLETED = "completed"
    """The model answered without calling tools."""
    DEFERRED = "deferred"
    """The result of a call is deferred: resolve it, then resume the run."""
    MAX_ITERATIONS = "max_iterations"
    """The model still called tools in the last permitted iteration."""
    LOOP = "loop"
    """The model repeated the same calls, and they returned the same results."""
    USAGE_LIMIT = "usage_limit"
    """A limit of requests, calls or tokens was reached; `AgentResult.error` names it."""
    BUDGET = "budget"
    """The budget was exceeded; `AgentResult.error` has the amounts."""
    CANCELLED = "cancelled"
    """The run was cancelled."""
    TIMEOUT = "timeout"
    """The run timed out."""
    EMPTY = "empty"
    """The model's reply was empty, twice in a row or in the last permitted iteration."""
    LENGTH = "length"
    """The answer was cut off at the token limit."""
    CONTENT_FILTER = "content_filter"
    """The provider withheld the rest of the answer."""
    MISSING = "missing"
    """The answer ended without a reason; it may be incomplete."""


class SceneStatus(_StrEnum):
    """Status reported by a step of a scene run."""

    INITIALIZING = "Initializing"
    """The run is starting."""
    LOADING_CACHE = "LoadingCache"
    """The conversation is being loaded."""
    EXECUTING_MAIN_ACTORS = "ExecutingMainActors"
    """The main actors are adding their messages."""
    SUMMARIZING = "Summarizing"
    """A long history is being summarized."""
    PLANNING = "Planning"
    """A plan is being made."""
    DIRECTOR_DECISION = "DirectorDecision"
    """A scene was chosen, or the director decided whether another scene follows."""
    EXECUTING_SCENE = "ExecutingScene"
    """A scene is starting."""
    FUNCTION_REQUEST = "FunctionRequest"
    """A tool is called."""
    FUNCTION_PROGRESS = "FunctionProgress"
    """A running tool reports progress."""
    FUNCTION_COMPLETED = "FunctionCompleted"
    """A tool returned its result."""
    TOOL_SKIPPED = "ToolSkipped"
    """A call was skipped because the reply exceeded the budget."""
    STREAMING = "Streaming"
    """A piece of the model's text."""
    RUNNING = "Running"
    """A complete text of the model."""
    AWAITING_CLIENT = "AwaitingClient"
    """The client must execute a tool and resume with its result."""
    GENERATING_FINAL_RESPONSE = "GeneratingFinalResponse"
    """The final answer is being requested."""
    SAVING_CACHE = "SavingCache"
    """The conversation is being saved."""
    ERROR = "Error"
    """An error occurred; it ends the run only if the step is fatal."""
    COMPLETED = "Completed"
    """The run has ended, for whatever reason: always the last step, exactly once."""


class SceneStopReason(_StrEnum):
    """Reason why a scene run ended."""

    COMPLETED = "completed"
    """The run produced an answer."""
    MAX_ITERATIONS = "max_iterations"
    """The model still called tools, or requested more scenes, in the last permitted iteration."""
    BUDGET = "budget"
    """The budget was exceeded, or a limit of the run around this one."""
    RATE_LIMITED = "rate_limited"
    """A rate limit was exceeded."""
    UNAUTHORIZED = "unauthorized"
    """A hook rejected the request."""
    CANCELLED = "cancelled"
    """The run was cancelled."""
    AWAITING_CLIENT = "awaiting_client"
    """The client must execute tools; resume with their results."""
    ERROR = "error"
    """An error occurred; the step before the last one describes it."""
