"""Tools for a model that only writes text: the reply of a real one, as it was recorded.

`complete` waits for everything. `stream` shows it as it happens: calls run while the model still
writes. What the model says to the results is the next request, which an `Agent` makes by itself.

Prints:

    I'll add 0.1 and 0.2, then multiply 3 and 3.
    Add {'a': 0.1, 'b': 0.2} -> 0.3
    Multiply {'a': 3, 'b': 3} -> 9.0
    -- the same as a stream --
    "I'll add 0.1 and 0.2, then multiply 3 and 3.\\n\\n" and begins to call Add
    Add is done: 0.3
    '\\n\\n' and begins to call Multiply
    Multiply is done: 9.0
    finish: tool_calls
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from toolweave import (
    FinishUpdate,
    NaturalToolUse,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCallStart,
    ToolResult,
    tool,
)
from toolweave.models.replay import ReplayModel

RECORDED = Path(__file__).parent / "streams" / "02-two-calls.json"
QUESTION = "Add 0.1 and 0.2, then also multiply 3 and 3."


@tool("Add")
async def add(a: float, b: float) -> float:
    """Adds two numbers."""
    return round(a + b, 6)


@tool("Multiply")
async def multiply(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return round(a * b, 6)


async def main() -> None:
    # Any model will do: a `ChatModel`, or an async function of the messages.
    use = NaturalToolUse(ReplayModel(RECORDED), [add, multiply])
    for message in await use.complete(QUESTION):
        if isinstance(message, TextMessage):
            print(message.text.strip())
        elif isinstance(message, ToolAggregateMessage):
            for call, result in zip(message.tool_calls, message.tool_results, strict=True):
                print(call.name, call.arguments, "->", result.result)
    print("-- the same as a stream --")
    said = ""
    async for event in use.stream(QUESTION):
        match event:
            case TextDelta(text):
                said += text
            case ToolCallStart(_, _, name):
                print(repr(said), "and begins to call", name)
                said = ""
            case ToolResult(_, name, result):
                print(name, "is done:", result)
            case FinishUpdate(reason):
                print("finish:", reason)


if __name__ == "__main__":
    asyncio.run(main())
