"""The calls of one selection: within which bounds they are made, and what becomes of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._core import UsageUpdate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .limit import CallLimiter
    from .scorer import Request

Answer: TypeAlias = "tuple[str | Mapping[str, Any] | None, str | None]"
"""What became of one call: the reply, or None and why there is none."""

_MOST_SAID = 300


@dataclass(frozen=True)
class Bounds:
    """What all calls of a selection have to keep to."""

    timeout: float | None
    """Seconds that one call may take, from when it has its place."""
    max_concurrency: int
    """How many may be in flight."""
    limiter: CallLimiter
    """Whose places they take."""


class Calls(Protocol):
    """Makes the calls of one selection, no more at once than allowed.

    Failures are answers. Nothing but what is meant for the program, or whoever waits being
    cancelled, is raised.
    """

    @property
    def made(self) -> int:
        """How many calls began."""
        ...

    @property
    def usage(self) -> UsageUpdate | None:
        """The tokens they took, as far as that is known."""
        ...

    @property
    def failed(self) -> bool:
        """Whether one raised or took too long: asked again, it might answer."""
        ...

    def start(self, requests: Sequence[Request]) -> None:
        """Has calls made; `next` says what became of them, by their positions."""
        ...

    async def next(self) -> list[tuple[int, Answer]]:
        """All that has come since it was last asked, in order; waits until there is something.

        Returns:
            Positions and answers; nothing once all calls are over.
        """
        ...

    async def close(self) -> None:
        """Stops what is still in flight, and waits until it has stopped."""
        ...


class MakesCalls(Protocol):
    """A scorer that makes the calls of a selection itself, all of them together."""

    def make_calls(self, bounds: Bounds) -> Calls:
        """What makes the calls of one selection, on the running event loop."""
        ...


class Arrivals:
    """What became of calls, until somebody asks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.usage: UsageUpdate | None = None
        """The tokens that they took, as far as that is known."""
        self._loop = loop
        self._arrived: list[tuple[int, Answer]] = []
        self._wake: asyncio.Future[None] | None = None
        self._fatal: BaseException | None = None

    def __bool__(self) -> bool:
        """Whether there is something that nobody has asked for yet."""
        return bool(self._arrived)

    def put(self, position: int, answer: Answer, usage: UsageUpdate | None = None) -> None:
        """Takes what became of a call, and the tokens it took."""
        if usage is not None:
            before = self.usage or UsageUpdate()
            self.usage = UsageUpdate(
                before.input_tokens + usage.input_tokens,
                before.output_tokens + usage.output_tokens,
                before.cached_input_tokens + usage.cached_input_tokens,
            )
        self._arrived.append((position, answer))
        self.wake()

    def fail(self, error: BaseException) -> None:
        """Has what is meant for the program raised by whoever asks."""
        self._fatal = error
        self.wake()

    def wake(self) -> None:
        """Has whoever waits look again whether there is more to wait for."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def take(self, more: Callable[[], bool]) -> list[tuple[int, Answer]]:
        """All that has come; waits for something while there is more to come."""
        while not self._arrived and self._fatal is None and more():
            self._wake = self._loop.create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        if self._fatal is not None:
            raise self._fatal
        arrived, self._arrived = self._arrived, []
        return arrived


def too_late(bounds: Bounds) -> str:
    """What is said of a call that took too long."""
    return f"no reply within {bounds.timeout:g} s"


def said(error: BaseException) -> str:
    """An exception in one line."""
    text = str(error).strip().partition("\n")[0][:_MOST_SAID]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
