"""Long calls are serialized and converted in threads, and stay complete."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

import toolweave as tw
from toolweave.agent import Agent
from toolweave.kinds import ErrorCode
from toolweave.natural import NaturalToolUse
from toolweave.natural import _run as run
from toolweave.testing import ScriptedModel
from toolweave.tools import tool

LONG = '<{name}>{{"a": ["' + "x" * 90_000 + '"{more}]}}</{name}>'


async def F(a: list[str]) -> str:  # noqa: N802 - the name of the tool
    a.append("mine")
    return f"{len(a)}"


async def G(a: list[int]) -> str:  # noqa: N802 - the name of the tool
    return f"{len(a)}"


def test_a_reply_that_is_cancelled_while_its_calls_are_written_down_keeps_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    with_envelope = run.with_envelope

    def slowly(*arguments: Any) -> tw.ToolAggregateMessage:
        begun.set()
        go_on.wait(10)
        return with_envelope(*arguments)

    monkeypatch.setattr(run, "with_envelope", slowly)

    async def main() -> tuple[tw.Message, ...]:
        model = ScriptedModel(
            LONG.format(name="tool_call name='H'", more="").replace(
                "</tool_call name='H'>", "</tool_call>"
            )
        )
        reply = NaturalToolUse(model, [tool(F)]).open("Go on.")
        reading = asyncio.ensure_future(reply.wait())
        await asyncio.to_thread(begun.wait, 10)
        go_on.set()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return reply.messages

    messages = asyncio.run(main())
    [aggregate] = [each for each in messages if isinstance(each, tw.ToolAggregateMessage)]
    [call], [result] = aggregate.tool_calls, aggregate.tool_results
    assert len(call.arguments["a"][0]) == 90_000
    assert result.error_code is ErrorCode.UNKNOWN_TOOL


def test_long_arguments_are_converted_for_each_attempt_and_rejected_like_short_ones() -> None:
    async def main() -> list[tw.ToolResult]:
        model = ScriptedModel(
            LONG.format(name="F", more="") + LONG.format(name="G", more="") + "<G/>", "Done."
        )
        result = await Agent(model, [tool(F), tool(G)]).run("Go on.")
        [aggregate] = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
        assert len(aggregate.tool_calls[0].arguments["a"]) == 1
        return list(aggregate.tool_results)

    first, long, short = asyncio.run(main())
    assert first.result == "2"
    assert long.error_code is short.error_code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_long_native_calls_come_whole_one_after_the_other(pieces: int) -> None:
    """Check calls of many pieces, each of which may end the call."""
    wanted = [{"a": ["x" * 200_000]}, {"a": ["y" * 150_000, "z"]}]
    updates: list[tw.Update] = []
    for index, arguments in enumerate(wanted):
        text = json.dumps(arguments)
        step = -(-len(text) // pieces)
        updates.append(tw.ToolCallUpdate(f"c{index}", index, "F", ""))
        updates += [
            tw.ToolCallUpdate(index=index, function_args=text[at : at + step])
            for at in range(0, len(text), step)
        ]
    model = ScriptedModel(updates, native_tools=True)
    messages = asyncio.run(NaturalToolUse(model, [tool(F)], tool_mode="native").complete("Go on."))
    [aggregate] = [each for each in messages if isinstance(each, tw.ToolAggregateMessage)]
    assert [call.arguments for call in aggregate.tool_calls] == wanted
    assert [result.result for result in aggregate.tool_results] == ["2", "3"]
