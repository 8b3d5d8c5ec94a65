"""No operation holds the event loop for long, however large its input within the limits is.

The suite's `loop_watchdog` fails each of these tests in which a callback takes more than 50 ms, or
40 ns for each byte of the input.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import toolweave as tw
from loop_watchdog import Watchdog, many
from toolweave.agent import Agent, UsageLimits
from toolweave.executor import ToolExecutor
from toolweave.kinds import ErrorCode
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.tools import Tool, tool

OBJECT = {"type": "object"}


# Limits on the arguments of a call: bytes, and depth inside the array.
LONGEST = tw.Limits().max_argument_bytes
DEEPEST = tw.Limits().max_depth - 1


def call_of(pieces: str, *, before: str = "", after: str = "1") -> str:
    """Return a call whose arguments are an array of `pieces` of the maximum length."""
    number = many((LONGEST - 4096) // len(pieces))
    return f'<F>{{"a": [{before}{pieces * number}{after}]}}</F>'


REPLIES = {
    "empty calls": "<F/>" * many(100_000),
    "calls with text between them": "x\n<F/>\n" * many(50_000),
    "unknown calls": '<tool_call name="G"/>' * many(20_000),
    "made-up results": '<tool_response name="F">x</tool_response>' * many(20_000),
    "text": "word " * many(400_000),
    "text like tags": "<F " * many(400_000),
    "thoughts": "<think>x</think>" * many(20_000),
    "a long call": call_of("x" * 8192, before='"', after='"'),
    "a call of many items": call_of("1,"),
    "a call of many lists": call_of("[],"),
    "a broken call": call_of("1,", after="1,"),
    "a call broken everywhere": call_of("'é' "),
    "a call that fits nowhere": call_of('"1",', after='"'),
    "a deep call": call_of("1,", before="[" * (DEEPEST - 2), after="1" + "]" * (DEEPEST - 2)),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=list(REPLIES))
def test_a_reply_in_one_chunk(reply: str, loop_watchdog: Watchdog) -> None:
    loop_watchdog.input(len(reply))

    async def main() -> None:
        tool = Tool.from_schema("F", OBJECT, _okay)
        model = ScriptedModel([reply, tw.FinishUpdate("stop")], "Done.")
        async with Agent(model, [tool], limits=tw.Limits(max_calls=20)).open("Go on.") as run:
            async for _ in run:
                pass
        assert run.messages

    asyncio.run(main())


@pytest.mark.parametrize("name", ["empty calls", "a call of many items"])
def test_a_reply_in_a_run_with_limits(name: str, loop_watchdog: Watchdog) -> None:
    """Tokens that no provider reports are estimated, of the next request as well."""
    loop_watchdog.input(len(REPLIES[name]))

    async def main() -> None:
        model = ScriptedModel([REPLIES[name], tw.FinishUpdate("stop")], "Done.")
        limits = UsageLimits(total_tokens=10**9)
        agent = Agent(model, [Tool.from_schema("F", OBJECT, _okay)], usage_limits=limits)
        result = await agent.run("Go on.")
        assert result.text == "Done."
        assert result.cost.estimated
        assert result.cost.output_tokens > len(REPLIES[name]) // 4

    asyncio.run(main())


async def _okay(**_: Any) -> str:
    return "ok"


async def numbers(a: list[int]) -> str:
    return str(len(a))


async def lists(a: list[list[float]]) -> str:
    return str(len(a))


async def anything(a: list[Any], b: str = "") -> str:
    return f"{len(a)}{b}"


CALLS: dict[str, tuple[Any, str]] = {
    "numbers as text": (numbers, call_of('"1",', after='"1"')),
    "fewer numbers as text": (numbers, '<F>{"a": ["1"' + ',"1"' * many(30_000) + "]}</F>"),
    "lists of numbers": (lists, call_of("[1],", after="[1]")),
    "lists of anything": (anything, call_of("[[]],")),
    "a long name": (anything, f'<F>{{"a": [], "{"b" * many(1_000_000)}": 1}}</F>'),
    "literals of Python": (anything, call_of("True,", after="None")),
}


@pytest.mark.parametrize(("function", "reply"), CALLS.values(), ids=list(CALLS))
def test_a_call_that_is_brought_to_types(
    function: Any, reply: str, loop_watchdog: Watchdog
) -> None:
    loop_watchdog.input(len(reply))
    written: Any = reply
    native = "True" in reply
    if native:
        bare = reply.removeprefix("<F>").removesuffix("</F>")
        written = tw.ToolCallUpdate("call-0", 0, "F", bare)

    async def main() -> None:
        calls = [written, tw.FinishUpdate("tool_calls")]
        model = ScriptedModel(calls, "Done.", native_tools=native)
        agent = Agent(model, [tool(name="F")(function)], tool_mode="auto")
        assert (await agent.run("Go on.")).text == "Done."

    asyncio.run(main())


UNKNOWN = "<tool_call name='G'>{{\"a\": [{}1]}}</tool_call>".format("[]," * 30_000)


def test_long_calls_of_unknown_tools(loop_watchdog: Watchdog) -> None:
    reply = UNKNOWN * many(16)
    loop_watchdog.input(len(reply))

    async def main() -> None:
        model = ScriptedModel([reply, tw.FinishUpdate("stop")], "Done.")
        result = await Agent(model, [Tool.from_schema("F", OBJECT, _okay)]).run("Go on.")
        [aggregate] = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
        assert all("a" in call.arguments for call in aggregate.tool_calls)

    asyncio.run(main())


RESULTS: dict[str, Any] = {
    "text": "word " * many(800_000),
    "text like tags": "<F>" * many(300_000),
    "numbers": list(range(many(200_000))),
    "objects": [{"a": number, "b": "x"} for number in range(many(40_000))],
    "a set": set(range(many(150_000))),
    "tuples": [(number, {number}) for number in range(many(60_000))],
    "JSON text": json.dumps([{"a": number} for number in range(many(60_000))]),
    "deep": [json.loads("[" * 100 + "]" * 100)] * many(2_000),
}


@pytest.mark.parametrize("value", RESULTS.values(), ids=list(RESULTS))
@pytest.mark.parametrize("native", [False, True])
def test_the_result_of_a_tool(value: Any, native: bool, loop_watchdog: Watchdog) -> None:
    async def F() -> Any:  # noqa: N802 - the name of the tool
        return value

    async def main() -> None:
        executor = ToolExecutor([Tool.from_schema("F", OBJECT, F)])
        # The text of the result is the input of the request.
        aggregate = await executor.execute([tw.ToolCall("call_0", "F", {})])
        [result] = aggregate.tool_results
        assert not result.is_error
        loop_watchdog.input(len(result.result))
        call: Any = tw.ToolCallUpdate(None, 0, "F", "{}") if native else "<F/>"
        model = ScriptedModel([call, tw.FinishUpdate("tool_calls")], "Done.", native_tools=native)
        agent = Agent(model, executor=executor, tool_mode="auto")
        assert (await agent.run("Go on.")).text == "Done."

    asyncio.run(main())


@pytest.mark.holds_the_loop("a value that changes all the time is written on the loop in the end")
def test_a_result_that_changes_while_it_is_written_is_written_all_the_same() -> None:
    shared: dict[int, set[int]] = {number: {number} for number in range(20_000)}

    async def F() -> Any:  # noqa: N802 - the name of the tool
        asyncio.get_running_loop().call_later(0.001, change, 0)
        return shared

    def change(times: int) -> None:
        shared[-times] = {times}
        if times < 50:
            asyncio.get_running_loop().call_later(0.001, change, times + 1)

    async def main() -> None:
        executor = ToolExecutor([Tool.from_schema("F", OBJECT, F)], max_result_chars=None)
        aggregate = await executor.execute([tw.ToolCall("call_0", "F", {})])
        [result] = aggregate.tool_results
        assert not result.is_error
        assert len(json.loads(result.result)) >= 20_000

    asyncio.run(main())


def test_calls_beyond_the_limit_cost_the_guard_against_loops_nothing() -> None:
    async def main() -> None:
        model = ScriptedModel(["<F/>" * many(50_000), tw.FinishUpdate("stop")], "Done.")
        tools = [Tool.from_schema("F", OBJECT, _okay)]
        agent = Agent(model, tools, max_repeats=2, limits=tw.Limits(max_calls=20))
        result = await agent.run("Go on.")
        [aggregate] = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
        assert aggregate.tool_results[-1].error_code is ErrorCode.TOO_MANY

    asyncio.run(main())


def test_large_messages_are_stored_and_loaded(tmp_path: Path, loop_watchdog: Watchdog) -> None:
    async def main() -> None:
        async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            text = "word <é> " * many(60_000)
            loop_watchdog.input(3 * len(text.encode()))
            chat = await store.create_chat()
            messages = [tw.TextMessage(text, id=f"m{number}") for number in range(3)]
            await store.write(chat.chat_id, messages=messages)
            history = await store.load(chat.chat_id)
            assert [message.to_dict()["text"] for message in history.messages] == [text] * 3

    asyncio.run(main())
