"""The cost of a reply: linear time, and memory within the limits.

The tests of the core count the work itself. Here it is measured through the bindings, by buffered
and allocated memory, and by a clock with generous limits.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolweave as tw
from parser_replies import TOOLS, pieces, source


def fill(piece: str, size: int) -> str:
    """Repeat a piece."""
    return piece * (size // len(piece) + 1)


def after(head: str, piece: str, tail: str = "") -> Callable[[int], str]:
    """Return replies of any size: a repeated piece with a prefix and a suffix."""
    return lambda size: head + fill(piece, size) + tail


ATTACKS: dict[str, Callable[[int], str]] = {
    "text": after("", "Some words, and a line.\n"),
    "angles all over": after("", "abc<"),
    "tags broken off": after("", "<tool_cal "),
    "opening tags": after("", '<tool_call name="Any"> x y z <Any> '),
    "a tag that never ends": after('<tool_call name="', "x"),
    "white space after a tag": after("<Any>", " "),
    "white space in a payload": after("<Any>{", " "),
    "white space after a payload": after("<Any>{}", " "),
    "a string without end": after('<Any>{"a": "', "lorem ipsum "),
    "a string of angles": after('<Any>{"a": "', "<"),
    "a string of closing tags": after('<Any>{"a": "', "</Any>"),
    "a string of closing tags on lines": after('<Any>{"a": "', "\n </Any> x"),
    "a string of escapes": after('<Any>{"a": "', '\\n\\"\\ud83d\\ude00', '"}</Any>'),
    "strings without end": after("", '<Any>{"a": "b</Any> '),
    "brackets": after('<Any>{"a": ', "["),
    "many members": after("<Any>{", '"a":1,', '"b":2}</Any>'),
    "many objects": after('<Any>{"a": [', '{"b":1},', "1]}</Any>"),
    "digits": after('<Any>{"a": ', "9", "}</Any>"),
    "an unknown tool": after('<tool_call name="nope">{"a": "', "x", '"}</tool_call>'),
    "empty calls": after("", "<Ping/>"),
    "little calls": after("", 'A <Any>{"a":1}</Any>'),
    "invalid calls": after("", '<Add>{"a": "x"}</Add>'),
    "repaired quotes": after("<Any>{", "'a': 1, ", "}</Any>"),
    "repaired inner quotes": after('<Any>{"a": "', 'x "y" ', '"}</Any>'),
    "repaired newlines": after('<Any>{"a": "', "x\n", '"}</Any>'),
    "repaired surrogates": after('<Any>{"a": "', "\\ud83d", '"}</Any>'),
    "brackets that do not match": after('<Any>{"a": ', "[}", "</Any>"),
    "commas": after('<Any>{"a": [', "1,,", "]}</Any>"),
    "comments": after('<Any>{"a": 1 ', "/* ", "}</Any>"),
    "fences": after("", "```\n<Any>\n"),
    "a label without end": after("```", "x"),
    "backticks": after("", "` `` "),
    "reasoning": after("", "<think></thin</think>"),
    "a made-up result": after("<tool_response>", "</tool_respons"),
    "closing tags that nobody waits for": after("<Any>{}x", "</Any"),
}
ATTACK = pytest.mark.parametrize("attack", sorted(ATTACKS))


def seconds(parser: tw.Parser, chunks: list[str], limit: float = 0) -> float:
    """Return the CPU time for a reply, without the garbage collector's.

    It is the best of three, or the first one below a limit.
    """

    def once() -> float:
        begin = time.thread_time()
        for chunk in chunks:
            parser.push(chunk)
        parser.finish()
        return time.thread_time() - begin

    gc.disable()
    try:
        least = once()
        for _ in range(2):
            if least >= limit:
                least = min(least, once())
        return least
    finally:
        gc.enable()


@ATTACK
@pytest.mark.parametrize(
    ("size", "chunk"), [(2_000, 1), (12_500, 1 << 30)], ids=["1-char", "whole"]
)
def test_the_time_does_not_grow_faster_than_the_reply(attack: str, size: int, chunk: int) -> None:
    parser = tw.Parser(TOOLS)
    small = seconds(parser, pieces(ATTACKS[attack](size), chunk))
    # Linear cost is eight times, quadratic cost 64 times.
    limit = 24 * max(small, 0.0005)
    large = seconds(parser, pieces(ATTACKS[attack](size * 8), chunk), limit)
    assert large < limit, (small, large)


@ATTACK
def test_the_number_of_events_is_linear_in_the_reply(attack: str) -> None:
    def count(size: int) -> int:
        return len(tw.parse(ATTACKS[attack](size), TOOLS))

    small, large = count(3_000), count(24_000)
    assert large <= 8 * small + 8


def buffered(parser: tw.Parser) -> int:
    """Return the number of buffered bytes, from the repr."""
    match = re.search(r"(\d+) bytes buffered", repr(parser))
    assert match is not None
    return int(match[1])


@ATTACK
def test_only_unreported_text_is_buffered(attack: str) -> None:
    limits = tw.Limits(max_argument_bytes=1_000, max_tag_bytes=64)
    parser = tw.Parser(TOOLS, limits=limits)
    text_so_far = reported = 0
    for chunk in pieces(ATTACKS[attack](10_000), 7):
        text_so_far += len(chunk.encode())
        reported += len(source(parser.push(chunk)).encode())
        assert buffered(parser) == text_so_far - reported
        assert buffered(parser) <= 1_000 + 8 * 64
    parser.finish()
    assert buffered(parser) == 0


def test_a_parser_keeps_nothing_of_finished_replies() -> None:
    parser = tw.Parser(TOOLS)
    reply = "".join(make(500) for make in ATTACKS.values())

    def blocks() -> int:
        for _ in range(20):
            for chunk in pieces(reply, 5):
                parser.push(chunk)
            parser.finish()
            parser.push('<Any>{"a": "b')
            parser.reset()
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    before = blocks()
    assert blocks() - before < 200


def test_a_stream_reads_no_further_than_it_must() -> None:
    read = 0

    def chunks() -> Iterator[str]:
        nonlocal read
        for _ in range(1_000_000):
            read += 1
            yield "word "

    stream = tw.parse_stream(chunks(), TOOLS)
    assert next(stream) == tw.TextDelta("word ")
    assert read == 1


# An argument of 100 MB. What a process has used at most cannot be measured from inside one
# that has done other things before.

HUGE = """
    import resource, sys
    import toolweave as tw

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    parser = tw.Parser([{{"name": "W", "parameters": {{"type": "object"}}}}], deltas={deltas})
    parser.push('<W>{{"a": "')
    chunk = "x" * {chunk}
    before = peak()
    kinds, raw = [], 0
    for _ in range({count}):
        for event in parser.push(chunk):
            if not isinstance(event, tw.ToolCallDelta):
                kinds.append(getattr(event, "kind", None) or event.reason)
                raw += len(event.raw)
    *rest, text, start, call = parser.push('"}}</W> and <W/>')
    raw += sum(len(event.raw) for event in rest)
    assert kinds[0] == "too_large" and set(kinds) == {{"too_large"}}, set(kinds)
    assert all(event.reason == "too_large" for event in rest), rest
    assert (text.text, start.name, call.name) == (" and ", "W", "W")
    assert raw == {chunk} * {count} + len('<W>{{"a": ""}}</W>'), raw
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asks for the module resource")
@pytest.mark.parametrize("deltas", [True, False])
@pytest.mark.parametrize(
    ("chunk", "count", "megabytes"),
    # One chunk is appended to the buffer, and the excess is returned as one piece.
    [(64 << 10, 1600, 80), (100 << 20, 1, 200 + 80)],
    ids=["64 KB chunks", "one chunk"],
)
def test_an_argument_of_100_mb_takes_no_more_memory_than_the_limits_allow(
    chunk: int, count: int, megabytes: int, deltas: bool
) -> None:
    code = textwrap.dedent(HUGE).format(chunk=chunk, count=count, deltas=deltas)
    run: Any = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < megabytes
