"""Invocation of handlers, with a timeout, and in a thread if they block."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from ..executor._pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

GRACE = 5.0
"""Time that a cancelled handler gets to end, in seconds."""

_log = logging.getLogger("toolweave.handlers")


def is_async(function: Callable[..., Any]) -> bool:
    """Return True if a function is async, so that it needs no thread."""
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004 - inspected, not tested for existence
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


async def call(function: Callable[[], Any]) -> Any:
    """Call a function with the caller's context variables, in a thread if it is not async."""
    value = function() if is_async(function) else await run_blocking(None, function)
    # For instance a wrapper of a coroutine function, which `inspect` does not recognize.
    return await value if inspect.isawaitable(value) else value


async def run_with_timeout(
    seconds: float | None, work: Coroutine[Any, Any, T], name: str, *, grace: float = GRACE
) -> T:
    """Run a handler in its own task with a timeout.

    On cancellation, the handler is cancelled, and this waits until it has ended.

    Args:
        seconds: The timeout, in seconds; None for no limit.
        work: The coroutine of the handler.
        name: The tool.
        grace: Time that the cancelled handler gets to end, in seconds, before it is abandoned.

    Raises:
        TimeoutError: The handler timed out.
        RuntimeError: The handler cancelled itself.
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
        # A CancelledError would look like a cancellation of the caller.
        raise RuntimeError(f"the handler of tool {name!r} cancelled itself")
    return task.result()


async def _stop(task: asyncio.Task[T], name: str, grace: float) -> None:
    task.cancel()
    # Any later exception is ignored.
    task.add_done_callback(_consume_exception)
    await asyncio.wait({task}, timeout=grace)
    if not task.done():
        _log.warning("a handler does not end though it was cancelled", extra={"tool": name})


def _consume_exception(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
