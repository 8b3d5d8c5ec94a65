"""Invocation of functions: async generators, and functions that may block the event loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

from ._deferred import Deferred
from ._pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from concurrent.futures import Executor

    from ._plan import Plan

# How long, in seconds and items, a generator that never awaits may hold the event loop.
_MAX_SLICE_SECONDS = 0.005
_MAX_SLICE_ITEMS = 100


def is_async(function: Callable[..., Any]) -> bool:
    """Return True if a function is async, so that it needs no thread."""
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004 - inspected, not tested for existence
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


async def call(function: Callable[[], Any], pool: Executor | None = None) -> Any:
    """Call a function with the caller's context variables, in a pool if it is not async.

    Args:
        function: The function.
        pool: The pool; None for the threads that all tools of the process share.
    """
    value = function() if is_async(function) else await run_blocking(pool, function)
    # For instance a wrapper of a coroutine function, which `inspect` does not recognize.
    return await value if inspect.isawaitable(value) else value


async def run_function(plan: Plan, arguments: dict[str, Any]) -> Any:
    """Run the blocking function of a tool in its pool, or on the event loop if it is ``inline``."""
    if plan.pool == "inline":
        value = plan.function(**arguments)
    else:
        value = await run_blocking(plan.pool, plan.blocking, arguments)
    return await value if inspect.isawaitable(value) else value


async def run_generator(values: AsyncGenerator[Any, None], report: Callable[[Any], None]) -> Any:
    """Run an async generator, and return its last value.

    Args:
        values: The generator.
        report: Function that is called with each value, as progress.
    """
    last: Any = None
    time = asyncio.get_running_loop().time
    items, until = 0, time() + _MAX_SLICE_SECONDS
    try:
        async for last in values:
            if not isinstance(last, Deferred):
                report(last)
            items += 1
            if items >= _MAX_SLICE_ITEMS or time() >= until:
                # Lets timers fire, readers read, and cancellation arrive.
                await asyncio.sleep(0)
                items, until = 0, time() + _MAX_SLICE_SECONDS
    finally:
        await values.aclose()
    return last
