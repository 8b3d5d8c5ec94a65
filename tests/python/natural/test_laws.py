"""Invariants of replies, for all chunkings, tool modes and results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import collect
from parser_replies import NAMES, TOOLS, hostile, objects, prose, replies, split_at
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset

cuts = st.lists(st.integers(0, 500), max_size=8)
endings = st.sampled_from(["stop", "length", "content_filter", "missing"])


def echo(**arguments: Any) -> Any:
    return arguments


ECHOES = Toolset(TOOLS, handlers=dict.fromkeys(NAMES, echo))


def use(*script: Any, native: bool = False) -> NaturalToolUse:
    """Return a deterministic natural tool use."""
    return NaturalToolUse(
        ScriptedModel(*script, native_tools=native),
        ECHOES,
        tool_mode="auto",
        generation_ids=lambda: "g",
        clock=lambda: 0.0,
    )


def replied(pieces: Sequence[Any], **options: Any) -> list[tw.Message]:
    return list(asyncio.run(use(pieces, **options).open("Hi!").wait()))


def streamed(pieces: Sequence[Any], **options: Any) -> list[Any]:
    return asyncio.run(collect(use(pieces, **options).open("Hi!")))


def made(messages: Sequence[tw.Message]) -> list[tuple[tw.ToolCall, tw.ToolResult]]:
    """Return the calls with their results."""
    return [
        pair
        for message in messages
        if isinstance(message, tw.ToolAggregateMessage)
        for pair in zip(message.tool_calls, message.tool_results, strict=True)
    ]


@given(reply=replies, cut=cuts, end=endings)
def test_the_messages_do_not_depend_on_how_the_reply_was_cut(
    reply: str, cut: list[int], end: str
) -> None:
    whole = replied([reply, tw.FinishUpdate(end)])
    assert replied([*split_at(reply, cut), tw.FinishUpdate(end)]) == whole


@given(reply=replies, end=endings)
def test_every_call_has_one_result_and_all_text_is_there_in_order(reply: str, end: str) -> None:
    expected = tw.parse(reply, TOOLS, truncated=end != "stop")
    events = streamed([reply, tw.FinishUpdate(end)])
    calls = [e for e in expected if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    results = [event for event in events if isinstance(event, tw.ToolResult)]
    assert sorted(result.tool_call_id for result in results) == sorted(
        f"call_g_{index}" for index in range(len(calls))
    )
    aggregates = [event for event in events if isinstance(event, tw.ToolAggregateMessage)]
    for (call, result), written in zip(made(aggregates), calls, strict=True):
        assert (call.name, call.raw) == (written.name, written.raw)
        assert result.tool_call_id == call.id
        assert result.is_error is isinstance(written, tw.InvalidToolCall)
        if isinstance(written, tw.ToolCall):
            assert json.loads(result.result) == written.arguments
    text = "".join(event.text for event in events if isinstance(event, tw.TextDelta))
    assert text == "".join(event.text for event in expected if isinstance(event, tw.TextDelta))
    assert events[-1].reason == ("tool_calls" if calls and end == "stop" else end)


@given(reply=replies, end=endings)
def test_any_reply_can_be_part_of_the_next_request(reply: str, end: str) -> None:
    model = ScriptedModel([reply, tw.FinishUpdate(end)], "Fine.")
    natural = NaturalToolUse(model, ECHOES)

    async def twice() -> list[tw.Message]:
        # One request each, even if a reply is empty.
        messages = list(await natural.open("Hi!").wait())
        await natural.open([tw.TextMessage("Hi!"), *messages]).wait()
        return messages

    messages = asyncio.run(twice())
    sent = model.requests[1].messages
    if made(messages):
        # Not of the model, which would have nothing to answer.
        assert sent[-1].role is tw.Role.USER
    read = tw.parse_history(sent[1:], TOOLS)
    # The name of an unknown tool can be distinguished from text only by its result.
    calls = [c for message in read for c in getattr(message, "tool_calls", ()) if c.name in NAMES]
    results = [result for message in read for result in getattr(message, "tool_results", ())]
    assert [(call.name, call.arguments) for call in calls] == [
        (call.name, call.arguments) for call, _ in made(messages) if call.name in NAMES
    ]
    assert [(r.tool_call_id, r.result, r.is_error) for r in results] == [
        (r.tool_call_id, r.result, r.is_error) for _, r in made(messages)
    ]
    tw.to_openai(messages)
    tw.to_anthropic(messages)


@st.composite
def mixed_parts(draw: st.DrawFn) -> list[str | tuple[str, dict[str, Any]]]:
    """Generate text and calls, in any order."""
    text = prose.filter(lambda text: text.strip() == text != "")
    call = st.tuples(st.sampled_from(["Any", "Émoji"]), objects)
    return draw(st.lists(text | call, max_size=5))


@given(parts=mixed_parts(), usage=st.integers(0, 9))
def test_native_and_natural_replies_give_the_same_messages(
    parts: list[str | tuple[str, dict[str, Any]]], usage: int
) -> None:
    inline: list[Any] = []
    native: list[Any] = []
    for index, part in enumerate(parts):
        if isinstance(part, str):
            inline.append(part)
            native.append(part)
        else:
            name, arguments = part
            payload = json.dumps(arguments)
            number = sum(isinstance(before, tuple) for before in parts[:index])
            inline.append(f"<{name}>{payload}</{name}>")
            native.append(tw.ToolCallUpdate(f"call_g_{number}", number, name, payload))
    for pieces in (inline, native):
        pieces.append(tw.UsageUpdate(usage, usage))
    assert _without_raw(replied(inline)) == _without_raw(replied(native, native=True))


def _without_raw(messages: list[tw.Message]) -> list[tw.Message]:
    """Return the messages without the raw text and dialect of calls, by which modes differ."""
    return [
        message.__replace__(
            tool_calls=[call.__replace__(raw="", dialect="natural") for call in message.tool_calls]
        )
        if isinstance(message, tw.ToolAggregateMessage)
        else message
        for message in messages
    ]


@given(text=hostile() | st.text(max_size=30), tag=st.sampled_from(["name", "tool_call"]))
def test_a_result_is_never_a_call_even_if_the_model_repeats_it(text: str, tag: Any) -> None:
    def repeat(messages: Sequence[tw.Message]) -> str:
        answer = messages[-1]
        assert isinstance(answer, tw.TextMessage)
        first, *body, last = answer.text.split("\n")
        assert first.startswith("<tool_response")
        assert last == "</tool_response>"
        return "\n".join(body)

    model = ScriptedModel("<Any/>", repeat)
    handlers = {**dict.fromkeys(NAMES, echo), "Any": lambda: text}
    natural = NaturalToolUse(model, TOOLS, handlers=handlers, tag=tag)

    async def converse() -> tuple[list[tw.Message], list[Any]]:
        first = await natural.complete("Go!")
        again = natural.open([tw.TextMessage("Go!"), *first])
        return first, await collect(again)

    first, events = asyncio.run(converse())
    assert [result.result for _, result in made(first)] == [text]
    calls = (tw.ToolCall, tw.InvalidToolCall, tw.FabricatedResult)
    assert not [event for event in events if isinstance(event, calls)]
