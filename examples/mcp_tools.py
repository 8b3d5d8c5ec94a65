"""Tools over MCP, in both roles: this program serves two tools, and uses them.

With the argument `serve` it is an MCP server on standard input and output, for any client. Without
it, the program starts itself as a server and calls its tools as if they were local.

Prints:

    stock_level: Look up how many pieces are in stock.
    count_shelves: Count what is on the shelves.
    progress {'progress': 1.0, 'message': 'shelf 1'}
    progress {'progress': 2.0, 'message': '12 pieces'}
    call_0 {"article":"bolt","pieces":7}
    call_1 Invalid arguments for tool 'stock_level': /article: missing; a string is required
    call_2 12 pieces
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from toolweave import ToolAggregateMessage, ToolCall
from toolweave.executor import ToolExecutor, ToolProgress
from toolweave.integrations.mcp import connect_stdio, serve_stdio
from toolweave.tools import tool


@tool
def stock_level(article: str) -> dict[str, object]:
    """Look up how many pieces are in stock."""
    return {"article": article, "pieces": 7}


@tool
async def count_shelves(shelves: int) -> AsyncIterator[str]:
    """Count what is on the shelves."""
    for number in range(1, shelves + 1):
        yield f"shelf {number}"
    yield f"{12 * shelves} pieces"


async def use() -> None:
    async with connect_stdio(sys.executable, [__file__, "serve"], timeout=30) as tools:
        for one in tools:
            print(f"{one.name}: {one.description}")
        calls = [
            ToolCall("call_0", "stock_level", {"article": "bolt"}),
            ToolCall("call_1", "stock_level", {}),
            ToolCall("call_2", "count_shelves", {"shelves": 1}),
        ]
        async for event in ToolExecutor(tools).stream(calls):
            match event:
                case ToolProgress(_, value):
                    print("progress", value)
                case ToolAggregateMessage(_, results):
                    for result in results:
                        print(result.tool_call_id, result.result)
                case _:
                    pass  # Each result was also an event of its own, as soon as it was there.


if __name__ == "__main__":
    if "serve" in sys.argv:
        asyncio.run(serve_stdio([stock_level, count_shelves]))
    else:
        asyncio.run(use())
