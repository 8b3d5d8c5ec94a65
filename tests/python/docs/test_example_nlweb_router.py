"""The NLWeb example: a question reaches its tool, and the tool answers."""

from __future__ import annotations

import ast
import asyncio
import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from paths import EXAMPLES
from toolweave import ToolSelector
from toolweave.models.recording import load
from toolweave.testing import ScriptedModel

EXAMPLE = EXAMPLES / "nlweb_router"
sys.path.insert(0, str(EXAMPLE))

router = importlib.import_module("router")
recorded = importlib.import_module("recorded")
tour = importlib.import_module("tour")


def ran(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def routed(
    query: str, item_type: str | None, scorer: Any = None, *, site: str | None = None
) -> Any:
    selector = ToolSelector(router.open_registry(), scorer or recorded.Recorded(), router.POLICY)
    return asyncio.run(router.route(selector, query, item_type, site))


def test_the_tools_lint_clean_with_their_handlers_imported() -> None:
    assert router.open_registry().lint(allowed_handlers=("methods",)) == ()


def test_a_type_has_its_own_tools_and_those_of_items() -> None:
    registry = router.open_registry()
    names = {
        item_type: [tool.name for tool in registry.tools_for(item_type)]
        for item_type in ("Item", "Recipe", "Movie")
    }
    general = ["search", "details", "compare", "ensemble", "statistics"]
    assert names["Item"] == names["Movie"] == general
    assert names["Recipe"] == [*general, "recipe_substitutions", "accompaniment"]
    [details] = [origin for origin in registry.explain("Recipe") if origin.tool.name == "details"]
    assert details.owner == "Recipe"
    assert len(details.replaces) == 1


def test_every_tool_has_examples_and_parameters() -> None:
    for tool in router.open_registry().snapshot.entries:
        assert len(tool.examples) >= 2, tool
        assert tool.placeholders == ("request.query",), tool
        # The arguments are those that the model fills in.
        assert set(tool.parameters["properties"]) == set(tool.arguments), tool


@pytest.mark.parametrize(("query", "item_type", "tool"), tour.TOUR)
def test_every_recorded_reply_routes_to_its_tool(query: str, item_type: str, tool: str) -> None:
    answer = routed(query, item_type)
    assert answer.selection.tool.name == tool
    assert not answer.selection.errors
    assert answer.selection.calls == 1
    [message] = answer.messages
    assert message["message_type"] != "no_results"


@pytest.mark.parametrize(("query", "item_type", "site", "tool"), tour.FURTHER)
def test_the_further_questions_reach_their_tools(
    query: str, item_type: str | None, site: str | None, tool: str
) -> None:
    answer = routed(query, item_type, site=site)
    assert answer.selection.tool.name == tool
    assert not answer.selection.errors
    assert answer.selection.identified == (item_type is None)
    assert answer.selection.decision == ("threshold" if site is None else "single")
    assert answer.selection.parameters
    assert answer.selection.calls == 1 + (item_type is None)
    [message] = answer.messages
    assert message["message_type"] != "no_results"


def test_the_tour_covers_every_tool() -> None:
    names = {tool.name for tool in router.open_registry().snapshot.entries}
    assert {tool for *_, tool in tour.TOUR} == names
    assert len(tour.TOUR) == len(names) == 7


def test_every_recording_is_used() -> None:
    # Without a type, a request determines it first.
    untyped = sum(item_type is None for _, item_type, _, _ in tour.FURTHER)
    assert len(load(recorded.REPLIES)) == len(tour.TOUR) + len(tour.FURTHER) + untyped


@pytest.mark.parametrize("tool", [tool.name for tool in router.open_registry().tools_for("Recipe")])
def test_every_tool_answers_without_parameters(tool: str) -> None:
    model = ScriptedModel(f'{{"tool": "{tool}", "score": 90, "parameters": {{}}}}')
    answer = routed("noodles", "Recipe", model)
    assert answer.selection.tool.name == tool
    assert answer.text


def test_a_model_that_fails_leaves_the_question_to_search() -> None:
    async def broken(_: str, __: dict[str, Any]) -> str:
        raise ConnectionError("nobody is there")

    answer = routed("Hitchcock", "Movie", broken)
    assert answer.selection.fallback
    assert "Psycho" in answer.text


def test_recorded_replies_are_replayed(tmp_path: Path) -> None:
    reply = '{"tool": "search", "score": 80, "parameters": {"search_query": "soup"}}'
    recorder = recorded.Recorder(ScriptedModel(reply))
    first = routed("Any soup?", "Recipe", recorder)
    recorder.save(tmp_path / "replies.json")
    again = routed("Any soup?", "Recipe", recorded.Recorded(tmp_path / "replies.json"))
    assert again.selection.ranking == first.selection.ranking
    assert again.messages == first.messages
    # A movie has other candidates, so the request differs.
    other = routed("Any soup?", "Movie", recorded.Recorded(tmp_path / "replies.json"))
    assert other.selection.fallback


def test_the_tour_runs() -> None:
    printed = ran(EXAMPLE)
    assert "recorded from qwen2.5-coder-1.5b" in printed
    for query, item_type, tool in tour.TOUR:
        assert f'"{query}" ({item_type}) -> {tool}\n' in printed
    for query, _, _, tool in tour.FURTHER:
        assert re.search(rf'"{re.escape(query)}" \(.*\) -> {tool}\n', printed)
    assert "Chicken Alfredo: 160 more" in printed


def test_one_question_is_answered() -> None:
    printed = ran(EXAMPLE, "Compare Chicken Alfredo vs Spaghetti Carbonara", "--type", "Recipe")
    assert "compare has the highest score" in printed
    assert "kcal per serving: 780 and 620 (Chicken Alfredo: 160 more)" in printed


def test_an_unrecorded_question_is_reported_and_answered_by_search() -> None:
    printed = ran(EXAMPLE, "soup with beans", "--type", "Recipe")
    assert "No reply to 'soup with beans' is recorded" in printed
    assert "Minestrone" in printed


def test_the_agent_prints_what_its_docstring_promises() -> None:
    program = EXAMPLE / "agent.py"
    docstring = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    promised = textwrap.dedent(docstring.partition("Prints:\n")[2]).strip()
    assert promised
    assert ran(program).strip() == promised


def test_every_file_is_in_the_readme() -> None:
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for file in EXAMPLE.iterdir():
        if not file.name.startswith(("__", ".", "README")):
            assert f"({file.name})" in readme, file.name


def test_every_program_fits_on_a_few_pages() -> None:
    for program in EXAMPLE.rglob("*.py"):
        assert len(program.read_text(encoding="utf-8").splitlines()) < 200, program
