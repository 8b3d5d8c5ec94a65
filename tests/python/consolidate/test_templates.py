"""Histories in dialects, held against the chat templates of the models."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

import toolweave as tw
from chat_templates import COLLECTED, render
from paths import CASES

CASE = json.loads((CASES / "consolidate" / "templates.json").read_text("utf-8"))
TEMPLATES: list[dict[str, Any]] = CASE["templates"]

ARGUMENTS = {"city": "Zürich", "days": 3, "hourly": True, "unit": None, "box": {"a": [1, "x"]}}
CALLS = (
    tw.ToolCall("call00001", "GetWeather", ARGUMENTS),
    tw.ToolCall("call00002", "ping", {}),
)
RESULTS = (
    tw.ToolResult("call00001", "GetWeather", "8 degrees"),
    tw.ToolResult("call00002", "ping", '{"a": 1}'),
)


def written(dialect: str, *, one_call: bool, text: str = "") -> tuple[str, str]:
    """Return the turns of the calls, with a text before them, and of their results."""
    count = 1 if one_call else 2
    aggregate = tw.ToolAggregateMessage(CALLS[:count], RESULTS[:count], generation_id="g1")
    before = tw.TextMessage(text, role="assistant", generation_id="g1")
    history = [before, aggregate] if text else [aggregate]
    calls, results = tw.consolidate(history, form="turn", dialect=dialect)
    return calls.text, results.text


def prompt(file: str, *, one_call: bool, text: str = "") -> str:
    """Return the prompt that a template makes of the same history, with a text before the calls."""
    count = 1 if one_call else 2
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in CALLS[:count]
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": result.tool_call_id,
            "name": result.name,
            "content": result.result,
        }
        for result in RESULTS[:count]
    ]
    messages = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": text, "tool_calls": calls},
        *results,
        {"role": "assistant", "content": "Fine."},
        {"role": "user", "content": "Thanks."},
    ]
    return render(file, messages, tools=None, add_generation_prompt=True)


@pytest.mark.parametrize("template", TEMPLATES, ids=[template["file"] for template in TEMPLATES])
def test_the_blocks_are_those_of_the_template(template: dict[str, Any]) -> None:
    if not (COLLECTED / template["file"]).exists():
        pytest.skip(f"{COLLECTED} is not there")
    one_call = template.get("one_call", False)
    expected = prompt(template["file"], one_call=one_call)
    calls, results = written(template["dialect"], one_call=one_call)
    # A difference has a reason; a reason without a difference is out of date.
    assert (calls not in expected) == ("calls" in template), (calls, expected)
    assert (results not in expected) == ("results" in template), (results, expected)


@pytest.mark.parametrize("template", TEMPLATES, ids=[template["file"] for template in TEMPLATES])
def test_text_before_a_call_is_where_the_template_has_it(template: dict[str, Any]) -> None:
    if not (COLLECTED / template["file"]).exists():
        pytest.skip(f"{COLLECTED} is not there")
    one_call = template.get("one_call", False)
    expected = prompt(template["file"], one_call=one_call, text="I look.")
    calls, _ = written(template["dialect"], one_call=one_call, text="I look.")
    is_different = "calls" in template or "text" in template
    assert (calls not in expected) == is_different, (calls, expected)


def test_every_dialect_and_every_template_has_its_place() -> None:
    with pytest.raises(ValueError, match="cannot be written") as raised:
        tw.consolidate([], dialect="react")
    names = str(raised.value).partition(" written in ")[2].split(", ")
    verified = {template["dialect"] for template in TEMPLATES}
    assert set(names) == {"natural", *verified, *CASE["unverified"]}
    assert not verified & set(CASE["unverified"])
    manifest = COLLECTED / "MANIFEST.tsv"
    if manifest.exists():
        with manifest.open(encoding="utf-8") as file:
            files = {row["file"] for row in csv.DictReader(file, delimiter="\t")} - {"-"}
        assert files == {template["file"] for template in TEMPLATES} | set(CASE["left_out"])
