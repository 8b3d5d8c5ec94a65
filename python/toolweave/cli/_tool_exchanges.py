"""Preparation of transcripts for stores: replies with an id, calls merged with their results."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from .._core import TextMessage, ToolAggregateMessage, ToolCallMessage, ToolResultMessage
from ..kinds import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .._messages import Message


def mark_replies(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which every text of the assistant has its own generation id.

    The messages that are parsed from such a text then belong to one generation.

    Args:
        messages: A transcript.
    """
    number = count(1)
    for message in messages:
        is_reply = isinstance(message, TextMessage) and message.role is Role.ASSISTANT
        if is_reply and message.generation_id is None:
            yield message.__replace__(generation_id=f"imported_{next(number)}")
        else:
            yield message


def merge_results(messages: Iterable[Message]) -> list[Message]:
    """Return messages in which calls and the results that follow them are merged to aggregates.

    Args:
        messages: A history.
    """
    together: list[Message] = []
    for message in messages:
        last = together[-1] if together else None
        if isinstance(message, ToolResultMessage) and isinstance(last, ToolCallMessage):
            by_id = {result.tool_call_id: result for result in message.tool_results}
            answered = [by_id[call.id] for call in last.tool_calls if call.id in by_id]
            if len(answered) == len(message.tool_results):
                together[-1] = ToolAggregateMessage(
                    last.tool_calls,
                    answered,
                    role=last.role,
                    id=last.id,
                    from_agent=last.from_agent,
                    generation_id=last.generation_id,
                    run_id=last.run_id,
                    chat_id=last.chat_id,
                    metadata={**last.metadata, **message.metadata},
                )
                continue
        together.append(message)
    return together
