"""How functions of each kind are run.

Whatever the kind, what comes of it can be awaited; a coroutine function is simply called.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .deferred import Deferred
from .pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from .call import Execution
    from .plan import Plan

Invoke: TypeAlias = "Callable[[Execution], Awaitable[Any]]"
"""Runs the function of a call once, with the arguments that the call has now."""


def invoke_of(plan: Plan) -> Invoke:
    """How the function of a tool is run."""
    function = plan.function
    if plan.style == "generator":
        return lambda execution: _run_generator(execution, function(**keyword_arguments(execution)))
    if plan.style == "sync":
        return _inline if plan.pool == "inline" else _in_pool
    if plan.context_parameter is None:
        return lambda execution: function(**execution.arguments)
    return lambda execution: function(**keyword_arguments(execution))


def keyword_arguments(execution: Execution) -> dict[str, Any]:
    """What the function is called with, its context included."""
    parameter = execution.plan.context_parameter
    if parameter is None:
        return execution.arguments
    return {**execution.arguments, parameter: execution.run.context(execution)}


# For how long, and for how many items, a generator that never awaits may keep the event loop.
_SLICE = 0.005
_ITEMS = 100


async def _run_generator(execution: Execution, values: AsyncGenerator[Any, None]) -> Any:
    last: Any = None
    time = execution.run.loop.time
    items, until = 0, time() + _SLICE
    try:
        async for last in values:
            if not isinstance(last, Deferred):
                execution.progress(last)
            items += 1
            if items >= _ITEMS or time() >= until:
                # Timers ring, readers read, and a cancellation arrives here.
                await asyncio.sleep(0)
                items, until = 0, time() + _SLICE
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
    # Such as a partial of a coroutine function, which does not look like one.
    return await value if inspect.isawaitable(value) else value
