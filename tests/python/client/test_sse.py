"""The parser of server-sent events is independent of the division of a stream into chunks."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave.client._sse import EventParser, EventTooLongError, ServerSentEvent

# The separators of `str.splitlines` that do not end a line of a stream.
INSIDE = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
ENDS = st.sampled_from(["\n", "\r", "\r\n"])
pieces = st.text(st.sampled_from(INSIDE + ": 1a") | st.characters(codec="utf-8"), max_size=8).map(
    lambda text: re.sub(r"[\r\n]", "", text)
)
lines = (
    st.just("")
    | st.builds(
        "{}:{}".format, st.sampled_from(["data", "id", "event", "retry", "", "dat"]), pieces
    )
    | st.builds("data: {}".format, pieces)
    | pieces
)


def plainly(text: str) -> list[ServerSentEvent]:
    """Parse a whole stream line by line, as the standard describes it."""
    found: list[ServerSentEvent] = []
    id_, event, data = "", "", []
    # Text after the last line end is an incomplete line.
    for line in re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))[:-1]:
        if not line:
            if data:
                found.append(ServerSentEvent(id_, event, "\n".join(data)))
            event, data = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data = [*data, value]
        elif name == "event":
            event = value
        elif name == "id" and "\0" not in value:
            id_ = value
    return found


@settings(max_examples=effort(100))
@given(st.lists(st.tuples(lines, ENDS)), st.booleans(), st.lists(st.integers(0, 300), max_size=9))
def test_any_cut_of_a_stream_gives_the_events_of_the_whole(
    terminated: list[tuple[str, str]], bom: bool, cuts: list[int]
) -> None:
    text = "\ufeff" * bom + "".join(line + end for line, end in terminated)
    stream = text.encode()
    parser = EventParser(max_event_bytes=10_000)
    places = [0, *sorted(cuts), len(stream)]
    chunks = [stream[at:to] for at, to in pairwise(places)]
    assert [event for chunk in chunks for event in parser.push(chunk)] == plainly(text)


def push_all(parser: EventParser, stream: bytes, size: int) -> list[ServerSentEvent]:
    cuts = range(0, len(stream), size)
    return [event for at in cuts for event in parser.push(stream[at : at + size])]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_parser_buffers_no_more_than_allowed(size: int) -> None:
    parser = EventParser(max_event_bytes=1000)
    stream = (b": " + b"x" * 900 + b"\n") * 5 + b"data: " + b"x" * 900 + b"\n\n"
    held = push_all(parser, stream, size)
    assert [len(event.data) for event in held] == [900]
    assert parser.comments == 5
    for endless in (b"data: " + b"x" * 2000, b"data: x\n" * 300, b"x" * 2000):
        with pytest.raises(EventTooLongError, match="longer than 1000 bytes"):
            push_all(parser, endless, size)
        parser = EventParser(max_event_bytes=1000)


def test_the_reconnection_time_is_parsed() -> None:
    parser = EventParser(max_event_bytes=100)
    assert not list(parser.push(b"retry: 1500\nretry: soon\nretry: -1\n\n"))
    assert parser.retry == 1.5
