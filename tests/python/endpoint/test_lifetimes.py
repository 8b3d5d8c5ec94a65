"""Requests end with their readers: each test runs 200 times, on loops of every kind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from request_lifetimes import (
    HELLO,
    TIMES,
    endless,
    every_loop,
    model_at,
    nothing_left,
    open_files,
    run,
    text_of,
    until,
    warm,
)
from servers.dialects import openai_text
from servers.raw import RawServer, raw_server
from servers.scripts import events, raw
from servers.sse import Do
from toolweave import TextDelta, Update
from toolweave.models.http import HttpModel

__all__ = ["warm"]
pytestmark = pytest.mark.usefixtures("warm")

Leave = Callable[[AsyncIterator[Update]], Awaitable[None]]


async def cancelled(stream: AsyncIterator[Update]) -> None:
    """Read in a task, and cancel it while it waits for more."""
    started = asyncio.Event()

    async def read() -> None:
        async for _ in stream:
            started.set()

    task = asyncio.create_task(read())
    await started.wait()
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def timed_out(stream: AsyncIterator[Update]) -> None:
    """Wait for the second piece with a short timeout."""
    await anext(stream)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(anext(stream), 0.001)


async def closed(stream: AsyncIterator[Update]) -> None:
    """Read a piece and close the reply."""
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]


async def left(stream: AsyncIterator[Update]) -> None:
    """Read a piece and leave the iteration; the loop closes the abandoned generator."""
    async for _ in stream:
        break


@every_loop
@pytest.mark.parametrize("leave", [cancelled, timed_out, closed, left])
def test_leaving_a_reply_closes_its_connection_and_leaks_nothing(leave: Leave, loop: str) -> None:
    async def main(server: RawServer) -> None:
        model = model_at(server)
        tasks, before = len(asyncio.all_tasks()), 0
        for number in range(TIMES):
            await leave(model.stream(HELLO))
            await until(server.connections[number].left.is_set)
            if number == 0:
                await asyncio.sleep(0.01)
                before = open_files()
            await until(lambda most=before: open_files() <= most)  # type: ignore[misc]
            assert len(asyncio.all_tasks()) == tasks

    with nothing_left(), raw_server(endless()) as server:
        run(loop, asyncio.wait_for(main(server), 60))
        assert len(server.connections) == TIMES


@every_loop
def test_a_request_that_waits_for_its_answer_is_cancelled(loop: str) -> None:
    async def main(server: RawServer) -> None:
        model = model_at(server)
        for number in range(TIMES):
            task = asyncio.create_task(text_of(model.stream(HELLO)))
            await until(lambda wanted=number: len(server.requests) > wanted)  # type: ignore[misc]
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await until(server.connections[number].left.is_set)

    with nothing_left(), raw_server(raw(Do.HOLD)) as server:
        run(loop, asyncio.wait_for(main(server), 60))


@every_loop
def test_a_model_works_in_one_loop_after_the_other(loop: str) -> None:
    with nothing_left(), raw_server(events(*openai_text(["Hi ", "there"]))) as server:
        model = model_at(server)
        for _ in range(TIMES):
            assert run(loop, text_of(model.stream(HELLO))) == "Hi there"
        assert len(server.connections) < TIMES / 10, "connections are kept"
        asyncio.run(model.aclose())
        server.all_left()


@every_loop
def test_a_reply_that_its_loop_has_left_open_is_closed_with_it(loop: str) -> None:
    async def begin(model: HttpModel, kept: list[AsyncIterator[Update]]) -> None:
        stream = model.stream(HELLO)
        assert await anext(stream) == TextDelta("a")
        kept.append(stream)

    with nothing_left(), raw_server(endless()) as server:
        model = model_at(server)
        for number in range(TIMES):
            kept: list[AsyncIterator[Update]] = []
            run(loop, begin(model, kept))
            server.left(number)


@every_loop
def test_loops_in_many_threads_have_one_model(loop: str) -> None:
    threads, failed = 8, list[BaseException]()

    def work(model: HttpModel) -> None:
        try:
            for _ in range(TIMES // threads):
                assert run(loop, both(model)) == ["Hi there", "Hi there"]
        except BaseException as error:  # noqa: BLE001 - reported below
            failed.append(error)

    async def both(model: HttpModel) -> list[str]:
        return await asyncio.gather(*(text_of(model.stream(HELLO)) for _ in range(2)))

    with nothing_left(), raw_server(events(*openai_text(["Hi ", "there"]))) as server:
        model = model_at(server)
        workers = [threading.Thread(target=work, args=(model,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        asyncio.run(model.aclose())
    assert not failed


@every_loop
def test_a_thousand_replies_at_once_come_whole(loop: str) -> None:
    async def main(server: RawServer) -> None:
        async with model_at(server) as model:
            streams = (text_of(model.stream(HELLO)) for _ in range(1000))
            assert set(await asyncio.gather(*streams)) == {"Hi there"}

    with nothing_left(), raw_server(events(*openai_text(["Hi ", "there"]))) as server:
        run(loop, main(server))
