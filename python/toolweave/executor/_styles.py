"""Invocation of functions of each style: coroutine functions, async generators, blocking functions.

Every style yields an awaitable of the result; for a coroutine function, calling it is enough.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ._deferred import Deferred
from ._pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ._call import Execution
    from ._plan import Plan

Invoke: TypeAlias = "Callable[[Execution], Awaitable[Any]]"
"""Function that runs the tool of a call once, with the call's current arguments."""


def invoker(plan: Plan) -> Invoke:
    """Return the function that runs calls of a tool."""
    function = plan.function
    if plan.style == "generator":
        return lambda execution: _run_generator(execution, function(**keyword_arguments(execution)))
    if plan.style == "sync":
        return _inline if plan.pool == "inline" else _in_pool
    if plan.context_parameter is None:
        return lambda execution: function(**execution.arguments)
    return lambda execution: function(**keyword_arguments(execution))


def keyword_arguments(execution: Execution) -> dict[str, Any]:
    """Return the keyword arguments of the function, including its context."""
    parameter = execution.plan.context_parameter
    if parameter is None:
        return execution.arguments
    return {**execution.arguments, parameter: execution.run.context(execution)}


# How long, in seconds and items, a generator that never awaits may hold the event loop.
_MAX_SLICE_SECONDS = 0.005
_MAX_SLICE_ITEMS = 100


async def _run_generator(execution: Execution, values: AsyncGenerator[Any, None]) -> Any:
    last: Any = None
    time = execution.run.loop.time
    items, until = 0, time() + _MAX_SLICE_SECONDS
    try:
        async for last in values:
            if not isinstance(last, Deferred):
                execution.progress(last)
            items += 1
            if items >= _MAX_SLICE_ITEMS or time() >= until:
                # Lets timers fire, readers read, and cancellation arrive.
                await asyncio.sleep(0)
                items, until = 0, time() + _MAX_SLICE_SECONDS
    finally:
        await values.aclose()
    return last


async def _inline(execution: Execution) -> Any:
    return await _awaited(execution.plan.function(**keyword_arguments(execution)))


async def _in_pool(execution: Execution) -> Any:
    plan = execution.plan
    pool = None if plan.pool == "inline" else plan.pool
    return await _awaited(await run_blocking(pool, plan.blocking, keyword_arguments(execution)))


async def _awaited(value: Any) -> Any:
    # For instance a partial of a coroutine function, which `inspect` does not recognize.
    return await value if inspect.isawaitable(value) else value
