"""Tools for a model that only writes text, with the recorded reply of a real model.

`complete` waits for the whole reply. `stream` yields events as they happen: calls run while the
model still writes. The reply to the results takes another request, which an `Agent` makes.

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
    """Add two numbers."""
    return round(a + b, 6)


@tool("Multiply")
async def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return round(a * b, 6)


async def main() -> None:
    # Any model works: a `ChatModel`, or an async function of the messages.
    use = NaturalToolUse(ReplayModel(RECORDED), [add, multiply])
    for message in await use.complete(QUESTION):
        if isinstance(message, TextMessage):
            print(message.text.strip())
        elif isinstance(message, ToolAggregateMessage):
            for call, result in zip(message.tool_calls, message.tool_results, strict=True):
                print(call.name, call.arguments, "->", result.result)
    print("-- the same as a stream --")
    text = ""
    async for event in use.stream(QUESTION):
        match event:
            case TextDelta(delta):
                text += delta
            case ToolCallStart(_, _, name):
                print(repr(text), "and begins to call", name)
                text = ""
            case ToolResult(_, name, result):
                print(name, "is done:", result)
            case FinishUpdate(reason):
                print("finish:", reason)


if __name__ == "__main__":
    asyncio.run(main())
