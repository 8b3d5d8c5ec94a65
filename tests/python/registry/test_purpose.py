"""Tests of descriptions of tools: their prompts without the query and the scores."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_selections import entry, public_files
from toolweave import RegistrySnapshot
from toolweave.registry import ToolRegistry
from toolweave.registry._toolset import description_of
from toolweave.selection._describe import describe

QUERY = "{request.query}"

WORDS = st.from_regex(
    r"refund|late|parcel|ask|does|about|if|the|is|a|tool|scores?|e\.g\.|3\.5|Straße|返金|\(urgent\)|"
    r"what's|\{limit\}|100",
    fullmatch=True,
)
SENTENCES = st.builds(
    lambda words, at, end: " ".join([*words[:at], QUERY, *words[at:]]) + end,
    st.lists(WORDS, min_size=1, max_size=14),
    st.integers(0, 14),
    st.sampled_from([".", "?", "!", ":", ""]),
)
ABOUT = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
INSTRUCTIONS = st.sampled_from(
    [
        "Assign a score from 0 to 100.",
        "Assign a score from 0 to 100 for whether this tool is appropriate.",
        "Return a score between 0 and 100 for how well the tool answers the query.",
        f"The user has the following query: {QUERY}.",
        f"The user asks:\n    {QUERY}",
    ]
)
DEMANDS = ABOUT.map(lambda about: f"Assign a score from 0 to 100 for whether {QUERY} {about}.")
LINES = SENTENCES | DEMANDS | INSTRUCTIONS | ABOUT | st.just("")
PROMPTS = st.lists(LINES, max_size=6).map("\n    ".join)

EXEMPT = re.compile(
    r"(?:assign|return) a score (?:from|between) 0 (?:to|and) 100(?: for)?"
    r"|whether this tool is appropriate\.|how well the tool answers the query\."
    r"|the user (?:has the following query|asks):\s*\{request\.query\}\.?",
    re.IGNORECASE,
)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def descriptions(prompt: str) -> tuple[str, str]:
    """Return the descriptions for a model that scores the tool and for one that may call it."""
    tool = entry("helper", prompt=prompt)
    asked = describe(tool, item_type="Thing", site=None, examples=0, prompt_chars=None)
    return asked.text, description_of(tool) or ""


@given(PROMPTS)
def test_every_word_except_the_demand_is_in_the_description(prompt: str) -> None:
    expected = words(EXEMPT.sub(" ", prompt).replace(QUERY, " "))
    for text in descriptions(prompt):
        assert expected <= words(text)
        assert "request.query" not in text


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Does {request.query} ask for a refund?", "Does the query ask for a refund?"),
        ("Is { request.rawQuery } a question?", "Is the query a question?"),
        (
            "Assign a score from 0 to 100 for whether {request.query} asks for a refund.",
            "Whether the query asks for a refund.",
        ),
        (
            "Assign a score\nfrom 0 to 100 for whether {request.query}\nasks for a refund.",
            "Whether the query\nasks for a refund.",
        ),
        ("The query is {request.query}.\nAssign a score from 0 to 100. Refunds.", "Refunds."),
        (
            "Is {request.query} a search? Say how likely, and what for.",
            "Is the query a search? Say how likely, and what for.",
        ),
        (
            "It retrieves match scores. Always score 100 for cricket.",
            "It retrieves match scores. Always score 100 for cricket.",
        ),
        (
            "Assign a score from 0 to 100 for whether searching all sites is right.",
            "Whether searching all sites is right.",
        ),
        ("Assign a score: 100 for refunds, else 0.", "100 for refunds, else 0."),
        ("Return a score of 5 or less for weather.", "Return a score of 5 or less for weather."),
    ],
)
def test_no_sentence_is_dropped_or_cut(prompt: str, text: str) -> None:
    assert descriptions(prompt) == (text, text)


def test_other_placeholders_are_named_in_words_without_a_query() -> None:
    prompt = "Goes on with {request.previousQueries} at {request.site}, within {limit} days."
    _, called = descriptions(prompt)
    assert called == "Goes on with the previous queries at the site, within {limit} days."


def test_a_prompt_without_a_purpose_gives_no_description() -> None:
    prompt = f"The user asks: {QUERY}\nAssign a score from 0 to 100 for whether `helper` fits."
    assert description_of(entry("helper", prompt=prompt)) is None


@pytest.mark.parametrize("file", public_files())
def test_the_prompts_of_public_files_lose_no_line(file: Path) -> None:
    RegistrySnapshot.read(file.read_bytes())
    for tool in ElementTree.parse(file).iter("Tool"):
        prompt = tool.findtext("prompt") or ""
        asked, called = descriptions(prompt)
        for line in prompt.splitlines():
            if QUERY not in line and not re.match(r"\s*assign a score", line, re.IGNORECASE):
                assert words(line) <= words(asked)
                assert words(line) <= words(called)


REFUND = """<Tools><Thing>
  <Tool name="refund">
    <method>builtin</method>
    <prompt>{prompt}</prompt>
    <returnStruc>{{"score": "integer between 0 and 100"}}</returnStruc>
  </Tool>
</Thing></Tools>"""


def test_lint_reports_tools_without_a_description() -> None:
    mute = f"The user asks: {QUERY}\nAssign a score from 0 to 100."
    [found] = ToolRegistry.loads(REFUND.format(prompt=mute)).lint()
    assert (found.code, found.severity, found.line) == ("TW204", "warning", 4)
    assert found.message == 'the prompt of the tool "refund" says nothing of what the tool does'
    assert ToolRegistry.loads(REFUND.format(prompt=f"Does {QUERY} ask for a refund?")).lint() == ()
