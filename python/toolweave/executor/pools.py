"""Blocking functions off the event loop, in any `concurrent.futures.Executor`.

Threads by default; a process pool for work that holds the interpreter; a cluster's executor, such
as `dask.distributed.Client.get_executor()`, for work that outgrows the machine.

Example:
    >>> async def main() -> int:
    ...     return await run_blocking(None, sum, {"iterable": [1, 2]})
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import logging
import pickle
import threading
import weakref
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import PoolError
from . import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

R = TypeVar("R")

_log = logging.getLogger("toolweave.executor")


def run_blocking(
    pool: Executor | None, function: Callable[..., R], kwargs: Mapping[str, Any] | None = None
) -> asyncio.Future[R]:
    """Runs a function in a pool. To be called on a running event loop.

    In threads the function sees the caller's context variables; elsewhere it cannot, since a
    context cannot be sent. A function that has not begun when the future is cancelled never
    begins; one that has runs on, and nobody hears of it.

    Args:
        pool: Where; None for the threads that all tools of the process share.
        function: What to run.
        kwargs: What to call it with.

    Returns:
        A future of what the function returns or raises. It raises `PoolError` if the pool broke,
        was shut down, or could not carry the function, its arguments or its result.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()
    task: Callable[[], Any] = functools.partial(function, **(kwargs or {}))
    if pool is None:
        pool = threads.TOOLS.get()
    if _shares_memory(pool):
        task = functools.partial(contextvars.copy_context().run, task)
    elif isinstance(pool, ProcessPoolExecutor):
        task = functools.partial(_carried, task)
    try:
        submitted = pool.submit(task)
    except Exception as error:  # noqa: BLE001 - any pool may raise anything here
        future.set_exception(_explain(pool, error))
        return future
    bell = _bell(loop)
    submitted.add_done_callback(lambda done: bell.ring(future, done, pool))
    future.add_done_callback(lambda done: submitted.cancel() if done.cancelled() else None)
    return future


def _shares_memory(pool: Executor) -> bool:
    if isinstance(pool, threads.DaemonThreads):
        return True
    interpreters = getattr(concurrent.futures, "InterpreterPoolExecutor", ())
    return isinstance(pool, ThreadPoolExecutor) and not isinstance(pool, interpreters)


class _Bell:
    """Wakes an event loop once for all that was done since it last looked.

    `loop.run_in_executor` wakes it once for each, at twice the price.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: deque[tuple[asyncio.Future[Any], Any, Executor]] = deque()
        self._rung = False

    def ring(
        self, future: asyncio.Future[Any], done: concurrent.futures.Future[Any], pool: Executor
    ) -> None:
        """Says from any thread that something is done."""
        with self._lock:
            self._done.append((future, done, pool))
            if self._rung:
                return
            self._rung = True
        try:
            future.get_loop().call_soon_threadsafe(self._answer)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
            self._done.clear()
            _log.debug("a blocking tool ended after its event loop", extra={"pool": repr(pool)})

    def _answer(self) -> None:
        with self._lock:
            self._rung = False
            done, self._done = self._done, deque()
        for future, submitted, pool in done:
            if not future.done():
                _copy(submitted, future, pool)


_bells: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bell] = weakref.WeakKeyDictionary()
_bells_lock = threading.Lock()


def _bell(loop: asyncio.AbstractEventLoop) -> _Bell:
    with _bells_lock:
        bell = _bells.get(loop)
        if bell is None:
            bell = _bells[loop] = _Bell()
        return bell


def _copy(
    done: concurrent.futures.Future[Any], future: asyncio.Future[Any], pool: Executor
) -> None:
    if done.cancelled():
        # By its pool; whoever awaits the future would take that for a cancellation of its own.
        future.set_exception(PoolError("the pool was shut down before the function began"))
        return
    error = done.exception()
    if error is not None:
        future.set_exception(_explain(pool, error))
        return
    result = done.result()
    if isinstance(result, _Parcel):
        try:
            result = result.open()
        except Exception as broken:  # noqa: BLE001 - unpickling may run anything
            future.set_exception(_explain(pool, broken))
            return
    future.set_result(result)


def _explain(pool: Executor, error: BaseException) -> BaseException:
    """What to raise for what a pool raised."""
    explained: BaseException
    if isinstance(error, BrokenExecutor):
        explained = PoolError(
            "the pool broke, since one of its workers died; it cannot run anything any more"
        )
    elif isinstance(error, StopIteration):
        explained = RuntimeError("the function raised StopIteration")
    elif not _shares_memory(pool) and _is_about_pickling(error):
        explained = PoolError(
            f"the function, its arguments or its result cannot be sent to or from the pool: {error}"
        )
    else:
        return error
    explained.__cause__ = error
    return explained


def _is_about_pickling(error: BaseException) -> bool:
    return isinstance(error, pickle.PickleError) or (
        isinstance(error, (TypeError, AttributeError)) and "pickle" in str(error).lower()
    )


class _Parcel:
    """A result on its way out of a worker process."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def open(self) -> Any:
        return pickle.loads(self._content)  # noqa: S301 - our own worker wrote it


def _carried(task: Callable[[], Any]) -> Any:
    """Runs in the worker process, and sends home only what can be opened there.

    An exception that cannot be unpickled would break the pool for everybody.
    """
    try:
        result = task()
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - written one call earlier
        except Exception:  # noqa: BLE001 - pickling may run anything
            raise RuntimeError(str(error)) from None
        raise
    try:
        return _Parcel(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
    except Exception as error:  # noqa: BLE001 - pickling may run anything
        raise PoolError(f"the result cannot be sent from the pool: {error}") from None
