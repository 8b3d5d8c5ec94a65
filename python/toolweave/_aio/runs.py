"""Base of runs, which execute while they are read and are cancelled when they are left."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from types import TracebackType

    from typing_extensions import Self

E = TypeVar("E")
R = TypeVar("R")


def check_no_loop(name: str, method: Literal["run", "stream"] = "run") -> None:
    """Raise if an event loop runs in this thread, which `run_sync` would block.

    Args:
        name: Name of the object with the method, for the error.
        method: Name of the async method.

    Raises:
        RuntimeError: An event loop is running.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    blocking, use = "run_sync", f"await {name}.run(...)"
    if method == "stream":
        blocking, use = "run_stream_sync", f"async for event in {name}.stream(...)"
    raise RuntimeError(
        f"an event loop is running in this thread, and {blocking} would block it: use `{use}` here"
    )


def iterate_sync(events: AsyncGenerator[E, None]) -> Generator[E, None, None]:
    """Iterate over an async generator on a new event loop, which runs while an item is awaited.

    However the iteration ends, the generator is closed, and all tasks of the loop are cancelled.
    """
    loop = asyncio.new_event_loop()
    try:
        while True:
            try:
                event = loop.run_until_complete(anext(events))
            except StopAsyncIteration:
                return
            yield event
    finally:
        try:
            _close(loop, events)
        finally:
            loop.close()


def _close(loop: asyncio.AbstractEventLoop, events: AsyncGenerator[E, None]) -> None:
    # An interrupt leaves the task that awaits the next item, which must end before the generator.
    for task in (pending := asyncio.all_tasks(loop)):
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
    loop.run_until_complete(events.aclose())
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())


class Run(AsyncIterator[E]):
    """An async iterator of events; as a context manager, it is cancelled when the block ends."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def cancel(self) -> None:
        """Cancel the run, and wait until it has stopped."""

    @abstractmethod
    async def caught_up(self) -> None:
        """Wait until the reader has processed all events so far.

        An event is processed when the reader asks for the next one. Return at once if the run is
        cancelled. Journals use this to record a call after the events that precede it.
        """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.cancel()


class ResultRun(Run[E], Generic[E, R]):
    """A run that ends with a result."""

    result: R | None = None
    """The result; None until the run has ended."""

    async def _read_result(self) -> R:
        """Read the run to its end. Cancellation stops it."""
        async with self:
            async for _ in self:
                pass
        if self.result is None:
            raise RuntimeError("another task consumed this run before it finished")
        return self.result
