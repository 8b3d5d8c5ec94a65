"""Events as Python values: matching, comparison, repr, pickling, immutability."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

import toolweave as tw
from parser_replies import TOOLS, feed, options, replies

VIOLATION = tw.Violation("/a", "type", "/a: a number is required", "number", "x")
REPAIR = tw.Repair("/a", "trailing_comma", ",", "")
EVENTS: list[tw.Event] = [
    tw.TextDelta("a'\n\"é😀"),
    tw.ReasoningDelta("why"),
    tw.ToolCallStart(0, "call_0", "Any"),
    tw.ToolCallDelta(0, '{"a'),
    tw.ToolCall("call_0", "Any", {"a": [1, 2.5, None]}, "<Any>", index=3, repairs=(REPAIR,)),
    tw.InvalidToolCall(1, "call_1", "Any", "invalid_json", "<Any>{", (VIOLATION,)),
    tw.Discarded("```\n", "fence"),
    tw.FabricatedResult("Any", "<tool_response>"),
    tw.FabricatedResult(None, "<tool_response>"),
    tw.Limits(max_depth=3),  # type: ignore[list-item]
]
EVENT = pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
NAMES = {name: getattr(tw, name) for name in tw.__all__}


def described(event: tw.Event) -> str:
    """Return the positional fields of an event."""
    match event:
        case tw.TextDelta(text) | tw.ReasoningDelta(text):
            return text
        case tw.ToolCallStart(index, id_, name):
            return f"{index} {id_} {name}"
        case tw.ToolCallDelta(index, fragment):
            return f"{index} {fragment}"
        case tw.ToolCall(id_, name, arguments):
            return f"{id_} {name} {arguments}"
        case tw.InvalidToolCall(index, id_, name, kind, raw, violations):
            return f"{index} {id_} {name} {kind} {raw} {len(violations)}"
        case tw.Discarded(raw, reason):
            return f"{raw} {reason}"
        case tw.FabricatedResult(name, raw):
            return f"{name} {raw}"


def test_every_event_can_be_matched_by_position() -> None:
    reply = (
        'a<think>b</think><Any>{"c": 1}</Any><Add></Add><tool_response name="Any">d</tool_response>'
    )
    assert [described(event) for event in tw.parse(reply, TOOLS)] == [
        "a",
        "<think> reasoning_tag",
        "b",
        "</think> reasoning_tag",
        "0 call_0 Any",
        '0 {"c": 1}',
        "call_0 Any {'c': 1}",
        "1 call_1 Add",
        "1 call_1 Add schema_violation <Add></Add> 2",
        'Any <tool_response name="Any">d</tool_response>',
    ]


@EVENT
def test_an_event_survives_pickling_and_copying(event: Any) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(event, protocol))
        assert back == event
        assert type(back) is type(event)
        assert repr(back) == repr(event)
    assert copy.copy(event) == event
    assert copy.deepcopy(event) == event
    assert event.__replace__() == event


@EVENT
def test_the_repr_of_an_event_is_what_makes_it(event: Any) -> None:
    assert eval(repr(event), dict(NAMES)) == event
    assert type(event).__module__ == "toolweave"


@EVENT
def test_events_are_equal_by_value_and_to_nothing_else(event: Any) -> None:
    fields = {name: getattr(event, name) for name in type(event).__match_args__}
    twin = type(event)(**fields)
    assert twin == event
    assert not twin != event  # noqa: SIM202 (both operators are ours)
    for other in (None, 0, "text", fields, tuple(fields.values()), *EVENTS):
        assert (other == event) is (other is event)
    with pytest.raises(TypeError):
        assert event < twin


@EVENT
def test_equal_events_have_equal_hashes(event: Any) -> None:
    fields = {name: getattr(event, name) for name in type(event).__match_args__}
    assert len({event, type(event)(**fields)}) == 1


@EVENT
def test_events_cannot_be_changed(event: Any) -> None:
    for name in (*type(event).__match_args__, "other"):
        with pytest.raises(AttributeError):
            setattr(event, name, "x")
        with pytest.raises(AttributeError):
            delattr(event, name)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tw.TextDelta(),
        lambda: tw.TextDelta(1),
        lambda: tw.TextDelta("a", "b"),
        lambda: tw.ToolCallStart("0", "a", "b"),
        lambda: tw.ToolCallStart(0, None, "b"),
        lambda: tw.ToolCallDelta(0, b"x"),
        lambda: tw.Discarded("a", None),
        lambda: tw.InvalidToolCall(0, "a", "b", "c", "d", ["e"]),
        lambda: tw.FabricatedResult(1, "a"),
        lambda: tw.FabricatedResult("a"),
    ],
)
def test_events_reject_wrong_types(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


@given(replies, options)
def test_every_event_of_every_reply_survives_pickling(reply: str, options: dict[str, Any]) -> None:
    events = feed([reply], **options)
    assert pickle.loads(pickle.dumps(events)) == events
    assert [repr(event) for event in pickle.loads(pickle.dumps(events))] == [
        repr(event) for event in events
    ]
