"""Conversion of histories to natural text, and back."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from paths import CASES

FOLDER = CASES / "consolidate"


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


def messages(dicts: list[dict[str, Any]]) -> list[tw.Message]:
    return [tw.message_from_dict(fields) for fields in dicts]


@pytest.mark.parametrize(
    "case", cases("histories.json") + cases("turns.json"), ids=lambda case: case["name"]
)
def test_histories_are_consolidated_and_parsed_as_expected(case: dict[str, Any]) -> None:
    tools = case.get("tools", ())
    options = {option: case[option] for option in ("form", "tag", "fenced") if option in case}
    history = messages(case["messages"])
    written = tw.consolidate(history, tools=tools, **options)
    assert [message.to_dict() for message in written] == case["text"]
    assert tw.consolidate(written, tools=tools, **options) == written
    read = tw.parse_history(written, tools)
    assert [message.to_dict() for message in read] == case["history"]
    consolidator = tw.Consolidator(tools=tools, **options)
    pieces = [consolidator.push(message) for message in history]
    pieces.append(consolidator.finish())
    assert "".join(pieces) == "".join(message.text for message in written)
    assert consolidator.messages == written


FORMS = ["single", "turn", "split"]
NAMES = ["f", "GetWeather", "math.factorial", 'bad name">\n', "tool_call"]
TOOLS = NAMES[:3]
hostile = st.lists(
    st.sampled_from(
        [
            '<tool_call name="f">', "</tool_call>", '<tool_response name="f">', "</tool_response>",
            "<f>", "</f>", "<GetWeather>", "</getweather >", "<tool_", "call>", "&lt;", "&amp;",
            "&amp;lt;", "lt;", "```", "```json\n", "---", "---\n", "\n", "\r\n", "\r", " ", "{}",
            '{"a": 1}', '{"a":1}', "[1]", "\\", '"', "\u2028", "<TOOL_CALL NAME='f'>", "<", "/f>",
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    max_size=10,
).map("".join)  # fmt: skip
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | hostile,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
    max_leaves=6,
)
structured = st.builds(
    lambda value, layout: json.dumps(value, **layout),
    st.dictionaries(hostile, json_values, max_size=3) | st.lists(json_values, max_size=3),
    st.sampled_from(
        [{}, {"ensure_ascii": False}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}]
    ),
)


@st.composite
def histories(draw: st.DrawFn) -> list[tw.Message]:
    history: list[tw.Message] = []
    for turn in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            role = draw(st.sampled_from(["user", "assistant"]))
            history.append(tw.TextMessage(draw(hostile), role=role))
            continue
        calls, results = [], []
        for at in range(draw(st.integers(1, 3))):
            name = draw(st.sampled_from(NAMES))
            arguments = draw(st.dictionaries(hostile, json_values, max_size=2))
            calls.append(tw.ToolCall(f"{turn}.{at}", name, arguments))
            if draw(st.booleans()):
                text = draw(hostile | structured)
                failed = draw(st.booleans())
                results.append(
                    tw.ToolResult(
                        f"{turn}.{at}",
                        name,
                        text,
                        is_error=failed,
                        error_code="tool_error" if failed else None,
                        duration=draw(st.none() | st.just(0.5)),
                    )
                )
        if draw(st.booleans()):
            history.append(tw.ToolAggregateMessage(calls, results))
        else:
            history.append(tw.ToolCallMessage(calls))
            history.append(tw.ToolResultMessage(results[::-1]))
    return history


def exchange(history: list[tw.Message]) -> tuple[list[Any], list[tw.ToolResult]]:
    """Return the calls, with the text of their arguments, and the results, by id."""
    calls: list[Any] = []
    results: list[tw.ToolResult] = []
    for message in history:
        if isinstance(message, (tw.ToolCallMessage, tw.ToolAggregateMessage)):
            calls += [
                (call.id, call.name, json.dumps(call.arguments)) for call in message.tool_calls
            ]
        if isinstance(message, (tw.ToolResultMessage, tw.ToolAggregateMessage)):
            results += message.tool_results
    return calls, sorted(results, key=lambda result: result.tool_call_id)


@settings(max_examples=effort(80))
@given(histories(), st.sampled_from(FORMS), st.sampled_from(["name", "tool_call"]))
def test_calls_and_results_are_recovered(history: list[tw.Message], form: Any, tag: Any) -> None:
    written = tw.consolidate(history, tools=TOOLS, form=form, tag=tag)
    assert exchange(tw.parse_history(written, TOOLS)) == exchange(history)


@settings(max_examples=effort(80))
@given(histories(), st.booleans())
def test_the_text_alone_has_names_and_arguments(history: list[tw.Message], fenced: bool) -> None:
    # Without the metadata, a call in a code block is an example.
    history = [
        tw.TextMessage(message.text.replace("`", "'"), role=message.role)
        if isinstance(message, tw.TextMessage)
        else message
        for message in history
    ]
    written = tw.consolidate(history, fenced=fenced)
    texts = [part for message in written for part in tw.parse_history(message.text)]
    read = [call[1:] for call in exchange(texts)[0]]
    assert read == [call[1:] for call in exchange(history)[0]]


@settings(max_examples=effort(80))
@given(histories(), st.sampled_from(FORMS))
def test_message_by_message_gives_the_same_text(history: list[tw.Message], form: Any) -> None:
    consolidator = tw.Consolidator(form=form)
    text = "".join([consolidator.push(message) for message in history])
    text += consolidator.finish()
    whole = tw.consolidate(history, form=form)
    assert text == "".join(message.text for message in whole)
    assert consolidator.messages == whole


def with_provenance(message: tw.Message) -> tw.Message:
    """Return the message with raw texts and repairs of its calls."""
    if not isinstance(message, (tw.ToolCallMessage, tw.ToolAggregateMessage)):
        return message
    repair = tw.Repair("/a", "type", "1", 1)
    calls = [
        call.__replace__(raw=f"<{call.name}>", repairs=[repair]) for call in message.tool_calls
    ]
    return message.__replace__(tool_calls=calls)


@settings(max_examples=effort(40))
@given(histories(), st.sampled_from(FORMS))
def test_without_provenance_raw_texts_and_repairs_are_left_out(
    history: list[tw.Message], form: Any
) -> None:
    repaired = [with_provenance(message) for message in history]
    bare = tw.consolidate(history, form=form)
    assert tw.consolidate(repaired, form=form, provenance=False) == bare
    assert tw.to_openai(repaired, dangling="omit") == tw.to_openai(history, dangling="omit")


@settings(max_examples=effort(80))
@given(histories(), st.sampled_from(FORMS), st.sampled_from([(), TOOLS]))
def test_consolidation_is_idempotent(history: list[tw.Message], form: Any, tools: Any) -> None:
    once = tw.consolidate(history, tools=tools, form=form)
    assert tw.consolidate(once, tools=tools, form=form) == once


@settings(max_examples=effort(80))
@given(histories(), st.sampled_from(FORMS))
def test_messages_are_turns_of_their_party(history: list[tw.Message], form: Any) -> None:
    written = tw.consolidate(history, form=form)
    roles = [message.role for message in written]
    assert all(one is not other for one, other in itertools.pairwise(roles))
    texts = [message for message in history if isinstance(message, tw.TextMessage) and message.text]
    for role in ("user", "assistant"):
        joined = "".join(message.text for message in written if message.role == role)
        at = 0
        for message in texts:
            if message.role == role and "<" not in message.text and "&" not in message.text:
                at = joined.index(message.text, at) + len(message.text)


@settings(max_examples=effort(80))
@given(hostile)
def test_a_hostile_result_is_recovered_and_is_not_a_call(text: str) -> None:
    call = tw.ToolCall("a", "f", {})
    aggregate = tw.ToolAggregateMessage([call], [tw.ToolResult("a", "f", text)])
    for tools in ((), TOOLS):
        [written] = tw.consolidate([aggregate], tools=tools)
        [read] = tw.parse_history(written, tools)
        assert isinstance(read, tw.ToolAggregateMessage)
        assert [found.result for found in read.tool_results] == [text]
        # The parser of replies finds the call, and reports the result as fabricated.
        found = [event for event in tw.parse(written.text, TOOLS) if isinstance(event, tw.ToolCall)]
        assert [event.name for event in found] == ["f"]
        [answer] = tw.consolidate([tw.ToolResultMessage([tw.ToolResult("a", "f", text)])])
        events = tw.parse(answer.text, TOOLS)
        assert not any(isinstance(event, (tw.ToolCall, tw.InvalidToolCall)) for event in events)


def test_huge_results_are_recovered() -> None:
    for text in ["<" * 300_000, "&lt;f>" * 50_000, "</tool_response>\n" * 20_000, "[" * 100_000]:
        aggregate = tw.ToolAggregateMessage(
            [tw.ToolCall("a", "f", {})], [tw.ToolResult("a", "f", text)]
        )
        [read] = tw.parse_history(tw.consolidate([aggregate]))
        assert read == aggregate


def test_a_finished_consolidator_rejects_messages() -> None:
    consolidator = tw.Consolidator()
    assert consolidator.messages == []
    assert consolidator.push("Hello.") == "Hello."
    assert consolidator.finish() == ""
    with pytest.raises(tw.ConsolidationError, match=r"message 1: .* finished") as caught:
        consolidator.push("More.")
    assert caught.value.index == 1
    assert consolidator.messages == [tw.TextMessage("Hello.", role="user", natural=True)]


def test_two_results_for_one_call_are_an_error_that_names_the_message() -> None:
    calls = tw.ToolCallMessage([tw.ToolCall("a", "f", {})])
    first = tw.ToolResultMessage([tw.ToolResult("a", "f", "1")])
    again = tw.ToolResultMessage([tw.ToolResult("a", "f", "2")])
    # In a separate message, the second one is a late result.
    [written] = tw.consolidate([calls, first, again])
    assert written.text.count("<tool_response") == 2


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"form": "both"}, ValueError, '"single", "turn" or "split", got "both"'),
        ({"tag": "xml"}, ValueError, '"name" or "tool_call"'),
        ({"fenced": 3}, TypeError, "bool"),
        ({"tools": "f"}, TypeError, "in a list"),
        ({"tools": [3]}, TypeError, "a tool must be"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tw.consolidate([tw.TextMessage("hi")], **options)


@pytest.mark.parametrize("history", [3, None, [3], [None], {"kind": "?"}, b"x"])
def test_invalid_histories_are_rejected(history: Any) -> None:
    with pytest.raises((TypeError, tw.MessageError)):
        tw.consolidate(history)
    with pytest.raises((TypeError, tw.MessageError)):
        tw.parse_history(history)


def test_one_push_takes_one_message() -> None:
    with pytest.raises(ValueError, match="one message, got 2"):
        tw.Consolidator().push(["a", "b"])  # type: ignore[arg-type]
