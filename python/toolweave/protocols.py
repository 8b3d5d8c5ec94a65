"""What toolweave asks of the models and callbacks that it is given."""

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
    from . import (
        Event,
        FinishUpdate,
        FunctionContract,
        InvalidToolCall,
        Message,
        Parser,
        ToolCall,
        ToolResult,
        Update,
        UsageUpdate,
    )


class HasModelDump(Protocol):
    """A response message of OpenAI's client, or what says the same."""

    def model_dump(self) -> dict[str, Any]:
        """Its fields as a dict."""
        ...


_Entry: TypeAlias = "str | Message | Mapping[str, Any] | HasModelDump"

Messages: TypeAlias = "_Entry | Iterable[_Entry]"
"""A conversation in any form: one user's text, a message, OpenAI's dicts, or many of these."""


@dataclass(frozen=True)
class ModelOptions:
    """What one request asks of a model beyond the messages. What is None is left to the model."""

    temperature: float | None = None
    """How freely it chooses, from 0."""
    top_p: float | None = None
    """The share of likely tokens that it chooses from, from 0 to 1."""
    max_tokens: int | None = None
    """How long the reply may be, in tokens."""
    stop: tuple[str, ...] = ()
    """Texts that end the reply; they are not part of it."""
    seed: int | None = None
    """Makes replies repeatable where the provider can."""
    response_schema: Mapping[str, Any] | None = None
    """The JSON Schema that the reply should fit, where the provider can enforce one."""
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of the tool to call. Native calls only."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments for the client of the provider, as they are."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: One of them has a value that it cannot have.
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
    """A model that answers a conversation.

    Some optional attributes say more; where one is missing, the default holds:

    - ``name: str``: the model, for traces and costs (the name of the class).
    - ``provider: str``: whose it is, such as ``openai`` (``unknown``).
    - ``native_tools: bool``: whether it takes `tools` and makes native calls (False).
    """

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterable[Update]:
        """Answers, piece by piece.

        Args:
            messages: The conversation.
            tools: What it may call natively; empty for a model that writes calls in its text.
            options: What the request asks for beyond that.

        Returns:
            `TextDelta`, `ReasoningDelta`, `ToolCallUpdate` and `UsageUpdate` in any order, and
            exactly one `FinishUpdate`, last. Its reason is ``missing`` where the stream ended
            without one; then no open call is complete.

        Raises:
            ModelError: The model could not be asked, or broke off; raised while iterating.
        """
        ...


class ParsingModel(ChatModel, Protocol):
    """A model that reads its own replies.

    `NaturalToolUseParser` asks such a model for the events of a reply, where it would read what
    another one streams with an `UpdateReader`. Whoever asks cannot tell the difference.
    """

    def events(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
        parser: Parser,
        inline: bool,
        deltas: bool,
        call_ids: Callable[[int], str] | None,
    ) -> AsyncIterable[Event | UsageUpdate | FinishUpdate]:
        """Answers, and reads the answer.

        Args:
            messages: The conversation.
            tools: What it may call natively; empty for a model that writes calls in its text.
            options: What the request asks for beyond that.
            parser: Knows the tools. It is shared by many replies and must not be fed; each has a
                fresh one.
            inline: Whether calls are looked for in the text.
            deltas: Whether the arguments of native calls are reported while they arrive.
            call_ids: Gives the id of the call at a position, where the provider gave none; without
                it, the parser does.

        Returns:
            What an `UpdateReader` gives for the updates of the reply, and exactly one
            `FinishUpdate`, last.

        Raises:
            ModelError: The model could not be asked, or broke off; raised while iterating, after
                all that had come, in which no open call is completed.
        """
        ...


FunctionModel: TypeAlias = "Callable[[Sequence[Message]], Awaitable[str] | AsyncIterable[str]]"
"""A model as a function: of the messages, to the reply or to the pieces of one."""

Model: TypeAlias = "ChatModel | FunctionModel"
"""What is accepted wherever a model is."""


@dataclass(frozen=True)
class Approval:
    """An approver's answer. Make one with `allow` or `deny`."""

    allowed: bool
    """Whether the call may run."""
    reason: str | None = None
    """Why; for the model to read where the call must not run."""
    decided_by: str | None = None
    """The person or the rule that decided, for people to read."""

    def __post_init__(self) -> None:
        """Check the decision: a truthy value is no clear yes.

        Raises:
            TypeError: `allowed` is neither True nor False, or one of the others no string.
        """
        check_flag("allowed", self.allowed)
        check_text("reason", self.reason, none=True)
        check_text("decided_by", self.decided_by, none=True)

    @classmethod
    def allow(cls, reason: str | None = None, *, decided_by: str | None = None) -> Approval:
        """The call may run."""
        return cls(allowed=True, reason=reason, decided_by=decided_by)

    @classmethod
    def deny(cls, reason: str | None = None, *, decided_by: str | None = None) -> Approval:
        """The call must not run."""
        return cls(allowed=False, reason=reason, decided_by=decided_by)


Approver: TypeAlias = (
    "Callable[[ToolCall, FunctionContract], Approval | bool | Awaitable[Approval | bool]]"
)
"""Decides on a call before it runs. Anything but a clear yes is a no."""


class Journal(Protocol):
    """Knows which tools run, so that after a crash it can be told what may have happened.

    For each call whose tool is entered, `started` is awaited right before that, and `finished`
    before anybody hears of the result: observers, readers, the aggregate. Calls that do not run
    (refused, not approved, answered from the cache) are not in it, and neither are the calls that
    tools make: these are part of the call whose tool made them. A call has one start and one end
    however often it is tried, and may be interrupted between its start and its tool.

    What either raises ends the run and is raised for whoever reads it: a tool whose start could not
    be written does not run, and a result that could not be written nobody hears. Cancelling a run
    does not cancel what is being written, but a journal that does not answer is given up after
    the executor's grace.

    Two optional methods say more:

    - ``def truncate(self, call: ToolCall, result: ToolResult) -> ToolResult`` gives the result as the
      journal can keep it, such as cut with a notice. That one is told, and passed to `finished`.
    - ``async def deferred(self, call: ToolCall, awaited: PendingResult) -> None`` is awaited when
      the result of a call comes later. The run that takes that result in awaits `finished`.
    """

    async def started(self, call: ToolCall) -> None:
        """The tool of a call is about to be entered."""
        ...

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        """The call has its result, of whatever kind, and nobody has heard of it."""
        ...


class Observer(Protocol):
    """Hears of every call. Each method may be sync or async, and missing.

    An observer can be as slow as it likes and raise what it likes: no result changes for it.
    """

    def on_started(self, call: ToolCall) -> Awaitable[None] | None:
        """The call is about to run."""
        ...

    def on_progress(self, call: ToolCall, value: Any) -> Awaitable[None] | None:
        """The tool reported progress."""
        ...

    def on_result(
        self, call: ToolCall | InvalidToolCall, result: ToolResult
    ) -> Awaitable[None] | None:
        """The call has its result, of whatever kind."""
        ...
