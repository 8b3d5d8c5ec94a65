"""Event loops of every kind, and checks that requests leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from effort import effort
from servers.dialects import delta, openai_text
from servers.raw import RawServer, raw_server
from servers.scripts import events
from servers.sse import TEST_TIMEOUT, Do
from toolweave import TextDelta, Update
from toolweave.models import as_messages
from toolweave.models.http import HttpModel

T = TypeVar("T")

TIMES = effort(32, at_least=24)
"""Number of repetitions of a test."""

HELLO = as_messages("Hello")


class ReaderlessLoop(asyncio.SelectorEventLoop):
    """A loop without `add_reader`, like the proactor loop of Windows."""

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:
        raise NotImplementedError

    def remove_reader(self, fd: Any) -> bool:
        raise NotImplementedError


def uv_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop of uvloop."""
    import uvloop

    return uvloop.new_event_loop()


LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": uv_loop,
    "blind": ReaderlessLoop,
}

every_loop = pytest.mark.parametrize("loop", LOOPS)


def run(loop: str, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, in a loop of that kind."""
    made = LOOPS[loop]()
    try:
        return made.run_until_complete(main)
    finally:
        try:
            made.run_until_complete(made.shutdown_asyncgens())
            made.run_until_complete(made.shutdown_default_executor())
        finally:
            made.close()


def model_at(server: RawServer, **options: Any) -> HttpModel:
    """Return a model without retries and without a proxy."""
    settings: dict[str, Any] = {"proxy": None, "max_retries": 0, **options}
    return HttpModel(server.url, "m", **settings)


async def text_of(updates: AsyncIterator[Update]) -> str:
    """Return the text of a reply."""
    return "".join([update.text async for update in updates if isinstance(update, TextDelta)])


def open_files() -> int:
    """Return the number of open files and sockets of the process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def threads() -> int:
    """Return the number of threads of the process, including those not of Python."""
    return len(list(Path("/proc/self/task").iterdir()))


async def until(holds: Callable[[], bool]) -> None:
    """Poll for a condition that a thread or the system fulfils."""

    async def wait() -> None:
        while not holds():  # noqa: ASYNC110 - nothing says so
            await asyncio.sleep(0)

    await asyncio.wait_for(wait(), TEST_TIMEOUT)


@contextmanager
def nothing_left() -> Any:
    """Check that files opened and threads started in the block are gone after it."""
    before = open_files(), threads()
    yield
    gc.collect()
    deadline = time.monotonic() + TEST_TIMEOUT
    while (files := open_files()) > before[0] or threads() > before[1]:
        now = files, threads()
        assert time.monotonic() < deadline, f"{before} files and threads have become {now}"
        time.sleep(0.002)


@pytest.fixture(scope="session")
def warm() -> None:
    """Start what a process starts only once."""
    with raw_server(events(*openai_text(["Hi"]))) as server:
        for loop in LOOPS:
            assert run(loop, text_of(model_at(server).stream(HELLO))) == "Hi"


def endless() -> Any:
    """Return the script of a reply that never ends."""
    return events(delta(content="a"), Do.HOLD)
