"""Reading one reply: what a model yields, as events of the parser."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from .._core import FinishUpdate
from ..kinds import FinishReason
from ..models import closing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable

    from .. import Event, Update, UpdateReader, UsageUpdate

_log = logging.getLogger("toolweave.natural")

Read: TypeAlias = "Event | UsageUpdate"
"""What is read in a reply, but for its end."""

ReplyEvent: TypeAlias = "Read | FinishUpdate"
"""One thing in a reply; the `FinishUpdate` is the last."""

CUT_OFF = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.MISSING})
"""Why a reply may have ended before the model had said everything."""


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
            for event in reader.push(update):
                yield event
    finish = finish or FinishReason.MISSING
    for event in reader.finish(truncated=failure is not None or finish in CUT_OFF):
        yield event
    if failure is not None:
        _log.warning("a reply was cut off", extra={"finish_reason": finish.value})
        raise failure
    yield FinishUpdate(finish)
