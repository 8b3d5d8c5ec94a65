"""Flow control: slow readers hold back their servers, and no other readers."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from request_lifetimes import (
    HELLO,
    LOOPS,
    endless,
    every_loop,
    model_at,
    nothing_left,
    run,
    text_of,
    warm,
)
from servers.dialects import DONE, delta, openai_text
from servers.raw import Connection, Request, occurred, raw_server
from servers.scripts import events
from servers.sse import TEST_TIMEOUT
from toolweave import FinishUpdate, TextDelta, Update
from toolweave.models.http import HttpLimits
from toolweave.models.http._wakeup import open_wakeup

__all__ = ["warm"]
pytestmark = pytest.mark.usefixtures("warm")

PIECE = delta(content="x" * 4000)


def blocking_tool() -> None:
    """Block the loop; data that arrives meanwhile is queued."""
    time.sleep(0.002)


async def length(updates: AsyncIterator[Update]) -> int:
    """Return the length of the text of a reply."""
    return sum([len(update.text) async for update in updates if isinstance(update, TextDelta)])


@every_loop
def test_a_paused_reader_applies_backpressure_and_misses_nothing(loop: str) -> None:
    blocked = threading.Event()
    taken: list[int] = []
    framed = b"%x\r\n%b\r\n" % (len(PIECE), PIECE)

    def script(connection: Connection, _: Request) -> None:
        connection.head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")
        taken.append(connection.send_until_blocked(framed))
        blocked.set()
        # The rest of the piece that was cut when the buffers of the systems were full.
        rest = -taken[0] % len(framed)
        connection.send(framed[len(framed) - rest :])
        connection.chunk(delta("stop"))
        connection.chunk(DONE)
        connection.chunk(b"")

    async def main() -> tuple[int, int]:
        model = model_at(server, limits=HttpLimits(max_queued_bytes=64 << 10))
        stream = model.stream(HELLO)
        first = await anext(stream)
        assert isinstance(first, TextDelta)
        await occurred(blocked)
        return len(first.text), await length(stream)

    with nothing_left(), raw_server(script) as server:
        first, rest = run(loop, asyncio.wait_for(main(), 60))
    # The buffers of the systems on both sides, and at most what may be queued.
    assert taken[0] < 16 << 20
    pieces = -(-taken[0] // len(framed))
    assert first + rest == pieces * 4000


def test_unread_data_is_bounded() -> None:
    async def main() -> list[int]:
        model = model_at(server, limits=HttpLimits(max_queued_bytes=64 << 10))
        stream = model.stream(HELLO)
        sizes = []
        async for update in stream:
            if isinstance(update, TextDelta):
                sizes.append(len(update.text))
            blocking_tool()
        return sizes

    with raw_server(events(*[PIECE] * 500, delta("stop"), DONE)) as server:
        sizes = asyncio.run(main())
    assert sum(sizes) == 500 * 4000
    # One more read of the socket may be added to a full queue.
    assert max(sizes) <= (64 << 10) + (64 << 10)


@every_loop
def test_a_loop_that_is_busy_does_not_keep_replies_from_coming(loop: str) -> None:
    sent = threading.Event()

    async def main() -> str:
        stream = model_at(server).stream(HELLO)
        assert await anext(stream) == TextDelta("a")
        # The loop is blocked until the server has sent everything.
        go.set()
        assert sent.wait(TEST_TIMEOUT)
        return await text_of(stream)

    go = threading.Event()
    more = [PIECE] * 20

    def set_sent(_: Connection) -> None:
        sent.set()

    script = events(delta(content="a"), go, *more, delta("stop"), DONE, set_sent)
    with nothing_left(), raw_server(script) as server:
        assert len(run(loop, main())) == 20 * 4000


def test_one_iteration_of_the_loop_wakes_a_limited_number_of_readers() -> None:
    readers = 300

    async def main() -> list[int]:
        model = model_at(server)
        streams = [model.stream(HELLO) for _ in range(readers)]
        rounds: list[int] = []
        woken = 0

        async def read(stream: AsyncIterator[Update]) -> None:
            nonlocal woken
            async for _ in stream:
                woken += 1

        async def count() -> None:
            nonlocal woken
            while True:
                rounds.append(woken)
                woken = 0
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        tasks = [asyncio.create_task(read(stream)) for stream in streams]
        # Data that arrives meanwhile is queued.
        await asyncio.sleep(0)
        while len(server.requests) < readers:
            blocking_tool()
        for _ in range(20):
            blocking_tool()
        await asyncio.gather(*tasks)
        counting.cancel()
        return rounds

    with raw_server(events(delta(content="a"), delta("stop"), DONE)) as server:
        rounds = asyncio.run(main())
    assert sum(rounds) == 2 * readers
    # A reader may be woken, and read again before it waits, but no more than 64 are woken.
    assert max(rounds) <= 2 * 64


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_all_replies_of_a_loop_share_one_wakeup_that_is_closed_with_the_last(loop: str) -> None:
    async def main() -> None:
        model = model_at(server)
        streams = [model.stream(HELLO) for _ in range(3)]
        for stream in streams:
            await anext(stream)
        wakeup = open_wakeup()
        wakeup.close()
        inner = wakeup.inner
        assert inner is not None
        for stream in streams:
            assert inner.fileno() > 0
            await stream.aclose()
        assert inner.fileno() == -1
        again = open_wakeup()
        assert again is not wakeup
        again.close()

    with nothing_left(), raw_server(endless()) as server:
        run(loop, main())


def test_a_wakeup_does_not_keep_its_loop_alive() -> None:
    async def begin() -> Any:
        stream = model_at(server).stream(HELLO)
        await anext(stream)
        return stream

    with nothing_left(), raw_server(endless()) as server:
        loop = LOOPS["asyncio"]()
        stream = loop.run_until_complete(begin())
        known = weakref.ref(loop)
        loop.close()
        del loop, stream
        gc.collect()
        assert known() is None
        server.all_left()


def test_a_reply_ends_once() -> None:
    async def main() -> list[Update]:
        return [update async for update in model_at(server).stream(HELLO)]

    with raw_server(events(*openai_text(["Hi"]))) as server:
        updates = asyncio.run(main())
    assert [isinstance(update, FinishUpdate) for update in updates].count(True) == 1
    assert isinstance(updates[-1], FinishUpdate)
