"""The laws of the parser, for every reply and every split of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from parser_replies import (
    MARKERS,
    TOOLS,
    calls_in,
    canonical_json,
    clean,
    feed,
    hostile,
    is_inside_escape,
    joined,
    options,
    plausible,
    prose,
    replies,
    source,
    split_at,
)

cuts = st.lists(st.integers(0, 400), max_size=30)


@given(replies, options, cuts)
def test_every_split_gives_the_same_events(
    reply: str, options: dict[str, Any], cuts: list[int]
) -> None:
    whole = joined(feed([reply], **options))
    assert joined(feed(split_at(reply, cuts), **options)) == whole
    assert joined(feed(reply, **options)) == whole
    assert joined(tw.parse(reply, TOOLS, **options)) == whole


@given(hostile(5) | plausible().filter(lambda reply: len(reply) < 60))
def test_every_split_in_two_gives_the_same_events(reply: str) -> None:
    whole = joined(feed([reply]))
    for at in range(1, len(reply)):
        assert joined(feed([reply[:at], reply[at:]])) == whole, (reply[:at], reply[at:])


@given(replies, cuts)
def test_empty_chunks_change_nothing(reply: str, cuts: list[int]) -> None:
    chunks = split_at(reply, cuts)
    parser = tw.Parser(TOOLS)
    for chunk in chunks:
        parser.push(chunk)
        assert parser.push("") == ()
        assert parser.push_many([]) == ()
        assert parser.push_many(["", ""]) == ()


@given(replies, options, cuts)
def test_nothing_is_lost_and_nothing_invented(
    reply: str, options: dict[str, Any], cuts: list[int]
) -> None:
    parser = tw.Parser(TOOLS, **{k: v for k, v in options.items() if k != "truncated"})
    text_so_far, reported = "", ""
    for chunk in split_at(reply, cuts):
        text_so_far += chunk
        reported += source(parser.push(chunk))
        assert text_so_far.startswith(reported)
    assert reported + source(parser.finish(truncated=options.get("truncated", False))) == reply


@given(st.text(max_size=80), options)
def test_no_text_makes_the_parser_raise(reply: str, options: dict[str, Any]) -> None:
    assert source(feed([reply], **options)) == reply


@given(replies, options)
def test_a_call_starts_once_and_ends_once_with_only_its_fragments_between(
    reply: str, options: dict[str, Any]
) -> None:
    events = feed(reply, **options)
    open_call: tuple[int, str, str] | None = None
    fragments, count = "", 0
    for event in events:
        match event:
            case tw.ToolCallStart(index, id_, name):
                assert open_call is None
                assert (index, id_) == (count, f"call_{count}")
                open_call, fragments, count = (index, id_, name), "", count + 1
            case tw.ToolCallDelta(index, fragment):
                assert open_call is not None
                assert open_call[0] == index
                assert fragment
                fragments += fragment
            case tw.ToolCall() | tw.InvalidToolCall():
                assert open_call == (event.index, event.id, event.name)
                assert fragments in event.raw
                open_call = None
            case _:
                assert open_call is None
    assert open_call is None


@given(clean(), cuts)
def test_a_clean_reply_records_no_repairs_and_needs_none(
    reply_and_calls: tuple[str, list[tuple[str, dict[str, Any], str]]], cuts: list[int]
) -> None:
    reply, written = reply_and_calls
    chunks = split_at(reply, cuts)
    events = joined(feed(chunks))
    found = list(calls_in(events))
    assert [(call.name, canonical_json(call.arguments)) for call in found] == [
        (name, canonical_json(arguments)) for name, arguments, _ in written
    ]
    assert all(call.repairs == () for call in found)
    for mode in ("none", "syntax"):
        assert joined(feed(chunks, repair=mode)) == events
    assert joined(feed(chunks, truncated=True)) == events


@given(clean(), cuts)
def test_fragments_are_verbatim_and_never_split_an_escape(
    reply_and_calls: tuple[str, list[tuple[str, dict[str, Any], str]]], cuts: list[int]
) -> None:
    reply, written = reply_and_calls
    for chunks in (split_at(reply, cuts), list(reply)):
        fragments: dict[int, list[str]] = {}
        for event in feed(chunks):
            if isinstance(event, tw.ToolCallDelta):
                fragments.setdefault(event.index, []).append(event.fragment)
        for index, (_, _, payload) in enumerate(written):
            got = fragments[index]
            assert "".join(got) == payload
            forbidden, at = is_inside_escape(payload), 0
            for fragment in got:
                at += len(fragment)
                assert at not in forbidden, got


@given(replies, options)
def test_without_deltas_the_rest_is_the_same(reply: str, options: dict[str, Any]) -> None:
    full = joined(feed(reply, **(options | {"deltas": True})))
    bare = joined(feed(reply, **(options | {"deltas": False})))
    assert bare == [event for event in full if not isinstance(event, tw.ToolCallDelta)]


# Promptness.


@pytest.mark.parametrize(
    "chunk",
    [
        "Hello",
        " ",
        "\n",
        "a\nb\r\nc\n",
        "é😀\u2028",
        "a < b",
        "a <b> </b> <!-- -->",
        "x > y",
        "a `code` b",
        "</tool_call>",
        "{}[]\"'\\",
        "    ",
        "\x00",
        "<unknown>",
        "x ``` y ~~~ z",
        "long " * 10_000,
    ],
)
def test_text_that_cannot_begin_a_tag_is_returned_at_once_as_the_same_object(chunk: str) -> None:
    parser = tw.Parser(TOOLS)
    parser.push("Well, ")
    for _ in range(3):
        (event,) = parser.push(chunk)
        assert isinstance(event, tw.TextDelta)
        assert event.text is chunk
    assert parser.finish() == ()


# Calls of some dialect can begin with these, or with white space before them.
letters = st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="<`~AOTft[]{◁")


@given(prose.filter(bool), st.text(letters, min_size=1))
def test_text_that_begins_no_markup_is_returned_at_once(natural: str, other: str) -> None:
    for chunk, dialects in ((natural, ("natural",)), (other, None)):
        options: Any = {} if dialects is None else {"dialects": dialects}
        (event,) = tw.Parser(TOOLS, **options).push(chunk)
        assert isinstance(event, tw.TextDelta)
        assert event.text is chunk


@pytest.mark.parametrize("chunk", ["words ", "12", "a", "é😀", "{[,:]}", "`", "```", "< b", "\n"])
def test_plain_parts_of_strings_are_returned_at_once_as_the_same_object(chunk: str) -> None:
    parser = tw.Parser(TOOLS)
    parser.push('<Any>{"a": "')
    for _ in range(3):
        (event,) = parser.push(chunk)
        assert isinstance(event, tw.ToolCallDelta)
        assert event.fragment is chunk


def test_nothing_certain_is_the_shared_empty_tuple() -> None:
    parser = tw.Parser(TOOLS)
    empty: tuple[()] = ()
    assert parser.push("") is empty
    assert parser.push("<tool") is empty
    assert parser.push_many(["_c", "all"]) is empty
    assert parser.push(' name="Any">{') != ()


def may_begin_markup(buffered: str) -> bool:
    """Return true if buffered text may still be markup."""
    if buffered[0] in "`~":
        return len(buffered) < 3 or buffered[:3] in ("```", "~~~")
    name = re.match(r"<([^\s<>/]*)", buffered)
    return name is not None and any(marker.startswith(name[1]) for marker in MARKERS)


def is_inside_call(event: tw.Event) -> bool:
    """Return true if more of the same payload may follow the event."""
    match event:
        case tw.ToolCallStart() | tw.ToolCallDelta() | tw.Discarded(_, "too_large"):
            return True
        case tw.InvalidToolCall():
            return event.kind == "too_large"
    return False


@given(replies, st.booleans())
def test_only_possible_markup_is_buffered_within_the_limits(reply: str, in_code: bool) -> None:
    tag = 16
    limits = tw.Limits(max_tag_bytes=tag, max_argument_bytes=40)
    # Openers of other dialects may begin with any letter.
    options: Any = {"in_code": "call" if in_code else "text", "dialects": ("natural",)}
    parser = tw.Parser(TOOLS, limits=limits, **options)
    buffered, in_call = "", False
    for char in reply:
        events = parser.push(char)
        buffered += char
        for event in events:
            in_call = is_inside_call(event)
        reported = source(events)
        assert buffered.startswith(reported)
        buffered = buffered[len(reported) :]
        if buffered and not in_call:
            assert may_begin_markup(buffered), buffered
        # A fence and white space on either side of a tag, and a payload with its own.
        assert len(buffered.encode()) <= 8 * (tag + 4) + 40, buffered
