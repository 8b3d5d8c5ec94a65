"""Calls that a model has made, read from results, runs, messages and observers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from .._core import (
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
)
from ..kinds import Role
from ..models import as_messages
from ._observer import RecordingObserver
from ._values import shown, shown_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import InvalidToolCall, ToolCall
    from .._messages import Message
    from ..protocols import Messages


class HasNewMessages(Protocol):
    """An `AgentResult` or a `SceneResult`."""

    @property
    def new_messages(self) -> Sequence[Message]:
        """Messages that the run added."""
        ...


class HasMessages(Protocol):
    """A run or a reply."""

    @property
    def messages(self) -> Sequence[Message]:
        """Messages of the run or the reply."""
        ...


CallSource: TypeAlias = "HasNewMessages | HasMessages | RecordingObserver | Messages"
"""An object that has calls: an `AgentResult` or a `SceneResult` (the calls of that run), an
`AgentRun`, a reply, messages in any form, or a `RecordingObserver`."""


@dataclass(frozen=True)
class MadeCall:
    """A call that the model has made, whether or not it could be executed."""

    name: str
    """Name of the tool."""
    arguments: Mapping[str, Any]
    """Arguments as the tool gets them; those of an invalid call as far as they could be read."""
    id: str
    """Id of the call."""
    request: int | None = None
    """Number of the request whose reply has the call, from 1; None if only an observer is known."""
    result: ToolResult | None = None
    """Result of the call; None if there is none yet."""

    @property
    def is_error(self) -> bool:
        """True if the call has failed, was invalid or was denied."""
        return self.result is not None and self.result.is_error

    def __str__(self) -> str:
        """Return the call and its result in one line of bounded length."""
        written = shown_call(self.name, self.arguments)
        if self.result is None:
            return written
        mark = "error: " if self.is_error else ""
        return f"{written} -> {mark}{shown(self.result.result)}"


def messages_of(source: object) -> list[Message]:
    """Return the messages of a source: those that its run added, if it has a history as well.

    Raises:
        TypeError: The source has no messages.
    """
    if isinstance(source, str) or source is None:
        raise TypeError(f"{_WANTED}, got {type(source).__name__}")
    for attribute in ("new_messages", "finished_messages", "messages"):
        found = getattr(source, attribute, None)
        if isinstance(found, (tuple, list)):
            return list(cast("Sequence[Message]", found))
    try:
        return as_messages(cast("Messages", source))
    except TypeError as err:
        raise TypeError(f"{_WANTED}, got {type(source).__name__}") from err


_WANTED = "source must be an AgentResult, a SceneResult, a run, messages or a RecordingObserver"


def made_calls(source: object) -> list[MadeCall]:
    """Return the calls of a source, in the order in which the model made them."""
    if isinstance(source, RecordingObserver):
        return _observed(source)
    calls: list[MadeCall] = []
    open_calls: dict[str, int] = {}
    for number, message in numbered(messages_of(source)):
        if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
            for call in message.tool_calls:
                open_calls[call.id] = len(calls)
                calls.append(_made(call, number))
        if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
            for result in message.tool_results:
                at = open_calls.get(result.tool_call_id)
                if at is not None:
                    calls[at] = replace(calls[at], result=result)
    return calls


def numbered(messages: Iterable[Message]) -> Iterator[tuple[int, Message]]:
    """Yield messages with the number of the last request before their end, from 1.

    Messages of one reply share a generation id; without one, a reply begins after any message that
    is not the model's, and after results.
    """
    number = 0
    generation: str | None = None
    continued = False
    for message in messages:
        if _is_reply(message):
            same = message.generation_id is not None and message.generation_id == generation
            if not (same or (continued and message.generation_id is None)):
                number += 1
            generation = message.generation_id
        continued = _is_reply(message) and not isinstance(message, ToolAggregateMessage)
        yield number, message


def _is_reply(message: Message) -> bool:
    return message.role == Role.ASSISTANT and isinstance(
        message, (TextMessage, ReasoningMessage, ToolCallMessage, ToolAggregateMessage)
    )


def _observed(observer: RecordingObserver) -> list[MadeCall]:
    calls: dict[int, MadeCall] = {}
    open_calls: dict[str, int] = {}
    for what, call, value in observer.events:
        if what == "started" or call.id not in open_calls:
            open_calls[call.id] = len(calls)
            calls[len(calls)] = _made(call, None)
        if what == "result" and isinstance(value, ToolResult):
            at = open_calls.pop(call.id)
            calls[at] = replace(calls[at], result=value)
    return list(calls.values())


def _made(call: ToolCall | InvalidToolCall, request: int | None) -> MadeCall:
    return MadeCall(call.name, call.arguments or {}, call.id, request)
