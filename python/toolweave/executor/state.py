"""What the replies of an executor have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._single_flight import ResultCache
from .observers import Observers
from .scheduler import CallScheduler

if TYPE_CHECKING:
    import asyncio

    from .._core import ToolResult
    from .defaults import Defaults
    from .deferred import DeferredResults
    from .observers import AnyObserver


class ExecutorState:
    """The limits, the cache and the pending results of an executor.

    Args:
        defaults: The options.
        observer: Who hears of every call.
        deferred: The results that come later.
    """

    def __init__(
        self, defaults: Defaults, observer: AnyObserver | None, deferred: DeferredResults
    ) -> None:
        self.defaults = defaults
        self.deferred = deferred
        self.cache: ResultCache[ToolResult] = ResultCache(clock=defaults.clock)
        self._observer = observer
        # One that is none is an error at once, and an empty list nobody.
        self._observed = bool(Observers(observer))
        self._scheduler = self._new_scheduler()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._abandoned: set[asyncio.Future[Any]] = set()

    def scheduler(self, loop: asyncio.AbstractEventLoop) -> CallScheduler:
        """The line on the running event loop."""
        if self._loop is not loop:
            # Who stood in line on another loop went with it.
            self._loop = loop
            self._scheduler = self._new_scheduler()
        return self._scheduler

    def _new_scheduler(self) -> CallScheduler:
        defaults = self.defaults
        return CallScheduler(defaults.max_concurrency, defaults.max_concurrency_per_chat)

    def observers(self) -> Observers | None:
        """Those who listen to one run."""
        return Observers(self._observer) if self._observed else None

    def keep_until_done(self, task: asyncio.Future[Any]) -> None:
        """Keeps a task that does not stop until it does: the event loop itself would not."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)
