"""Readers that stop close their connection at once, and nothing leaks."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Any

import pytest

from coroutine_tests import on_a_loop
from servers.dialects import DONE, delta, openai_text
from servers.http_models import model
from servers.model_answers import HI, read
from servers.raw import Connection, RawServer, Script, occurred, raw_server, unresponsive_server
from servers.scripts import document, events, raw, refusal
from servers.sse import TEST_TIMEOUT, Do
from toolweave import FinishUpdate, TextDelta, TextMessage
from toolweave.models import closing as closing_stream

WHOLE = events(*openai_text(["Hi"]))
ONE = delta(content="One ")
HELD = events(ONE, Do.HOLD)


def served(*scripts: Script, **options: Any) -> Callable[..., Any]:
    """Run a test on a new loop, with a server and a model that are closed afterwards."""

    def wrap(test: Callable[[Any, RawServer], Any]) -> Callable[[], None]:
        def run() -> None:
            with raw_server(*scripts) as server:

                async def main() -> None:
                    async with model(server.url, **options) as one:
                        await test(one, server)

                on_a_loop(main)()
                server.all_left()

        run.__name__ = test.__name__
        return run

    return wrap


async def first(stream: AsyncIterator[Any]) -> str:
    while not isinstance(update := await anext(stream), TextDelta):
        pass
    return update.text


@served(HELD)
async def test_a_stream_that_is_closed_closes_its_connection(one: Any, server: RawServer) -> None:
    stream = one.stream(HI)
    assert await first(stream) == "One "
    await stream.aclose()
    await server.client_left()


@served(HELD)
async def test_a_stream_that_is_dropped_closes_its_connection(one: Any, server: RawServer) -> None:
    stream = one.stream(HI)
    assert await first(stream) == "One "
    del stream
    gc.collect()
    await server.client_left()


@served(HELD)
async def test_leaving_an_iteration_closes_its_connection(one: Any, server: RawServer) -> None:
    async with closing_stream(one.stream(HI)) as updates:
        async for _ in updates:
            break
    await server.client_left()


@served(HELD)
async def test_an_error_of_the_reader_closes_the_connection(one: Any, server: RawServer) -> None:
    async def read_badly() -> None:
        async with closing_stream(one.stream(HI)) as updates:
            async for _ in updates:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read_badly()
    await server.client_left()


@served(HELD)
async def test_a_reader_that_is_cancelled_closes_its_connection(
    one: Any, server: RawServer
) -> None:
    came = asyncio.Event()

    async def read_on() -> None:
        async for update in one.stream(HI):
            if isinstance(update, TextDelta):
                came.set()

    task = asyncio.create_task(read_on())
    await asyncio.wait_for(came.wait(), TEST_TIMEOUT)
    await asyncio.sleep(0)  # so that it waits for data that does not arrive
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.client_left()


@pytest.mark.parametrize("script", [raw(Do.HOLD), raw(b"HTTP/1.1 200 OK\r\nX-", Do.HOLD)])
def test_cancelling_a_request_before_its_reply_closes_the_connection(script: Script) -> None:
    async def main() -> None:
        async with model(server.url) as one:
            task = asyncio.create_task(read(one))
            await occurred(asked)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.client_left()

    asked = threading.Event()

    def noted(connection: Connection, request: Any) -> None:
        asked.set()
        script(connection, request)

    with raw_server(noted) as server:
        on_a_loop(main)()


def test_cancelling_a_request_while_it_connects_takes_effect_at_once() -> None:
    async def main(port: int) -> None:
        async with model(f"http://127.0.0.1:{port}") as one:
            task = asyncio.create_task(read(one))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 1.0)

    with unresponsive_server() as port:
        on_a_loop(main)(port)


def test_cancelling_a_request_between_attempts_stops_the_retries() -> None:
    answered = threading.Event()

    def busy(connection: Connection, request: Any) -> None:
        refusal(503, "Busy.", "Retry-After: 0.3")(connection, request)
        answered.set()

    async def main() -> None:
        async with model(server.url, max_retries=5) as one:
            task = asyncio.create_task(read(one))
            await occurred(answered)
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 1.0)
            await asyncio.sleep(0.35)
            assert len(server.requests) == 1

    with raw_server(busy) as server:
        on_a_loop(main)()


def test_a_model_that_is_closed_leaves_replies_to_their_readers() -> None:
    closed = threading.Event()

    async def main() -> None:
        async with model(server.url) as one:
            stream = one.stream(HI)
            assert await first(stream) == "One "
        closed.set()
        assert [update async for update in stream] == [TextDelta("two"), FinishUpdate("stop")]
        await server.client_left()

    script = events(ONE, closed, delta(content="two"), delta("stop"), DONE)
    with raw_server(script) as server:
        on_a_loop(main)()


@served(WHOLE)
async def test_a_stream_that_is_never_read_asks_nothing(one: Any, server: RawServer) -> None:
    stream = one.stream(HI)
    await stream.aclose()
    assert server.requests == []


@served(WHOLE)
async def test_a_connection_is_used_for_one_request_after_another(
    one: Any, server: RawServer
) -> None:
    for _ in range(10):
        assert (await read(one)).text == "Hi"
    # The next request may be made just before the pool has the connection back.
    assert len(server.connections) <= 2


@served(document({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}))
async def test_a_connection_is_used_again_after_a_document(one: Any, server: RawServer) -> None:
    for _ in range(3):
        assert (await read(one)).text == "Hi"
    assert len(server.connections) == 1


@pytest.mark.parametrize(
    "fault",
    [
        events(ONE, b"data: {\n\n", ONE, DONE),
        events(ONE, Do.CUT),
        events(ONE, b"data: " + b"x" * 5_000_000 + b"\n\n"),
        HELD,
    ],
)
def test_a_connection_is_not_used_again_after_a_fault(fault: Script) -> None:
    async def main() -> None:
        async with model(server.url, idle_timeout=0.2) as one:
            assert (await read(one)).error is not None
            assert (await read(one)).text == "Hi"

    with raw_server(fault, WHOLE) as server:
        on_a_loop(main)()
        assert len(server.connections) == 2
        assert server.connections[0].over.wait(TEST_TIMEOUT)


def test_a_connection_that_the_server_has_closed_is_made_anew() -> None:
    async def main() -> None:
        async with model(server.url, max_retries=1) as one:
            for number in range(3):
                assert (await read(one)).text == "Hi"
                await occurred(server.connections[number].over)

    def once(connection: Connection, request: Any) -> None:
        WHOLE(connection, request)
        connection.close()

    with raw_server(once) as server:
        on_a_loop(main)()
        assert len(server.connections) == 3


@served(WHOLE)
async def test_a_closed_model_can_be_used_again(one: Any, server: RawServer) -> None:
    assert (await read(one)).text == "Hi"
    await one.aclose()
    await server.client_left(0)
    assert (await read(one)).text == "Hi"
    assert len(server.connections) == 2


def test_one_model_can_be_used_on_one_loop_after_another() -> None:
    with raw_server(WHOLE) as server:
        one = model(server.url)
        for _ in range(5):
            assert asyncio.run(read(one)).text == "Hi"
        asyncio.run(one.aclose())
        server.all_left()


def test_one_model_can_be_used_on_several_loops_in_threads_at_once() -> None:
    together = threading.Barrier(4)
    replies: list[str] = []

    def ask() -> None:
        async def main() -> None:
            for came in await asyncio.gather(*(read(one) for _ in range(10))):
                assert came.error is None
                replies.append(came.text)

        together.wait(TEST_TIMEOUT)
        asyncio.run(main())

    with raw_server(WHOLE) as server:
        one = model(server.url)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == ["Hi"] * 40
        asyncio.run(one.aclose())
        server.all_left()


def test_a_loop_that_ends_with_a_stream_open_closes_its_connection() -> None:
    with raw_server(HELD) as server:
        one = model(server.url)

        async def main() -> Any:
            stream = one.stream(HI)
            assert await first(stream) == "One "
            return stream

        stream = asyncio.run(main())  # which closes abandoned generators
        server.left()
        del stream
        asyncio.run(one.aclose())


def test_a_hundred_replies_are_read_at_once_and_no_two_mixed_up() -> None:
    def echo(connection: Connection, request: Any) -> None:
        text = request.json["messages"][-1]["content"]
        events(*openai_text([text] * 5))(connection, request)

    async def main() -> None:
        async with model(server.url) as one:
            texts = [f"<{number}>" for number in range(100)]
            replies = await asyncio.gather(*(read(one, [TextMessage(text)]) for text in texts))
            assert [came.text for came in replies] == [text * 5 for text in texts]

    with raw_server(echo) as server:
        on_a_loop(main)()


def test_a_reader_that_pauses_holds_the_server_back_and_misses_nothing() -> None:
    blocked = threading.Event()
    part = delta(content="x" * 10_000) * 10
    sent: list[int] = []

    def flood(connection: Connection, _: Any) -> None:
        connection.head(200, "Content-Type: text/event-stream", "Connection: close")
        connection.send(delta(content="y"))
        taken = connection.send_until_blocked(part)
        blocked.set()
        missing = -taken % len(part)
        connection.send(part[len(part) - missing :] + delta("stop") + DONE)
        sent.append(taken + missing)
        connection.close()

    async def main() -> str:
        async with model(server.url) as one, closing_stream(one.stream(HI)) as updates:
            stream = aiter(updates)
            begun = await first(stream)
            await occurred(blocked)
            return begun + "".join([u.text async for u in stream if isinstance(u, TextDelta)])

    with raw_server(flood) as server:
        text = asyncio.run(main())
    assert text == "y" + "x" * (100_000 * sent[0] // len(part))
    # Most of it is in the buffers of the system.
    assert sent[0] < 20_000_000


def test_it_runs_on_other_loops_as_well() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        async with model(server.url) as one:
            replies = await asyncio.gather(*(read(one) for _ in range(20)))
            assert [came.text for came in replies] == ["Hi"] * 20

    with raw_server(WHOLE) as server, closing(uvloop.new_event_loop()) as loop:
        loop.run_until_complete(asyncio.wait_for(main(), TEST_TIMEOUT))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
