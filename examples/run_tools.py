"""Functions as tools, and concurrent execution of a reply's calls.

Prints:

    read_meter: Read a power meter repeatedly. (times: Number of readings.)
    rejected  call_2 Invalid arguments for tool 'get_price': /article: 7 is not a string
    started   call_0 read_meter {'times': 9}
    progress  call_0 1 of 9: 230 V
    started   call_1 get_price {'article': 'tea'}
    progress  call_0 2 of 9: 231 V
    progress  call_0 3 of 9: 232 V
    done      call_1 4.5
    done      call_0 3 of 9: 232 V (timeout)
    in the order of the calls: call_0, call_1, call_2
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from toolweave import RetryPolicy, ToolAggregateMessage, ToolCall, ToolContext, ToolResult, tool
from toolweave.executor import ToolExecutor, ToolProgress, ToolStarted


# The last value that an async generator yields is the result; all others are progress. With
# `partial_results`, the last progress is the result of a call that times out.
@tool(timeout=0.3, partial_results=True)
async def read_meter(times: int) -> AsyncIterator[str]:
    """Read a power meter repeatedly.

    Args:
        times: Number of readings.
    """
    for number in range(1, times + 1):
        yield f"{number} of {times}: {229 + number} V"
        await asyncio.sleep(0 if number < 3 else 60)


@tool(retries=RetryPolicy(3, initial=0.01), max_concurrency=4)
async def get_price(article: str, context: ToolContext) -> float:
    """Look up a price."""
    if context.attempt < 3:
        raise ConnectionError(f"no answer about {article}")
    return 4.5


async def main() -> None:
    described = read_meter.contract.parameters["properties"]["times"]["description"]
    print(f"{read_meter.name}: {read_meter.description} (times: {described})")
    executor = ToolExecutor([read_meter, get_price], timeout=30)
    calls = [
        ToolCall("call_0", "read_meter", {"times": 9}),
        ToolCall("call_1", "get_price", {"article": "tea"}),
        ToolCall("call_2", "get_price", {"article": 7}),
    ]
    async for event in executor.stream(calls):
        match event:
            case ToolStarted(call_id, name, arguments):
                print(f"started   {call_id} {name} {dict(arguments)}")
            case ToolProgress(call_id, value):
                print(f"progress  {call_id} {value}")
            case ToolResult(error_code="invalid_arguments"):
                print(f"rejected  {event.tool_call_id} {event.result}")
            case ToolResult():
                why = f" ({event.error_code})" if event.is_error else ""
                print(f"done      {event.tool_call_id} {event.result}{why}")
            case ToolAggregateMessage(_, results):
                ids = ", ".join(result.tool_call_id for result in results)
                print(f"in the order of the calls: {ids}")
            case _:
                pass


if __name__ == "__main__":
    asyncio.run(main())
