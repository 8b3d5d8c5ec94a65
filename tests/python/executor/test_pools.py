"""Blocking functions in threads and processes: one result each, without blocking the loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import multiprocessing
import os
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

import pool_functions
from toolweave.exceptions import PoolError
from toolweave.executor._pools import run_blocking

T = TypeVar("T")

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME", default="nobody")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test with a timeout."""

    async def limited() -> T:
        return await asyncio.wait_for(coroutine, 30)

    return asyncio.run(limited())


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(params=["default", "threads", "processes"])
def pool(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "default":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    else:
        yield request.getfixturevalue("processes")


def test_a_function_runs_with_its_arguments(pool: Executor | None) -> None:
    async def main() -> int:
        return await run_blocking(pool, pool_functions.add, {"a": 1, "b": 2})

    assert run(main()) == 3


def test_an_exception_is_raised_unchanged(pool: Executor | None) -> None:
    async def main() -> None:
        await run_blocking(pool, pool_functions.divide, {"a": 1, "b": 0})

    with pytest.raises(ZeroDivisionError, match="division by zero"):
        run(main())


def test_many_run_at_once_and_none_is_lost(pool: Executor | None) -> None:
    async def main() -> list[int]:
        calls = [run_blocking(pool, pool_functions.add, {"a": n, "b": n}) for n in range(200)]
        return await asyncio.gather(*calls)

    assert run(main()) == [2 * n for n in range(200)]


def test_the_loop_keeps_running_while_a_function_blocks() -> None:
    async def main() -> None:
        go = threading.Event()
        waiting = run_blocking(None, go.wait, {"timeout": 20})
        await asyncio.sleep(0)
        go.set()
        assert await waiting

    run(main())


@pytest.mark.parametrize("own", [False, True])
def test_a_function_in_a_thread_gets_a_copy_of_the_callers_context(
    own: bool,
) -> None:
    def rename() -> str:
        before = NAME.get()
        NAME.set("tool")
        return before

    async def main() -> None:
        with ThreadPoolExecutor(1) as threads:
            for caller in ("one", "other"):
                NAME.set(caller)
                assert await run_blocking(threads if own else None, rename) == caller
                assert NAME.get() == caller

    run(main())


def test_a_process_pool_runs_functions_in_another_process(processes: ProcessPoolExecutor) -> None:
    async def main() -> int:
        return await run_blocking(processes, pool_functions.process_id)

    assert run(main()) != os.getpid()


class Counting:
    """Counter of an event loop's `call_soon_threadsafe`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.count = 0
        self._inner = loop.call_soon_threadsafe

    def __call__(self, *arguments: Any, **options: Any) -> asyncio.Handle:
        self.count += 1
        return self._inner(*arguments, **options)


class Held(Executor):
    """Pool that runs functions only on request."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, *_function: Any, **_kwargs: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


def test_the_loop_is_woken_once_for_all_finished_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        wake = Counting(loop)
        monkeypatch.setattr(loop, "call_soon_threadsafe", wake)
        held = Held()
        calls = [run_blocking(held, int) for _ in range(100)]
        for number, future in enumerate(held.futures):
            future.set_result(number)
        assert wake.count == 1
        assert await asyncio.gather(*calls) == list(range(100))
        again = run_blocking(held, int)
        held.futures[-1].set_result(7)
        assert await again == 7
        assert wake.count == 2

    run(main())


def test_a_queued_function_that_is_cancelled_never_runs() -> None:
    async def main() -> None:
        go, ran = threading.Event(), threading.Event()
        with ThreadPoolExecutor(1) as threads:
            first = run_blocking(threads, go.wait, {"timeout": 20})
            second = run_blocking(threads, ran.set)
            second.cancel()
            await asyncio.sleep(0)
            go.set()
            assert await first
        assert not ran.is_set()

    run(main())


def test_the_outcome_of_a_cancelled_function_is_ignored() -> None:
    async def main() -> None:
        begun, go, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            go.wait(20)
            ended.set()

        with ThreadPoolExecutor(1) as threads:
            call = run_blocking(threads, work)
            begun.wait(20)
            call.cancel()
            await asyncio.sleep(0)
            go.set()
        assert ended.is_set()
        await asyncio.sleep(0)
        assert call.cancelled()

    run(main())


def test_blocking_functions_that_hang_leave_room_for_others() -> None:
    async def main() -> None:
        go = threading.Event()
        for _ in range(40):
            begun = threading.Event()
            call = run_blocking(None, lambda begun=begun: (begun.set(), go.wait(60)))
            assert begun.wait(5)
            call.cancel()
            await asyncio.sleep(0)
        assert await run_blocking(None, pool_functions.add, {"a": 1, "b": 2}) == 3
        go.set()

    run(main())


def test_a_function_may_outlive_its_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "toolweave")
    go = threading.Event()
    threads = ThreadPoolExecutor(1)

    async def main() -> None:
        run_blocking(threads, go.wait, {"timeout": 20})
        await asyncio.sleep(0)

    run(main())
    go.set()
    # `concurrent.futures` would log an exception in the thread.
    threads.shutdown()
    assert [record.name for record in caplog.records if record.levelno > logging.DEBUG] == []
    assert "a blocking tool ended after its event loop" in caplog.messages


def test_a_pool_that_cancels_its_functions_is_an_error_rather_than_a_cancellation() -> None:
    async def main() -> None:
        held = Held()
        call = run_blocking(held, int)
        held.futures[0].cancel()
        held.futures[0].set_running_or_notify_cancel()
        with pytest.raises(PoolError, match="shut down before the function began"):
            await call

    run(main())


def test_a_pool_that_was_shut_down_is_an_error_of_the_call() -> None:
    async def main() -> None:
        threads = ThreadPoolExecutor(1)
        threads.shutdown()
        call = run_blocking(threads, int)
        with pytest.raises(PoolError, match=r"the pool takes no functions: .* after shutdown"):
            await call

    run(main())


def test_a_stop_iteration_is_an_error_like_any_other() -> None:
    def stop() -> None:
        raise StopIteration

    async def main() -> None:
        await run_blocking(None, stop)

    with pytest.raises(RuntimeError, match="StopIteration"):
        run(main())


def test_the_error_names_a_function_that_cannot_be_pickled(
    processes: ProcessPoolExecutor,
) -> None:
    async def main() -> None:
        with pytest.raises(
            PoolError, match=r"cannot be sent to or from the pool's processes: .*lambda"
        ):
            await run_blocking(processes, lambda: 1)
        with pytest.raises(
            PoolError, match=r"cannot be sent to or from the pool's processes: .*lock"
        ):
            await run_blocking(processes, pool_functions.add, {"a": threading.Lock(), "b": 1})
        # The pool still works.
        assert await run_blocking(processes, pool_functions.add, {"a": 1, "b": 1}) == 2

    run(main())


def test_the_error_names_a_result_that_cannot_be_pickled(
    processes: ProcessPoolExecutor,
) -> None:
    async def main() -> None:
        with pytest.raises(PoolError, match=r"the result cannot be sent .*lock"):
            await run_blocking(processes, pool_functions.lock)

    run(main())


def test_an_exception_that_cannot_be_unpickled_does_not_break_the_pool(
    processes: ProcessPoolExecutor,
) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="kitchen: on fire"):
            await run_blocking(processes, pool_functions.touchy)
        assert await run_blocking(processes, pool_functions.add, {"a": 1, "b": 1}) == 2

    run(main())


def test_calls_in_a_pool_whose_worker_died_get_a_clear_error() -> None:
    async def main() -> None:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            with pytest.raises(PoolError, match="one of its workers died") as caught:
                await run_blocking(pool, pool_functions.die)
            assert caught.value.__cause__ is not None
            with pytest.raises(PoolError, match="one of its workers died"):
                await run_blocking(pool, pool_functions.add, {"a": 1, "b": 2})

    run(main())


def test_every_loop_is_woken_for_its_own_calls() -> None:
    results: list[int] = []

    async def main(number: int) -> None:
        for _ in range(20):
            result = await run_blocking(None, pool_functions.add, {"a": number, "b": 0})
            results.append(result)

    loops = [threading.Thread(target=lambda n=n: run(main(n))) for n in range(4)]
    for thread in loops:
        thread.start()
    for thread in loops:
        thread.join(30)
    assert sorted(results) == sorted(list(range(4)) * 20)
