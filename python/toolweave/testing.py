"""Test doubles: a model that says what it was told to, and an observer that remembers.

    >>> import asyncio
    >>> from toolweave.models import complete
    >>> from toolweave.testing import ScriptedModel
    >>> model = ScriptedModel("Hello.", ["Good", "bye."])
    >>> [asyncio.run(complete(model, text)).messages[0].text for text in ("Hi!", "Bye!")]
    ['Hello.', 'Goodbye.']
    >>> [request.messages[-1].text for request in model.requests]
    ['Hi!', 'Bye!']

`ScriptedModel` is for what a test makes up. For what a real model said there are `StreamRecorder`,
which writes it down, and `toolweave.models.replay.ReplayModel`, which says it again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ._checks import check_flag, check_text
from ._core import (
    FinishUpdate,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    UsageUpdate,
)
from .models import closing
from .models.recording import StreamRecorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from . import FunctionContract, Message, Update
    from .protocols import ModelOptions

__all__ = ["ModelRequest", "RecordingObserver", "ScriptedModel", "StreamRecorder"]

_UPDATES = (TextDelta, ReasoningDelta, ToolCallUpdate, UsageUpdate, FinishUpdate)

ScriptedPiece: TypeAlias = "str | Update | BaseException"
"""One step of a scripted reply: some text, an update, a whole native call, or what it raises."""

_Pieces: TypeAlias = "Piece | Iterable[Piece] | AsyncIterable[Piece]"

ScriptedReply: TypeAlias = "_Pieces | Callable[[Sequence[Message]], _Pieces | Awaitable[_Pieces]]"
"""A scripted reply: a piece, pieces, or a function of the messages that returns these."""


@dataclass(frozen=True)
class ModelRequest:
    """What a model was asked."""

    messages: tuple[Message, ...]
    """The conversation, as it was then."""
    tools: tuple[FunctionContract, ...]
    """What it might call natively."""
    options: ModelOptions | None
    """What the request asked for beyond that."""


class ScriptedModel:
    """A model that gives scripted replies, one to each request, in order.

    A `ToolCall` among the pieces is made natively, in one fragment. Where the pieces hold no
    `FinishUpdate`, one is added: ``tool_calls`` after native calls, else ``stop``. Each piece comes
    in a turn of the event loop of its own.

    Args:
        *replies: The replies.
        name: What traces and errors call it.
        provider: Whose model it passes for.
        native_tools: Whether it passes for one that makes native calls.

    Example:
        >>> import asyncio
        >>> from toolweave import ToolCall
        >>> from toolweave.models import complete
        >>> model = ScriptedModel(
        ...     [ToolCall("c1", "Add", {"a": 1, "b": 2})],
        ...     lambda messages: f"I have read {len(messages)} message.",
        ... )
        >>> asyncio.run(complete(model, "1 + 2?")).messages[0].tool_calls[0].arguments
        {'a': 1, 'b': 2}
        >>> asyncio.run(complete(model, "And?")).messages[0].text
        'I have read 1 message.'
    """

    def __init__(
        self,
        *replies: ScriptedReply,
        name: str = "scripted",
        provider: str = "toolweave",
        native_tools: bool = False,
    ) -> None:
        check_text("name", name)
        check_text("provider", provider)
        check_flag("native_tools", native_tools)
        self._replies = list(replies)
        self.name = name
        """What traces and errors call it."""
        self.provider = provider
        """Whose model it passes for."""
        self.native_tools = native_tools
        """Whether it passes for one that makes native calls."""
        self.requests: list[ModelRequest] = []
        """What it was asked, in order."""
        self.abandoned = 0
        """How many replies nobody read to the end."""

    def __repr__(self) -> str:
        asked, scripted = len(self.requests), len(self._replies)
        return f"ScriptedModel({self.name}, asked {asked} times, {scripted} replies)"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Gives the next reply.

        Raises:
            AssertionError: It was asked more often than there are replies.
            BaseException: The script says so.
        """
        number = len(self.requests)
        self.requests.append(ModelRequest(tuple(messages), tuple(tools), options))
        if number >= len(self._replies):
            raise AssertionError(
                f"ScriptedModel {self.name!r} was asked for reply {number + 1}, but only "
                f"{len(self._replies)} are scripted; the last message was {_shown(messages)}"
            )
        finished = False
        calls = 0
        async with closing(_pieces(self._replies[number], messages)) as pieces:
            async for piece in pieces:
                await asyncio.sleep(0)
                if isinstance(piece, BaseException):
                    raise piece
                update = _update(piece, calls)
                calls += isinstance(update, ToolCallUpdate)
                finished = finished or isinstance(update, FinishUpdate)
                try:
                    yield update
                except GeneratorExit:
                    self.abandoned += not finished
                    raise
        if not finished:
            yield FinishUpdate("tool_calls" if calls else "stop")


async def _pieces(reply: object, messages: Sequence[Message]) -> AsyncIterator[object]:
    if callable(reply):
        answer = cast("Callable[[Sequence[Message]], object]", reply)(messages)
        if isinstance(answer, Awaitable):
            answer = await cast("Awaitable[object]", answer)
        async with closing(_pieces(answer, messages)) as pieces:
            async for piece in pieces:
                yield piece
    elif isinstance(reply, AsyncIterable):
        async with closing(cast("AsyncIterable[object]", reply)) as pieces:
            async for piece in pieces:
                yield piece
    elif isinstance(reply, Iterable) and not isinstance(reply, str):
        for piece in cast("Iterable[object]", reply):
            yield piece
    else:
        yield reply


def _update(piece: object, index: int) -> Update:
    if isinstance(piece, str):
        return TextDelta(piece)
    if isinstance(piece, ToolCall):
        arguments = piece.raw or json.dumps(piece.arguments, ensure_ascii=False)
        return ToolCallUpdate(piece.id, index, piece.name, arguments)
    if isinstance(piece, _UPDATES):
        return piece
    raise TypeError(
        "a scripted reply is made of strs, updates, tool calls and exceptions, "
        f"not of {type(piece).__name__}"
    )


def _shown(messages: Sequence[Message]) -> str:
    return repr(messages[-1])[:300] if messages else "missing: the conversation was empty"


class RecordingObserver:
    """An observer that remembers what it heard.

    Example:
        >>> from toolweave import ToolCall
        >>> observer = RecordingObserver()
        >>> observer.on_started(ToolCall("c1", "Add", {}))
        >>> [(what, call.name) for what, call, _ in observer.events]
        [('started', 'Add')]
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, ToolCall | InvalidToolCall, Any]] = []
        """``started``, ``progress`` or ``result``; the call; the value or the result, if any."""

    def on_started(self, call: ToolCall) -> None:
        """Remembers that the call is about to run."""
        self.events.append(("started", call, None))

    def on_progress(self, call: ToolCall, value: Any) -> None:
        """Remembers the progress."""
        self.events.append(("progress", call, value))

    def on_result(self, call: ToolCall | InvalidToolCall, result: ToolResult) -> None:
        """Remembers the result."""
        self.events.append(("result", call, result))

    @property
    def started(self) -> list[ToolCall]:
        """The calls that began, in that order."""
        return [
            call
            for what, call, _ in self.events
            if what == "started" and isinstance(call, ToolCall)
        ]

    @property
    def progress(self) -> list[tuple[ToolCall, Any]]:
        """What was reported, with the call."""
        return [
            (call, value)
            for what, call, value in self.events
            if what == "progress" and isinstance(call, ToolCall)
        ]

    @property
    def results(self) -> list[ToolResult]:
        """The results, in the order in which they came."""
        return [value for what, _, value in self.events if what == "result"]
