"""Long work on the event loop: in time slices between which other tasks run, or in a thread."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

_T = TypeVar("_T")

_SECONDS = 0.01
"""Length of a slice, in seconds."""

OFFLOAD_THRESHOLD = 1000
"""Number of parts above which a value is better processed in a thread."""

# Number of characters that count as one part.
_CHARACTERS = 1000


async def in_slices(items: Iterable[_T]) -> AsyncIterator[_T]:
    """Yield items, and let other tasks run whenever a time slice has passed.

    Args:
        items: The items. Their source must not change meanwhile.
    """
    until = time.monotonic() + _SECONDS
    for item in items:
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _SECONDS
        yield item


def has_many_parts(value: object) -> bool:
    """Return True if a value contains many parts, as far as built-in containers show."""
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
