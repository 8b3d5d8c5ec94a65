"""Tests of the test doubles that the package provides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from toolweave import (
    FinishUpdate,
    FunctionContract,
    Message,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    Update,
    UsageUpdate,
)
from toolweave.models import complete
from toolweave.protocols import ModelOptions
from toolweave.testing import ModelRequest, RecordingObserver, ScriptedModel

HI = [TextMessage("Hi")]


def updates(model: ScriptedModel, messages: Sequence[Message] = HI) -> list[Update]:
    async def read() -> list[Update]:
        return [update async for update in model.stream(messages)]

    return asyncio.run(read())


async def in_turns(_: Sequence[Message]) -> AsyncIterator[str]:
    yield "one "
    yield "two"


async def waits(_: Sequence[Message]) -> list[str]:
    return ["one ", "two"]


@pytest.mark.parametrize(
    "reply",
    [
        ["one ", "two"],
        ("one ", "two"),
        lambda _: ["one ", "two"],
        waits,
        in_turns,
        in_turns(HI),
        [TextDelta("one "), "two", FinishUpdate("stop")],
    ],
)
def test_a_reply_is_scripted_as_pieces_or_as_what_gives_them(reply: Any) -> None:
    assert updates(ScriptedModel(reply)) == [
        TextDelta("one "),
        TextDelta("two"),
        FinishUpdate("stop"),
    ]


def test_updates_come_as_they_are_and_whole_calls_as_native_fragments() -> None:
    scripted: list[Any] = [
        ReasoningDelta("Hm."),
        ToolCall("c1", "Add", {"é": 1}),
        ToolCall("c2", "Add", {}, raw='{"a":2}'),
        UsageUpdate(1, 2),
    ]
    assert updates(ScriptedModel(scripted)) == [
        ReasoningDelta("Hm."),
        ToolCallUpdate("c1", 0, "Add", '{"é": 1}'),
        ToolCallUpdate("c2", 1, "Add", '{"a":2}'),
        UsageUpdate(1, 2),
        FinishUpdate("tool_calls"),
    ]


def test_a_reply_that_says_how_it_ends_ends_so() -> None:
    assert updates(ScriptedModel(["cut", FinishUpdate("length")]))[-1] == FinishUpdate("length")


def test_an_exception_is_raised_where_it_stands() -> None:
    model = ScriptedModel(["one", ConnectionError("gone")], KeyError("x"))

    async def read() -> list[Update]:
        stream = model.stream(HI)
        came = [await anext(stream)]
        with pytest.raises(ConnectionError, match="gone"):
            await anext(stream)
        return came

    assert asyncio.run(read()) == [TextDelta("one")]
    with pytest.raises(KeyError):
        updates(model)


def test_requests_are_recorded_as_they_were() -> None:
    model = ScriptedModel("a", "b")
    messages: list[Message] = [TextMessage("Hi")]
    options = ModelOptions(stop=("x",))

    async def ask() -> None:
        stream = model.stream(messages, tools=[FunctionContract("Add")], options=options)
        await anext(stream)
        messages.append(TextMessage("later"))
        await anext(stream)

    asyncio.run(ask())
    assert model.requests == [
        ModelRequest((TextMessage("Hi"),), (FunctionContract("Add"),), options)
    ]


def test_asking_for_more_than_is_scripted_says_so_with_the_last_message() -> None:
    model = ScriptedModel("one", name="m")
    updates(model)
    with pytest.raises(AssertionError, match=r"'m' was asked for reply 2, but only 1 .*text='Hi'"):
        updates(model)
    with pytest.raises(AssertionError, match=r"reply 3, .* the conversation was empty"):
        updates(model, [])
    assert len(model.requests) == 3
    assert repr(model) == "ScriptedModel(m, asked 3 times, 1 replies)"


def test_an_invalid_piece_is_a_type_error() -> None:
    with pytest.raises(
        TypeError, match="must be a str, an update, a ToolCall or an exception, got int"
    ):
        updates(ScriptedModel([7]))


def test_a_reply_that_is_not_read_to_the_end_is_counted() -> None:
    model = ScriptedModel(["one", "two"], ["three"])

    async def read_one() -> None:
        stream = model.stream(HI)
        await anext(stream)
        await stream.aclose()

    asyncio.run(read_one())
    assert model.abandoned == 1
    updates(model)
    assert model.abandoned == 1


def test_replies_are_given_in_the_order_of_the_requests_however_these_overlap() -> None:
    model = ScriptedModel(*[[str(number), " done"] for number in range(50)])

    async def ask() -> list[str]:
        replies = await asyncio.gather(*(complete(model, f"{n}") for n in range(50)))
        return [getattr(reply.messages[0], "text", "") for reply in replies]

    assert asyncio.run(ask()) == [f"{number} done" for number in range(50)]


def test_an_observer_records_events_in_order() -> None:
    observer = RecordingObserver()
    call = ToolCall("c1", "Add", {})
    result = ToolResult("c1", "Add", "2")
    observer.on_started(call)
    observer.on_progress(call, 50)
    observer.on_result(call, result)
    assert observer.events == [
        ("started", call, None),
        ("progress", call, 50),
        ("result", call, result),
    ]
    assert (observer.started, observer.progress, observer.results) == (
        [call],
        [(call, 50)],
        [result],
    )
