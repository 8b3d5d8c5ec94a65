"""Failures within a reply: one kind of error, which says how much of the reply had arrived."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.dialects import DONE, delta, openai_text
from servers.http_models import SHORT, ask, failed, nothing_logged_shows_the_key, received
from servers.model_answers import Read
from servers.raw import Connection, raw_server
from servers.scripts import answer, events, raw
from servers.sse import Do
from toolweave import FinishUpdate, TextDelta
from toolweave.models.http import HttpLimits

each_test = nothing_logged_shows_the_key

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ONE = delta(content="One ")
TWO = b'data: {"choices": [{"index": 0, "delta": {"content": "zw\xc3\xb6lf"}}]}\n\n'


def broke(came: Read, *says: str, text: str = "One ") -> int:
    """Return the number of bytes that arrived of a reply that broke off after this text."""
    assert came.text == text
    error = failed(came, *says)
    assert error.transient is True
    return received(error)


CUTS = {
    "between two events": len(ONE),
    "in a line": len(ONE) + 20,
    "in a character": len(ONE) + TWO.index(b"\xb6"),
    "between the line ends": len(ONE) + len(TWO) - 1,
}


@pytest.mark.parametrize("where", CUTS)
@pytest.mark.parametrize("framing", ["chunked", "length"])
@pytest.mark.parametrize("how", [Do.CUT, Do.END])
def test_a_reply_that_is_cut_is_an_error_that_says_how_far_it_had_come(
    where: str, framing: Any, how: Do
) -> None:
    sent = (ONE + TWO)[: CUTS[where]]
    came, _ = ask(events(sent, how, framing=framing, length=9000))
    assert broke(came, "broke off") == len(sent)


def test_a_reply_that_is_cut_within_a_chunk_of_http_is_an_error() -> None:
    came, _ = ask(raw(HEAD, b"%x\r\n%b" % (len(ONE) + 99, ONE), Do.END))
    assert broke(came) == len(ONE)


@pytest.mark.parametrize("how", [Do.CUT, Do.END])
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 20", HEAD[:-20]])
def test_a_connection_that_is_cut_before_the_reply_is_an_error(how: Do, sent: bytes) -> None:
    came, _ = ask(raw(sent, how))
    assert came.updates == []
    assert failed(came).transient is True


@pytest.mark.parametrize("where", ["in a line", "in a character"])
def test_a_body_that_ends_with_the_connection_is_never_complete(where: str) -> None:
    came, _ = ask(events((ONE + TWO)[: CUTS[where]], framing="close"))
    assert came.text == "One "
    if came.error is None:
        assert came.updates[-1] == FinishUpdate("missing")
    else:
        failed(came)


@given(at=st.integers(0, 400), how=st.sampled_from([Do.CUT, Do.END]))
def test_a_reply_that_is_cut_anywhere_yields_exactly_what_arrived(at: int, how: Do) -> None:
    pieces = ["zwölf ", "🌍", "end"]
    steps = openai_text(pieces)
    whole = b"".join(steps)
    at %= len(whole)
    came, _ = ask(events(whole[:at], how))
    ends = [len(b"".join(steps[: number + 2])) for number in range(len(pieces))]
    arrived = [piece for piece, end in zip(pieces, ends, strict=True) if end <= at]
    assert came.text == "".join(arrived)
    stopped = len(b"".join(steps[: len(pieces) + 2])) <= at
    if stopped:
        assert came.error is None
        assert came.updates[-1] == FinishUpdate("stop")
    else:
        failed(came)


def test_an_error_after_the_finish_reason_is_ignored() -> None:
    for step in (Do.CUT, Do.END, b"data: {\n\n", b"data: \xff\xfe\n\n"):
        came, _ = ask(events(ONE, delta("stop"), step))
        assert (came.text, came.error) == ("One ", None)
        assert came.updates[-1] == FinishUpdate("stop")


@pytest.mark.parametrize(
    "garbage",
    [
        b'data: {"choices": [\n\n',
        b"data: nonsense\n\n",
        b"data: \xff\xfe\n\n",
        b'data: {"choices": [{"delta": {"content": "\xc3"}}]}\n\n',
        b"data: " + b"[" * 5000 + b"\n\n",
        b'data: {"choices":[{"delta":{"content":"a"}}]}{}\n\n',
    ],
)
def test_a_chunk_that_cannot_be_read_is_an_error_after_what_came(garbage: bytes) -> None:
    came, _ = ask(events(ONE, garbage, delta(content="Two"), delta("stop"), DONE))
    broke(came, "chunk", "read")


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    half = b'data: {"choices": [{"index": 0, "delta": {"content": "a\\ud83db"}}]}\n\n'
    came, _ = ask(events(ONE, half, delta("stop"), DONE))
    assert came.error is None
    assert ascii(came.text) == ascii("One a\ufffdb")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>Hello</html>", "text/html"),
        (b"{}", "application/json"),
        (b"", "text/html"),
        (b"", None),
        (b"[]", "application/json"),
        (b"hello", "text/plain"),
    ],
)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_response_that_is_not_a_reply_is_an_error_that_questions_the_url(
    body: bytes, kind: str | None, streaming: bool
) -> None:
    came, _ = ask(answer(body, kind=kind, framing="length"), streaming=streaming)
    assert came.updates == []
    assert failed(came, "is the base URL the right one").transient is not True


def test_an_unrequested_compressed_reply_is_an_error_that_says_so() -> None:
    body = gzip.compress(b"".join(openai_text(["Hi"])))
    came, server = ask(answer(body, fields=("Content-Encoding: gzip",)))
    assert came.updates == []
    failed(came, "gzip, which it was not asked for")
    assert server.requests[0].headers.get("accept-encoding", "identity") == "identity"


@pytest.mark.parametrize("nonsense", [b"SSH-2.0-OpenSSH_9.0\r\n", b"\0" * 100, b"\r\n\r\n\r\n"])
def test_a_response_that_is_not_http_is_an_error(nonsense: bytes) -> None:
    came, _ = ask(raw(nonsense, Do.END))
    assert came.updates == []
    failed(came)


def test_an_empty_stream_is_an_error_or_a_reply_that_is_missing() -> None:
    came, _ = ask(events())
    if came.error is None:
        assert came.updates == [FinishUpdate("missing")]
    else:
        failed(came)


def dripping(data: bytes) -> Any:
    """Send a byte every few milliseconds until the client disconnects."""

    def drip(connection: Connection) -> None:
        for at in range(len(data)):
            connection.send(data[at : at + 1])
            time.sleep(0.01)
        connection.hold()

    return drip


def test_a_server_that_never_answers_times_out() -> None:
    came, _ = ask(raw(Do.HOLD), first_byte_timeout=SHORT)
    assert came.updates == []
    assert failed(came, "0.2 s").transient is True


def test_slowly_sent_headers_time_out() -> None:
    came, _ = ask(raw(dripping(HEAD * 9)), first_byte_timeout=SHORT)
    assert came.updates == []
    assert failed(came, "0.2 s").transient is True


@pytest.mark.parametrize("steps", [[], [ONE], [ONE, TWO[:20]], [b": hello\n\n", ONE]])
def test_a_stalled_reply_times_out(steps: list[bytes]) -> None:
    came, _ = ask(events(*steps, Do.HOLD), idle_timeout=SHORT, first_byte_timeout=SHORT)
    error = failed(came, "0.2 s")
    assert came.text == ("One " if ONE in steps else "")
    if steps:
        assert received(error) == len(b"".join(steps))


def test_a_slow_reply_exceeds_the_total_timeout() -> None:
    slow = dripping(b": still there\n" * 99)
    came, _ = ask(
        events(ONE, slow, framing="length", length=9000), timeout=2 * SHORT, idle_timeout=9.0
    )
    assert broke(came, "0.4 s") >= len(ONE)


def test_the_total_timeout_includes_the_time_before_the_reply() -> None:
    came, _ = ask(raw(Do.HOLD), timeout=SHORT, max_retries=5)
    failed(came, "0.2 s")


def test_a_pause_shorter_than_the_idle_timeout_is_allowed() -> None:
    go_on = threading.Event()
    timer = threading.Timer(0.1, go_on.set)
    timer.start()
    came, _ = ask(events(ONE, go_on, delta("stop"), DONE), idle_timeout=5.0)
    timer.join()
    assert came.updates == [TextDelta("One "), FinishUpdate("stop")]


def endless(piece: bytes, *, most: int = 200_000_000, first: bytes = b"") -> Any:
    """Send more than any reply has, until the client disconnects."""

    def send(connection: Connection) -> None:
        connection.send(first)
        while connection.sent < most:
            connection.send(piece)

    return send


CLOSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DOCUMENT = CLOSE.replace(b"text/event-stream", b"application/json")
FLOODS: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "a line": ([CLOSE + ONE, endless(b"x" * 65536, first=b"data: ")], {}, "4,194,304 bytes"),
    "an event of many lines": ([CLOSE + ONE, endless(b"data: x\n" * 9000)], {}, "4,194,304 bytes"),
    "a document": (
        [DOCUMENT, endless(b" " * 65536, first=b'{"choices": [')],
        {"max_body_bytes": 1 << 20},
        "1,048,576 bytes",
    ),
    "a body": (
        [CLOSE + ONE, endless(b": hello\n\n" * 8000)],
        {"max_body_bytes": 1 << 20},
        "1,048,576 bytes",
    ),
    "headers": ([b"HTTP/1.1 200 X\r\n", endless(b"X-A: " + b"b" * 1000 + b"\r\n")], {}, "head"),
    "a header": ([b"HTTP/1.1 200 X\r\nX-A: ", endless(b"b" * 65536)], {}, "head"),
    "an error": (
        [b"HTTP/1.1 400 X\r\nConnection: close\r\n\r\n", endless(b"x" * 65536)],
        {},
        "status 400",
    ),
}


@pytest.mark.parametrize("what", FLOODS)
def test_an_oversized_response_is_an_error_and_is_not_read_to_its_end(what: str) -> None:
    steps, limits, says = FLOODS[what]
    came, server = ask(raw(*steps), limits=HttpLimits(**limits))
    failed(came, says, status=400 if what == "an error" else None)
    assert came.text == ("One " if ONE in steps[0] else "")
    assert server.connections[0].sent < 50_000_000


PROGRAM = """
import asyncio, json, resource, sys
from toolweave import TextMessage
from toolweave.exceptions import ModelError
from toolweave.models.http import HttpModel

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def ask(path):
    async with HttpModel(sys.argv[1] + path, "m", max_retries=0, proxy=None) as model:
        text = []
        try:
            async for update in model.stream([TextMessage("Hi")]):
                text.append(getattr(update, "text", ""))
        except ModelError as error:
            return "".join(text), str(error)
        return "".join(text), ""

asyncio.run(ask("/small"))
before = peak()
text, error = asyncio.run(ask("/large"))
print(json.dumps([text, error, (peak() - before) * 1024]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measured in kilobytes, as Linux does")
def test_a_line_of_100_mb_takes_little_memory() -> None:
    line = raw(CLOSE + ONE, endless(b"x" * 65536, most=100_000_000, first=b"data: "))
    with raw_server(events(*openai_text(["Hi"])), line) as server:
        program = [sys.executable, "-c", PROGRAM, server.url]
        done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    text, error, grown = json.loads(done.stdout)
    assert text == "One "
    assert "4,194,304 bytes" in error
    assert grown < 40_000_000


def test_a_line_may_have_the_maximum_length() -> None:
    long = "x" * 3_000_000
    came, _ = ask(events(*openai_text([long])))
    assert (came.text, came.error) == (long, None)
    came, _ = ask(events(*openai_text([long])), limits=HttpLimits(max_line_bytes=2_000_000))
    failed(came, "2,000,000 bytes")


@pytest.mark.parametrize(
    "name", ["max_header_bytes", "max_line_bytes", "max_body_bytes", "max_queued_bytes"]
)
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_an_invalid_limit_is_rejected_at_once(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        HttpLimits(**{name: value})


def test_a_document_that_is_cut_is_an_error() -> None:
    cut = answer(b'{"choices": [', Do.END, kind="application/json", framing="length", length=900)
    came, _ = ask(cut, streaming=False)
    assert received(failed(came)) == len(b'{"choices": [')
