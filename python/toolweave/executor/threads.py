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
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

GRACE = 2.0
"""How long a program that ends waits for running functions, in seconds, all together."""


class DaemonThreads(Executor):
    """A thread pool whose threads start when they are needed and are named after it.

    Args:
        name: What its threads are called.
        max_workers: How many functions run at once.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name = name
        self._max_workers = max_workers
        self._numbers = itertools.count()
        self._tasks: deque[tuple[Future[object], Callable[[], object]]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._closed = False
        _pools.add(self)

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Runs a function in one of the threads."""
        future: Future[R] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._tasks.append((future, lambda: fn(*args, **kwargs)))  # type: ignore[arg-type]
            if self._idle >= len(self._tasks):
                self._changed.notify()
                return future
            if self._threads == self._max_workers:
                return future
            self._threads += 1
        name = f"{self._name}-{next(self._numbers)}"
        threading.Thread(target=self._work, name=name, daemon=True).start()
        return future

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
            self._changed.wait_for(lambda: self._threads == 0, seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not self._tasks and not self._closed:
                    self._changed.wait()
                self._idle -= 1
                if not self._tasks:
                    self._threads -= 1
                    self._changed.notify_all()
                    return
                future, task = self._tasks.popleft()
            _run(future, task)
            del future, task


def _run(future: Future[object], task: Callable[[], object]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = task()
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
        future.set_exception(error)
    else:
        future.set_result(result)


_pools: weakref.WeakSet[DaemonThreads] = weakref.WeakSet()


@atexit.register
def _leave_all() -> None:
    until = time.monotonic() + GRACE
    for pool in list(_pools):
        pool.leave(max(until - time.monotonic(), 0.0))


class Shared:
    """A pool that the whole process has, made at first need and anew after a fork.

    Args:
        name: What its threads are called.
        max_workers: How many functions run at once.
    """

    def __init__(self, name: str, max_workers: int) -> None:
        self._name = name
        self._max_workers = max_workers
        self._made: tuple[int, DaemonThreads] | None = None

    def get(self) -> DaemonThreads:
        """The pool of this process."""
        made = self._made
        # The threads of a parent do not exist in its children.
        if made is None or made[0] != os.getpid():
            made = self._made = (os.getpid(), DaemonThreads(self._name, self._max_workers))
        return made[1]


TOOLS = Shared("toolweave-tool", 32)
"""Where blocking tools run unless they have a pool of their own."""

APPROVERS = Shared("toolweave-approver", 32)
"""Where blocking approvers wait for a person, so that they take no thread from the tools."""

OBSERVERS = Shared("toolweave-observer", 8)
"""Where blocking observers run."""
