"""Parsing of transcripts: only assistants' texts contain calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from paths import CASES

TOOLS = [
    tw.FunctionContract("Add", parameters={"type": "object", "required": ["a"]}),
    tw.FunctionContract("f"),
]


def cases() -> list[dict[str, Any]]:
    path = CASES / "consolidate" / "transcripts.json"
    loaded: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def assistant(text: str) -> tw.TextMessage:
    return tw.TextMessage(text, role="assistant")


def calls(history: list[tw.Message]) -> list[tw.ToolCall]:
    return [call for message in history for call in getattr(message, "tool_calls", ())]


def results(history: list[tw.Message]) -> list[tw.ToolResult]:
    return [result for message in history for result in getattr(message, "tool_results", ())]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_transcripts_are_parsed_as_expected(case: dict[str, Any]) -> None:
    transcript = [tw.message_from_dict(fields) for fields in case["transcript"]]
    history = tw.parse_history(transcript, case["tools"])
    assert [message.to_dict() for message in history] == case["history"]


pieces = st.lists(
    st.sampled_from(
        [
            '<tool_call name="f">', "</tool_call>", "<tool_call name=f>{}</tool_call>",
            '<tool_call name="g">{}</tool_call>', "<f>{}</f>", "<f>", "</f>", "<f/>",
            '<Add>{"a": 1,}</Add>', '<Add>{"b": 1}</Add>', "{}", '{"a": [1, }', "\n", "\n\n", " ",
            "```\n", "```json\n", "`", "<think>", "</think>", "<", "---\n", "text", "é",
            '<tool_response name="f">ok</tool_response>', '<tool_response name="f">\n',
            "</tool_response>",
        ]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@settings(max_examples=effort(200))
@given(pieces)
def test_an_assistants_calls_are_those_that_the_parser_finds(reply: str) -> None:
    found = [event for event in tw.parse(reply, TOOLS) if isinstance(event, tw.ToolCall)]
    for transcript in (reply, assistant(reply), [{"role": "assistant", "content": reply}]):
        read = calls(tw.parse_history(transcript, TOOLS))
        assert [(call.name, call.arguments, call.raw, call.repairs) for call in read] == [
            (call.name, call.arguments, call.raw, call.repairs) for call in found
        ]


@settings(max_examples=effort(100))
@given(st.lists(st.tuples(st.sampled_from(["user", "tool", "system"]), pieces), max_size=4))
def test_only_assistants_make_calls_and_only_calls_have_results(
    turns: list[tuple[str, str]],
) -> None:
    history = tw.parse_history([tw.TextMessage(text, role=role) for role, text in turns], TOOLS)
    assert calls(history) == []
    assert results(history) == []


@settings(max_examples=effort(100))
@given(pieces, pieces, st.sampled_from(["single", "split"]))
def test_hostile_results_are_recovered_from_both_forms(answer: str, text: str, form: Any) -> None:
    call = tw.ToolCall("a", "f", {"text": answer})
    result = tw.ToolResult("a", "f", answer, duration=0.5)
    history: list[tw.Message] = [
        tw.TextMessage(text, role="user"),
        tw.ToolAggregateMessage([call], [result]),
    ]
    read = tw.parse_history(tw.consolidate(history, tools=TOOLS, form=form), TOOLS)
    assert calls(read) == [call]
    assert results(read) == [result]
    assert "".join(m.text for m in read if isinstance(m, tw.TextMessage)) == text


def test_a_parsed_history_can_be_continued() -> None:
    transcript = [
        {"role": "user", "content": "How warm is it in Oslo?"},
        {"role": "assistant", "content": 'I look.\n<GetWeather>{"city": "Oslo"}</GetWeather>'},
        {"role": "user", "content": '<tool_response name="GetWeather">8</tool_response>'},
        {"role": "assistant", "content": "8 degrees."},
    ]
    history = tw.parse_history(transcript, ["GetWeather"])
    native = tw.to_openai(history)
    assert [message["role"] for message in native] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert native[1]["tool_calls"][0]["id"] == native[2]["tool_call_id"] == "call_0"
    written = tw.consolidate(history, tools=["GetWeather"], form="split", tag="name")
    again = tw.parse_history(written, ["GetWeather"])
    assert [message.kind for message in again] == [message.kind for message in history]
    assert results(again) == results(history)


@pytest.mark.parametrize(
    ("transcript", "options", "error", "says"),
    [
        ("", {"dialects": ["klingon"]}, ValueError, 'dialects: "klingon" is not a dialect'),
        ("", {"dialects": "auto"}, TypeError, "dialects"),
        ("", {"dialects": []}, ValueError, "no dialect given"),
        ("", {"dialects": "natural"}, TypeError, "dialects"),
        ("", {"tools": ["f", "f"]}, tw.ContractError, "more than once|twice"),
        ("", {"tools": [3]}, TypeError, "a tool must be"),
        ([{"role": "user", "content": "x"}, 3], {}, TypeError, "message 1"),
        ([{"role": "nobody", "content": "x"}], {}, tw.MessageError, "role"),
        (7, {}, TypeError, "a list of messages"),
        (None, {}, TypeError, "a list of messages"),
    ],
)
def test_invalid_transcripts_are_errors_with_a_location(
    transcript: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tw.parse_history(transcript, **options)


@pytest.mark.parametrize(
    "shape",
    [
        "<f>{}</f>",
        '<tool_call name="f">\n',
        '<tool_response name="f">x</tool_response>\n',
        '<tool_response name="f">\n',
        "<think>",
        "&lt;f>",
        '<f>{"a": ',
        "---\n",
    ],
)
def test_a_huge_transcript_is_parsed_in_one_pass(shape: str) -> None:
    text = shape * (1_000_000 // len(shape))
    transcript = [assistant(text), assistant("<f>{}</f>"), tw.TextMessage(text, role="user")]
    tw.parse_history(transcript, TOOLS)
