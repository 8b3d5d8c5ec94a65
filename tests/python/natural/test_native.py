"""Native calls: the same events as inline ones, for all chunkings."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from native_replies import native_replies
from parser_replies import (
    NAMES,
    TOOLS,
    canonical_json,
    completed_events,
    is_inside_escape,
)
from toolweave.natural import NaturalToolUseParser
from toolweave.testing import ScriptedModel

Update = tw.ToolCallUpdate


def events_of(pieces: list[Any], **options: Any) -> list[Any]:
    """Return the events of a native reply."""
    parser = NaturalToolUseParser(
        ScriptedModel(pieces, native_tools=True), TOOLS, tool_mode="native", **options
    )

    async def collect() -> list[Any]:
        return [event async for event in parser.stream("Hi!")]

    return asyncio.run(collect())


def calls_of(pieces: list[Any], **options: Any) -> list[Any]:
    """Return the calls of a native reply, valid or not."""
    found = events_of(pieces, **options)
    return [event for event in found if isinstance(event, (tw.ToolCall, tw.InvalidToolCall))]


@given(native_replies())
def test_calls_do_not_depend_on_the_chunking(
    reply: tuple[list[Update], list[tuple[str, str, str]]],
) -> None:
    fragments, calls = reply
    *events, finish = events_of([*fragments])
    found = completed_events(events)
    assert [(call.id, call.name, call.raw, call.index) for call in found] == [
        (*call, index) for index, call in enumerate(calls)
    ]
    for call in found:
        assert isinstance(call, tw.ToolCall)
        assert canonical_json(call.arguments) == canonical_json(json.loads(call.raw))
    assert finish == tw.FinishUpdate("tool_calls")


@given(native_replies())
def test_fragments_joined_are_the_arguments_and_never_half_an_escape(
    reply: tuple[list[Update], list[tuple[str, str, str]]],
) -> None:
    fragments, calls = reply
    shown: dict[int, list[str]] = {index: [] for index in range(len(calls))}
    for event in events_of([*fragments]):
        if isinstance(event, tw.ToolCallDelta):
            shown[event.index].append(event.fragment)
    for index, (_, _, text) in enumerate(calls):
        assert "".join(shown[index]) == text
        inside = is_inside_escape(text)
        at = 0
        for fragment in shown[index]:
            assert fragment
            at += len(fragment)
            assert at not in inside


@given(native_replies(), st.integers(0, 200))
def test_a_reply_that_breaks_off_has_only_calls_that_were_whole(
    reply: tuple[list[Update], list[tuple[str, str, str]]], cut: int
) -> None:
    fragments, calls = reply
    kept = fragments[: cut % len(fragments) + 1]
    found = calls_of([*kept, tw.FinishUpdate("length")])
    whole = [call for call in found if isinstance(call, tw.ToolCall)]
    assert [call.raw for call in whole] == [text for _, _, text in calls[: len(found) - 1]]
    assert found[-1].kind == "unclosed"


@given(native_replies())
def test_each_call_has_one_start_before_all_else(
    reply: tuple[list[Update], list[tuple[str, str, str]]],
) -> None:
    fragments, calls = reply
    started: list[int] = []
    for event in events_of([*fragments])[:-1]:
        if isinstance(event, tw.ToolCallStart):
            started.append(event.index)
        else:
            assert event.index in started
    assert started == list(range(len(calls)))


def test_a_call_is_whole_when_the_next_one_begins() -> None:
    events = events_of(
        [Update("a", 0, "Any", '{"x":'), Update(None, 0, None, "1}"), Update("b", 1, "Any", "{}")]
    )
    names = [type(event).__name__ for event in events]
    assert names.index("ToolCall") < names.index("ToolCallStart", 1)


def test_interleaved_calls_are_each_whole_at_the_end() -> None:
    found = calls_of(
        [
            Update("a", 0, "Any"),
            Update("b", 1, "Any"),
            Update(None, 0, None, '{"x":'),
            Update(None, 1, None, '{"y":'),
            Update(None, 0, None, "1}"),
            Update(None, 1, None, "2}"),
        ]
    )
    assert [(call.id, call.arguments) for call in found] == [("a", {"x": 1}), ("b", {"y": 2})]


def test_an_id_that_comes_late_is_still_that_of_the_call() -> None:
    found = calls_of([Update(None, 0, "Any"), Update("a", 0, None, "{}")])
    assert [(call.id, call.name) for call in found] == [("a", "Any")]


def test_calls_without_ids_get_some() -> None:
    found = calls_of([Update(None, None, "Any", "{}"), Update(None, None, "Ping", "{}")])
    assert [(call.id, call.name) for call in found] == [("call_0", "Any"), ("call_1", "Ping")]


def test_an_index_that_is_used_again_is_another_call() -> None:
    found = calls_of([Update("a", 0, "Any", "{}"), Update("b", 0, "Ping", "{}")])
    assert [(call.id, call.name) for call in found] == [("a", "Any"), ("b", "Ping")]


def test_a_name_may_come_in_parts() -> None:
    start, *_ = events_of([Update("a", 0, "Get"), Update("a", 0, "Weather", '{"city": "Oslo"}')])
    assert start == tw.ToolCallStart(0, "a", "GetWeather")


def test_a_name_that_is_repeated_is_one_name() -> None:
    found = calls_of([Update("a", 0, "Ping", "{"), Update("a", 0, "Ping", "}")])
    assert [call.name for call in found] == ["Ping"]


def test_a_name_that_changes_half_way_does_not_count(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        found = calls_of([Update("a", 0, "Ping", "{"), Update("a", 0, "Add", "}")])
    assert [call.name for call in found] == ["Ping"]
    assert [record.other for record in caplog.records] == ["Add"]


def test_arguments_may_come_before_the_name() -> None:
    events = events_of([Update("a", 0, None, "{"), Update("a", 0, "", "}"), Update("a", 0, "Ping")])
    # The name arrived too late to be used.
    assert [event.kind for event in events if isinstance(event, tw.InvalidToolCall)] == [
        "unknown_tool"
    ]


def test_a_fragment_after_its_call_is_kept_apart() -> None:
    pieces = [Update("a", 0, "Any", "{}"), Update("b", 1, "Any", "{}"), Update("a", 0, None, "}")]
    assert tw.Discarded("}", "late_fragment") in events_of(pieces)
    assert all(isinstance(call, tw.ToolCall) for call in calls_of(pieces))


@pytest.mark.parametrize("name", NAMES)
def test_no_arguments_at_all_are_an_empty_object(name: str) -> None:
    (found,) = calls_of([Update("a", 0, name)])
    assert (found.arguments == {}) if isinstance(found, tw.ToolCall) else found.violations


def test_native_arguments_are_repaired_and_validated_like_inline_ones() -> None:
    (repaired,) = calls_of([Update("a", 0, "add", "{a: 1, 'b': \"2\",}")])
    assert repaired.arguments == {"a": 1, "b": 2}
    assert "name_case" in {repair.kind for repair in repaired.repairs}
    (invalid,) = calls_of([Update("a", 0, "Add", '{"a": 1}')])
    assert (invalid.kind, invalid.raw) == ("schema_violation", '{"a": 1}')
    (unrepaired,) = calls_of([Update("a", 0, "Any", "{a: 1}")], repair="none")
    assert unrepaired.kind == "invalid_json"


def test_a_name_that_no_tool_has_is_reported() -> None:
    (found,) = calls_of([Update("a", 0, "Nope", "{}")])
    assert (found.kind, found.name) == ("unknown_tool", "Nope")


def test_without_deltas_only_the_call_comes() -> None:
    events = events_of([Update("a", 0, "Any", '{"x": 1}')], deltas=False)
    assert [type(event).__name__ for event in events] == [
        "ToolCallStart",
        "ToolCall",
        "FinishUpdate",
    ]


def test_text_of_a_native_reply_is_parsed() -> None:
    start, _, call, _ = events_of(["<Ping>{}</Ping>"])
    assert (start.recovered, call.recovered, call.dialect) == (True, True, "natural")


@given(text=st.text("<>/Ping{}`\n tool_cal", max_size=40))
def test_native_text_is_only_text_without_tools(text: str) -> None:
    written = f"<Ping>{{}}</Ping>{text}"
    parser = NaturalToolUseParser(ScriptedModel(written, native_tools=True), tool_mode="native")
    reply = asyncio.run(parser.complete("Hi!"))
    assert [message.text for message in reply.messages] == [written]


def test_calls_in_text_come_as_the_same_events() -> None:
    arguments = '{"city": "Oslo"}'
    inline = ScriptedModel(["Well. ", f"<GetWeather>{arguments}</GetWeather>"])
    native = ScriptedModel(
        ["Well. ", Update("call_0", 0, "GetWeather", arguments)], native_tools=True
    )

    async def read(model: ScriptedModel) -> list[Any]:
        parser = NaturalToolUseParser(model, TOOLS, tool_mode="auto")
        return [event async for event in parser.stream("Hi!")]

    *shown, call, end = asyncio.run(read(inline))
    *also, other, same_end = asyncio.run(read(native))
    assert (shown, end) == (also, same_end)
    assert (call.dialect, other.dialect) == ("natural", "native")
    same = {"raw": "", "dialect": "natural"}
    assert call.__replace__(**same) == other.__replace__(**same)
