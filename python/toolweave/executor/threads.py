"""Threads for functions that block, which never keep a finished program from ending.

The executor of the standard library waits at exit for whatever still runs in it, for ever if need
be. A tool that timed out may well hang; here the program waits a moment and then leaves.
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
"""How long a program that ends waits for running functions, in seconds, all together."""


# How many times its size a pool may have in threads, while functions hang in most of them.
_MAX_THREAD_FACTOR = 8


class DaemonThreads(Executor):
    """A thread pool whose threads start when they are needed and are named after it.

    A thread cannot be stopped. One whose function nobody waits for any more is given up with
    `abandon`, and another one takes its place, so that functions that hang do not use the pool up.

    Args:
        name: What its threads are called.
        max_workers: How many functions run at once, those that were abandoned not counted.
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
        """Runs a function in one of the threads."""
        future: Future[R] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._tasks.append((future, lambda: fn(*args, **kwargs)))
            self._ensure_thread()
        return future

    def abandon(self, future: Future[Any]) -> None:
        """Nobody waits for a function any more that is running."""
        with self._changed:
            if future.running() and self._threads < _MAX_THREAD_FACTOR * self._max_workers:
                self._abandoned.add(future)
                self._ensure_thread()

    def has_idle_thread(self) -> bool:
        """Whether the next function finds a thread that waits for it."""
        with self._changed:
            return self._idle > len(self._tasks)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more functions; those at work are waited for if `wait` says so."""
        with self._changed:
            self._closed = True
            if cancel_futures:
                for future, _ in self._tasks:
                    future.cancel()
            self._changed.notify_all()
            if wait:
                self._changed.wait_for(lambda: self._threads == 0)

    def leave(self, seconds: float) -> None:
        """Drops what has not begun, and waits for the rest no longer than told."""
        self.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            self._changed.wait_for(lambda: self._threads == len(self._abandoned), seconds)

    def _ensure_thread(self) -> None:
        """Sees to it that somebody takes the task that came last, if there may be one more."""
        if self._idle >= len(self._tasks):
            self._changed.notify()
        elif self._tasks and self._threads - len(self._abandoned) < self._max_workers:
            name = f"{self._name}-{next(self._numbers)}"
            try:
                threading.Thread(target=self._work, name=name, daemon=True).start()
            except RuntimeError:
                # The system has no more threads to give; those at work will see to the task.
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
                    # Another one has taken its place.
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
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
        future.set_exception(error)
        # Else the error, its traceback and the future would hold each other.
        del future
    else:
        future.set_result(result)


_pools: weakref.WeakSet[DaemonThreads] = weakref.WeakSet()


@atexit.register
def _shutdown_all() -> None:
    until = time.monotonic() + GRACE
    for pool in list(_pools):
        pool.leave(max(until - time.monotonic(), 0.0))


class SharedPool:
    """A pool that the whole process has, made at first need and anew after a fork.

    Args:
        name: What its threads are called.
        max_workers: How many functions run at once.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name = name
        self._max_workers = max_workers
        self._lock = threading.Lock()
        self._pool: DaemonThreads | None = None

    def get(self) -> DaemonThreads:
        """The pool of this process."""
        if self._pool is None:
            with self._lock:
                if self._pool is None:
                    self._pool = DaemonThreads(self._name, self._max_workers)
        return self._pool

    def forget(self) -> None:
        """Makes a new one at the next need."""
        self._lock = threading.Lock()
        self._pool = None


TOOLS = SharedPool("toolweave-tool", 32)
"""Where blocking tools run unless they have a pool of their own."""

APPROVERS = SharedPool("toolweave-approver", 32)
"""Where blocking approvers wait for a person, so that they take no thread from the tools."""

OBSERVERS = SharedPool("toolweave-observer", 8)
"""Where blocking observers run."""


def _reset_after_fork() -> None:
    # The threads of a parent do not exist in its children, and its locks may be held by them.
    _pools.clear()
    for shared in (TOOLS, APPROVERS, OBSERVERS):
        shared.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
