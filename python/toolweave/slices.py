"""Long work on an event loop, in slices between which others run."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

_T = TypeVar("_T")

_SECONDS = 0.01
"""For how long a slice keeps the event loop."""


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
