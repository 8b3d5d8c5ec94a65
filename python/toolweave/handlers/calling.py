"""Awaiting what a handler does: off the loop where it blocks, and within a time."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from ..executor.pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

GRACE = 5.0
"""How long a handler may take to end once it is cancelled, in seconds."""

_log = logging.getLogger("toolweave.handlers")


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function is awaited, and not to be run in a thread."""
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own, if it is async
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


async def call(function: Callable[[], Any]) -> Any:
    """Calls a function, in a thread if it is not async, with the caller's context variables."""
    value = function() if is_async(function) else await run_blocking(None, function)
    # Such as a wrapper of a coroutine function, which does not look like one.
    return await value if inspect.isawaitable(value) else value


async def run_with_timeout(
    seconds: float | None, work: Coroutine[Any, Any, T], name: str, *, grace: float = GRACE
) -> T:
    """Awaits the work of a tool, in a task of its own that never outlives this by much.

    Whoever cancels this cancels the work, and it is waited for.

    Args:
        seconds: How long it may take; None for as long as it likes.
        work: The work.
        name: The tool.
        grace: How long it is waited for once it is cancelled, in seconds; then it is given up.

    Raises:
        TimeoutError: It took too long.
        RuntimeError: It cancelled itself.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _stop(task, name, grace)
        raise
    if not task.done():
        await _stop(task, name, grace)
        raise TimeoutError(
            f"the handler of tool {name!r} did not finish within {seconds:g} seconds"
            " and was stopped"
        )
    if task.cancelled():
        # Raised as it is, it would look as if the caller had been cancelled.
        raise RuntimeError(f"the handler of tool {name!r} cancelled itself")
    return task.result()


async def _stop(task: asyncio.Task[T], name: str, grace: float) -> None:
    task.cancel()
    # Whatever it still raises has nobody to hear it.
    task.add_done_callback(_consume_exception)
    await asyncio.wait({task}, timeout=grace)
    if not task.done():
        _log.warning("a handler does not end though it was cancelled", extra={"tool": name})


def _consume_exception(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
