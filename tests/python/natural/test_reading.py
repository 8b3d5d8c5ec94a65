"""Models that parse their own replies give the same events as all others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import collect, on_a_loop
from parser_replies import NAMES, TOOLS, joined, objects, replies, split_at
from toolweave import protocols
from toolweave.exceptions import ModelError, ToolUseParsingError
from toolweave.natural import NaturalToolUse, NaturalToolUseParser, ReplyEvent
from toolweave.natural._reader import read_updates
from toolweave.testing import ScriptedModel

Pieces = Sequence[tw.Update | Exception]


class Reading:
    """A model that yields given updates, and may parse them itself."""

    native_tools = True

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.requests: list[tuple[Any, Any, Any]] = []
        self.left = False

    async def stream(
        self,
        messages: Sequence[tw.Message],
        *,
        tools: Sequence[tw.FunctionContract] = (),
        options: protocols.ModelOptions | None = None,
    ) -> AsyncIterator[tw.Update]:
        self.requests.append((messages, tools, options))
        try:
            for piece in self.pieces:
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.left = True


class ReadingAlone(Reading):
    """A `ParsingModel` that yields given updates."""

    def events(
        self,
        messages: Sequence[tw.Message],
        *,
        tools: Sequence[tw.FunctionContract] = (),
        options: protocols.ModelOptions | None = None,
        parser: tw.Parser,
        inline: bool,
        recovered: bool,
        deltas: bool,
        call_ids: Callable[[int], str] | None,
    ) -> AsyncIterator[ReplyEvent]:
        reader = tw.UpdateReader(
            parser, inline=inline, recovered=recovered, deltas=deltas, call_ids=call_ids
        )
        return read_updates(self.stream(messages, tools=tools, options=options), reader)


async def events_of(model: Reading, **options: Any) -> tuple[list[Any], Exception | None]:
    """Return the events of a reply, and the exception that ended it, if any."""
    seen: list[Any] = []
    call_ids = options.pop("call_ids", None)
    parser = NaturalToolUseParser(model, TOOLS, **options)
    try:
        async for event in parser.stream("Hi!", call_ids=call_ids):
            seen.append(event)  # noqa: PERF401 - what came before it raised
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return seen, error
    return seen, None


LOST = ModelError("the connection was lost", "scripted")


@st.composite
def pieces(draw: st.DrawFn) -> list[tw.Update | Exception]:
    """Generate updates of a model, some of them interrupted."""
    text = replies.map(tw.TextDelta)
    native = st.builds(
        tw.ToolCallUpdate,
        st.sampled_from(["a", "b", None]),
        st.sampled_from([0, 1, None]),
        st.sampled_from(["Any", "Ping", "Nope", None]),
        objects.map(str),
    )
    others = st.sampled_from([tw.ReasoningDelta("Hm."), tw.UsageUpdate(1, 2)])
    reply: list[tw.Update | Exception] = list(draw(st.lists(text | native | others, max_size=6)))
    ends = [tw.FinishUpdate("stop"), tw.FinishUpdate("length"), LOST]
    return [*reply, *draw(st.sampled_from(ends).map(lambda end: [end]) | st.just([]))]


@given(
    pieces(),
    st.sampled_from(["natural", "native"]),
    st.booleans(),
    st.sampled_from([None, lambda index: f"mine-{index}"]),
)
def test_both_ways_of_reading_give_the_same_events(
    reply: list[Any], mode: str, strict: bool, call_ids: Any
) -> None:
    options = {"tool_mode": mode, "strict": strict, "call_ids": call_ids}
    alone, with_help = ReadingAlone(reply), Reading(reply)
    seen, error = asyncio.run(events_of(alone, **options))
    expected, other = asyncio.run(events_of(with_help, **options))
    assert seen == expected
    assert alone.requests == with_help.requests
    assert (type(error), str(error)) == (type(other), str(other))


def test_events_gets_all_options_of_reading() -> None:
    made: list[dict[str, Any]] = []

    class Asked:
        native_tools = True

        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[tw.Update]:
            raise AssertionError
            yield tw.TextDelta("")

        async def events(self, messages: Any, **rest: Any) -> AsyncIterator[ReplyEvent]:
            made.append({"messages": messages, **rest})
            yield tw.FinishUpdate("stop")

    def call_id(index: int) -> str:
        return f"{index}"

    for mode in ("natural", "native"):
        parser = NaturalToolUseParser(Asked(), ["Ping"], tool_mode=mode, deltas=False)  # type: ignore[arg-type]
        asyncio.run(collect(parser.stream("Hi!", call_ids=call_id)))
    natural, native = made
    assert natural["inline"] is True
    assert (natural["recovered"], native["recovered"], native["inline"]) == (False, True, True)
    assert [message.role for message in natural["messages"]] == ["system", "user"]
    assert not natural["tools"]
    assert [tool.name for tool in native["tools"]] == ["Ping"]
    assert natural["options"].stop == ("<tool_response",)
    for asked in made:
        assert isinstance(asked["parser"], tw.Parser)
        assert asked["deltas"] is False
        assert asked["call_ids"] is call_id


def test_an_events_attribute_that_is_not_callable_is_ignored() -> None:
    class Recording(Reading):
        events = "something else"

    assert asyncio.run(events_of(Recording([tw.TextDelta("Hi"), tw.FinishUpdate("stop")]))) == (
        [tw.TextDelta("Hi"), tw.FinishUpdate("stop")],
        None,
    )


def test_its_calls_are_run_and_repaired_like_those_of_any_model() -> None:
    reply = [tw.TextDelta('<Add>{"a": 1}</Add><Any>{"x": 1}</Any>'), tw.FinishUpdate("stop")]
    fallback = ScriptedModel('{"a": 1, "b": 2}')
    seen, _ = asyncio.run(events_of(ReadingAlone(reply), fallback=fallback))
    repaired, other = (event for event in seen if isinstance(event, tw.ToolCall))
    assert (repaired.arguments, other.arguments) == ({"a": 1, "b": 2}, {"x": 1})
    assert seen[-1] == tw.FinishUpdate("tool_calls")
    with pytest.raises(ToolUseParsingError):
        raise asyncio.run(events_of(ReadingAlone(reply), strict=True))[1] or AssertionError
    handlers = dict.fromkeys(NAMES, lambda **arguments: arguments)
    use = NaturalToolUse(ReadingAlone(reply), TOOLS, handlers=handlers)
    *_, message = asyncio.run(use.complete("Hi!"))
    assert isinstance(message, tw.ToolAggregateMessage)
    assert [result.is_error for result in message.tool_results] == [True, False]


def test_a_plain_reply_is_rewritten_in_either_way_of_reading() -> None:
    reply = [tw.TextDelta("I ping."), tw.FinishUpdate("stop")]
    for kind in (Reading, ReadingAlone):
        rewriter = ScriptedModel('{"name": "Ping", "arguments": {}}')
        options = {"fallback": rewriter, "rewrite_plain_replies": True}
        seen, _ = asyncio.run(
            events_of(kind(reply), **options, call_ids=lambda index: f"mine-{index}")
        )
        assert [event.id for event in seen if isinstance(event, tw.ToolCall)] == ["mine-0"]
        assert seen[-1] == tw.FinishUpdate("tool_calls")


@pytest.mark.parametrize("kind", [Reading, ReadingAlone])
@on_a_loop
async def test_closing_the_stream_early_closes_the_model(kind: type[Reading]) -> None:
    model = kind([tw.TextDelta("one "), tw.TextDelta("two ")])
    stream = NaturalToolUseParser(model, TOOLS).stream("Hi!")
    async for _ in stream:
        break
    await stream.aclose()
    assert model.left


@pytest.mark.parametrize("end", [tw.FinishUpdate("length"), LOST, None])
def test_a_reply_that_was_cut_off_is_logged_once(
    end: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reply = [tw.TextDelta("<Ping>{}"), *([] if end is None else [end])]
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        seen, error = asyncio.run(events_of(Reading(reply)))
    assert error is (LOST if end is LOST else None)
    assert [event.kind for event in seen if isinstance(event, tw.InvalidToolCall)] == ["unclosed"]
    warnings_logged = [
        record for record in caplog.records if record.message == "a reply was cut off"
    ]
    assert [record.finish_reason for record in warnings_logged] == [
        "length" if isinstance(end, tw.FinishUpdate) else "missing"
    ]


# A whole reply, read.


async def _each(items: Sequence[Any]) -> AsyncIterator[Any]:
    for item in items:
        if isinstance(item, Exception):
            raise item
        yield item


@given(replies, st.lists(st.integers(0, 500), max_size=8))
def test_what_is_read_ends_with_one_finish(reply: str, cuts: list[int]) -> None:
    updates = [*map(tw.TextDelta, split_at(reply, cuts)), tw.FinishUpdate("stop")]
    reader = tw.UpdateReader(tw.Parser(TOOLS))
    *events, finish = asyncio.run(collect(read_updates(_each(updates), reader)))
    assert joined(events) == joined(tw.parse(reply, TOOLS))
    assert finish == tw.FinishUpdate("stop")


@on_a_loop
async def test_what_had_come_is_read_before_the_failure_is_raised() -> None:
    reader = tw.UpdateReader(tw.Parser(TOOLS))
    seen: list[Any] = []
    with pytest.raises(ModelError) as caught:
        await collect(read_updates(_each([tw.TextDelta("Well. <Ping>{}"), LOST]), reader), seen)
    assert caught.value is LOST
    assert seen[0] == tw.TextDelta("Well. ")
    assert seen[-1].kind == "unclosed"
