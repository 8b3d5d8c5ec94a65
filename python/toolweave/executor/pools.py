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
        # Otherwise Dask takes the same call, made twice, for one.
        return pool.submit(task, pure=False)
    return pool.submit(task)


def _shares_memory(pool: Executor) -> bool:
    if isinstance(pool, threads.DaemonThreads):
        return True
    if not isinstance(pool, ThreadPoolExecutor):
        return False
    # A thread pool of Python 3.14 that is none: nothing can be shared between interpreters.
    return not isinstance(pool, getattr(concurrent.futures, "InterpreterPoolExecutor", ()))


class _PoolFuture(asyncio.Future[R]):
    """What a pool was given to run, as the event loop sees it."""

    # A subclass instead of callbacks on a plain future: each callback costs a turn of the loop.

    def __init__(self, pool: Executor) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(loop=loop)
        self.pool = pool
        self.submitted: concurrent.futures.Future[Any] | None = None
        self._wakeup = _wakeup_of(loop)

    def notify(self, _done: concurrent.futures.Future[Any]) -> None:
        """It is done. Any thread may say so."""
        self._wakeup.notify(self)

    def cancel(self, msg: Any | None = None) -> bool:
        """Takes it back if it has not begun."""
        if not super().cancel(msg):
            return False
        submitted, pool = self.submitted, self.pool
        if submitted is None or submitted.cancel():
            return True
        if isinstance(pool, threads.DaemonThreads):
            pool.abandon(submitted)
        return True

    def complete(self) -> None:
        """Takes over what came of it. On the event loop's thread."""
        submitted = self.submitted
        if submitted is None or self.done():
            return
        if submitted.cancelled():
            # By the pool. Whoever awaits this would take it for a cancellation of their own.
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
    """Wakes an event loop once for all that was done since it last looked.

    `loop.run_in_executor` wakes it once for each, which costs the more the busier the loop is.
    """

    def __init__(self) -> None:
        self._done: deque[_PoolFuture[Any]] = deque()
        self._wakeup_scheduled = False

    def notify(self, call: _PoolFuture[Any]) -> None:
        """Says from any thread that something is done."""
        # No lock. The loop first takes back that the bell was rung and then looks: whoever finds
        # that it was rung is sure to be seen, and to ring it twice does no harm.
        self._done.append(call)
        if self._wakeup_scheduled:
            return
        self._wakeup_scheduled = True
        try:
            call.get_loop().call_soon_threadsafe(self._complete_all)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
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
    """What to raise for what a pool raised, or a function in it.

    Args:
        pool: The pool.
        error: What was raised.
        refused: Whether the pool would not even take the function.
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
    """What could not be pickled, if that is what went wrong."""
    reason = None
    # Clusters wrap the reason, the representations of all they were to send included.
    while isinstance(error, (pickle.PickleError, TypeError, AttributeError)):
        text = str(error)
        if isinstance(error, pickle.PickleError) or "pickle" in text or "local object" in text:
            reason = text
        error = error.__cause__
    return reason


class _PickledResult:
    """A result on its way out of a worker process."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def open(self) -> Any:
        return pickle.loads(self._content)  # noqa: S301 - our own worker wrote it


def _run_in_worker(task: Callable[[], Any]) -> Any:
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
        return _PickledResult(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
    except Exception as error:  # noqa: BLE001 - pickling may run anything
        raise PoolError(f"the result cannot be sent from the pool: {error}") from None
