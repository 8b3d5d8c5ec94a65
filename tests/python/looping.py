"""Tests that are coroutines, and what they all need."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterable, Callable, Coroutine
from typing import Any

PATIENCE = 20.0
"""Seconds after which a test that waits has failed."""


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test on an event loop of its own. It must end in time and leave no task behind."""

    async def watched(*args: Any, **kwargs: Any) -> None:
        await asyncio.wait_for(test(*args, **kwargs), PATIENCE)
        # Those of generators that nobody has read to the end are closed by the loop.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(watched(*args, **kwargs))

    return run


async def collect(events: AsyncIterable[Any], into: list[Any] | None = None) -> list[Any]:
    """All events; those before an error are in `into`."""
    seen: list[Any] = [] if into is None else into
    async for event in events:
        seen.append(event)  # noqa: PERF401 - what came before an error stays
    return seen


def of(kind: Any, events: list[Any]) -> list[Any]:
    """The events of a class, or of one of several."""
    return [event for event in events if isinstance(event, kind)]
