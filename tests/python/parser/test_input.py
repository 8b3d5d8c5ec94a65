"""Unusual replies, broken streams and misused parsers: at worst, a clear error."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import pytest

import toolweave as tw
from parser_replies import TOOLS, joined, source

PING = "<Ping/>"


# Text.


@pytest.mark.parametrize("wrong", [None, b"text", 1, 1.5, ["a"], object(), bytearray(b"x")])
def test_other_types_than_str_are_a_type_error(wrong: Any) -> None:
    parser = tw.Parser(TOOLS)
    with pytest.raises(TypeError, match="str"):
        parser.push(wrong)
    with pytest.raises(TypeError, match="str"):
        tw.parse(wrong, TOOLS)
    for chunks in ([wrong], ["a", wrong], (wrong,)):
        with pytest.raises(TypeError, match="str"):
            parser.push_many(chunks)
        with pytest.raises(TypeError, match="str"):
            list(tw.parse_stream(chunks, TOOLS))
    assert parser.push_many(["a", "b"]) == (tw.TextDelta("ab"),)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_a_unicode_error_and_changes_nothing(
    text: str,
) -> None:
    parser = tw.Parser(TOOLS)
    parser.push("<Pi")
    for feed in (parser.push, lambda text: parser.push_many(["ng/>", text])):
        with pytest.raises(UnicodeEncodeError):
            feed(text)
    with pytest.raises(UnicodeEncodeError):
        tw.parse(text, TOOLS)
    with pytest.raises(UnicodeEncodeError):
        list(tw.parse_stream([text], TOOLS))
    assert [type(event) for event in parser.push("ng/>")] == [tw.ToolCallStart, tw.ToolCall]


def test_an_empty_reply_has_no_events() -> None:
    assert tw.parse("", TOOLS) == ()
    assert list(tw.parse_stream([], TOOLS)) == []
    assert list(tw.parse_stream(["", ""], TOOLS)) == []
    assert tw.Parser(TOOLS).finish() == ()


def test_one_str_is_not_a_stream_of_chunks() -> None:
    for take in (tw.Parser(TOOLS).push_many, lambda text: tw.parse_stream(text, TOOLS)):
        with pytest.raises(TypeError, match="got one str"):
            take("abc")


@pytest.mark.parametrize("wrong", [None, 1, object()])
def test_chunks_must_be_iterable(wrong: Any) -> None:
    with pytest.raises(TypeError):
        tw.Parser(TOOLS).push_many(wrong)
    with pytest.raises(TypeError):
        tw.parse_stream(wrong, TOOLS)


def test_chunks_may_be_of_a_subclass_of_str() -> None:
    class Chunk(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    (event,) = tw.Parser(TOOLS).push(Chunk("text"))
    assert isinstance(event, tw.TextDelta)
    assert str.__eq__(event.text, "text")
    assert source(tw.parse(Chunk(f"a{PING}b"), TOOLS)) == f"a{PING}b"


# Sources of chunks.


def breaking(reply: str, error: BaseException) -> Iterator[str]:
    yield from reply
    raise error


def drained(stream: Iterable[tw.Event]) -> tuple[str, Exception | None]:
    """Return the text of all events of a stream, and the error that ended it."""
    events: list[tw.Event] = []
    try:
        events += stream
    except Exception as error:  # noqa: BLE001 (whatever it is, it is looked at)
        return source(events), error
    return source(events), None


def test_events_before_a_broken_stream_are_yielded_first() -> None:
    error = ConnectionError("reset")
    stream = tw.parse_stream(breaking(f"hi {PING} yo <Pin", error), TOOLS)
    assert drained(stream) == (f"hi {PING} yo ", error)


def test_events_before_a_broken_async_stream_are_yielded_first() -> None:
    error = ConnectionError("reset")

    async def chunks() -> AsyncIterator[str]:
        for chunk in breaking(f"hi {PING} yo <Pin", error):
            yield chunk

    reported: list[str] = []

    async def run() -> None:
        async for event in tw.parse_stream(chunks(), TOOLS):
            reported.append(source([event]))  # noqa: PERF401 (what came before the error counts)

    with pytest.raises(ConnectionError) as caught:
        asyncio.run(run())
    assert caught.value is error
    assert "".join(reported) == f"hi {PING} yo "


def test_an_async_stream_may_be_left_early() -> None:
    closed = []

    async def chunks() -> AsyncIterator[str]:
        try:
            while True:
                yield "word "
        finally:
            closed.append(True)

    async def run() -> None:
        source = chunks()
        stream = tw.parse_stream(source, TOOLS)
        assert await anext(stream) == tw.TextDelta("word ")
        await stream.aclose()  # type: ignore[attr-defined]
        await source.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())
    assert closed


def test_a_stream_that_has_ended_stays_ended() -> None:
    stream = tw.parse_stream(iter(["a"]), TOOLS)
    assert list(stream) == [tw.TextDelta("a")]
    assert list(stream) == []
    assert iter(stream) is stream


# Ids.


def test_ids_come_from_the_factory() -> None:
    events = tw.parse(PING * 3, TOOLS, id_factory="id-{}".format)
    ids = [event.id for event in events if isinstance(event, tw.ToolCallStart | tw.ToolCall)]
    assert ids == ["id-0", "id-0", "id-1", "id-1", "id-2", "id-2"]


def test_the_factory_is_called_once_for_each_call() -> None:
    asked: list[int] = []

    def factory(index: int) -> str:
        asked.append(index)
        return f"id-{index}"

    reply = f'{PING}<Any>{{"a": 1}}</Any><Add></Add><tool_call name="nope">{{}}</tool_call>'
    parser = tw.Parser(TOOLS, id_factory=factory)
    for chunk in reply:
        parser.push(chunk)
    parser.finish()
    assert asked == [0, 1, 2, 3]


def raising(_: int) -> str:
    raise LookupError("no ids left")


@pytest.mark.parametrize(
    ("factory", "error"),
    [
        (raising, LookupError),
        (lambda index: index, TypeError),
        (lambda _: None, TypeError),
        (lambda _: b"x", TypeError),
        (lambda: "x", TypeError),
        (int, TypeError),
    ],
)
def test_an_error_of_an_id_factory_is_raised_and_the_parser_continues(
    factory: Any, error: type[Exception]
) -> None:
    parser = tw.Parser(TOOLS, id_factory=factory)
    with pytest.raises(error):
        parser.push(f"a {PING} b")
    with pytest.raises(error):
        tw.parse(PING, TOOLS, id_factory=factory)
    with pytest.raises(error):
        list(tw.parse_stream(["a", PING], TOOLS, id_factory=factory))
    assert parser.push(" c") == (tw.TextDelta(" c"),)
    assert parser.finish() == ()
    parser.reset()
    assert parser.push("d") == (tw.TextDelta("d"),)


def test_a_parser_cannot_be_used_from_inside_itself() -> None:
    caught: list[Exception] = []

    def factory(_: int) -> str:
        for use in (lambda: parser.push("x"), parser.finish, parser.reset):
            try:
                use()
            except RuntimeError as error:
                caught.append(error)
        return "id"

    parser = tw.Parser(TOOLS, id_factory=factory)
    assert source(parser.push(f"a{PING}b")) == f"a{PING}b"
    assert len(caught) == 3


def test_a_stream_cannot_be_read_from_inside_itself() -> None:
    caught: list[Exception] = []

    def chunks() -> Iterator[str]:
        yield "a"
        try:
            next(stream)
        except RuntimeError as error:
            caught.append(error)
        yield "b"

    stream = iter(tw.parse_stream(chunks(), TOOLS))
    assert list(stream) == [tw.TextDelta("a"), tw.TextDelta("b")]
    assert len(caught) == 1


# State.


def test_reset_discards_a_reply_at_any_point() -> None:
    reply = 'a <Any>\n```json\n{"a": "b\\ud83d\\ude00 </Any>"}\n```\n</Any><think>c</think>'
    parser, fresh = tw.Parser(TOOLS), tw.Parser(TOOLS)
    whole = joined([*fresh.push(reply), *fresh.finish()])
    for end in range(len(reply)):
        parser.push(reply[:end])
        parser.reset()
        assert joined([*parser.push(reply), *parser.finish()]) == whole


def test_finish_prepares_for_the_next_reply_and_may_be_repeated() -> None:
    parser = tw.Parser(TOOLS)
    for _ in range(2):
        events = [*parser.push(f"a{PING}<Any>" + '{"a": 1'), *parser.finish()]
        assert [e.index for e in events if isinstance(e, tw.ToolCallStart)] == [0, 1]
        assert isinstance(events[-1], tw.InvalidToolCall)
        assert parser.finish() == ()
        assert parser.finish(truncated=True) == ()
    for wrong in (1, None, "yes"):
        with pytest.raises(TypeError):
            parser.finish(truncated=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        parser.finish(True)  # type: ignore[misc]


def test_two_threads_cause_no_panic_and_lose_no_accepted_text() -> None:
    parser = tw.Parser(TOOLS, id_factory=lambda index: (time.sleep(0), f"id-{index}")[1])
    taken: list[str] = []
    errors: list[BaseException] = []

    def feed_once() -> None:
        try:
            taken.append(source(parser.push(f"a{PING}b")))
        except BaseException as error:  # noqa: BLE001 (a panic would be one of these)
            errors.append(error)

    def feed() -> None:
        for _ in range(300):
            feed_once()

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(taken) <= {f"a{PING}b"}
    assert all(type(error) is RuntimeError for error in errors), errors
    assert len(taken) + len(errors) == 1200
    assert parser.finish() == ()


def test_concurrent_parsers_are_independent() -> None:
    results: dict[int, list[tw.Event]] = {}

    def run(number: int) -> None:
        parser = tw.Parser(TOOLS)
        reply = f'<Any>{{"n": {number}, "s": "{"x" * number}"}}</Any>' * 20
        results[number] = [e for char in reply for e in parser.push(char)]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, events in results.items():
        calls = [event for event in events if isinstance(event, tw.ToolCall)]
        assert [call.arguments for call in calls] == [{"n": number, "s": "x" * number}] * 20


# Garbage collection.


class Held:
    """An object with weak references and attributes, for reference cycles."""

    mine: Any

    def __call__(self, _: int) -> str:
        return "id"

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return "x"


CYCLES: dict[str, Callable[[Held], Any]] = {
    "a parser and its id_factory": lambda held: tw.Parser(TOOLS, id_factory=held),
    "a stream and its id_factory": lambda held: tw.parse_stream([], TOOLS, id_factory=held),
    "a stream and its chunks": lambda held: tw.parse_stream(held, TOOLS),
}


@pytest.mark.parametrize("cycle", sorted(CYCLES))
def test_a_cycle_through_a_parser_is_collected(cycle: str) -> None:
    held = Held()
    held.mine = CYCLES[cycle](held)
    watched = weakref.ref(held)
    del held
    gc.collect()
    assert watched() is None


def test_events_before_an_invalid_item_of_a_list_are_yielded() -> None:
    stream = tw.parse_stream(["a ", PING, " b", 3, "c"], TOOLS)  # type: ignore[list-item]
    reported, error = drained(stream)
    assert isinstance(error, TypeError)
    assert reported == f"a {PING} b"
