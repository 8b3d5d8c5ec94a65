"""Execution of blocking functions off the event loop, in any `concurrent.futures.Executor`.

The default is threads. Use a process pool for CPU-bound work, or the executor of a cluster, such as
`dask.distributed.Client.get_executor()`, for work that one machine cannot do.

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
import weakref
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import PoolError
from . import _threads as threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

R = TypeVar("R")

_log = logging.getLogger("toolweave.executor")


def run_blocking(
    pool: Executor | None, function: Callable[..., R], kwargs: Mapping[str, Any] | None = None
) -> asyncio.Future[R]:
    """Run a function in a pool. An event loop must be running.

    In threads, the function sees the caller's context variables; in other processes it does not. If
    the future is cancelled, a function that has not started never does. One that has started
    continues, and its outcome is ignored.

    Args:
        pool: The pool; None for the threads that all tools of the process share.
        function: The function.
        kwargs: Its keyword arguments.

    Returns:
        A future of the function's outcome. It raises `PoolError` if the pool broke, was shut down,
        or could not transfer the function, its arguments or its result.
    """
    chosen = threads.TOOLS.get() if pool is None else pool
    call: _PoolFuture[R] = _PoolFuture(chosen)
    try:
        submitted = _submit(chosen, function, kwargs or {})
    except Exception as error:  # noqa: BLE001 - any pool may raise anything here
        call.set_exception(_explain(chosen, error, refused=True))
        return call
    call.submitted = submitted
    submitted.add_done_callback(call.notify)
    return call


def _submit(
    pool: Executor, function: Callable[..., Any], kwargs: Mapping[str, Any]
) -> concurrent.futures.Future[Any]:
    if _shares_memory(pool):
        run: Callable[..., Any] = contextvars.copy_context().run
        return pool.submit(run, function, **kwargs)
    task = functools.partial(function, **kwargs)
    if isinstance(pool, ProcessPoolExecutor):
        return pool.submit(_run_in_worker, task)
    if type(pool).__module__.partition(".")[0] == "distributed":
        # By default, Dask runs identical calls only once.
        return pool.submit(task, pure=False)
    return pool.submit(task)


def _shares_memory(pool: Executor) -> bool:
    if isinstance(pool, threads.DaemonThreads):
        return True
    if not isinstance(pool, ThreadPoolExecutor):
        return False
    # In Python 3.14 this subclass of the thread pool runs interpreters, which share no objects.
    return not isinstance(pool, getattr(concurrent.futures, "InterpreterPoolExecutor", ()))


class _PoolFuture(asyncio.Future[R]):
    """Future of a function that was submitted to a pool."""

    # A subclass rather than callbacks on a plain future, since each callback costs a loop turn.

    def __init__(self, pool: Executor) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(loop=loop)
        self.pool = pool
        self.submitted: concurrent.futures.Future[Any] | None = None
        self._wakeup = _wakeup_of(loop)

    def notify(self, _done: concurrent.futures.Future[Any]) -> None:
        """Schedule completion. Thread-safe."""
        self._wakeup.notify(self)

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancel the function if it has not started."""
        if not super().cancel(msg):
            return False
        submitted, pool = self.submitted, self.pool
        if submitted is None or submitted.cancel():
            return True
        if isinstance(pool, threads.DaemonThreads):
            pool.abandon(submitted)
        return True

    def complete(self) -> None:
        """Set the outcome of the function. Called on the event loop's thread."""
        submitted = self.submitted
        if submitted is None or self.done():
            return
        if submitted.cancelled():
            # Cancelled by the pool. A CancelledError would look like a cancellation of the caller.
            self.set_exception(PoolError("the pool was shut down before the function began"))
            return
        error = submitted.exception()
        if error is not None:
            self.set_exception(_explain(self.pool, error))
            return
        result = submitted.result()
        if isinstance(result, _PickledResult):
            try:
                result = result.open()
            except Exception as broken:  # noqa: BLE001 - unpickling may run anything
                self.set_exception(_explain(self.pool, broken))
                return
        self.set_result(result)


class _Wakeup:
    """Wakeup of an event loop, once for all functions that have finished since the last one.

    `loop.run_in_executor` wakes the loop once per function, which costs more the busier the loop
    is.
    """

    def __init__(self) -> None:
        self._done: deque[_PoolFuture[Any]] = deque()
        self._wakeup_scheduled = False

    def notify(self, call: _PoolFuture[Any]) -> None:
        """Add a finished future and schedule the wakeup. Thread-safe."""
        # No lock is needed. The loop clears the flag before it reads the queue, so a future that
        # was added while the flag was set is always seen, and a second wakeup does no harm.
        self._done.append(call)
        if self._wakeup_scheduled:
            return
        self._wakeup_scheduled = True
        try:
            call.get_loop().call_soon_threadsafe(self._complete_all)
        except RuntimeError:
            # The loop is closed, so nothing is waiting.
            self._done.clear()
            _log.debug(
                "a blocking tool ended after its event loop", extra={"pool": repr(call.pool)}
            )

    def _complete_all(self) -> None:
        self._wakeup_scheduled = False
        while self._done:
            self._done.popleft().complete()


_wakeups: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Wakeup] = (
    weakref.WeakKeyDictionary()
)


def _wakeup_of(loop: asyncio.AbstractEventLoop) -> _Wakeup:
    wakeup = _wakeups.get(loop)
    if wakeup is None:
        wakeup = _wakeups[loop] = _Wakeup()
    return wakeup


def _explain(pool: Executor, error: BaseException, *, refused: bool = False) -> BaseException:
    """Translate an exception of a pool or of a function in it.

    Args:
        pool: The pool.
        error: The exception.
        refused: True if the pool did not accept the function.
    """
    explained: BaseException
    if isinstance(error, BrokenExecutor):
        explained = PoolError(
            "the pool broke, since one of its workers died; it cannot run anything any more"
        )
    elif isinstance(error, StopIteration):
        explained = RuntimeError("the function raised StopIteration")
    elif not _shares_memory(pool) and (reason := _pickling_error(error)) is not None:
        explained = PoolError(
            "the function, its arguments or its result cannot be sent to or from the pool's "
            f"processes: {reason}"
        )
    elif refused:
        explained = PoolError(f"the pool takes no functions: {error}")
    else:
        return error
    explained.__cause__ = error
    return explained


def _pickling_error(error: BaseException | None) -> str | None:
    """Return the message of a pickling error, or None for other errors."""
    reason = None
    # Clusters wrap the cause, along with the repr of everything they were to send.
    while isinstance(error, (pickle.PickleError, TypeError, AttributeError)):
        text = str(error)
        if isinstance(error, pickle.PickleError) or "pickle" in text or "local object" in text:
            reason = text
        error = error.__cause__
    return reason


class _PickledResult:
    """Pickled result of a worker process."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def open(self) -> Any:
        return pickle.loads(self._content)  # noqa: S301 - written by this package in the worker


def _run_in_worker(task: Callable[[], Any]) -> Any:
    """Run a function in the worker process, and return only what the parent can unpickle.

    An exception that cannot be unpickled would break the whole pool.
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
        return _PickledResult(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
    except Exception as error:  # noqa: BLE001 - pickling may run anything
        raise PoolError(f"the result cannot be sent from the pool: {error}") from None
