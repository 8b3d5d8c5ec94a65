"""Tools as the chat templates of models present them, for the same tools."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from jinja2 import UndefinedError

import toolweave as tw
from chat_templates import COLLECTED, render
from presented_tools import DETAILS, ONLY_READ, SOURCES, TOOLS, WITHOUT_TOOLS, Detail, Source

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello."},
]

pytestmark = pytest.mark.skipif(
    not COLLECTED.exists(), reason="the chat templates of models are left out"
)

SAME = [source for source in SOURCES if not source.difference]
DIFFERENT = [source for source in SOURCES if source.difference]


def prompt_of(
    file: str, tools: list[dict[str, Any]], messages: list[dict[str, Any]] = MESSAGES
) -> str:
    """Return the prompt of a template."""
    definitions = [{"type": "function", "function": tool} for tool in tools]
    days = {"today": "2026-11-23", "yesterday": "2026-11-22"}
    return render(file, messages, tools=definitions, add_generation_prompt=True, **days)


def listed(source: Source, tools: list[dict[str, Any]]) -> str:
    """Return the list of tools in the prompt that a template writes."""
    prompt = prompt_of(source.file, tools)
    at = prompt.index(source.begin)
    to = prompt.index(source.end, at) + len(source.end)
    return prompt[at:to].removesuffix("<turn|>").removesuffix("\n\nIMPORTANT:")


@pytest.mark.parametrize("source", SAME, ids=lambda source: source.file)
def test_tools_are_listed_as_by_the_template(source: Source) -> None:
    for tools in (TOOLS, TOOLS[:1], TOOLS[1:2]):
        assert tw.render_contracts(tools, dialect=source.dialect) == listed(source, tools)


@pytest.mark.parametrize("source", DIFFERENT, ids=lambda source: source.file)
def test_a_difference_is_there(source: Source) -> None:
    assert tw.render_contracts(TOOLS, dialect=source.dialect) != listed(source, TOOLS)


@pytest.mark.parametrize("detail", DETAILS, ids=lambda detail: detail.name)
def test_a_detail_is_shown_as_by_the_template_or_differs_for_a_reason(detail: Detail) -> None:
    differing = set()
    for source in SAME:
        written = tw.render_contracts([detail.tool], dialect=source.dialect)
        try:
            expected = listed(source, [detail.tool])
        except (TypeError, UndefinedError):
            expected = ""  # Not every template takes a tool without a description.
        if written != expected:
            differing.add(source.dialect)
    assert differing == set(detail.reasons)


def test_every_template_is_held_against_or_left_out_for_a_reason() -> None:
    with (COLLECTED / "MANIFEST.tsv").open(encoding="utf-8") as file:
        files = {row["file"] for row in csv.DictReader(file, delimiter="\t")} - {"-"}
    assert files == {source.file for source in SOURCES} | {*WITHOUT_TOOLS, *ONLY_READ}
    for name in WITHOUT_TOOLS:
        assert TOOLS[0]["name"] not in prompt_of(name, TOOLS[:1])


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.file)
def test_a_render_of_a_template_shows_its_dialect(source: Source) -> None:
    # Mistral's dialects list tools in the same way, and differ in calls.
    expected = "natural" if source.dialect in ("mistral", "mistral_v11") else source.dialect
    assert tw.Dialect.from_template(prompt_of(source.file, TOOLS)).name == expected
    call = {
        "id": "call00001",
        "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Oslo"}},
    }
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00001", "content": "wet"},
    ]
    prompt = prompt_of(source.file, TOOLS, messages)
    assert tw.Dialect.from_template(prompt).name == source.dialect
