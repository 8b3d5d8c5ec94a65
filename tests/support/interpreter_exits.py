"""Interpreters that exit with open replies: `python interpreter_exits.py WAY URL TIMES`.

The script forks before the first request, because starting Python takes longer than all the rest.
Each child exits as any interpreter does, with full finalization.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from toolweave import Update
from toolweave.models import as_messages
from toolweave.models.http import HttpModel

HELLO = as_messages("Hello")

ALIVE: list[Any] = []
"""Objects that stay alive until the interpreter exits."""


class ReaderlessLoop(asyncio.SelectorEventLoop):
    """A loop without `add_reader` and `add_writer`."""

    def add_reader(self, *args: Any) -> None:
        raise NotImplementedError


def begun(model: HttpModel, loop: asyncio.AbstractEventLoop) -> AsyncIterator[Update]:
    """Return a reply whose first piece has been read."""
    stream = model.stream(HELLO)
    loop.run_until_complete(anext(stream))
    ALIVE.extend([model, stream, loop])
    return stream


def reading(model: HttpModel, loop: asyncio.AbstractEventLoop) -> asyncio.Task[Update]:
    """Return a task that waits for the second piece."""
    task = loop.create_task(anext(begun(model, loop)))  # type: ignore[arg-type]
    loop.run_until_complete(asyncio.sleep(0))
    ALIVE.append(task)
    return task


def in_thread(model: HttpModel, loop: asyncio.AbstractEventLoop) -> None:
    """Start a daemon thread that reads an endless reply."""
    notified = threading.Event()

    async def read() -> None:
        async for _ in model.stream(HELLO):
            notified.set()

    threading.Thread(target=loop.run_until_complete, args=(read(),), daemon=True).start()
    assert notified.wait(10)


def mid_stream(model: HttpModel) -> None:
    begun(model, asyncio.SelectorEventLoop())


def before_the_head(model: HttpModel) -> None:
    asking = threading.Event()

    async def main() -> None:
        asyncio.get_running_loop().call_later(0.01, asking.set)
        await anext(model.stream(HELLO))

    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    assert asking.wait(10)


def loop_closed(model: HttpModel) -> None:
    loop = asyncio.SelectorEventLoop()
    begun(model, loop)
    loop.close()


def many_loops(model: HttpModel) -> None:
    for _ in range(4):
        for loop in (asyncio.SelectorEventLoop(), ReaderlessLoop()):
            begun(model, loop)


def exit_in_task(model: HttpModel) -> None:
    async def main() -> None:
        async for _ in model.stream(HELLO):
            sys.exit(0)

    asyncio.run(main())


def daemon(model: HttpModel) -> None:
    in_thread(model, asyncio.SelectorEventLoop())


def readerless_daemon(model: HttpModel) -> None:
    in_thread(model, ReaderlessLoop())


def readerless_and_closed(model: HttpModel) -> None:
    loop = ReaderlessLoop()
    task = reading(model, loop)
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    begun(model, loop)
    loop.close()


def main() -> None:
    way, url, times = sys.argv[1:]
    for _ in range(int(times)):
        child = os.fork()
        if not child:
            globals()[way](HttpModel(url, "m", proxy=None, max_retries=0))
            return
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code:
            sys.exit(f"the interpreter ended with {code}")


if __name__ == "__main__":
    main()
