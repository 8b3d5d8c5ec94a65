"""Transport that runs each call of a scorer in a task."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ._calls import describe_error

if TYPE_CHECKING:
    from ._calls import CallListener
    from ._scorer import Scorer, ScorerRequest

_log = logging.getLogger("toolweave.selection")

GRACE = 5.0
"""Seconds to wait for a scorer that was cancelled."""

# The event loop keeps only weak references to tasks.
_abandoned: set[asyncio.Task[None]] = set()


class TaskTransport:
    """`Transport` that runs each call in a task of the running event loop.

    Args:
        scorer: The scorer.
        listener: The listener to notify.
    """

    def __init__(self, scorer: Scorer, listener: CallListener) -> None:
        self._scorer = scorer
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Start a call."""
        task = self._tasks[number] = self._loop.create_task(self._ask(number, request))
        # A task that is cancelled before it starts reports nothing itself.
        task.add_done_callback(lambda _: self._end(number))

    def stop(self, number: int) -> None:
        """Cancel a call."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def aclose(self) -> None:
        """Wait until all calls have stopped.

        A call that does not stop within `GRACE` seconds is abandoned with a warning.
        """
        stopping = [task for task in self._tasks.values() if not task.done()]
        if stopping:
            try:
                await asyncio.wait(stopping, timeout=GRACE)
            finally:
                self._give_up(stopping)

    def _give_up(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            if not task.done():
                _abandoned.add(task)
                task.add_done_callback(_abandoned.discard)
                _log.warning(
                    "the scorer %s does not stop when it is cancelled",
                    self._scorer.name,
                    extra={"scorer": self._scorer.name},
                )

    async def _ask(self, number: int, request: ScorerRequest) -> None:
        """Ask the scorer and report its reply. Only cancellation is raised."""
        try:
            self._listener.on_start()
            reply = await self._scorer.ask(request)
        except asyncio.CancelledError:
            raise
        except Exception as err:  # noqa: BLE001 - a scorer may raise what it likes
            self._listener.on_error(number, describe_error(err))
        except BaseException as err:  # noqa: BLE001 - raised in the waiting task
            self._listener.on_interrupt(err)
        else:
            self._listener.on_reply(number, reply.content, reply.usage)
        finally:
            self._end(number)

    def _end(self, number: int) -> None:
        if self._tasks.pop(number, None) is not None:
            self._listener.on_end(number)
