"""Reading of one reply: inline calls and native calls, under one numbering."""

from __future__ import annotations

import gc
import json
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from golden_events import exact, written
from parser_replies import TOOLS, hostile, joined, objects, replies, source, split_at
from paths import CASES

Update = tw.ToolCallUpdate

GOLDEN = json.loads((CASES / "reply" / "updates.json").read_text("utf-8"))
PARSER = tw.Parser(TOOLS)


def read(updates: Iterable[Any], *, truncated: bool = False, **options: Any) -> list[Any]:
    """Return all events of a reply."""
    reader = tw.UpdateReader(PARSER, **options)
    events = [event for update in updates for event in reader.push(update)]
    events += reader.finish(truncated=truncated)
    return events


def update_of(written: Any) -> tw.Update:
    """Return an update in the format of the cases."""
    if isinstance(written, str):
        return tw.TextDelta(written)
    names = {"id": "tool_call_id", "name": "function_name", "arguments": "function_args"}
    return Update(**{names.get(key, key): value for key, value in written.items()})


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_cases_come_out_as_written(case: Any) -> None:
    options = dict(case.get("options", {}))
    truncated = options.pop("truncated", False)
    inline, deltas = options.pop("inline", True), options.pop("deltas", True)
    if "limits" in options:
        options["limits"] = tw.Limits(**options["limits"])
    parser = tw.Parser(GOLDEN["tools"], deltas=deltas, **options)
    reader = tw.UpdateReader(parser, inline=inline, deltas=deltas)
    events = [event for update in case["updates"] for event in reader.push(update_of(update))]
    events += reader.finish(truncated=truncated)
    assert exact(written(joined(events))) == exact(case["events"])
    assert reader.calls == sum(isinstance(event, tw.ToolCallStart) for event in events)


def test_there_are_cases() -> None:
    assert len(GOLDEN["cases"]) > 20


# Laws for every reply.

fragments = st.builds(
    Update,
    st.sampled_from([None, "a", "b", "c"]),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([None, "Any", "add", "Ping", "nope"]),
    objects.map(json.dumps) | st.text('{}[]":,\\ud8e3x', max_size=12),
)
texts = st.builds(tw.TextDelta, replies | hostile())
others = st.sampled_from([tw.ReasoningDelta("Hm."), tw.UsageUpdate(1, 2)])
updates = st.lists(texts | fragments | others, max_size=10)


def cut(update: tw.Update, cuts: Sequence[int]) -> list[tw.Update]:
    """Split an update into pieces."""
    match update:
        case tw.TextDelta(text):
            return [tw.TextDelta(piece) for piece in split_at(text, cuts)]
        case Update(id_, index, name, str(arguments)):
            first, *rest = split_at(arguments, cuts)
            begin = Update(id_, index, name, first)
            return [begin, *(Update(id_, index, None, piece) for piece in rest)]
        case _:
            return [update]


def is_native(update: tw.Update) -> bool:
    return isinstance(update, Update)


@given(updates, st.lists(st.integers(0, 99), max_size=6), st.booleans())
def test_every_split_gives_the_same_events(
    reply: list[tw.Update], cuts: list[int], truncated: bool
) -> None:
    pieces = [piece for update in reply for piece in cut(update, cuts)]
    late = tw.Discarded("", "late_fragment")

    def without_late(events: list[Any]) -> list[Any]:
        return joined(e for e in events if getattr(e, "reason", "") != late.reason)

    found, expected = read(pieces, truncated=truncated), read(reply, truncated=truncated)
    assert without_late(found) == without_late(expected)


@given(updates, st.booleans(), st.booleans(), st.booleans())
def test_nothing_is_lost_and_each_call_has_one_start_and_one_end(
    reply: list[tw.Update], inline: bool, deltas: bool, truncated: bool
) -> None:
    events = read(reply, inline=inline, deltas=deltas, truncated=truncated)
    read_in_it = [e for e in events if not isinstance(e, (tw.ReasoningDelta, tw.UsageUpdate))]
    reasoning = [e for e in events if isinstance(e, tw.ReasoningDelta)]
    texts = [getattr(update, "text", "") for update in reply] + [
        update.function_args or "" for update in reply if isinstance(update, Update)
    ]
    assert Counter(source([*read_in_it, *reasoning])) == Counter("".join(texts))
    starts = [event.index for event in events if isinstance(event, tw.ToolCallStart)]
    ends = [e.index for e in events if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    assert sorted(starts) == sorted(ends) == list(range(len(starts)))
    ids = {event.index: event.id for event in events if isinstance(event, tw.ToolCallStart)}
    open_: set[int] = set()
    for event in events:
        match event:
            case tw.ToolCallStart(index):
                open_.add(index)
            case tw.ToolCallDelta(index):
                assert index in open_
            case tw.ToolCall() | tw.InvalidToolCall():
                open_.remove(event.index)
                assert event.id == ids[event.index]


@given(replies, st.lists(st.integers(0, 500), max_size=8), st.booleans())
def test_text_is_read_as_the_parser_reads_it(reply: str, cuts: list[int], truncated: bool) -> None:
    pieces = split_at(reply, cuts)
    parser = PARSER.fresh()
    expected = [event for piece in pieces for event in parser.push(piece)]
    expected += parser.finish(truncated=truncated)
    assert read(map(tw.TextDelta, pieces), truncated=truncated) == expected


# Updates that are passed on unchanged.


@pytest.mark.parametrize("update", [tw.ReasoningDelta("<Ping>{}</Ping>"), tw.UsageUpdate(1, 2)])
def test_updates_that_cannot_contain_a_call_are_returned_unchanged(update: Any) -> None:
    (event,) = tw.UpdateReader(PARSER).push(update)
    assert event is update


def test_a_chunk_that_is_all_text_is_the_same_string() -> None:
    reader = tw.UpdateReader(PARSER)
    for chunk in ("Hello. ", "How are you?\n", "> Fine."):
        (event,) = reader.push(tw.TextDelta(chunk))
        assert isinstance(event, tw.TextDelta)
        assert event.text is chunk


def test_without_inline_calls_text_is_returned_unchanged() -> None:
    for text in ("<Ping>{}</Ping>", "", "\ud83d"):
        update = tw.TextDelta(text)
        reader = tw.UpdateReader(PARSER, inline=False)
        assert reader.push(update)[0] is update
        assert reader.finish(truncated=False) == ()


def test_arguments_are_the_providers_own_strings() -> None:
    text = json.dumps({"a": "x" * 50})
    _, delta = tw.UpdateReader(PARSER).push(Update("a", 0, "Any", text))
    assert isinstance(delta, tw.ToolCallDelta)
    assert delta.fragment is text


# Ids.

MIXED = [tw.TextDelta("<Ping/>"), Update("x", 0, "Ping", "{}"), Update(None, 1, "Ping", "{}")]


def ids_of(parser: tw.Parser, call_ids: Callable[[int], str] | None) -> list[str]:
    reader = tw.UpdateReader(parser, call_ids=call_ids)
    events = [event for update in MIXED for event in reader.push(update)]
    events += reader.finish(truncated=False)
    calls = [event for event in events if isinstance(event, tw.ToolCall)]
    assert [call.id for call in sorted(calls, key=lambda call: call.index)] == [
        event.id for event in events if isinstance(event, tw.ToolCallStart)
    ]
    return [event.id for event in events if isinstance(event, tw.ToolCallStart)]


def test_missing_provider_ids_are_generated() -> None:
    own = tw.Parser(TOOLS, id_factory=lambda index: f"own-{index}")
    assert ids_of(PARSER, None) == ["call_0", "x", "call_2"]
    assert ids_of(own, None) == ["own-0", "x", "own-2"]
    assert ids_of(own, lambda index: f"reply-{index}") == ["reply-0", "x", "reply-2"]


def test_each_id_is_requested_once() -> None:
    asked: list[int] = []

    def call_id(index: int) -> str:
        asked.append(index)
        return f"id-{index}"

    ids_of(PARSER, call_id)
    assert asked == [0, 2]


def test_an_id_of_another_type_is_a_type_error() -> None:
    wrong: Any = lambda index: index  # noqa: E731 - what a user may write
    with pytest.raises(TypeError, match="call_ids must return a str, got int"):
        tw.UpdateReader(PARSER, call_ids=wrong).push(tw.TextDelta("<Ping/>"))


def test_call_ids_must_be_callable() -> None:
    wrong: Any = "call"
    with pytest.raises(TypeError, match="call_ids must be a function of the index"):
        tw.UpdateReader(PARSER, call_ids=wrong)


# Invalid updates.


@pytest.mark.parametrize(
    ("wrong", "named"),
    [("text", "str"), (None, "NoneType"), (tw.ToolCallStart(0, "a", "b"), "ToolCallStart")],
)
def test_other_objects_than_updates_are_a_type_error(wrong: Any, named: str) -> None:
    with pytest.raises(TypeError, match=rf"expected a TextDelta, .* got {named}$"):
        tw.UpdateReader(PARSER).push(wrong)


def test_a_finish_update_is_refused() -> None:
    with pytest.raises(TypeError, match=r"call finish\(\)"):
        tw.UpdateReader(PARSER).push(tw.FinishUpdate("stop"))


def test_a_lone_surrogate_is_refused_and_the_reply_continues() -> None:
    reader = tw.UpdateReader(PARSER)
    for wrong in (tw.TextDelta("\ud83d"), Update("a", 0, "Ping", "\ud83d")):
        with pytest.raises(UnicodeEncodeError):
            reader.push(wrong)
    assert reader.push(tw.TextDelta("x")) == (tw.TextDelta("x"),)
    assert reader.finish(truncated=False) == ()


def test_fragment_problems_are_logged_without_content(caplog: pytest.LogCaptureFixture) -> None:
    secret = '{"secret": 1}'
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        read(
            [
                Update("a", 0, "Ping", "{"),
                Update("a", 0, "Add", "}"),
                Update(None, 1, "Any", "{"),
                Update(None, 1, "Ping", "}"),
                Update("c", 2, "Any", "{}"),
                Update("a", 0, None, ""),
                Update("d", 3, "Any", "{}"),
                Update("c", 2, None, secret),
            ]
        )
    reported = [
        (
            record.levelname,
            record.getMessage(),
            getattr(record, "tool_call_id", None),
            getattr(record, "tool", None),
            getattr(record, "other", None),
        )
        for record in caplog.records
    ]
    assert reported == [
        ("WARNING", "a native call was renamed", "a", "Ping", "Add"),
        ("WARNING", "a native call was renamed", "call_1", "Any", "Ping"),
        ("WARNING", "a fragment came after its call", "a", None, None),
        ("WARNING", "a fragment came after its call", "c", None, None),
    ]
    assert not any("secret" in str(vars(record)) for record in caplog.records)


# References and memory.


def test_a_parser_serves_many_readers_and_is_not_modified() -> None:
    parser = tw.Parser(TOOLS)
    readers = [tw.UpdateReader(parser) for _ in range(3)]
    for piece in ("<Pi", "ng>{}", "</Ping>"):
        for reader in readers:
            reader.push(tw.TextDelta(piece))
    assert [reader.calls for reader in readers] == [1, 1, 1]
    assert parser.finish() == ()


def test_a_reference_cycle_through_ids_is_collected() -> None:
    class Ids:
        reader: tw.UpdateReader

        def __call__(self, index: int) -> str:
            return f"{index}"

    ids = Ids()
    ids.reader = tw.UpdateReader(PARSER, call_ids=ids)
    gone = weakref.ref(ids)
    del ids
    gc.collect()
    assert gone() is None


def test_a_reader_cannot_be_used_from_its_own_ids() -> None:
    def call_id(index: int) -> str:
        reader.push(tw.TextDelta("more"))
        return f"{index}"

    reader = tw.UpdateReader(PARSER, call_ids=call_id)
    with pytest.raises(RuntimeError, match="borrowed"):
        reader.push(tw.TextDelta("<Ping/>"))


def test_the_repr_of_a_reader_has_the_number_of_calls() -> None:
    reader = tw.UpdateReader(PARSER)
    reader.push(tw.TextDelta("<Ping/>"))
    assert repr(reader) == "<UpdateReader, 1 calls so far>"
