"""Tests of selections and their explanations."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from sample_selections import ITEMS, Scores, ScriptedScorer, entry, named, tools
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolSelector, UsageUpdate
from toolweave.selection import ScorerReply
from virtual_time import run


def select(
    registry: Any,
    scorer: Any,
    query: str = "Ramen or udon?",
    *,
    item_type: str = "Thing",
    site: str | None = None,
    context: dict[str, str] | None = None,
    **policy: Any,
) -> Selection:
    selector = ToolSelector(registry, scorer, SelectionPolicy(**policy))
    return run(selector.select(query, item_type=item_type, site=site, context=context))


def tool_name(selection: Selection) -> str | None:
    return None if selection.tool is None else selection.tool.name


def ranking_of(selection: Selection) -> list[tuple[str, float | None]]:
    return [(one.tool.name, one.score) for one in selection.ranking]


def test_choose_asks_once_for_the_tool_its_score_and_its_parameters() -> None:
    scorer = ScriptedScorer([named("compare", 95, item1="ramen", item2="udon")])
    selection = select(ITEMS, scorer)
    assert (tool_name(selection), selection.score, selection.calls) == ("compare", 95.0, 1)
    assert selection.parameters == {"item1": "ramen", "item2": "udon"}
    assert ranking_of(selection) == [("compare", 95.0), ("search", None), ("details", None)]
    assert [one.note for one in selection.ranking] == ["", "not named", "not named"]
    assert (selection.decision, selection.fallback, selection.errors) == ("threshold", False, ())
    assert [one.tool.name for one in selection.top] == ["compare"]


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"tool": "details", "score": "85%", "parameters": {"item_name": "ramen"}}\n```',
        'Sure! {"tool": "details", "score": 85.0, "parameters": {"item_name": "ramen"}} Enjoy.',
        "{'tool': 'details', 'score': 85, 'parameters': {'item_name': 'ramen'},}",
        '{"tool": " DETAILS ", "score": 85, "parameters": {"item_name": "ramen"}}',
        '{"tool": "details", "score": 85, "item_name": "ramen"}',
        {"tool": "details", "score": 85, "parameters": {"item_name": "ramen"}},
    ],
)
def test_a_reply_in_an_unusual_form_is_read(reply: Any) -> None:
    selection = select(ITEMS, ScriptedScorer([reply]))
    assert (tool_name(selection), selection.score, selection.calls) == ("details", 85.0, 1)
    assert selection.parameters == {"item_name": "ramen"}


def test_a_name_that_is_ambiguous_without_case_matches_no_tool() -> None:
    registry = tools("search", "Compare", "compare")
    assert tool_name(select(registry, ScriptedScorer([named("compare")]))) == "compare"
    unclear = select(registry, ScriptedScorer([named("COMPARE")]))
    assert (tool_name(unclear), unclear.fallback) == ("search", True)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ("I would search.", "not a JSON object with a tool"),
        (named("fly", 90), 'names "fly", and there is no such tool'),
        ('{"tool": "details", "parameters": {}}', "the reply has no score"),
        ('{"tool": "details", "score": "very high"}', 'the score is "very high", not a'),
        ("[1, 2]", "not a JSON object with a tool"),
    ],
)
def test_an_invalid_reply_is_asked_again_with_the_reason(reply: str, error: str) -> None:
    scorer = ScriptedScorer([reply, named("details", 80, item_name="ramen")])
    selection = select(ITEMS, scorer)
    assert (tool_name(selection), selection.calls, selection.errors) == ("details", 2, ())
    first, second = scorer.prompts
    assert second.startswith(first)
    assert error in second[len(first) :]


def test_after_the_last_attempt_the_fallback_is_selected_and_the_error_reported() -> None:
    scorer = ScriptedScorer(["What?"])
    selection = select(ITEMS, scorer, attempts=3)
    assert (tool_name(selection), selection.score, selection.calls) == ("search", None, 3)
    assert (selection.decision, selection.fallback) == ("fallback", True)
    assert selection.parameters == {"search_query": "Ramen or udon?"}
    assert [one.tool.name for one in selection.errors] == ["search", "details", "compare"]
    assert "not a JSON object" in selection.reason
    assert [one.tool.name for one in selection.top] == ["search"]


def test_a_call_that_fails_is_not_repeated() -> None:
    selection = select(ITEMS, ScriptedScorer([ConnectionError("refused\nat length")]))
    assert (tool_name(selection), selection.fallback, selection.calls) == ("search", True, 1)
    assert {one.error for one in selection.errors} == {"ConnectionError: refused"}


def test_a_score_below_the_threshold_selects_the_fallback() -> None:
    selection = select(ITEMS, ScriptedScorer([named("details", 69, item_name="ramen")]))
    assert (tool_name(selection), selection.score) == ("search", None)
    assert ranking_of(selection)[0] == ("details", 69.0)
    assert [one.tool.name for one in selection.top] == ["search"]
    assert selection.reason == (
        "The best score, 69 of details, is below the threshold of 70, so it is the fallback search."
    )
    assert (
        tool_name(select(ITEMS, ScriptedScorer([named("details", 69)]), threshold=69)) == "details"
    )


def test_without_a_fallback_there_is_no_tool() -> None:
    selection = select(ITEMS, ScriptedScorer([named("details", 1)]), fallback=None)
    assert (selection.tool, selection.decision, selection.top) == (None, "none", ())
    assert selection.reason.endswith("and there is no fallback.")
    selection = select(tools("a", "b"), ScriptedScorer([named("a", 1)]))
    assert selection.tool is None
    assert selection.reason.endswith("and the fallback search is not among the tools.")


def test_invalid_parameters_are_an_error_but_the_score_counts() -> None:
    registry = RegistrySnapshot.of(
        [
            entry("search"),
            entry("top", return_struc={"score": "integer", "count": "integer between 1 and 5"}),
        ]
    )
    selection = select(registry, ScriptedScorer([named("top", 90, count="many")]))
    assert (tool_name(selection), selection.score) == ("top", 90.0)
    assert "count" in (selection.ranking[0].error or "")


def test_batch_scores_all_tools_with_one_call() -> None:
    replies = {
        "search": {"score": 40},
        "details": {"score": 75, "item_name": "ramen"},
        "compare": {"score": "92%", "item1": "ramen", "item2": "udon"},
    }
    scorer = ScriptedScorer([json.dumps(replies)])
    selection = select(ITEMS, scorer, strategy="batch")
    assert ranking_of(selection) == [("compare", 92.0), ("details", 75.0), ("search", 40.0)]
    assert selection.parameters == {"item1": "ramen", "item2": "udon"}
    assert (selection.calls, selection.errors) == (1, ())
    assert [one.tool.name for one in selection.top] == ["compare", "details"]
    schema = scorer.requests[0].schema
    assert list(schema["properties"]) == schema["required"] == ["search", "details", "compare"]
    assert set(schema["properties"]["compare"]["properties"]) == {"score", "item1", "item2"}


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"search": 20, "DETAILS": 80, "compare": 10}\n```',
        '{"search": {"score": 20}, "details": {"score": 80}, "compare": {"score": 10},}',
        '{"search": 20, "details": 80, "compare": 10, "other": 100}',
    ],
)
def test_a_batch_in_an_unusual_form_is_read(reply: str) -> None:
    selection = select(ITEMS, ScriptedScorer([reply]), strategy="batch")
    assert ranking_of(selection) == [("details", 80.0), ("search", 20.0), ("compare", 10.0)]
    assert selection.calls == 1


def test_a_missing_or_invalid_tool_in_a_batch_affects_no_other() -> None:
    scorer = ScriptedScorer(['{"search": {"score": "?"}, "compare": {"score": 80, "item1": "a"}}'])
    selection = select(ITEMS, scorer, strategy="batch")
    assert (tool_name(selection), selection.calls) == ("compare", 1)
    errors = {one.tool.name: one.error for one in selection.errors}
    assert errors["details"] == "the reply leaves this tool out"
    assert errors["search"]


def test_a_batch_without_any_score_is_asked_again() -> None:
    scorer = ScriptedScorer(["Hm.", '{"search": 20, "details": 80, "compare": 10}'])
    selection = select(ITEMS, scorer, strategy="batch")
    assert (tool_name(selection), selection.calls, selection.errors) == ("details", 2, ())
    selection = select(ITEMS, ScriptedScorer(["Hm."]), strategy="batch")
    assert (tool_name(selection), selection.calls, selection.fallback) == ("search", 2, True)


def test_each_asks_about_every_tool_with_its_own_prompt() -> None:
    asked: list[str] = []

    async def scorer(prompt: str, schema: dict[str, Any]) -> dict[str, Any]:
        asked.append(prompt)
        if "<compare>" in prompt:
            assert set(schema["properties"]) == {"score", "item1", "item2"}
            return {"score": 88, "item1": "ramen", "item2": "udon"}
        return {"score": 10, "search_query": "x", "item_name": "y"}

    selection = select(ITEMS, scorer, strategy="each")
    assert (tool_name(selection), selection.calls) == ("compare", 3)
    assert selection.parameters == {"item1": "ramen", "item2": "udon"}
    assert all("The query: Ramen or udon?" in prompt for prompt in asked)
    assert '"item1": "the item1"' in asked[2]


def test_one_failing_tool_affects_no_other() -> None:
    replies = {
        "search": 50,
        "broken": "no JSON at all",
        "raises": RuntimeError("down"),
        "empty": {"text": "?"},
        "good": "85",
    }
    scorer = Scores({**replies, "good": {"score": "85"}})
    registry = tools("search", "broken", "raises", "empty", "slow", "good")
    selection = select(registry, scorer, strategy="each", timeout=2.0)
    assert (tool_name(selection), selection.score, selection.calls) == ("good", 85.0, 6)
    errors = {one.tool.name: one.error for one in selection.errors}
    assert set(errors) == {"broken", "raises", "empty", "slow"}
    assert errors["raises"] == "RuntimeError: down"
    assert errors["slow"] == "no reply within 2 s"
    assert scorer.cancelled == ["slow"]


def test_if_every_tool_fails_the_fallback_is_selected() -> None:
    scorer = Scores({name: RuntimeError("down") for name in ("a", "search", "b")})
    selection = select(tools("a", "search", "b"), scorer, strategy="each")
    assert (tool_name(selection), selection.score, selection.fallback) == ("search", None, True)
    assert selection.reason == "No tool has a score, so it is the fallback search."


def test_equal_scores_go_to_the_more_specific_tool_and_are_reported() -> None:
    registry = RegistrySnapshot.of(
        [entry("search"), entry("details"), entry("cook", type="Recipe"), entry("last")]
    )
    same = Scores(dict.fromkeys(("search", "details", "cook", "last"), 80))
    selection = select(registry, same, strategy="each", item_type="Recipe")
    assert tool_name(selection) == "cook"
    assert [tool.name for tool in selection.ties] == ["search", "details", "last"]
    assert selection.reason.endswith("threshold of 70; tied with search, details, last.")
    selection = select(registry, same, strategy="each")
    assert tool_name(selection) == "search"


def test_equal_scores_for_one_type_go_to_the_tool_of_the_site() -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("everywhere"), entry("here", site="a")])
    scorer = Scores({"search": 10, "everywhere": 80, "here": 80})
    selection = run(
        ToolSelector(registry, scorer, SelectionPolicy(strategy="each")).select("x", site="a")
    )
    assert (tool_name(selection), [tied.name for tied in selection.ties]) == (
        "here",
        ["everywhere"],
    )


def test_the_registry_decides_which_type_is_more_specific() -> None:
    registry = RegistrySnapshot.read(
        """<Tools>
          <Thing><Tool name="search"><prompt>{request.query}</prompt></Tool></Thing>
          <Ramen extends="Soup"><Tool name="slurp"><prompt>{request.query}</prompt></Tool></Ramen>
          <Soup extends="Recipe"><Tool name="cook"><prompt>{request.query}</prompt></Tool></Soup>
        </Tools>"""
    )
    same = Scores(dict.fromkeys(("search", "cook", "slurp"), 80))
    for source in (registry, RegistryWrapper(registry)):
        selection = select(source, same, strategy="each", item_type="Ramen")
        assert [name for name, _ in ranking_of(selection)] == ["slurp", "cook", "search"]


class RegistryWrapper:
    """Registry that wraps a snapshot."""

    def __init__(self, snapshot: RegistrySnapshot) -> None:
        self.snapshot = snapshot
        self.fingerprint = snapshot.fingerprint

    def tools_for(self, item_type: str, site: str | None = None, /) -> Any:
        return self.snapshot.tools_for(item_type, site)


def test_a_prompt_without_the_query_is_replaced_by_a_generic_one() -> None:
    registry = RegistrySnapshot.of(
        [
            entry("search"),
            entry("mute", prompt=None, return_struc=None, examples=["Hush!"]),
            entry("plain", prompt="It weighs things.", return_struc={"weight": "in grams"}),
        ]
    )
    scorer = ScriptedScorer([{"score": 80, "weight": "3"}])
    select(registry, scorer, 'How heavy is "it"?', strategy="each", early_stop=None)
    for prompt, request in zip(scorer.prompts[1:], scorer.requests[1:], strict=True):
        assert json.dumps('How heavy is "it"?') in prompt
        assert "score" in request.schema["properties"]
    assert '"Hush!"' in scorer.prompts[1]
    assert "It weighs things." in scorer.prompts[2]
    assert "in grams" in scorer.prompts[2]


def test_the_only_tool_needs_no_call_and_no_scorer() -> None:
    registry = RegistrySnapshot.of([entry("lookup", "search_query", "other")])
    selection = select(registry, None, "soup")
    failing = ScriptedScorer([OSError("never asked")])
    assert select(registry, failing, "soup", single_shortcut=True).ranking == selection.ranking
    assert (tool_name(selection), selection.score, selection.calls) == ("lookup", 100.0, 0)
    assert (selection.decision, selection.strategy) == ("single", "single")
    assert selection.parameters == {"search_query": "soup"}
    assert not selection.fallback


def test_a_type_without_tools_has_no_tool() -> None:
    registry = RegistrySnapshot.of([entry("cook", type="Recipe")])
    selection = select(registry, None, item_type="Movie", site="example.com")
    assert (selection.tool, selection.ranking, selection.decision) == (None, (), "none")
    assert selection.reason == "There are no tools for the type Movie at the site example.com."


def test_several_tools_without_a_scorer_are_an_error_with_a_hint() -> None:
    with pytest.raises(ValueError, match="3 tools to choose from, but the selector has no scorer"):
        select(ITEMS, None)


MANY = RegistrySnapshot.of(
    [
        *(entry(f"tool_{word}", examples=[f"All about {word}"]) for word in ("apples", "boats")),
        entry("search"),
        *(entry(f"tool_{word}", examples=[f"All about {word}"]) for word in ("cars", "drums")),
    ]
)


def test_the_prefilter_keeps_matching_tools_and_the_fallback() -> None:
    scorer = ScriptedScorer([named("tool_drums")])
    selection = select(MANY, scorer, "All about drums!", prefilter=1)
    assert tool_name(selection) == "tool_drums"
    assert [tool.name for tool in scorer.requests[0].tools] == ["search", "tool_drums"]
    notes = {one.tool.name: one.note for one in selection.ranking}
    assert [name for name, note in notes.items() if note == "left out by the prefilter"] == [
        "tool_apples",
        "tool_boats",
        "tool_cars",
    ]


def test_if_too_few_tools_match_the_first_ones_are_added() -> None:
    scorer = ScriptedScorer([named("search")])
    select(MANY, scorer, "Drums?", prefilter=2)
    assert [tool.name for tool in scorer.requests[0].tools] == [
        "tool_apples",
        "search",
        "tool_drums",
    ]


@pytest.mark.parametrize("prefilter", [None, 5, 8])
def test_a_small_number_of_tools_is_not_filtered(prefilter: int | None) -> None:
    scorer = ScriptedScorer([named("search")])
    select(MANY, scorer, "drums", prefilter=prefilter)
    assert len(scorer.requests[0].tools) == 5


@pytest.mark.parametrize("strategy", ["each", "batch"])
def test_the_other_strategies_ask_about_the_same_tools(strategy: Any) -> None:
    scorer = ScriptedScorer([{"score": 80, "search": 10, "tool_drums": 80}])
    selection = select(MANY, scorer, "drums", prefilter=1, strategy=strategy, early_stop=None)
    asked = [tool.name for request in scorer.requests for tool in request.tools]
    assert asked == ["search", "tool_drums"]
    assert len(selection.ranking) == 5


def test_a_selection_explains_itself() -> None:
    scorer = Scores({"search": 40, "details": {"score": 95}, "compare": ValueError("no")})
    selection = select(ITEMS, scorer, 'Ramen "or"\nudon?', strategy="each", early_stop=None)
    assert str(selection) == selection.explain()
    lines = selection.explain().splitlines()
    assert lines[0] == r'"Ramen \"or\"\nudon?" (Thing) -> details'
    assert lines[1] == "details has the highest score, 95, which reaches the threshold of 70."
    assert lines[3].split() == ["tool", "score", "from", "parameters,", "or", "why", "not"]
    assert lines[4].split()[:4] == ["1", "details", "95", "Thing"]
    assert lines[6].split() == ["3", "compare", "-", "Thing", "ValueError:", "no"]
    assert lines[-1].startswith("strategy each, 3 calls, ")


def test_control_characters_are_not_in_the_explanation() -> None:
    scorer = ScriptedScorer([named("details", 90, item_name="\x1b[2J\u202e")])
    text = select(ITEMS, scorer, "\x1b[31m").explain()
    assert text.replace("\n", "").isprintable()


def test_tokens_are_counted_if_they_are_known() -> None:
    replies = [
        ScorerReply("?", UsageUpdate(10, 2, 4)),
        ScorerReply(named("search"), UsageUpdate(20, 3, 8)),
    ]
    selection = select(ITEMS, ScriptedScorer(replies))
    assert selection.usage == UsageUpdate(30, 5, 12)
    assert "30 tokens in and 5 out" in selection.explain()
    assert select(ITEMS, ScriptedScorer([named("search")])).usage is None


def test_each_decision_is_logged_without_the_query(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolweave.selection"):
        select(ITEMS, ScriptedScorer([named("details", 90, item_name="secret")]), "my secret")
        select(ITEMS, ScriptedScorer([ConnectionError("secret")]), "my secret")
    good, bad = caplog.records
    assert (good.levelname, bad.levelname) == ("INFO", "WARNING")
    assert (good.tool, good.score, good.calls) == ("details", 90.0, 1)  # type: ignore[attr-defined]
    assert (bad.tool, bad.errors) == ("search", 3)  # type: ignore[attr-defined]
    assert "secret" not in caplog.text
    assert "secret" not in str([record.__dict__ for record in caplog.records])


def test_types_are_equal_in_all_notations() -> None:
    registry = RegistrySnapshot.of([entry("search"), entry("cook", type="Recipe")])
    for spelling in ("Recipe", "schema:Recipe", "https://schema.org/Recipe", "{x}Recipe"):
        selection = select(registry, ScriptedScorer([named("cook")]), item_type=spelling)
        assert (tool_name(selection), selection.item_type) == ("cook", "Recipe")


def test_placeholders_are_filled_from_the_question_and_the_context() -> None:
    prompt = "{request.query}|{request.site}|{site.itemType}|{request.previousQueries}"
    registry = RegistrySnapshot.of([entry("search", prompt=prompt), entry("b", prompt=prompt)])
    scorer = ScriptedScorer([{"score": 80}])
    context = {"request.previousQueries": "{request.query}"}
    select(
        registry,
        scorer,
        "{request.site}",
        item_type="Recipe",
        site="example.com",
        context=context,
        strategy="each",
    )
    filled = "{request.site}|example.com|Recipe|{request.query}"
    assert scorer.prompts[0].startswith(filled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": b"soup"}, "query must be a str"),
        ({"query": "soup", "item_type": 3}, "item_type must be a str or None"),
        ({"query": "soup", "site": ["a"]}, "site must be a str or None"),
        ({"query": "soup", "context": {"request.top_k": 3}}, "context must map names"),
        ({"query": "soup", "context": ["request.top_k"]}, "context must be a mapping"),
    ],
)
def test_a_question_of_the_wrong_type_is_refused(arguments: Any, message: str) -> None:
    selector = ToolSelector(ITEMS, ScriptedScorer([named("search")]))
    with pytest.raises(TypeError, match=message):
        run(selector.select(**arguments))


def test_a_lone_surrogate_in_a_query_is_replaced() -> None:
    scorer = ScriptedScorer([named("search", 90, search_query="x")])
    selection = select(ITEMS, scorer, "soup \ud83d!", context={"request.x": "\udc00"})
    assert selection.query == "soup \ufffd!"
    scorer.prompts[0].encode()


def test_a_registry_and_a_policy_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(TypeError, match="registry must have a method `tools_for`"):
        ToolSelector([entry("search")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy must be a SelectionPolicy or None, got dict"):
        ToolSelector(ITEMS, None, {"strategy": "each"})  # type: ignore[arg-type]


def test_a_changed_registry_invalidates_the_cache() -> None:
    class Changing:
        now = tools("search", "old")

        @property
        def fingerprint(self) -> str:
            return self.now.fingerprint

        def tools_for(self, item_type: str, site: str | None = None, /) -> Any:
            return self.now.tools_for(item_type, site)

    async def main() -> list[str | None]:
        registry = Changing()
        selector = ToolSelector(registry, ScriptedScorer([named("old"), named("new")]))
        first = tool_name(await selector.select("x"))
        registry.now = tools("search", "new")
        return [first, tool_name(await selector.select("x"))]

    assert asyncio.run(main()) == ["old", "new"]
