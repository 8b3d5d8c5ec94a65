"""Protocols of the models, journals and callbacks that applications provide."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ._checks import (
    check_count,
    check_flag,
    check_items,
    check_mapping,
    check_number,
    check_text,
    check_type,
)

if TYPE_CHECKING:
    from ._core import (
        FinishUpdate,
        FunctionContract,
        InvalidToolCall,
        Parser,
        ToolCall,
        ToolResult,
        UsageUpdate,
    )
    from ._messages import Message, Update
    from ._streams import Event

__all__ = [
    "Approval",
    "Approver",
    "ChatModel",
    "HasModelDump",
    "Journal",
    "Messages",
    "Model",
    "ModelOptions",
    "Observer",
    "ParsingModel",
]


class HasModelDump(Protocol):
    """A response message of the OpenAI client, or any object with the same method."""

    def model_dump(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        ...


_Entry: TypeAlias = "str | Message | Mapping[str, Any] | HasModelDump"

Messages: TypeAlias = "_Entry | Iterable[_Entry]"
"""A conversation in any form: a user's text, a message, a dict in OpenAI's format, or several of
these."""


@dataclass(frozen=True)
class ModelOptions:
    """Options of one request to a model. The provider's default applies where a field is None."""

    temperature: float | None = None
    """Sampling temperature, from 0."""
    top_p: float | None = None
    """Probability mass of the tokens to sample from, from 0 to 1."""
    max_tokens: int | None = None
    """Maximum length of the reply, in tokens."""
    stop: tuple[str, ...] = ()
    """Stop sequences that end the reply; they are not part of it."""
    seed: int | None = None
    """Seed that makes replies reproducible, where the provider supports it."""
    response_schema: Mapping[str, Any] | None = None
    """JSON Schema that the reply must match, where the provider can enforce one."""
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of the tool to call. Native calls only."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments, passed unchanged to the provider's client."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: One of them is out of range.
        """
        check_number("temperature", self.temperature, least=0, none=True)
        check_number("top_p", self.top_p, least=0, most=1, none=True)
        check_count("max_tokens", self.max_tokens, 1, none=True)
        check_items("stop", self.stop, str, "a sequence of strings")
        check_type("seed", self.seed, int, "an integer", none=True)
        check_mapping("response_schema", self.response_schema, none=True)
        check_text("tool_choice", self.tool_choice, none=True)
        check_mapping("extra", self.extra)


class ChatModel(Protocol):
    """A model that replies to a conversation.

    Models may define these optional attributes (defaults in parentheses):

    - ``name: str``: name of the model, for traces and costs (the name of the class).
    - ``provider: str``: provider of the model, such as ``openai`` (``unknown``).
    - ``native_tools: bool``: True if it accepts `tools` and makes native calls (False).
    - ``structured_output: bool``: True if it sends `ModelOptions.response_schema` to a provider
      that enforces schemas (False).
    """

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterable[Update]:
        """Stream the updates of a reply.

        Args:
            messages: The conversation.
            tools: Tools for native calls; empty for a model that writes calls in its text.
            options: Options of the request.

        Returns:
            `TextDelta`, `ReasoningDelta`, `ToolCallUpdate` and `UsageUpdate` in any order, and
            exactly one `FinishUpdate`, last. Its reason is ``missing`` if the stream ended
            without one; open calls are incomplete then.

        Raises:
            ModelError: The request failed, or the reply broke off; raised while iterating.
        """
        ...


class ParsingModel(ChatModel, Protocol):
    """A model that parses its own replies.

    `NaturalToolUseParser` takes the events of such a model's reply directly. The updates of other
    models are parsed with an `UpdateReader`. The events are the same either way.
    """

    def events(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
        parser: Parser,
        inline: bool,
        recovered: bool,
        deltas: bool,
        call_ids: Callable[[int], str] | None,
    ) -> AsyncIterable[Event | UsageUpdate | FinishUpdate]:
        """Stream the events of a reply.

        Args:
            messages: The conversation.
            tools: Tools for native calls; empty for a model that writes calls in its text.
            options: Options of the request.
            parser: The parser with the tools. It is shared by many replies, so no text may be
                pushed to it; each reply uses a fresh one.
            inline: True to parse calls in the text.
            recovered: True if calls in the text are recovered ones: the request has `tools`, which
                the server was expected to recognize.
            deltas: True to report the arguments of native calls while they arrive.
            call_ids: Function that returns the id of the call at an index, for calls that the
                provider gave none; by default the parser assigns it.

        Returns:
            The events that an `UpdateReader` yields for the updates of the reply, and exactly one
            `FinishUpdate`, last.

        Raises:
            ModelError: The request failed, or the reply broke off; raised while iterating, after
                the events received so far. Open calls are not completed.
        """
        ...


FunctionModel: TypeAlias = "Callable[[Sequence[Message]], Awaitable[str] | AsyncIterable[str]]"
"""A model as a function that takes the messages and returns the reply, or streams it in pieces."""

Model: TypeAlias = "ChatModel | FunctionModel"
"""A model in any form that is accepted."""


@dataclass(frozen=True)
class Approval:
    """Decision of an approver. Create one with `allow` or `deny`."""

    allowed: bool
    """True if the call may run."""
    reason: str | None = None
    """Reason for the decision; the model reads it if the call is denied."""
    decided_by: str | None = None
    """Person or rule that made the decision, for people to read."""

    def __post_init__(self) -> None:
        """Check the decision: a truthy value other than True does not allow a call.

        Raises:
            TypeError: `allowed` is neither True nor False, or another field is not a string.
        """
        check_flag("allowed", self.allowed)
        check_text("reason", self.reason, none=True)
        check_text("decided_by", self.decided_by, none=True)

    @classmethod
    def allow(cls, reason: str | None = None, *, decided_by: str | None = None) -> Approval:
        """Allow the call."""
        return cls(allowed=True, reason=reason, decided_by=decided_by)

    @classmethod
    def deny(cls, reason: str | None = None, *, decided_by: str | None = None) -> Approval:
        """Deny the call."""
        return cls(allowed=False, reason=reason, decided_by=decided_by)


Approver: TypeAlias = (
    "Callable[[ToolCall, FunctionContract], Approval | bool | Awaitable[Approval | bool]]"
)
"""Function that decides on a call before it runs. Any return value that does not allow the call
denies it."""


class Journal(Protocol):
    """A durable record of tool calls, which shows after a crash what may have been executed.

    For each call that runs, `started` is awaited immediately before its tool is entered, and
    `finished` before the result is published to observers, readers and the aggregate. Calls that
    do not run (refused, not approved, answered from the cache) are not recorded. Neither are calls
    made by tools: these are part of the outer call. A call is recorded as started and finished
    once, however often it is retried. It may be interrupted after `started`, before its tool runs.

    An exception from either method ends the run and is raised to its reader: a tool does not run
    if its start could not be recorded, and a result that could not be recorded is not published.
    Cancelling a run does not cancel a write in progress, but a journal that does not return
    is abandoned after the executor's grace period.

    Journals may define two optional methods:

    - ``def truncate(self, call: ToolCall, result: ToolResult) -> ToolResult`` returns the result as
      the journal can store it, such as truncated with a notice. This result is published, and
      passed to `finished`.
    - ``async def deferred(self, call: ToolCall, awaited: PendingResult) -> None`` is awaited when
      the result of a call is deferred. The run that receives the result awaits `finished`.
    """

    async def started(self, call: ToolCall) -> None:
        """Record that the tool of a call is about to be entered."""
        ...

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        """Record the result of a call, of any kind, before it is published."""
        ...


class Observer(Protocol):
    """An object notified of every call. Each method may be sync or async, or may be missing.

    An observer that is slow or raises does not affect results.
    """

    def on_started(self, call: ToolCall) -> Awaitable[None] | None:
        """Handle a call that is about to run."""
        ...

    def on_progress(self, call: ToolCall, value: Any) -> Awaitable[None] | None:
        """Handle progress reported by a tool."""
        ...

    def on_result(
        self, call: ToolCall | InvalidToolCall, result: ToolResult
    ) -> Awaitable[None] | None:
        """Handle the result of a call, of any kind."""
        ...
