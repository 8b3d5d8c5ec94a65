"""Notification of observers, without waiting for them.

Each observer has its own queue. Async methods are awaited on the event loop. Sync methods run in a
thread, since they may block, and in batches if several are queued. An observer receives events one
at a time, in order.

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

from .._aio.event_queue import BACKLOG
from .._core import ToolResult
from . import _threads as threads
from ._events import ToolProgress, ToolStarted
from ._invocation import is_async
from ._pools import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .._core import InvalidToolCall, ToolCall
    from ..protocols import Observer
    from ._events import ToolEvent

AnyObserver: TypeAlias = (
    "Observer | Callable[[ToolEvent], object] | Sequence[Observer | Callable[[ToolEvent], object]]"
)
"""An object with some of the methods of `Observer`, a callable of an event, or several of these."""

_CALLABLE = "__call__"

# How long to wait for a cancelled observer to end, in seconds.
_CANCEL_GRACE = 1.0

_Notification: TypeAlias = tuple[str, tuple[Any, ...]]

_log = logging.getLogger("toolweave.executor")


class Observers:
    """Observers of one run.

    Observers cannot change a result. Their exceptions are logged, once per method, except
    `KeyboardInterrupt` and `SystemExit`, which are meant for the program and propagate.

    An observer that is too slow misses progress, but nothing else: the number of starts and results
    is bounded by the number of calls, while a tool can report any amount of progress.

    Args:
        observer: The observers, in any form.
        backlog: Number of queued events at which an observer misses progress.
    """

    def __init__(self, observer: AnyObserver | None = None, *, backlog: int = BACKLOG) -> None:
        self._queues = [_ObserverQueue(each, backlog) for each in _as_items(observer)]

    def __bool__(self) -> bool:
        return bool(self._queues)

    def notify(self, event: ToolEvent, call: ToolCall | InvalidToolCall | None = None) -> None:
        """Notify all observers. An event loop must be running.

        Args:
            event: The event, as passed to plain callables.
            call: The call of the event, as passed to methods of observers.
        """
        for queue in self._queues:
            queue.put(event, call)

    async def drain(self, timeout: float | None = None) -> None:
        """Wait until the observers have received all events, and end their tasks.

        Args:
            timeout: Total time limit, in seconds. Events not received by then are dropped.
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
                await asyncio.wait(late, timeout=_CANCEL_GRACE)

    def _running_tasks(self) -> list[asyncio.Task[None]]:
        return [queue.task for queue in self._queues if queue.task and not queue.task.done()]


class _ObserverQueue:
    """Queue of one observer."""

    def __init__(self, observer: object, backlog: int) -> None:
        self._methods = _methods(observer)
        self._async = {name for name, method in self._methods.items() if is_async(method)}
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
            # Events after an awaitable go back to the front of the queue.
            self._waiting.extendleft(reversed(batch))
            await self._await(name, answer)

    def _call_batch(self, batch: deque[_Notification]) -> tuple[str, object]:
        """Call methods in a thread, up to the first that returns an awaitable."""
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
                "%s; logged once for each of its methods",
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
                "observer must be callable or have at least one of the methods on_started, "
                f"on_progress and on_result, got {type(observer).__name__}"
            )
        methods[_CALLABLE] = observer
    return methods


def _as_items(observer: AnyObserver | None) -> Iterable[object]:
    if observer is None:
        return ()
    # Only lists and tuples, since an observer may itself be iterable.
    if isinstance(observer, (list, tuple)):
        return tuple(cast("Sequence[object]", observer))
    return (observer,)


def _is_cancelled() -> bool:
    """Return True if the current task is being cancelled. Always False on Python 3.10."""
    cancelling: Callable[[], int] | None = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is not None and cancelling() > 0
