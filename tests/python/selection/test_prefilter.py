"""Tests of the prefilter, and of rounds of requests about many tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import DOCS, SHARED
from sample_selections import Scores, ScriptedScorer, entry
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolEntry, ToolSelector
from toolweave.selection import ScorerReply, ScorerRequest
from toolweave.selection._candidates import Candidates
from toolweave.selection._rounds import best_by_words, plan_rounds
from virtual_time import run

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def shop(*extra: ToolEntry) -> RegistrySnapshot:
    """Return a shop whose refunds come last, after unrelated tools."""
    plain = [entry(f"tool_{word}", examples=[f"All about {word}"]) for word in NUMBERS]
    refund = entry("refund", examples=["I need a refund for my order"])
    return RegistrySnapshot.of([entry("search"), *plain, refund, *extra])


def names_of_all() -> list[str]:
    return [tool.name for tool in shop().entries]


class ToolNameScorer:
    """Scorer that selects given tools whenever it is asked about them, else the fallback."""

    name = "knows"

    def __init__(self, *right: str) -> None:
        self.right = right
        self.asked: list[list[str]] = []

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        names = [tool.name for tool in request.tools]
        self.asked.append(names)
        found = [name for name in self.right if name in names]
        scores = {name: 95 if name in found else 5 for name in names}
        match request.strategy:
            case "each":
                return ScorerReply({"score": scores[names[0]]})
            case "batch":
                return ScorerReply({name: {"score": score} for name, score in scores.items()})
            case _:
                name = found[0] if found else "search"
                return ScorerReply({"tool": name, "score": 95, "parameters": {}})


def select(registry: Any, scorer: Any, query: str, **policy: Any) -> Selection:
    return run(ToolSelector(registry, scorer, SelectionPolicy(**policy)).select(query))


def name_of(selection: Selection) -> str | None:
    return None if selection.tool is None else selection.tool.name


@pytest.mark.parametrize("strategy", ["choose", "batch", "each"])
@pytest.mark.parametrize("query", ["I want my money back", "Wo ist mein Geld?", "返金してください"])
def test_a_query_without_a_word_in_common_finds_its_tool(strategy: Any, query: str) -> None:
    scorer = ToolNameScorer("refund")
    selection = select(shop(), scorer, query, strategy=strategy, prefilter=3)
    assert name_of(selection) == "refund"
    assert not selection.fallback


def test_a_small_overlap_includes_all_tools() -> None:
    # Only "I" and "my" are words of the tool.
    scorer = ToolNameScorer("refund")
    query = "I sent it, so when do you pay my cash out?"
    assert name_of(select(shop(), scorer, query, prefilter=1)) == "refund"
    assert len(scorer.asked[0]) == 12


def test_a_large_overlap_narrows_the_tools() -> None:
    scorer = ToolNameScorer("refund")
    assert name_of(select(shop(), scorer, "I need a refund!", prefilter=2)) == "refund"
    assert scorer.asked == [["search", "refund"]]


@pytest.mark.parametrize("strategy", ["choose", "batch"])
def test_many_tools_are_asked_about_in_rounds_with_a_final(strategy: Any) -> None:
    scorer = ToolNameScorer("refund", "tool_two")
    selection = select(
        shop(), scorer, "Geld zurück", strategy=strategy, prefilter=2, max_candidates=4
    )
    assert scorer.asked == [
        ["search", "tool_one", "tool_two", "tool_three"],
        ["search", "tool_four", "tool_five", "tool_six", "tool_seven"],
        ["search", "tool_eight", "tool_nine", "tool_ten", "refund"],
        ["search", "tool_two", "refund"],
    ]
    expected = "refund" if strategy == "choose" else "tool_two"
    assert (name_of(selection), selection.calls, selection.score) == (expected, 4, 95)
    assert sorted(one.tool.name for one in selection.ranking) == sorted(
        tool.name for tool in shop().entries
    )


def test_one_winner_needs_no_final_round() -> None:
    scorer = ToolNameScorer("refund")
    selection = select(shop(), scorer, "Geld", prefilter=2, max_candidates=6)
    assert (name_of(selection), selection.calls) == ("refund", 2)


def test_each_selects_the_best_of_all_rounds_and_stops_early() -> None:
    scorer = ToolNameScorer("tool_two", "refund")
    policy = {"strategy": "each", "prefilter": 2, "max_candidates": 4}
    selection = select(shop(), scorer, "Geld", **policy)
    assert (name_of(selection), selection.calls) == ("tool_two", 4)
    assert ["refund"] not in scorer.asked
    notes = {one.tool.name: one.note for one in selection.ranking}
    assert notes["refund"] == "not asked about: another tool had won"
    # A high score of the fallback does not stop the rounds.
    scores = Scores({**dict.fromkeys(names_of_all(), 5), "search": 92, "refund": 95})
    assert name_of(select(shop(), scores, "Geld", **policy)) == "refund"
    late = select(shop(), ToolNameScorer("refund"), "Geld", early_stop=None, **policy)
    assert (name_of(late), late.calls) == ("refund", 14)


def test_rounds_are_limited_by_the_policy_and_skipped_tools_reported() -> None:
    scorer = ToolNameScorer("refund")
    selection = select(shop(), scorer, "Geld", prefilter=2, max_candidates=3, max_rounds=2)
    assert (name_of(selection), selection.calls) == ("search", 2)
    left = [one.tool.name for one in selection.ranking if one.note == "left out after 2 rounds"]
    assert left == ["tool_six", "tool_seven", "tool_eight", "tool_nine", "tool_ten", "refund"]


def test_an_invalid_final_round_leaves_the_best_winner() -> None:
    replies = [
        {"tool": "tool_two", "score": 80, "parameters": {}},
        {"tool": "refund", "score": 90, "parameters": {}},
        "Hm.",
    ]
    policy = {"prefilter": 2, "max_candidates": 6, "attempts": 1}
    selection = select(shop(), ScriptedScorer(replies), "Geld", **policy)
    assert (name_of(selection), selection.score, selection.calls) == ("refund", 90, 3)


@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(["Geld", "tool 3", "All about tool 7", ""]),
)
def test_every_tool_is_asked_about_once_or_left_out_with_a_reason(
    count: int, prefilter: int, size: int, most: int, query: str
) -> None:
    tools = [entry(f"tool {number}", examples=[f"All about {number}"]) for number in range(count)]
    tools.insert(count // 2, entry("search"))
    policy = SelectionPolicy(prefilter=prefilter, max_candidates=size, max_rounds=most)
    asked = plan_rounds(Candidates(tools, ["Thing"], None, policy), query)
    fallback = count // 2
    parts = [at for part in asked.rounds for at in part if at != fallback]
    assert sorted([*parts, *asked.left_out, fallback]) == list(range(count + 1))
    assert 1 <= len(asked.rounds) <= most
    for part in asked.rounds:
        assert part == sorted(set(part))
        assert len(part) <= max(prefilter, size) + 1
        assert fallback in part
    if not query:
        assert len(parts) >= min(count, size * most - most)


PARAPHRASES = SHARED / "data" / "paraphrases.jsonl"
KEPT = 8


def pool() -> tuple[list[ToolEntry], dict[tuple[str, str], str]]:
    """Return the tools of all public files as those of one type, with their new names."""
    found: list[ToolEntry] = []
    names: dict[tuple[str, str], str] = {}
    for file in sorted((SHARED / "data" / "nlweb").glob("*.xml")):
        for tool in RegistrySnapshot.read(file.read_bytes()).entries:
            key = (tool.name, tool.prompt or "")
            if key not in names:
                names[key] = f"{tool.name}_{len(names)}"
                more = {"prompt": tool.prompt, "examples": tool.examples}
                found.append(ToolEntry(names[key], arguments=tool.arguments, **more))
    return found, names


def share(hits: list[bool]) -> str:
    return f"{100 * sum(hits) / len(hits):.0f} %"


@pytest.mark.skipif(not PARAPHRASES.is_file(), reason="set TOOLWEAVE_SHARED to have paraphrases")
def test_the_right_tool_of_a_paraphrase_is_among_those_asked_about() -> None:
    tools, names = pool()
    policy = SelectionPolicy(prefilter=KEPT, max_candidates=len(tools))
    candidates = Candidates(tools, ["Thing"], None, policy)
    measured: dict[str, list[tuple[bool, bool]]] = {}
    for line in PARAPHRASES.read_text("utf-8").splitlines():
        row = json.loads(line)
        file = RegistrySnapshot.read((SHARED / "data" / "nlweb" / row["file"]).read_bytes())
        right = {
            names[(tool.name, tool.prompt or "")]
            for tool in file.tools_for(row["item_type"], row.get("site"))
            if tool.name in (row["tool"], *row.get("also", ()))
        }
        # By words alone, filled up with the first tools.
        best = best_by_words(candidates, row["query"], KEPT)
        best += [at for at in range(len(tools)) if at not in best][: KEPT - len(best)]
        asked = [at for part in plan_rounds(candidates, row["query"]).rounds for at in part]
        found = tuple(
            not right.isdisjoint(candidates.names[at] for at in some) for some in (best, asked)
        )
        measured.setdefault(row["language"], []).append((found[0], found[1]))
    rows = {
        language: f"| {language} | {len(hits)} | {share([by_words for by_words, _ in hits])} "
        f"| {share([offered for _, offered in hits])} |"
        for language, hits in measured.items()
    }
    assert sorted(rows) == ["de", "en", "es", "fr", "ja"]
    for hits in measured.values():
        assert sum(offered for _, offered in hits) >= 0.95 * len(hits)
    page = (DOCS / "explanation/selection.md").read_text("utf-8")
    assert [row for row in rows.values() if row not in page] == []
