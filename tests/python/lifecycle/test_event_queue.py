"""Laws of the queue between a run and its reader, at any relative speed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave._aio.event_queue import EventQueue

T = TypeVar("T")

TIMEOUT = 20.0


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(main, TIMEOUT))


async def yield_control(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@given(
    # How many turns of the loop the writer, the reader and the one who waits take for each event.
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=12),
    st.booleans(),
)
def test_caught_up_returns_after_all_earlier_events_are_handled_in_order(
    paces: list[tuple[int, int, int]], at_once: bool
) -> None:
    async def main() -> None:
        box: EventQueue[int] = EventQueue()
        handled: list[int] = []

        async def read() -> None:
            while True:
                try:
                    events = await box.take_all() if at_once else [await box.take()]
                except StopAsyncIteration:
                    return
                if not events:
                    return
                for event in events:
                    await yield_control(paces[event][1])
                    handled.append(event)

        async def check(event: int) -> None:
            await yield_control(paces[event][2])
            await box.caught_up()
            assert handled[: event + 1] == list(range(event + 1))

        reading = asyncio.ensure_future(read())
        checking: list[asyncio.Future[None]] = []
        for event, (pace, _, _) in enumerate(paces):
            await yield_control(pace)
            box.put(event)
            checking.append(asyncio.ensure_future(check(event)))
        await asyncio.gather(*checking)
        box.end()
        await reading
        assert handled == list(range(len(paces)))

    run(main())


def test_caught_up_does_not_wait_for_a_reader_that_asks_for_more() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        await box.caught_up()
        box.put("a")
        assert await box.take() == "a"
        catching_up = asyncio.ensure_future(box.caught_up())
        await yield_control(3)
        assert not catching_up.done()
        asking = asyncio.ensure_future(box.take())
        await catching_up
        box.end()
        with pytest.raises(StopAsyncIteration):
            await asking

    run(main())


def test_caught_up_does_not_wait_for_subsequent_events() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        box.put("a")
        catching_up = asyncio.ensure_future(box.caught_up())
        await yield_control(1)
        box.put("b")
        assert [await box.take(), await box.take()] == ["a", "b"]
        await catching_up

    run(main())


def test_caught_up_does_not_wait_for_a_reader_that_leaves() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        box.put("a")
        waiting = [asyncio.ensure_future(box.caught_up()) for _ in range(3)]
        await yield_control(2)
        box.release()
        await asyncio.gather(*waiting)
        box.put("b")
        await box.caught_up()

    run(main())


def test_the_end_follows_the_last_event_and_raises_its_error_once() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        box.put("a")
        box.end(LookupError("first"))
        box.end(LookupError("second"))
        assert await box.take() == "a"
        with pytest.raises(LookupError, match="first"):
            await box.take()
        with pytest.raises(StopAsyncIteration):
            await box.take()
        assert not await box.take_all()

    run(main())


def test_a_queue_has_one_reader_at_a_time() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        first = asyncio.ensure_future(box.take())
        await yield_control(1)
        for another in (box.take(), box.take_all()):
            with pytest.raises(RuntimeError, match="one reader at a time"):
                await another
        first.cancel()
        await asyncio.wait([first])
        box.put("a")
        assert await box.take() == "a"

    run(main())


def test_a_reader_cancelled_while_waking_loses_no_event() -> None:
    async def main() -> None:
        box: EventQueue[str] = EventQueue()
        first = asyncio.ensure_future(box.take())
        await yield_control(1)
        box.put("a")
        first.cancel()
        second = asyncio.ensure_future(box.take())
        assert await second == "a"
        await asyncio.wait([first])
        assert first.cancelled()
        third = asyncio.ensure_future(box.take())
        await yield_control(2)
        box.put("b")
        assert await third == "b"

    run(main())
