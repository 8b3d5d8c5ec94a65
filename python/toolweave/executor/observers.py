"""Telling observers what happens, without ever waiting for them.

Each observer has a line of its own. Its async methods are awaited on the event loop; its sync ones
run in a thread, since they may block, many at a time where many are in line. It hears of things
one after another, in the order in which they happened.

Example:
    >>> async def main(call: ToolCall) -> None:
    ...     observers = Observers(print)
    ...     observers.notify(ToolStarted(call.id, call.name, call.arguments), call)
    ...     await observers.drain()
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._core import ToolResult
from ..event_queue import BACKLOG
from . import threads
from .events import ToolProgress, ToolStarted
from .pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .._core import InvalidToolCall, ToolCall
    from ..protocols import Observer
    from .events import ToolEvent

AnyObserver: TypeAlias = (
    "Observer | Callable[[ToolEvent], object] | Sequence[Observer | Callable[[ToolEvent], object]]"
)
"""An object with some of the methods of `Observer`, a callable that takes every event, or many."""

_CALLABLE = "__call__"

# How long an observer may take to give up, in seconds.
_STOPPING = 1.0

_Notification: TypeAlias = tuple[str, tuple[Any, ...]]

_log = logging.getLogger("toolweave.executor")


class Observers:
    """Those who listen to one run.

    Nothing that an observer does changes a result: what it raises is logged, once for each of its
    methods. Only `KeyboardInterrupt` and `SystemExit` are let through, as they are meant for the
    program and not for us.

    An observer that is too slow misses progress, and never anything else: starts and results are
    as many as the calls, but a tool may report progress without end.

    Args:
        observer: Who listens, in any form.
        backlog: How many things may wait for each before it misses progress.
    """

    def __init__(self, observer: AnyObserver | None = None, *, backlog: int = BACKLOG) -> None:
        self._queues = [_ObserverQueue(each, backlog) for each in _as_items(observer)]

    def __bool__(self) -> bool:
        return bool(self._queues)

    def notify(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None = None) -> None:
        """Tells all of them. To be called on the running event loop.

        Args:
            event: What happened. Plain callables are given this.
            call: The call that it happened to; methods of observers are given this.
        """
        for queue in self._queues:
            queue.put(event, call)

    async def drain(self, timeout: float | None = None) -> None:
        """Waits until they have heard of everything, and leaves no task behind.

        Args:
            timeout: How long they are waited for, in seconds, all together. What they have not
                heard of by then they never hear of.
        """
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        try:
            while running := self._running_tasks():
                left = None if until is None else max(until - loop.time(), 0.0)
                await asyncio.wait(running, timeout=left)
                if until is not None and loop.time() >= until:
                    break
        finally:
            late = self._running_tasks()
            for queue in self._queues:
                queue.stop()
            if late:
                _log.warning("observers were too slow for the end of a run and were stopped")
                await asyncio.wait(late, timeout=_STOPPING)

    def _running_tasks(self) -> list[asyncio.Task[None]]:
        return [queue.task for queue in self._queues if queue.task and not queue.task.done()]


class _ObserverQueue:
    """What one observer has not heard of yet."""

    def __init__(self, observer: object, backlog: int) -> None:
        self._methods = _methods(observer)
        self._async = {name for name, method in self._methods.items() if _is_async(method)}
        self._backlog = backlog
        self._waiting: deque[_Notification] = deque()
        self._logged: set[str] = set()
        self._stopped = False
        self.task: asyncio.Task[None] | None = None

    def put(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None) -> None:
        if self._stopped:
            return
        if _CALLABLE in self._methods:
            notification: _Notification = (_CALLABLE, (event,))
        elif isinstance(event, ToolStarted):
            notification = ("on_started", (call,))
        elif isinstance(event, ToolProgress):
            notification = ("on_progress", (call, event.value))
        elif isinstance(event, ToolResult):
            notification = ("on_result", (call, event))
        else:
            return
        if notification[0] not in self._methods:
            return
        if isinstance(event, ToolProgress) and len(self._waiting) >= self._backlog:
            self._log_once("progress", "an observer is too slow and misses progress")
            return
        self._waiting.append(notification)
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._work())

    def stop(self) -> None:
        self._stopped = True
        self._waiting.clear()
        if self.task is not None:
            self.task.cancel()

    async def _work(self) -> None:
        while self._waiting:
            if self._waiting[0][0] in self._async:
                name, arguments = self._waiting.popleft()
                await self._await(name, self._call(name, arguments))
                continue
            batch: deque[_Notification] = deque()
            while self._waiting and self._waiting[0][0] not in self._async:
                batch.append(self._waiting.popleft())
            name, answer = await run_blocking(
                threads.OBSERVERS.get(), self._call_batch, {"batch": batch}
            )
            # What came after something to await waits in its turn.
            self._waiting.extendleft(reversed(batch))
            await self._await(name, answer)

    def _call_batch(self, batch: deque[_Notification]) -> tuple[str, object]:
        """Runs in a thread, up to the first that returns something to await."""
        while batch and not self._stopped:
            name, arguments = batch.popleft()
            answer = self._call(name, arguments)
            if inspect.isawaitable(answer):
                return name, answer
        return "", None

    def _call(self, name: str, arguments: tuple[Any, ...]) -> object:
        try:
            return self._methods[name](*arguments)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - anything
            self._log_once(name, "an observer raised", error)
            return None

    async def _await(self, name: str, answer: object) -> None:
        if not inspect.isawaitable(answer):
            return
        try:
            await answer
        except Exception as error:  # noqa: BLE001 - it may raise anything
            self._log_once(name, "an observer raised", error)
        except asyncio.CancelledError as error:
            if self._stopped or _is_cancelled():
                raise
            self._log_once(name, "an observer raised", error)

    def _log_once(self, name: str, what: str, error: BaseException | None = None) -> None:
        if name not in self._logged:
            self._logged.add(name)
            _log.warning(
                "%s; this is said once for each of its methods",
                what,
                exc_info=error,
                extra={"observer_method": name},
            )


def _methods(observer: object) -> dict[str, Callable[..., object]]:
    methods: dict[str, Callable[..., object]] = {}
    for name in ("on_started", "on_progress", "on_result"):
        method = getattr(observer, name, None)
        if callable(method):
            methods[name] = method
    if not methods:
        if not callable(observer):
            raise TypeError(
                "an observer is a callable, or has at least one of the methods on_started, "
                f"on_progress and on_result; this one is a {type(observer).__name__}"
            )
        methods[_CALLABLE] = observer
    return methods


def _as_items(observer: AnyObserver | None) -> Iterable[object]:
    if observer is None:
        return ()
    # Only these two: an observer may be iterable as well, and is meant as itself.
    if isinstance(observer, (list, tuple)):
        return tuple(cast("Sequence[object]", observer))
    return (observer,)


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its code is asked for
    )


def _is_cancelled() -> bool:
    """Whether somebody cancels the current task. Python 3.10 does not know."""
    cancelling: Callable[[], int] | None = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is not None and cancelling() > 0
