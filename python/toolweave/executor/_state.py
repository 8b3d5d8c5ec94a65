"""State that the replies of an executor share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._aio.single_flight import ResultCache
from ._observers import Observers
from ._scheduler import ExecutionScheduler

if TYPE_CHECKING:
    import asyncio

    from .._core import ToolResult
    from ._defaults import Defaults
    from ._deferred import DeferredResults
    from ._observers import AnyObserver


class ExecutorState:
    """Limits, cache and deferred results of an executor.

    Args:
        defaults: The options.
        observer: The observers of every call.
        deferred: The deferred results.
    """

    def __init__(
        self, defaults: Defaults, observer: AnyObserver | None, deferred: DeferredResults
    ) -> None:
        self.defaults = defaults
        self.deferred = deferred
        self.cache: ResultCache[ToolResult] = ResultCache(clock=defaults.clock)
        self._observer = observer
        # Raises at once for an invalid observer; an empty list counts as no observer.
        self._observed = bool(Observers(observer))
        self._scheduler = self._new_scheduler()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._abandoned: set[asyncio.Future[Any]] = set()

    def scheduler(self, loop: asyncio.AbstractEventLoop) -> ExecutionScheduler:
        """Return the scheduler of the running event loop."""
        if self._loop is not loop:
            # Calls queued on a previous loop ended with that loop.
            self._loop = loop
            self._scheduler = self._new_scheduler()
        return self._scheduler

    def _new_scheduler(self) -> ExecutionScheduler:
        defaults = self.defaults
        return ExecutionScheduler(defaults.max_concurrency, defaults.max_concurrency_per_chat)

    def observers(self) -> Observers | None:
        """Return the observers of one run, or None without any."""
        return Observers(self._observer) if self._observed else None

    def keep_until_done(self, task: asyncio.Future[Any]) -> None:
        """Keep a reference to a task until it is done; the event loop's own is weak."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)
