"""A model with scripted replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from .._checks import check_flag, check_text
from .._core import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallUpdate,
    UsageUpdate,
)
from ..models import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions

_UPDATES = (TextDelta, ReasoningDelta, ToolCallUpdate, UsageUpdate, FinishUpdate)

ScriptedPiece: TypeAlias = "str | Update | BaseException"
"""One step of a scripted reply: a text, an update, a complete native call, or an exception."""

_Pieces: TypeAlias = "ScriptedPiece | Iterable[ScriptedPiece] | AsyncIterable[ScriptedPiece]"

ScriptedReply: TypeAlias = "_Pieces | Callable[[Sequence[Message]], _Pieces | Awaitable[_Pieces]]"
"""A scripted reply: one or more pieces, or a function of the messages that returns them."""


@dataclass(frozen=True)
class ModelRequest:
    """A recorded request to a model."""

    messages: tuple[Message, ...]
    """Messages at the time of the request."""
    tools: tuple[FunctionContract, ...]
    """Tools for native calls."""
    options: ModelOptions | None
    """Options of the request."""


class ScriptedModel:
    """A model that gives scripted replies, one for each request, in order.

    A `ToolCall` among the pieces is streamed as a native call, in one fragment. If the pieces
    contain no `FinishUpdate`, one is added: ``tool_calls`` after native calls, else ``stop``. Each
    piece is yielded in a separate iteration of the event loop.

    Args:
        *replies: The replies.
        name: Name of the model in traces and errors.
        provider: Name of the provider.
        native_tools: True to declare support for native calls.

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
        """Name of the model in traces and errors."""
        self.provider = provider
        """Name of the provider."""
        self.native_tools = native_tools
        """True if the model declares support for native calls."""
        self.requests: list[ModelRequest] = []
        """Recorded requests, in order."""
        self.abandoned = 0
        """Number of replies that were not read to the end."""

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
        """Stream the next reply.

        Raises:
            AssertionError: There are more requests than scripted replies.
            BaseException: An exception among the pieces of the reply.
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
        "a piece of a scripted reply must be a str, an update, a ToolCall or an exception, "
        f"got {type(piece).__name__}"
    )


def _shown(messages: Sequence[Message]) -> str:
    return repr(messages[-1])[:300] if messages else "missing: the conversation was empty"
