"""Tools that `toolweave mcp our_tools:tools` serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from toolweave import FunctionContract
from toolweave.tools import Tool, ToolContext, Toolset, tool


@dataclass
class Weather:
    city: str
    degrees: float


calls: list[tuple[int, int]] = []


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    calls.append((a, b))
    return a + b


@tool
def additions() -> int:
    """Return the number of additions."""
    return len(calls)


@tool
async def weather(city: str) -> Weather:
    """Look up the weather."""
    return Weather(city, 8.5)


@tool(idempotent=True)
async def count(up_to: int) -> AsyncIterator[str]:
    """Count."""
    for number in range(1, up_to + 1):
        yield f"at {number}"
    yield "done"


@tool
async def wait(marker: str) -> str:
    """Wait forever, and leave a mark when cancelled."""
    mark = Path(marker).write_text
    try:
        mark("waiting", encoding="utf-8")
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        # Like a tool whose cleanup awaits something.
        await asyncio.sleep(0.01)
        mark("cancelled", encoding="utf-8")
        raise
    return "never"


@tool
async def order(context: ToolContext) -> str:
    """Ask the user."""
    size = await context.ask("How large?", {"type": "integer", "minimum": 1})
    return f"ordered size {size}"


@tool(requires_approval=True)
def launch() -> str:
    """Require an approval that no approver can give."""
    return "launched"


@tool
def fail(message: str) -> str:
    """Fail."""
    raise ValueError(message)


@tool
def learn(word: str) -> str:
    """Add another tool."""
    tools.add(tool(shout, name=word))
    return f"learned {word}"


@tool
def print_something() -> str:
    """Print, which must not reach the client."""
    print("no JSON-RPC")  # noqa: T201 - the point of it
    return "printed"


def shout(text: str) -> str:
    """Shout."""
    return text.upper()


def draw() -> list[int]:
    """Return a list, although the contract declares an object."""
    return [1, 2]


tools = Toolset([add, additions, weather, count, wait, order, launch, fail, learn, print_something])
tools.add(
    Tool.from_contract(
        FunctionContract("draw", "Draws.", {"properties": {}}, {"type": "object"}), draw
    )
)
