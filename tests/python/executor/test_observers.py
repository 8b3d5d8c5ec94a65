"""Observers: notified in order, never awaited by a run, and isolated from it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from package_logs import package_records
from toolweave import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.executor._events import ToolApproval, ToolProgress, ToolStarted
from toolweave.executor._observers import Observers

T = TypeVar("T")

CALL = ToolCall("call_0", "count", {"to": 3})
STARTED = ToolStarted("call_0", "count", {"to": 3})
RESULT = ToolResult("call_0", "count", "3")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test with a timeout, and check that it leaves no task behind."""

    async def limited() -> T:
        result = await asyncio.wait_for(coroutine, 10)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(limited())


def progress(value: object) -> ToolProgress:
    return ToolProgress("call_0", value)


class Recorder:
    """Observer that records everything, with sync or async methods as configured."""

    def __init__(self, *asynchronous: str) -> None:
        self.received: list[Any] = []
        for name in ("on_started", "on_progress", "on_result"):
            setattr(self, name, self._method(name, name in asynchronous))

    def _method(self, name: str, asynchronous: bool) -> Any:
        def receive(*arguments: Any) -> None:
            self.received.append((name, *arguments))

        async def receive_async(*arguments: Any) -> None:
            await asyncio.sleep(0)
            receive(*arguments)

        return receive_async if asynchronous else receive


async def notify_all(observers: Observers, values: list[int]) -> None:
    observers.notify(STARTED, CALL)
    for value in values:
        observers.notify(progress(value), CALL)
    observers.notify(RESULT, CALL)


@given(
    st.sets(st.sampled_from(["on_started", "on_progress", "on_result"])),
    st.lists(st.integers(), max_size=5),
    st.lists(st.booleans(), max_size=5),
)
def test_an_observer_receives_events_in_order_with_any_mix_of_sync_and_async_methods(
    asynchronous: set[str], values: list[int], pauses: list[bool]
) -> None:
    recorder = Recorder(*asynchronous)

    async def main() -> None:
        observers = Observers(recorder)
        for pause in [*pauses, False]:
            await notify_all(observers, values)
            if pause:
                await asyncio.sleep(0)
        await observers.drain()

    run(main())
    once = [
        ("on_started", CALL),
        *(("on_progress", CALL, value) for value in values),
        ("on_result", CALL, RESULT),
    ]
    assert recorder.received == once * (len(pauses) + 1)


def test_a_callable_receives_every_event() -> None:
    received: list[Any] = []
    events = [
        STARTED,
        progress(1),
        ToolApproval("call_0", "denied", None),
        RESULT,
        ToolAggregateMessage([CALL], [RESULT]),
    ]

    async def asynchronous(event: Any) -> None:
        received.append(event)

    async def main(observer: Any) -> None:
        received.clear()
        observers = Observers(observer)
        for event in events:
            observers.notify(event, CALL)
        await observers.drain()
        assert received == events

    for observer in (received.append, asynchronous, lambda event: asynchronous(event)):
        run(main(observer))


def test_events_during_an_await_are_queued_after_earlier_ones() -> None:
    go = threading.Event()
    received: list[Any] = []

    async def receive(event: Any) -> None:
        received.append(event)

    def observer(event: Any) -> Any:
        go.wait(10)
        return receive(event)

    async def main() -> None:
        observers = Observers(observer)
        for value in range(3):
            observers.notify(progress(value), CALL)
        # By then, the thread has the first three.
        await asyncio.sleep(0)
        for value in range(3, 6):
            observers.notify(progress(value), CALL)
        go.set()
        await observers.drain()

    run(main())
    assert received == [progress(value) for value in range(6)]


def test_observers_do_not_affect_each_other() -> None:
    good, from_callable = Recorder(), list[Any]()

    class Bad:
        def on_started(self, _call: ToolCall) -> None:
            raise ValueError("broken")

        async def on_result(self, _call: ToolCall, _result: ToolResult) -> None:
            raise ValueError("broken")

    async def main() -> None:
        observers = Observers([Bad(), good, from_callable.append])
        await notify_all(observers, [1])
        await observers.drain()

    run(main())
    assert [name for name, *_ in good.received] == ["on_started", "on_progress", "on_result"]
    assert from_callable == [STARTED, progress(1), RESULT]


def test_methods_may_be_missing() -> None:
    class Half:
        def __init__(self) -> None:
            self.received: list[Any] = []

        def on_result(self, call: ToolCall, result: ToolResult) -> None:
            self.received.append((call, result))

    half = Half()

    async def main() -> None:
        observers = Observers(half)
        await notify_all(observers, [1])
        await observers.drain()

    run(main())
    assert half.received == [(CALL, RESULT)]


def test_the_result_of_an_invalid_call_is_observed() -> None:
    recorder = Recorder()
    invalid = InvalidToolCall(0, "call_0", "count", "unknown_tool", "", ())

    async def main() -> None:
        observers = Observers(recorder)
        observers.notify(RESULT, invalid)
        await observers.drain()

    run(main())
    assert recorder.received == [("on_result", invalid, RESULT)]


@pytest.mark.parametrize("observer", [7, object(), [object()], "print"])
def test_an_object_without_observer_methods_is_an_error(observer: Any) -> None:
    with pytest.raises(TypeError, match="observer must be callable or have at least one of the"):
        Observers(observer)


def test_none_and_empty_lists_are_no_observers() -> None:
    async def main() -> None:
        for none in (None, [], ()):
            observers = Observers(none)
            assert not observers
            observers.notify(STARTED, CALL)
            await observers.drain()

    run(main())
    assert Observers(print)


def test_a_blocking_observer_delays_nothing() -> None:
    go = threading.Event()

    async def main() -> None:
        both = asyncio.Event()
        received: list[Any] = []

        async def receive(event: Any) -> None:
            received.append(event)
            if len(received) == 2:
                both.set()

        observers = Observers([lambda _event: go.wait(10), receive])
        await notify_all(observers, [])
        await both.wait()
        assert not go.is_set()
        go.set()
        await observers.drain()

    run(main())


def test_an_observer_that_raises_is_logged_once_for_each_method(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Bad:
        def on_progress(self, _call: ToolCall, _value: Any) -> None:
            raise ValueError("broken")

        async def on_result(self, _call: ToolCall, _result: ToolResult) -> None:
            raise asyncio.CancelledError

    async def main() -> None:
        observers = Observers(Bad())
        for _ in range(3):
            await notify_all(observers, [1, 2])
        await observers.drain()

    run(main())
    warnings = [
        (record.name, vars(record)["observer_method"]) for record in package_records(caplog)
    ]
    assert warnings == [("toolweave.executor", "on_progress"), ("toolweave.executor", "on_result")]
    assert package_records(caplog)[0].exc_info is not None


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_keyboard_interrupt_in_an_observer_propagates(
    error: type[BaseException], asynchronous: bool
) -> None:
    def stop(_event: Any) -> None:
        raise error

    async def stop_async(_event: Any) -> None:
        raise error

    async def main() -> None:
        observers = Observers(stop_async if asynchronous else stop)
        observers.notify(STARTED, CALL)
        await observers.drain()

    with pytest.raises(error):
        asyncio.run(main())


def test_an_observer_that_is_too_slow_misses_progress_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder("on_started", "on_progress", "on_result")

    async def main() -> None:
        observers = Observers(recorder, backlog=5)
        for _ in range(3):
            await notify_all(observers, list(range(100)))
        await observers.drain()

    run(main())
    names = [name for name, *_ in recorder.received]
    assert names.count("on_started") == names.count("on_result") == 3
    # The ones queued first.
    assert [value for name, _, *value in recorder.received if name == "on_progress"] == [
        [0],
        [1],
        [2],
        [3],
    ]
    (record,) = package_records(caplog)
    assert "too slow and misses progress" in record.getMessage()


def test_observers_that_do_not_end_are_abandoned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go, received = threading.Event(), list[Any]()

    async def endless(_event: Any) -> None:
        await asyncio.sleep(3600)

    def blocking(event: Any) -> None:
        go.wait(10)
        received.append(event)

    async def main() -> None:
        observers = Observers([endless, blocking])
        await notify_all(observers, [1])
        await observers.drain(timeout=0.01)
        observers.notify(RESULT, CALL)
        await observers.drain()

    run(main())
    assert "observers were too slow for the end of a run and were stopped" in caplog.messages
    go.set()
    # The observer in a thread finishes its current call and receives no further events.
    until = time.monotonic() + 5
    while not received and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.005)
    assert received == [STARTED]


def test_waiting_for_observers_can_be_cancelled() -> None:
    left: list[str] = []

    async def endless(_event: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            left.append("left")

    async def main() -> None:
        observers = Observers(endless)
        observers.notify(STARTED, CALL)
        draining = asyncio.ensure_future(observers.drain())
        await asyncio.sleep(0.001)
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining
        assert left == ["left"]

    run(main())


def test_an_observer_sees_the_context_of_the_run() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    received: list[str] = []

    async def main() -> None:
        user.set("ada")
        observers = Observers(lambda _event: received.append(user.get()))
        observers.notify(STARTED, CALL)
        await observers.drain()

    run(main())
    assert received == ["ada"]


def test_many_calls_are_passed_to_an_observer_in_batches(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    received: list[Any] = []

    async def main() -> float:
        observers = Observers(received.append)
        began = time.process_time()
        for _ in range(5000):
            observers.notify(STARTED, CALL)
        await observers.drain()
        return time.process_time() - began

    # Passing each event to a thread would take about 50 microseconds.
    assert min(run(main()) for _ in range(3)) < 5000 * 20e-6
    assert len(received) == 15000
