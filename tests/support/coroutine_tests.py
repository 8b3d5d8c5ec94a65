"""A decorator for coroutine tests, and helpers that read event streams."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterable, Callable, Coroutine
from typing import Any

TEST_TIMEOUT = 20.0
"""Seconds until a waiting test fails."""


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on a new event loop, with a timeout; it must leave no task behind."""

    async def watched(*args: Any, **kwargs: Any) -> None:
        await asyncio.wait_for(test(*args, **kwargs), TEST_TIMEOUT)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        # The loop closes generators that were not exhausted, such as those of clients.
        closing = {task for task in left if _closes_a_generator(task)}
        if closing:
            await asyncio.wait(closing, timeout=TEST_TIMEOUT)
        assert not left - closing, left

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(watched(*args, **kwargs))

    return run


def _closes_a_generator(task: asyncio.Task[Any]) -> bool:
    return type(task.get_coro()).__name__ == "async_generator_athrow"


async def collect(events: AsyncIterable[Any], into: list[Any] | None = None) -> list[Any]:
    """Return all events; those before an error are in `into`."""
    seen: list[Any] = [] if into is None else into
    async for event in events:
        seen.append(event)  # noqa: PERF401 - what came before an error stays
    return seen


def of_kind(kind: Any, events: list[Any]) -> list[Any]:
    """Return the events of a class, or of one of several."""
    return [event for event in events if isinstance(event, kind)]
