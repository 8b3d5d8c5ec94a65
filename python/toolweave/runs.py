"""What all runs are: something that goes on while it is read, and stops when it is left."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

E = TypeVar("E")


def check_no_loop(name: str) -> None:
    """Raise if an event loop runs in this thread, which `run_sync` would block.

    Args:
        name: What has the method `run`.

    Raises:
        RuntimeError: One does.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "an event loop is running in this thread, and run_sync would block it: "
        f"use `await {name}.run(...)` here"
    )


class Run(AsyncIterator[E]):
    """An iterator of what happens; as a context manager it is cancelled when the block ends."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def cancel(self) -> None:
        """Stops what goes on, and waits until it has."""

    @abstractmethod
    async def caught_up(self) -> None:
        """Waits until whoever reads the run is done with all that has happened so far.

        That is when it asks for more. A run that is cancelled is not waited for. Journals use it,
        to write what happens to a call behind what came before.
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
