"""CPU-bound tools in a process pool.

Any `concurrent.futures.Executor` works: threads (the default for blocking tools), processes as
here, or a cluster's, such as `dask.distributed.Client(...).get_executor()`.

Prints:

    call_0 1229
    call_1 78498
    call_2 Error executing tool: there are no primes below -5
    in another process: True, True
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from toolweave import ToolCall, tool
from toolweave.executor import ToolExecutor


@tool
def count_primes(below: int) -> int:
    """Count prime numbers."""
    if below < 0:
        raise ValueError(f"there are no primes below {below}")
    sieve = bytearray([0, 0]) + bytearray([1]) * (below - 2)
    for number in range(2, int(below**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, below, number)))
    return sum(sieve)


@tool
def where() -> int:
    """Return the id of its process."""
    return os.getpid()


async def main() -> None:
    # A process forked while threads run may deadlock on a lock that one of them holds.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        # For one tool only: `@tool(pool=...)`.
        executor = ToolExecutor([count_primes, where], pool=pool, timeout=50)
        calls = [
            ToolCall("call_0", "count_primes", {"below": 10_000}),
            ToolCall("call_1", "count_primes", {"below": 1_000_000}),
            ToolCall("call_2", "count_primes", {"below": -5}),
            ToolCall("call_3", "where", {}),
            ToolCall("call_4", "where", {}),
        ]
        *numbers, one, other = (await executor.execute(calls)).tool_results
    for result in numbers:
        print(result.tool_call_id, result.result)
    print("in another process:", f"{one.value != os.getpid()}, {other.value != os.getpid()}")


if __name__ == "__main__":
    asyncio.run(main())
