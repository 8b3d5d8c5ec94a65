"""Conversion of the updates of a reply to parser events."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

from .._core import FinishUpdate, TextDelta, ToolCallUpdate
from ..kinds import FinishReason
from ..models import closing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterable

    from .._core import UpdateReader, UsageUpdate
    from .._messages import Update
    from .._streams import Event

_log = logging.getLogger("toolweave.natural")

ParsedEvent: TypeAlias = "Event | UsageUpdate"
"""Any event of a reply except its end."""

ReplyEvent: TypeAlias = "ParsedEvent | FinishUpdate"
"""Any event of a reply; the `FinishUpdate` is the last."""

CUT_OFF = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.MISSING})
"""Finish reasons of truncated replies."""


MAX_PIECE_CHARS = 16_384
"""Maximum number of characters of a chunk that are parsed at once."""

# Longer calls are parsed in a thread.
_LONG_CALL_BYTES = 131_072


def _may_end_long_call(reader: UpdateReader, update: Update) -> bool:
    """Return True if an update may end a call that is slower to parse than to start a thread."""
    if reader.buffered <= _LONG_CALL_BYTES:
        return False
    if isinstance(update, TextDelta):
        # A call in text ends with a tag.
        return ">" in update.text
    # A native call ends where the next one starts.
    return isinstance(update, ToolCallUpdate) and not (
        update.tool_call_id is None and update.function_name is None
    )


def _pieces(update: Update) -> Iterable[Update]:
    """Split a long chunk, which may have any number of calls that each block the event loop."""
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
    """Yield the events of a complete reply, and close its stream.

    Args:
        updates: Updates of the model.
        reader: An unused reader.

    Yields:
        The events, and exactly one `FinishUpdate`, last: the first one of the model.

    Raises:
        TypeError: The model yields an invalid update.
        Exception: Any exception of the model, after the events so far. There is no `FinishUpdate`
            then, and no unfinished call has been completed.
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
            except Exception as error:  # noqa: BLE001 - raised below, after the events so far
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
    if reader.buffered > _LONG_CALL_BYTES:
        rest = await asyncio.to_thread(reader.finish, truncated=truncated)
    else:
        rest = reader.finish(truncated=truncated)
    for event in rest:
        yield event
    if failure is not None:
        _log.warning("a reply was cut off", extra={"finish_reason": finish.value})
        raise failure
    yield FinishUpdate(finish)
