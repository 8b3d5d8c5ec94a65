"""Reading one reply: what a model yields, as events of the parser."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

from .._core import FinishUpdate, TextDelta, ToolCallUpdate
from ..kinds import FinishReason
from ..models import closing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable

    from .. import Event, Update, UpdateReader, UsageUpdate

_log = logging.getLogger("toolweave.natural")

ParsedEvent: TypeAlias = "Event | UsageUpdate"
"""What is read in a reply, but for its end."""

ReplyEvent: TypeAlias = "ParsedEvent | FinishUpdate"
"""One thing in a reply; the `FinishUpdate` is the last."""

CUT_OFF = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.MISSING})
"""Why a reply may have ended before the model had said everything."""


MAX_PIECE_CHARS = 32_768
"""How many characters of a chunk are read at once."""

# Calls of more bytes are read in a thread.
_LONG = 131_072


def _may_end_long_call(reader: UpdateReader, update: Update) -> bool:
    """Whether a call may be at its end that takes longer to read than a thread takes to begin."""
    if reader.buffered <= _LONG:
        return False
    if isinstance(update, TextDelta):
        # No call in text ends without a tag.
        return ">" in update.text
    # A native call ends where another begins.
    return isinstance(update, ToolCallUpdate) and not (
        update.tool_call_id is None and update.function_name is None
    )


def _pieces(update: Update) -> Iterable[Update]:
    """A long chunk in pieces: it may hold calls without number, and the loop waits for each."""
    if not isinstance(update, TextDelta) or len(update.text) <= MAX_PIECE_CHARS:
        return (update,)
    text = update.text
    return (
        TextDelta(text[start : start + MAX_PIECE_CHARS])
        for start in range(0, len(text), MAX_PIECE_CHARS)
    )


async def read_updates(
    updates: AsyncIterable[Update], reader: UpdateReader
) -> AsyncGenerator[ReplyEvent, None]:
    """Reads a whole reply, and closes what it came from.

    Args:
        updates: What the model yields.
        reader: A reader that has read nothing.

    Yields:
        What is read, and exactly one `FinishUpdate`, last: the first that the model gave.

    Raises:
        TypeError: The model yields something that it may not.
        Exception: Whatever the model raised, after all that had come; then there is no
            `FinishUpdate`, and no open call has been completed.
    """
    finish: FinishReason | None = None
    failure: Exception | None = None
    async with closing(updates):
        iterator = aiter(updates)
        while True:
            try:
                update = await anext(iterator)
            except StopAsyncIteration:
                break
            except Exception as error:  # noqa: BLE001 - raised below, after what has come
                failure = error
                break
            if isinstance(update, FinishUpdate):
                finish = finish or update.reason
                continue
            for piece in _pieces(update):
                if _may_end_long_call(reader, piece):
                    events = await asyncio.to_thread(reader.push, piece)
                else:
                    events = reader.push(piece)
                for event in events:
                    yield event
    finish = finish or FinishReason.MISSING
    truncated = failure is not None or finish in CUT_OFF
    if reader.buffered > _LONG:
        rest = await asyncio.to_thread(reader.finish, truncated=truncated)
    else:
        rest = reader.finish(truncated=truncated)
    for event in rest:
        yield event
    if failure is not None:
        _log.warning("a reply was cut off", extra={"finish_reason": finish.value})
        raise failure
    yield FinishUpdate(finish)
