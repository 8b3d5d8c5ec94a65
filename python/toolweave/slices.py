"""Long work of an event loop: in slices between which others run, or in a thread."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

_T = TypeVar("_T")

_SECONDS = 0.01
"""For how long a slice keeps the event loop."""

OFFLOAD_THRESHOLD = 1000
"""From how many parts on a value is better left to a thread."""

# So many characters weigh as much as an item.
_CHARACTERS = 1000


async def in_slices(items: Iterable[_T]) -> AsyncIterator[_T]:
    """Hand out items, and let others run whenever a slice of time is over.

    Args:
        items: The items. Nobody may change what they come from meanwhile.
    """
    until = time.monotonic() + _SECONDS
    for item in items:
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _SECONDS
        yield item


def has_many_parts(value: object) -> bool:
    """Whether it is a container of many values, as far as that is seen without converting any."""
    waiting: list[object] = [value]
    known = 0
    while waiting and known <= OFFLOAD_THRESHOLD:
        each = waiting.pop()
        if isinstance(each, (str, bytes, bytearray)):
            known += len(each) // _CHARACTERS
        elif isinstance(each, (dict, list, tuple, set, frozenset)):
            inner: Any = cast("object", each)
            if isinstance(each, dict):
                inner = inner.values()
            known += len(inner)
            waiting.extend(itertools.islice(inner, OFFLOAD_THRESHOLD))
    return known > OFFLOAD_THRESHOLD
