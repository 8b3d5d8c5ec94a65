"""Tests that the blocks of the pages on selection run, and that the defaults are documented."""

from __future__ import annotations

import asyncio
import inspect
import re

import pytest

from page_examples import examples
from paths import DOCS
from sample_selections import ScriptedScorer, named
from toolweave import SelectionPolicy, ToolRegistry

WORDS = {None: "all", False: "no"}
"""Values that are not numbers, as the page writes them."""


class Application:
    def __init__(self) -> None:
        self.messages: list[str] = []


def shop() -> ToolRegistry:
    registry = ToolRegistry()

    @registry.handler("search")
    def search(search_query: str) -> str:
        return f"found {search_query}"

    @registry.handler("compare", type="Recipe")
    def compare(first: str, second: str, handler: Application) -> str:
        handler.messages.append(f"{first} and {second}")
        return "pho"

    return registry


@pytest.mark.parametrize("page", ["selection.md", "nlweb.md"])
def test_the_example_that_selects_and_runs_works(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [example] = [
        example
        for example in examples((DOCS / "explanation" / page).read_text("utf-8"))
        if "await selector.select(" in example.block.code
    ]
    application = Application()
    _, running = example.run(
        page,
        registry=shop(),
        model=ScriptedScorer([named("compare", 90, first="ramen", second="pho")]),
        handler=application,
        application=application,
    )
    assert inspect.iscoroutine(running)
    asyncio.run(running)
    assert application.messages == ["ramen and pho"]
    assert "compare has the highest score, 90" in capsys.readouterr().out


def test_the_table_of_the_policy_has_its_defaults() -> None:
    text = (DOCS / "explanation/selection.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+?) \| ", text, re.MULTILINE)
    documented = {
        name: value.removesuffix(" s").strip('`"')
        for names, values in rows
        for name, value in zip(re.findall(r"\w+", names), values.split(", "), strict=False)
    }
    policy = SelectionPolicy()
    have = {name: getattr(policy, name) for name in SelectionPolicy.__dataclass_fields__}
    assert policy.allowed_handlers == ()
    have["allowed_handlers"] = "none"
    assert {name: documented[name] for name in have} == {
        name: value if isinstance(value, str) else WORDS.get(value) or f"{value:g}"
        for name, value in have.items()
    }
