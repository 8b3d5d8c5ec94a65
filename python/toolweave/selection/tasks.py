"""Calls of scorers that are coroutines: a task for each."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from .calls import describe_error

if TYPE_CHECKING:
    from .calls import CallListener
    from .scorer import Scorer, ScorerRequest

_log = logging.getLogger("toolweave.selection")

GRACE = 5.0
"""Seconds that a scorer which was cancelled is waited for."""

# The loop itself would forget those that do not stop.
_abandoned: set[asyncio.Task[None]] = set()


class TaskTransport:
    """Makes calls, each as a task of the running event loop; it is a `Transport`.

    Args:
        scorer: Who is asked.
        listener: Who hears what becomes of calls.
    """

    def __init__(self, scorer: Scorer, listener: CallListener) -> None:
        self._scorer = scorer
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def begin(self, number: int, request: ScorerRequest) -> None:
        """Make a call."""
        task = self._tasks[number] = self._loop.create_task(self._ask(number, request))
        # One that is cancelled before it begins says nothing itself.
        task.add_done_callback(lambda _: self._end(number))

    def stop(self, number: int) -> None:
        """Cancel a call."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def aclose(self) -> None:
        """Wait until all calls have stopped.

        What does not stop in `GRACE` seconds is given up, and the log says so.
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
        """Ask, and tell of the reply. Nothing but a cancellation is raised."""
        try:
            self._listener.on_start()
            reply = await self._scorer.ask(request)
        except asyncio.CancelledError:
            raise
        except Exception as err:  # noqa: BLE001 - a scorer may raise what it likes
            self._listener.on_error(number, describe_error(err))
        except BaseException as err:  # noqa: BLE001 - what is meant for the program
            self._listener.on_interrupt(err)
        else:
            self._listener.on_reply(number, reply.content, reply.usage)
        finally:
            self._end(number)

    def _end(self, number: int) -> None:
        if self._tasks.pop(number, None) is not None:
            self._listener.on_end(number)
