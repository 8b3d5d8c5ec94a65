"""Replies about calls, code and markup that contain no calls.

They are not part of this repository. They are looked up in ``TOOLWEAVE_SHARED``, then next to the
repository; the golden cases in ``tests/cases/calls/attempts.json`` have similar ones.
"""

from __future__ import annotations

import json

import pytest

import toolweave as tw
from parser_replies import joined, pieces
from paths import SHARED

NEGATIVES = SHARED / "data" / "negatives.jsonl"
TOOLS = [
    *("get_weather", "add", "search", "summary", "send_mail"),
    *("math.factorial", "book_table", "Select", "Button"),
]


def test_a_reply_that_calls_nothing_is_text() -> None:
    if not NEGATIVES.is_file():
        pytest.skip("set TOOLWEAVE_SHARED to a folder that holds data/negatives.jsonl")
    found = {}
    lines = NEGATIVES.read_text(encoding="utf-8").splitlines()
    parser = tw.Parser(TOOLS)
    for line in lines:
        reply = json.loads(line)
        for size in (1, 7, 1 << 20):
            chunks = pieces(reply["text"], size)
            events = joined([*parser.push_many(chunks), *parser.finish()])
            if events != [tw.TextDelta(reply["text"])]:
                found[reply["id"], size] = events
    assert len(lines) >= 200
    assert found == {}
