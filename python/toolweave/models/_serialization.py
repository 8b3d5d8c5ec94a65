"""Serialization of requests, in a thread if they are large."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from .._core import ToolAggregateMessage, ToolCallMessage, ToolResultMessage
from .._slices import OFFLOAD_THRESHOLD, has_many_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .._core import FunctionContract
    from .._messages import Message

T = TypeVar("T")

# Number of characters of a result that take as long to serialize as one argument.
_CHARACTERS = 100
# The schemas of more tools take longer to serialize than a thread takes to start.
_MANY_TOOLS = 50


async def serialize_request(
    serialize: Callable[[], T], messages: Sequence[Message], tools: Sequence[FunctionContract] = ()
) -> T:
    """Serialize a request, in a thread if it is large.

    Args:
        serialize: Function that serializes the request.
        messages: The conversation.
        tools: Tools of the request.
    """
    if len(tools) > _MANY_TOOLS or is_large(messages):
        return await asyncio.to_thread(serialize)
    return serialize()


def is_large(messages: Iterable[Message]) -> bool:
    """Return True if a conversation takes longer to serialize than a thread takes to start."""
    parts = 0
    for message in messages:
        parts += 1
        if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
            calls = message.tool_calls
            parts += len(calls)
            if parts <= OFFLOAD_THRESHOLD and any(has_many_parts(call.arguments) for call in calls):
                return True
        if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
            results = message.tool_results
            parts += len(results)
            if parts <= OFFLOAD_THRESHOLD:
                parts += sum(len(result.result) for result in results) // _CHARACTERS
        if parts > OFFLOAD_THRESHOLD:
            return True
    return False
