"""Tests that NLWeb's model is sent as many calls and characters as by NLWeb itself."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from nlweb_site import Handler
from paths import DOCS
from sample_selections import public_files
from toolweave import SelectionPolicy, ToolRegistry
from toolweave.nlweb import make_selector
from toolweave.nlweb._tools import RELEASED, NLWebTools, TypeHierarchy
from toolweave.selection._benchmark import LabelledQuery, labelled_queries

ASKED = "Provide a valid JSON response matching this schema: "
"""Text that NLWeb's provider for OpenAI puts before the structure."""


class Size(NamedTuple):
    """Calls and characters sent for some queries."""

    calls: int = 0
    characters: int = 0

    def and_one(self, prompt: str, structure: object) -> Size:
        sent = len(prompt) + len(ASKED) + len(json.dumps(structure))
        return Size(self.calls + 1, self.characters + sent)


@pytest.fixture
def model_requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Requests to NLWeb's model, which answers `choose` with the fallback."""
    module, found = ModuleType("core.llm"), list[tuple[str, Any]]()

    async def ask_llm(prompt: str, structure: Any, **_: Any) -> Any:
        found.append((prompt, structure))
        return {"score": 10, "tool": "search", "parameters": {}}

    vars(module)["ask_llm"] = ask_llm
    monkeypatch.setitem(sys.modules, "core.llm", module)
    return found


def by_nlweb(tools: NLWebTools, query: LabelledQuery) -> Size:
    """Return the size of NLWeb's requests: each prompt with the query, and its structure."""
    size = Size()
    for tool in tools.tools_for(query.item_type, query.site):
        prompt = (tool.prompt or "").replace("{request.query}", query.query)
        size = size.and_one(prompt, tool.return_struc)
    return size


def sent(
    registry: ToolRegistry,
    queries: list[LabelledQuery],
    model_requests: list[Any],
    policy: Any = None,
) -> Size:
    selector = make_selector(registry, policy=policy, cache=None)
    model_requests.clear()
    for query in queries:
        handler = Handler(query.query, item_type=query.item_type, site=query.site or "example")
        asyncio.run(selector(handler).do())
    size = Size()
    for prompt, structure in model_requests:
        size = size.and_one(prompt, structure)
    return size


@pytest.mark.parametrize("file", public_files())
def test_as_much_is_sent_as_by_nlweb_and_as_documented(
    file: Path, model_requests: list[Any]
) -> None:
    registry = ToolRegistry.load(file)
    tools = NLWebTools(registry, lambda: TypeHierarchy(RELEASED))
    queries = labelled_queries(tools, registry.snapshot.entries)
    expected = Size()
    for query in queries:
        expected = Size(*map(sum, zip(expected, by_nlweb(tools, query), strict=True)))
    each = sent(registry, queries, model_requests)
    assert each == expected
    choose = sent(registry, queries, model_requests, SelectionPolicy(prefilter=None, attempts=1))
    words = sent(registry, queries, model_requests, SelectionPolicy(prefilter=3, attempts=1))
    assert choose.calls == words.calls == len(queries)
    assert words.characters <= choose.characters
    count = len(queries)
    row = (
        f"{count} | {each.calls / count:.2f} | {each.characters / count:,.0f} | "
        f"{choose.characters / count:,.0f} | {words.characters / count:,.0f}"
    )
    page = (DOCS / "explanation/nlweb.md").read_text("utf-8")
    assert re.search(rf"^\| .* \| {re.escape(row)} \|$", page, re.MULTILINE), row
