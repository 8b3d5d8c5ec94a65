"""Growth of the next request is bounded by the size of a reply."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import call as called
from calculator_scenes import manager_of, model_of, result_of
from effort import effort
from toolweave.agent import Agent
from toolweave.kinds import ErrorCode
from toolweave.models import as_messages, complete
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel
from toolweave.tools import Tool, Toolset

GROWTH = 8
MAX_CALLS = 16
# Overhead for each call in a request: tags, ids, and one short sentence.
A_CALL = 640
A_REPLY = 24_000

OBJECT = {"type": "object"}


def okay(**_: Any) -> str:
    return "ok"


TOOLS = Toolset(
    [
        Tool.from_schema(name, schema, okay)
        for name, schema in {
            "F": OBJECT,
            "Strict": {
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {"enum": ["only", "these"]}},
                    "text": {"type": "integer"},
                    "far": {"maxProperties": 1, "additionalProperties": {"type": "string"}},
                },
                "additionalProperties": False,
            },
            **{f"{'a_tool_with_a_very_long_name' * 2}_{number}": OBJECT for number in range(60)},
        }.items()
    ]
)


def size(request: Any) -> int:
    """Return the size of a request in UTF-8 bytes, without tools."""
    natural = sum(
        len(message.text.encode())
        for message in request.messages
        if isinstance(message, tw.TextMessage)
    )
    if natural and all(isinstance(message, tw.TextMessage) for message in request.messages):
        return natural
    openai = json.dumps(tw.to_openai(request.messages), ensure_ascii=False)
    anthropic = json.dumps(tw.to_anthropic(request.messages), ensure_ascii=False, default=list)
    return max(len(openai.encode()), len(anthropic.encode()))


async def grown(
    script: Any, *, native: bool, form: Literal["single", "turn", "split"]
) -> tuple[list[tw.Message], int]:
    """Return the messages of a reply, and the growth of the next request."""
    use = NaturalToolUse(
        ScriptedModel(script, native_tools=native),
        TOOLS,
        tool_mode="native" if native else "natural",
        form=form,
        limits=tw.Limits(max_calls=MAX_CALLS),
    )
    reply = use.open("Go on.")
    before = size(reply.request)
    messages = await reply.wait()
    asked = [tw.TextMessage("Go on."), *messages]
    after = size(use.parser.request(asked, tools=use.executor.toolset))
    return list(messages), after - before


def bound(written: int) -> int:
    return GROWTH * written + MAX_CALLS * A_CALL + A_REPLY


HOSTILE = [
    "<F/>",
    "<F></F>",
    '<tool_call name="F"/>',
    "<Nope/>",
    '<tool_call name="nope">{}</tool_call>',
    '<tool_call name="' + '"' * 20 + '">{}</tool_call>',
    '<tool_call name="' + "&<é" * 30 + '">{}</tool_call>',
    '<Strict>{"items": [' + "1," * 40 + "1]}</Strict>",
    '<Strict>{"text": "' + "long " * 60 + '"}</Strict>',
    '<Strict>{"far": {"' + "k" * 300 + '": 1}}</Strict>',
    "<Strict>{" + ",".join(f'"{n}":0' for n in range(40)) + "}</Strict>",
    '<F>{"a": ' + "[" * 100 + "1," * 200 + "1" + "]" * 100 + "}</F>",
    '<F>{"a": "' + "\x01" * 100 + '"}</F>',
    '<F>{"a": [' + "1e15," * 50 + "1]}</F>",
    '<F>{"a": "' + "<F>" * 50 + '"}</F>',
    '<F>{"a": ',
    "<F>not json at all</F>",
    '<tool_response name="F">made up</tool_response>',
    "<F>",
    "</F>",
    "&lt;F>",
    "&amp;amp;lt;F>",
    "<tool_call",
    "<think>",
    "</think>",
    "\n---\n",
    "text ",
    "é\U0001f600",
    "\x01",
]
PIECES = st.lists(
    st.tuples(st.sampled_from(HOSTILE) | st.text(max_size=12), st.integers(1, 100)), max_size=6
)


@settings(max_examples=effort(25))
@given(
    pieces=PIECES,
    form=st.sampled_from(["single", "turn", "split"]),
    end=st.sampled_from(["stop", "length"]),
)
@example(pieces=[("<F/>", 1000)], form="split", end="stop")
@example(pieces=[("<Nope/>", 1000)], form="split", end="stop")
@example(pieces=[(HOSTILE[11], 16)], form="split", end="stop")
def test_the_next_request_is_bounded_by_the_reply(
    pieces: list[tuple[str, int]], form: Literal["single", "turn", "split"], end: str
) -> None:
    reply = "".join(piece * times for piece, times in pieces)
    written = len(reply.encode(errors="replace"))
    reply = reply.encode(errors="replace").decode()

    async def main() -> None:
        _, growth = await grown([reply, tw.FinishUpdate(end)], native=False, form=form)
        assert growth <= bound(written), (growth, written)

    asyncio.run(main())


NATIVE = st.lists(
    st.tuples(
        st.sampled_from(["F", "Strict", "nope", "<F>" * 20, "é" * 100, "n" * 3000]),
        st.sampled_from(["", "{}", "{", "[1]", "nonsense", '{"a": "\\u0001"}']).flatmap(
            lambda text: st.sampled_from([text, text * 50])
        )
        | st.sampled_from(HOSTILE).map(
            lambda piece: piece.removeprefix("<F>").removeprefix("<Strict>").partition("</")[0]
        ),
        st.integers(1, 60),
    ),
    max_size=4,
)


@settings(max_examples=effort(25))
@given(calls=NATIVE, ids=st.sampled_from(["", "id-{}", "same", "i" * 200 + "{}"]))
@example(calls=[("F", "", 1000)], ids="")
@example(calls=[("nope", "", 1000)], ids="")
def test_the_next_request_is_bounded_by_the_native_calls(
    calls: list[tuple[str, str, int]], ids: str
) -> None:
    updates: list[Any] = []
    written = 0
    for name, arguments, times in calls:
        for _ in range(times):
            index = len(updates)
            call_id = ids.format(index)
            updates.append(tw.ToolCallUpdate(call_id or None, index, name, arguments))
            written += len(f"{call_id}{name}{arguments}".encode())

    async def main() -> None:
        script = [*updates, tw.FinishUpdate("tool_calls")]
        _, growth = await grown(script, native=True, form="split")
        assert growth <= bound(written), (growth, written)

    asyncio.run(main())


@pytest.mark.parametrize("native", [False, True])
def test_messages_keep_every_call_and_requests_leave_out_those_beyond_the_limit(
    native: bool,
) -> None:
    script: Any = (
        [tw.ToolCallUpdate(None, index, "F", "{}") for index in range(100)]
        if native
        else ["<F/>" * 100]
    )

    async def main() -> None:
        model = ScriptedModel(
            [*script, tw.FinishUpdate("tool_calls")], "Done.", native_tools=native
        )
        agent = Agent(model, TOOLS, tool_mode="auto", limits=tw.Limits(max_calls=MAX_CALLS))
        async with agent.open("Go on.") as run:
            async for _ in run:
                pass
        [aggregate] = [m for m in run.messages if isinstance(m, tw.ToolAggregateMessage)]
        codes = [result.error_code for result in aggregate.tool_results]
        assert codes == [None] * MAX_CALLS + [ErrorCode.TOO_MANY] * (100 - MAX_CALLS)
        sent = model.requests[-1].messages
        if native:
            [shown] = [m for m in sent if isinstance(m, tw.ToolAggregateMessage)]
            assert len(shown.tool_calls) == len(shown.tool_results) == MAX_CALLS
            text = shown.tool_results[-1].result
        else:
            text = "\n".join(
                m.text for m in sent if isinstance(m, tw.TextMessage) and m.role != "system"
            )
            assert text.count("<tool_response") == MAX_CALLS
        assert text.count("84 more calls") == 1

    asyncio.run(main())


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("piece", ["Nope", "Add", "Calculator", "F"])
def test_the_next_request_of_a_scene_is_bounded_by_the_reply(piece: str, native: bool) -> None:
    def hostile(prefix: str) -> list[Any]:
        if native:
            return [
                tw.ToolCallUpdate(f"{prefix}{index}", index, piece, "{}") for index in range(100)
            ]
        return [called(piece) * 100]

    async def main() -> None:
        finish = tw.FinishUpdate("tool_calls")
        script = [[*hostile(prefix), finish] for prefix in "ab"]
        manager = manager_of(
            *script,
            *["Done."] * 9,
            is_native=native,
            tool_mode="auto",
            limits=tw.Limits(max_calls=MAX_CALLS),
        )
        await result_of(manager, "What is 15 + 27?")
        sizes = [size(request) for request in model_of(manager).requests]
        written = 100 * len(f"a99{piece}{{}}")
        assert len(sizes) > 1
        for before, after in itertools.pairwise(sizes):
            assert after - before <= bound(written)

    asyncio.run(main())


def too_many(count: int, *, first: int = 0) -> tuple[list[tw.ToolCall], list[tw.ToolResult]]:
    calls = [tw.ToolCall(f"call_{first + number}", "F", {}) for number in range(count)]
    results = [
        tw.ToolResult(call.id, "F", "too many", is_error=True, error_code=ErrorCode.TOO_MANY)
        for call in calls
    ]
    return calls, results


def asked_of(messages: Sequence[tw.Message]) -> Sequence[tw.Message]:
    async def main() -> Sequence[tw.Message]:
        model = ScriptedModel("Done.")
        await complete(model, messages)
        return model.requests[0].messages

    return asyncio.run(main())


def test_a_reply_of_nothing_but_calls_beyond_the_limit_keeps_one_that_counts_them() -> None:
    calls, results = too_many(9)
    [shown] = asked_of([tw.ToolAggregateMessage(calls, results)])
    assert isinstance(shown, tw.ToolAggregateMessage)
    assert len(shown.tool_calls) == 1
    assert "9 calls" in shown.tool_results[0].result


def test_calls_whose_results_are_messages_of_their_own_are_left_out_with_them() -> None:
    calls, results = too_many(9, first=1)
    kept = tw.ToolCall("call_0", "F", {})
    history = [
        tw.TextMessage("Go on."),
        tw.ToolCallMessage([kept, *calls]),
        tw.ToolResultMessage([tw.ToolResult("call_0", "F", "ok"), *results[:4]]),
        tw.ToolResultMessage(results[4:]),
        tw.TextMessage("And now?"),
    ]
    text, asked, answered, last = asked_of(history)
    assert (text, last) == (history[0], history[-1])
    assert isinstance(asked, tw.ToolCallMessage)
    assert isinstance(answered, tw.ToolResultMessage)
    assert asked.tool_calls == (kept,)
    assert [result.tool_call_id for result in answered.tool_results] == ["call_0"]
    assert answered.tool_results[0].result.startswith("ok\n")
    assert "9 more calls" in answered.tool_results[0].result


def test_other_histories_are_sent_as_they_are() -> None:
    calls, _ = too_many(2)
    results = [tw.ToolResult(call.id, "F", "ok") for call in calls]
    history = [tw.TextMessage("Hi"), tw.ToolAggregateMessage(calls, results)]
    assert all(
        sent is given for sent, given in zip(asked_of(history), as_messages(history), strict=True)
    )
