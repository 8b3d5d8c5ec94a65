"""Tests that required parameters are enforced: in schemas, for models and in calls of tools."""

from __future__ import annotations

from typing import Any

import pytest

from sample_selections import ScriptedScorer, entry, named
from toolweave import RegistrySnapshot, Selection, SelectionPolicy, ToolRegistry, ToolSelector
from toolweave.exceptions import ValidationError
from virtual_time import run

MISSING = "/city: missing; a string is required"


def weather_registry(*, search: bool = True) -> ToolRegistry:
    registry = ToolRegistry()
    if search:

        @registry.handler("search")
        def search(search_query: str = "") -> str:
            return f"found {search_query}"

    @registry.handler("weather")
    def weather(city: str, days: int = 1) -> str:
        "Forecast the weather."
        return f"{city}: sun for {days}"

    return registry


def select(scorer: Any, registry: Any = None, **policy: Any) -> Selection:
    selector = ToolSelector(registry or weather_registry(), scorer, SelectionPolicy(**policy))
    return run(selector.select("Will it rain?"))


def reply(strategy: str, **parameters: Any) -> Any:
    if strategy == "choose":
        return named("weather", 90, **parameters)
    if strategy == "batch":
        others = {name: {"score": 1} for name in ("search", "other")}
        return {**others, "weather": {"score": 90, **parameters}}
    return {"score": 90, **parameters}


def test_the_reply_schema_requires_required_parameters() -> None:
    [weather] = weather_registry(search=False).tools_for("Thing")
    assert weather.schema["required"] == ["score", "city"]
    assert weather.parameters["required"] == ["city"]
    scorer = ScriptedScorer([named("weather", city="Rome")])
    select(scorer)
    kinds = scorer.requests[0].schema["properties"]["parameters"]["anyOf"]
    assert [kind.get("required") for kind in kinds] == [None, ["city"]]


@pytest.mark.parametrize("strategy", ["choose", "batch", "each"])
def test_a_missing_parameter_is_reported_to_the_model_once(strategy: Any) -> None:
    registry = weather_registry(search=strategy != "each")
    if strategy == "each":
        registry.handler("other")(lambda: None)
    replies = [reply(strategy), reply(strategy, city="Rome")]
    if strategy == "each":
        # The other tool is asked about as well.
        replies = [reply(strategy), {"score": 0}, reply(strategy, city="Rome")]
    scorer = ScriptedScorer(replies)
    selection = select(scorer, registry, strategy=strategy, max_concurrency=1)
    assert selection.tool is not None
    assert (selection.tool.name, selection.parameters) == ("weather", {"city": "Rome"})
    assert selection.errors == ()
    assert MISSING in scorer.prompts[-1]
    assert scorer.prompts[-1].startswith(scorer.prompts[0])


@pytest.mark.parametrize("strategy", ["choose", "batch", "each"])
@pytest.mark.parametrize("then", ["the same", "nonsense", "failure"])
def test_a_parameter_still_missing_is_an_error_and_the_score_counts(
    strategy: Any, then: str
) -> None:
    registry = weather_registry(search=False)
    registry.handler("other")(lambda: None)
    first = reply(strategy)
    last = {"the same": first, "nonsense": "Hm.", "failure": OSError("down")}[then]
    replies = [first, {"score": 0}, last] if strategy == "each" else [first, last]
    selection = select(ScriptedScorer(replies), registry, strategy=strategy, max_concurrency=1)
    assert selection.tool is not None
    assert (selection.tool.name, selection.score) == ("weather", 90)
    assert selection.parameters == {}
    [wrong] = selection.errors
    assert wrong.error == f"the parameters cannot be used: {MISSING}"


def test_with_one_attempt_the_model_is_not_asked_again() -> None:
    scorer = ScriptedScorer([reply("choose")])
    assert len(select(scorer, attempts=1).errors) == 1
    assert len(scorer.requests) == 1


def test_a_low_score_needs_no_parameters() -> None:
    registry = weather_registry(search=False)
    registry.handler("other")(lambda: None)
    scorer = ScriptedScorer([{"score": 10}])
    selection = select(scorer, registry, strategy="each")
    assert (selection.errors, selection.calls) == ((), 2)


def test_a_tool_with_missing_parameters_does_not_run_and_the_error_says_why() -> None:
    async def main(registry: ToolRegistry) -> Any:
        selector = ToolSelector(registry, ScriptedScorer([named("weather")]))
        return await (await selector.select("Will it rain?")).run()

    done = run(main(weather_registry()))
    assert done.fell_back
    assert isinstance(done.error, ValidationError)
    assert MISSING in str(done.error)
    with pytest.raises(ValidationError, match="/city: missing"):
        run(main(weather_registry(search=False)))


def test_selections_with_missing_parameters_are_not_cached() -> None:
    scorer = ScriptedScorer([named("weather"), named("weather"), named("weather", city="Rome")])
    selector = ToolSelector(weather_registry(), scorer)
    found = [run(selector.select("x")) for _ in range(3)]
    assert [len(selection.errors) for selection in found] == [1, 0, 0]
    assert [selection.cached for selection in found] == [False, False, True]


@pytest.mark.parametrize("strategy", ["choose", "batch", "each"])
@pytest.mark.parametrize("score", ["85/100", "about 85", "~85 %", "85 out of 100", "8.5/10"])
def test_scores_in_any_notation_are_read(strategy: Any, score: str) -> None:
    registry = RegistrySnapshot.of([entry("weather"), entry("other")])
    reply: Any = {"score": score, "tool": "weather", "weather": score, "other": 1}
    selection = select(ScriptedScorer([reply, {"score": 1}]), registry, strategy=strategy)
    assert selection.score == 85


@pytest.mark.parametrize("strategy", ["choose", "batch", "each"])
def test_a_score_between_0_and_1_is_reported(strategy: Any) -> None:
    registry = RegistrySnapshot.of([entry("weather"), entry("search")])
    reply: Any = {"score": 0.85, "tool": "weather", "parameters": {}, "weather": 0.85, "search": 5}
    selection = select(ScriptedScorer([reply]), registry, strategy=strategy)
    assert selection.fallback
    assert any("0.85, a share of 1" in str(one.error) for one in selection.errors)
    if strategy == "choose":
        assert "0.85, a share of 1" in selection.reason
