"""Blocking functions in a real Dask cluster: a scheduler and two local worker processes."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from distributed import Client, LocalCluster

import pool_functions
from toolweave.exceptions import PoolError
from toolweave.executor._pools import run_blocking

T = TypeVar("T")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        return await asyncio.wait_for(coroutine, 60)

    return asyncio.run(limited())


def test_functions_run_in_the_processes_of_the_workers(client: Client) -> None:
    async def main() -> list[int]:
        workers = list(client.scheduler_info()["workers"])
        pools = [client.get_executor(workers=[worker]) for worker in workers]
        return await asyncio.gather(
            *(run_blocking(pool, pool_functions.process_id) for pool in pools)
        )

    first, second = run(main())
    assert len({first, second, os.getpid()}) == 3


def test_arguments_results_and_exceptions_are_transferred(client: Client) -> None:
    async def main() -> None:
        pool = client.get_executor()
        assert await run_blocking(pool, pool_functions.add, {"a": 1, "b": 2}) == 3
        # Dask can send functions that a process pool cannot.
        assert await run_blocking(pool, lambda: "a lambda") == "a lambda"
        with pytest.raises(ZeroDivisionError):
            await run_blocking(pool, pool_functions.divide, {"a": 1, "b": 0})

    run(main())


def test_the_same_call_made_twice_runs_twice(client: Client) -> None:
    async def main() -> list[str]:
        pool = client.get_executor()
        return await asyncio.gather(*(run_blocking(pool, pool_functions.ticket) for _ in range(3)))

    assert len(set(run(main()))) == 3


def test_the_error_names_what_could_not_be_pickled(client: Client) -> None:
    async def main() -> None:
        with pytest.raises(PoolError, match=r"cannot be sent .* processes: cannot pickle"):
            await run_blocking(
                client.get_executor(), pool_functions.add, {"a": threading.Lock(), "b": 1}
            )

    run(main())


def test_a_call_that_is_cancelled_leaves_the_cluster_usable(client: Client) -> None:
    async def main() -> None:
        pool = client.get_executor()
        call = run_blocking(pool, pool_functions.process_id, {"seconds": 0.2})
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await run_blocking(pool, pool_functions.add, {"a": 2, "b": 2}) == 4

    run(main())


def test_an_executor_that_was_shut_down_is_an_error_of_the_call(client: Client) -> None:
    async def main() -> None:
        pool = client.get_executor()
        pool.shutdown()
        with pytest.raises(PoolError, match="the pool takes no functions"):
            await run_blocking(pool, pool_functions.add, {"a": 1, "b": 2})

    run(main())


def test_context_variables_are_not_sent_to_workers(client: Client) -> None:
    name: contextvars.ContextVar[object] = contextvars.ContextVar("name")

    async def main() -> int:
        # A value that cannot be pickled.
        name.set(threading.Lock())
        return await run_blocking(client.get_executor(), pool_functions.add, {"a": 1, "b": 1})

    assert run(main()) == 2
