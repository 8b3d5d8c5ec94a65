"""Neither long requests nor long replies of an endpoint hold the event loop for long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from loop_watchdog import Watchdog, many
from request_lifetimes import model_at, warm
from servers.dialects import DONE, call, delta
from servers.raw import raw_server
from servers.scripts import events
from toolweave import FunctionContract, Message
from toolweave.agent import Agent
from toolweave.tools import Tool

__all__ = ["warm"]
pytestmark = pytest.mark.usefixtures("warm")

# Maximum size of arguments, in bytes.
LONGEST = tw.Limits().max_argument_bytes
OBJECT = {"type": "object"}


def arguments(pieces: str, *, after: str = "1") -> str:
    """Return arguments of the maximum size."""
    return f'{{"a": [{pieces * many((LONGEST - 4096) // len(pieces))}{after}]}}'


ARGUMENTS = {
    "lists": arguments("[],"),
    "objects": arguments('{"a":{}},'),
    "literals of Python": arguments("True,", after="None"),
    "broken": arguments("1,", after="1,"),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("written", ARGUMENTS.values(), ids=list(ARGUMENTS))
def test_a_long_call(written: str, native: bool, loop_watchdog: Watchdog) -> None:
    loop_watchdog.input(len(written))
    if native:
        answer = delta(tool_calls=[call(0, id="c", name="F", arguments=written)])
    else:
        answer = delta(content=f"<F>{written}</F>")

    async def F(**_: Any) -> str:  # noqa: N802 - the name of the tool
        return "ok"

    async def main() -> None:
        model = model_at(server)
        mode = "native" if native else "natural"
        agent = Agent(model, [Tool.from_schema("F", OBJECT, F)], tool_mode=mode)
        result = await agent.run("Go on.")
        [aggregate] = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
        assert not aggregate.tool_results[0].is_error

    first = events(answer, delta("tool_calls"), DONE)
    last = events(delta(content="Done."), delta("stop"), DONE)
    with raw_server(first, last) as server:
        asyncio.run(main())


def called(number: int, arguments: dict[str, Any], result: str) -> Message:
    made = tw.ToolCall(f"c{number}", "F", arguments)
    return tw.ToolAggregateMessage([made], [tw.ToolResult(made.id, "F", result)])


HISTORIES: dict[str, list[Message]] = {
    "texts": [tw.TextMessage("word " * 4) for _ in range(many(20_000))],
    "calls": [called(number, {"a": number}, "ok") for number in range(many(20_000))],
    "long arguments": [called(0, {"a": [[]] * many(340_000)}, "ok")],
    "long results": [called(0, {}, "word <é>" * many(500_000))],
}
WIDE = {
    "type": "object",
    "properties": {
        f"p{number}": {"type": "string", "maxLength": 80, "description": "word " * 5}
        for number in range(20)
    },
}
MANY_TOOLS = [FunctionContract(f"tool_{number}", parameters=WIDE) for number in range(many(1_000))]


@pytest.mark.parametrize("history", HISTORIES.values(), ids=list(HISTORIES))
def test_a_long_request(history: list[Message]) -> None:
    tools = MANY_TOOLS if len(history) == 1 else []

    async def main() -> None:
        answer = [update async for update in model_at(server).stream(history, tools=tools)]
        assert answer[0] == tw.TextDelta("Done.")

    script = events(delta(content="Done."), delta("stop"), DONE)
    with raw_server(script) as server:
        asyncio.run(main())
