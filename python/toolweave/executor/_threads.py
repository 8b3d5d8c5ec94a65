"""Thread pools for blocking functions that do not keep a program from exiting.

At exit, `concurrent.futures.ThreadPoolExecutor` waits for its functions without a limit. A tool
that timed out may hang, so these pools wait only for a short time.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections import deque
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

GRACE = 2.0
"""Total time that a program waits for running functions at exit, in seconds."""


# Maximum number of threads, as a multiple of `max_workers`, while abandoned functions hang.
_MAX_THREAD_FACTOR = 8


class DaemonThreads(Executor):
    """Thread pool of daemon threads, which are started on demand.

    A thread cannot be stopped. If the result of a function is no longer needed, `abandon` lets
    another thread take its place, so that hanging functions do not exhaust the pool.

    Args:
        name: Prefix of the threads' names.
        max_workers: Maximum number of functions that run at once, not counting abandoned ones.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name = name
        self._max_workers = max_workers
        self._numbers = itertools.count()
        self._tasks: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._abandoned: set[Future[Any]] = set()
        self._closed = False
        _pools.add(self)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run a function in one of the threads."""
        future: Future[R] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._tasks.append((future, lambda: fn(*args, **kwargs)))
            self._ensure_thread()
        return future

    def abandon(self, future: Future[Any]) -> None:
        """Stop counting a running function against `max_workers`."""
        with self._changed:
            if future.running() and self._threads < _MAX_THREAD_FACTOR * self._max_workers:
                self._abandoned.add(future)
                self._ensure_thread()

    def has_idle_thread(self) -> bool:
        """Return True if an idle thread is available for the next function."""
        with self._changed:
            return self._idle > len(self._tasks)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further functions and, if `wait` is true, wait for the running ones."""
        with self._changed:
            self._closed = True
            if cancel_futures:
                for future, _ in self._tasks:
                    future.cancel()
            self._changed.notify_all()
            if wait:
                self._changed.wait_for(lambda: self._threads == 0)

    def shutdown_within(self, seconds: float) -> None:
        """Drop functions that have not started, and wait so many seconds for the others."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            self._changed.wait_for(lambda: self._threads == len(self._abandoned), seconds)

    def _ensure_thread(self) -> None:
        """Make sure that a thread takes the last task, unless the pool is at its limit."""
        if self._idle >= len(self._tasks):
            self._changed.notify()
        elif self._tasks and self._threads - len(self._abandoned) < self._max_workers:
            name = f"{self._name}-{next(self._numbers)}"
            try:
                threading.Thread(target=self._work, name=name, daemon=True).start()
            except RuntimeError:
                # The system is out of threads. A thread of the pool takes the task when it is free.
                if self._threads == len(self._abandoned):
                    self._tasks.pop()
                    raise
            else:
                self._threads += 1

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not self._tasks and not self._closed:
                    self._changed.wait()
                self._idle -= 1
                if not self._tasks:
                    break
                future, task = self._tasks.popleft()
            _run(future, task)
            with self._changed:
                if future in self._abandoned:
                    self._abandoned.discard(future)
                    # Another thread has taken its place.
                    if self._threads - len(self._abandoned) > self._max_workers:
                        break
            del future, task
        with self._changed:
            self._threads -= 1
            self._changed.notify_all()


def _run(future: Future[Any], task: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task()
    except BaseException as error:  # noqa: BLE001 - raised in the caller
        future.set_exception(error)
        # Avoids a reference cycle of the error, its traceback and the future.
        del future
    else:
        future.set_result(result)


_pools: weakref.WeakSet[DaemonThreads] = weakref.WeakSet()


@atexit.register
def _shutdown_all() -> None:
    until = time.monotonic() + GRACE
    for pool in list(_pools):
        pool.shutdown_within(max(until - time.monotonic(), 0.0))


class SharedPool:
    """Thread pool of the process, created on first use and again after a fork.

    Args:
        name: Prefix of the threads' names.
        max_workers: Maximum number of functions that run at once.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name = name
        self._max_workers = max_workers
        self._lock = threading.Lock()
        self._pool: DaemonThreads | None = None

    def get(self) -> DaemonThreads:
        """Return the pool of this process."""
        if self._pool is None:
            with self._lock:
                if self._pool is None:
                    self._pool = DaemonThreads(self._name, self._max_workers)
        return self._pool

    def reset(self) -> None:
        """Create a new pool on the next use."""
        self._lock = threading.Lock()
        self._pool = None


TOOLS = SharedPool("toolweave-tool", 32)
"""Pool for blocking tools without a pool of their own."""

APPROVERS = SharedPool("toolweave-approver", 32)
"""Pool for blocking approvers, so that waiting for a person takes no threads from tools."""

OBSERVERS = SharedPool("toolweave-observer", 8)
"""Pool for blocking observers."""


def _reset_after_fork() -> None:
    # A child process has none of the parent's threads, but its locks may be held by them.
    _pools.clear()
    for pool in (TOOLS, APPROVERS, OBSERVERS):
        pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
