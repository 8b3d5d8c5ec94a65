"""Real calls with their real schemas, and recorded replies of real models.

The calls are not part of this repository. They are looked up in ``TOOLWEAVE_SHARED``, then next to
the repository.
"""

from __future__ import annotations

import functools
import json
import random
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

import toolweave as tw
from parser_replies import FORMS, FRAMES, calls_in, canonical_json, feed, joined, source, split_at
from paths import SHARED
from toolweave._demo.recordings import RECORDED_ON
from toolweave._demo.toolbox import ToolBox

CORPUS = SHARED / "data" / "bfcl" / "calls.jsonl"
# Their answers violate the schemas of their own questions.
UNFIT = {"simple_java_58", "simple_java_72", "simple_java_82", "live_multiple_1038-265-0"}
STREAMS = files("toolweave._demo") / "data" / "recordings"


@functools.cache
def questions() -> list[dict[str, Any]]:
    """Return questions with the available functions and the calls that answer them."""
    if not CORPUS.is_file():
        pytest.skip("set TOOLWEAVE_SHARED to a folder that holds data/bfcl/calls.jsonl")
    return [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def style(chance: random.Random, arguments: dict[str, Any]) -> str:
    """Write the arguments in the style of a model."""
    return json.dumps(
        arguments,
        indent=chance.choice([None, 2, 4]),
        ensure_ascii=chance.choice([True, False]),
        separators=chance.choice([None, (",", ":")]),
    )


def cut(chance: random.Random, reply: str) -> list[str]:
    """Split the reply into pieces of one to a few dozen characters."""
    return split_at(reply, [chance.randrange(len(reply)) for _ in range(len(reply) // 4)])


@pytest.mark.parametrize("frame", sorted(FRAMES))
@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_real_call_comes_back_equal_valid_and_unrepaired(form: str, frame: str) -> None:
    chance = random.Random(f"{form} {frame}")
    begin, end = FORMS[form]
    before, after = FRAMES[frame]
    count = 0
    for question in questions():
        parser = parsers()[question["id"]]
        reply = "Let me see.\n"
        for call in question["calls"] or ():
            payload = style(chance, call["arguments"])
            name = call["name"]
            reply += begin.format(name) + before + payload + after + end.format(name) + "\n"
        events = [event for chunk in cut(chance, reply) for event in parser.push(chunk)]
        events += parser.finish()
        assert source(events) == reply
        found = list(calls_in(events))
        if question["id"] in UNFIT:
            assert all(call.repairs for call in found)
            continue
        assert [(call.name, canonical_json(call.arguments)) for call in found] == [
            (call["name"], canonical_json(call["arguments"])) for call in question["calls"] or ()
        ]
        assert all(call.repairs == () for call in found)
        count += len(found)
    assert count > 300


@functools.cache
def parsers() -> dict[str, tw.Parser]:
    """Return one parser for each question, since most have tools of their own."""
    return {question["id"]: tw.Parser(question["functions"]) for question in questions()}


# Recorded replies.


@functools.cache
def contracts() -> list[tw.FunctionContract]:
    """Return the tools of the recorded runs."""
    return [tool.contract for tool in ToolBox(RECORDED_ON).tools]


def recorded() -> list[Any]:
    """Return the replies that come with the package."""
    found = sorted(file.name for file in STREAMS.iterdir() if file.name[0].isdigit())
    assert found
    return [pytest.param(name, id=name.removesuffix(".json")) for name in found]


def load(name: str) -> tuple[list[str], bool]:
    """Return the deltas of a recorded reply, and whether it was truncated."""
    data = json.loads((STREAMS / name).read_text(encoding="utf-8"))
    return data["deltas"], data["finish_reason"] == "length"


@pytest.mark.parametrize("name", recorded())
def test_every_split_of_a_recorded_reply_gives_the_same_events(name: str) -> None:
    deltas, truncated = load(name)
    reply = "".join(deltas)
    parser = tw.Parser(contracts())

    def parse(chunks: list[str]) -> list[tw.Event]:
        events = [event for chunk in chunks for event in parser.push(chunk)]
        return [*events, *parser.finish(truncated=truncated)]

    as_sent = parse(deltas)
    assert source(as_sent) == reply
    chance = random.Random(name)
    for chunks in ([reply], list(reply), *(cut(chance, reply) for _ in range(5))):
        assert joined(parse(chunks)) == joined(as_sent)


# Without coercion to schemas, which is tested elsewhere.
EXPECTED = {
    "01-add": {"calls": 1},
    "02-two-calls": {"calls": 2},
    "03-two-bookings": {"calls": 2},
    "04-tag-in-prose": {"calls": 1},
    "05-email-list": {"calls": 1},
    "06-text-after": {"calls": 1},
    "07-html": {},
    "08-fenced-call": {"Discarded": 2, "calls": 1},
    "09-no-closing-tag": {"mended": 1},
    "10-next-tag-closes": {"mended": 2},
    "11-answer-in-tag": {"mended": 1},
    "12-three-objects": {"calls": 3},
    "13-kelvin": {"schema_violation": 1},
    "14-wrong-tool": {"schema_violation": 1},
    "15-missing-body": {"schema_violation": 1},
    "16-unknown-tool": {"unknown_tool": 1},
    "17-invented-turns": {"calls": 1},
    "18-loop": {"mended": 7},
    "19-cut-off": {"unclosed": 1},
    "20-promise": {},
    "21-repairs": {"schema_violation": 2, "mended": 1},
}


def test_recorded_replies_have_the_expected_events() -> None:
    summary = {}
    for param in recorded():
        (name,) = param.values
        deltas, truncated = load(name)
        events = feed(deltas, tools=contracts(), truncated=truncated, repair="syntax")
        counts: Counter[str] = Counter()
        for event in events:
            match event:
                case tw.ToolCall():
                    counts["mended" if event.repairs else "calls"] += 1
                case tw.InvalidToolCall():
                    counts[event.kind] += 1
                case tw.FabricatedResult() | tw.Discarded():
                    counts[type(event).__name__] += 1
        summary[param.id] = dict(counts)
    assert summary == EXPECTED
