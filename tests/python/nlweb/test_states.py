"""Tests of files of both versions of NLWeb and of its forks, by NLWeb's own rules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlweb_site import Handler
from toolweave import ToolRegistry
from toolweave._core import RegistrySnapshot, type_name
from toolweave.nlweb import make_selector
from toolweave.nlweb._tools import RELEASED, NLWebTools, TypeHierarchy


def tool(name: str, more: str = "") -> str:
    return (
        f'<Tool name="{name}">{more}<handler>a.B</handler><prompt>{{request.query}}</prompt>'
        '<returnStruc>{"score": "integer between 0 and 100"}</returnStruc></Tool>'
    )


NOVEMBER = f"""
<Tools>
  <Site id="default">
    <Item>{tool("search")}{tool("details")}{tool("compare")}</Item>
    <Recipe>{tool("details")}{tool("substitute")}</Recipe>
  </Site>
  <Site id="all"><Item>{tool("who_and_search")}</Item></Site>
  <Site id="conv_history"><Item>{tool("conversation_search")}</Item></Site>
  <Site id="CricketLens"><Item>{tool("cricket_stats")}</Item></Site>
  <Site id="empty"/>
  <Site id="both" inherit="true"><Item>{tool("extra")}</Item></Site>
</Tools>
"""


def by_nlweb(xml: str, hierarchy: TypeHierarchy | None = None) -> NLWebTools:
    own = TypeHierarchy(RELEASED) if hierarchy is None else hierarchy
    return NLWebTools(ToolRegistry.loads(xml), lambda: own)


def names(tools: Any, item_type: str, site: str | None = None) -> list[str]:
    return [entry.name for entry in tools.tools_for(item_type, site)]


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("all", ["who_and_search"]),
        ("conv_history", ["conversation_search"]),
        ("CricketLens", ["cricket_stats"]),
        ("empty", []),
        ("seriouseats", ["search", "details", "compare", "substitute"]),
        ("default", ["search", "details", "compare", "substitute"]),
        (None, ["search", "details", "compare", "substitute"]),
        ("both", ["search", "extra", "details", "compare", "substitute"]),
    ],
)
def test_the_block_of_a_site_replaces_the_default(site: str | None, expected: list[str]) -> None:
    assert sorted(names(by_nlweb(NOVEMBER), "Recipe", site)) == sorted(expected)


def test_the_registry_itself_still_adds_tools_of_sites() -> None:
    registry = ToolRegistry.loads(NOVEMBER)
    assert names(registry, "Item", "all") == ["search", "details", "compare", "who_and_search"]


def test_a_query_to_all_sites_goes_to_the_one_tool_of_that_site() -> None:
    selector = make_selector(ToolRegistry.loads(NOVEMBER), _never)
    for site in ("all", ["all"]):
        handler = Handler(site=site, item_type="{http://nlweb.ai/base}Item")
        asyncio.run(selector(handler).do())
        [best] = handler.tool_routing_results
        assert best["tool"].name == "who_and_search"
        assert best["result"]["search_query"] == "spicy noodles"


async def _never(prompt: str, schema: object) -> Any:
    raise AssertionError((prompt, schema))


# NLWeb's own lookup, as documented.


def november(
    blocks: Sequence[tuple[str, Sequence[tuple[str, Sequence[str]]]]], site: str, item_type: str
) -> list[str]:
    block = next((one for one in blocks if one[0] == site), None)
    if block is None:
        block = next((one for one in blocks if one[0] == "default"), None)
    if block is None:
        return []
    supertypes = [item_type] if item_type == "Item" else [item_type, "Item"]
    found: dict[str, None] = {}
    for kind in reversed(supertypes):
        for name, tools in block[1]:
            if name == kind:
                found.update(dict.fromkeys(tools))
    return list(found)


TYPES = st.sampled_from(["Item", "Recipe", "Statistics"])
TOOLS = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)
BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["default", "all", "x"]), st.lists(st.tuples(TYPES, TOOLS), max_size=3)
    ),
    unique_by=lambda one: one[0],
    max_size=3,
)


@given(blocks=BLOCKS, site=st.sampled_from(["default", "all", "x", "y"]), item_type=TYPES)
def test_tools_of_any_file_of_november_match_those_of_nlweb(
    blocks: Any, site: str, item_type: str
) -> None:
    text = "".join(
        f'<Site id="{block}">'
        + "".join(f"<{kind}>{''.join(map(tool, tools))}</{kind}>" for kind, tools in types)
        + "</Site>"
        for block, types in blocks
    )
    found = by_nlweb(f"<Tools>{text}</Tools>")
    assert names(found, item_type, site) == november(blocks, site, item_type)


# Types of forks.

FORK = f"""
<Tools><Site id="default">
  <NewsQuery>{tool("search")}{tool("details")}</NewsQuery>
  <Opinion>{tool("details")}{tool("author")}</Opinion>
</Site></Tools>
"""


@pytest.mark.parametrize(
    ("item_type", "expected"),
    [
        ("NewsQuery", ["search", "details"]),
        ("Item", ["search", "details"]),
        ("NewsArticle", ["search", "details"]),
        ("Opinion", ["search", "details", "author"]),
    ],
)
def test_a_fork_may_have_a_root_of_its_own(item_type: str, expected: list[str]) -> None:
    assert names(by_nlweb(FORK, TypeHierarchy({"NewsQuery": []})), item_type) == expected


def test_a_fork_may_declare_its_own_types() -> None:
    xml = f"""<Tools><Item>{tool("search")}</Item><Vehicle>{tool("drive")}</Vehicle>
        <Truck>{tool("load")}</Truck><CreativeWork>{tool("cite")}</CreativeWork></Tools>"""
    own = TypeHierarchy({**RELEASED, "Truck": ["Vehicle"], "Vehicle": ["Item"], "Essay": ["Item"]})
    tools = by_nlweb(xml, own)
    assert names(tools, "Truck") == ["search", "drive", "load"]
    assert names(tools, "{http://nlweb.ai/base}Essay") == ["search"]
    # Types as in the releases, or not listed, follow schema.org.
    assert names(tools, "Recipe") == ["search", "cite"]
    assert names(tools, "Book") == ["search", "cite"]


PARENTS = st.dictionaries(
    st.sampled_from(["A", "B", "C", "Recipe"]), st.lists(st.sampled_from(["A", "B", "C", "Item"]))
)


@given(parents=PARENTS, item_type=st.sampled_from(["A", "B", "C", "Recipe", "Item", "Z"]))
def test_supertypes_are_unique_and_start_with_the_type(
    parents: Mapping[str, list[str]], item_type: str
) -> None:
    short = type_name(item_type)
    snapshot = RegistrySnapshot.of([])
    kinds = list(TypeHierarchy(parents).supertypes(short, snapshot.supertypes(short)))
    assert kinds[0] == short
    assert len(kinds) == len(set(kinds))


# Broken tools.

BROKEN = f"""<Tools><Item>
{tool("search")}
<Tool name="compare"><returnStruc>{{"score": }}</returnStruc></Tool>
<Tool><prompt>{{request.query}}</prompt></Tool>
{tool("details")}
<Tool name="off" enabled="false"><returnStruc>no</returnStruc></Tool>
</Item></Tools>"""


def test_invalid_tools_can_be_skipped_and_are_reported() -> None:
    snapshot = RegistrySnapshot.read(BROKEN, skip_invalid=True)
    assert [entry.name for entry in snapshot.tools_for("Item")] == ["search", "details"]
    errors = [found for found in snapshot.diagnostics if found.severity == "error"]
    assert [(found.code, found.line) for found in errors] == [
        ("TW007", 3),
        ("TW006", 4),
        ("TW007", 6),
    ]


def test_a_registry_with_an_invalid_tool_is_refused_by_default() -> None:
    with pytest.raises(ValueError, match="TW007"):
        ToolRegistry.loads(BROKEN)
    with pytest.raises(ValueError, match="TW001"):
        RegistrySnapshot.read("<Tools><Item>", skip_invalid=True)


@given(st.lists(st.booleans(), max_size=6))
def test_skipping_invalid_tools_keeps_the_others(broken: list[bool]) -> None:
    def text(keep: Sequence[bool]) -> str:
        parts = [
            tool(f"t{at}") if good else f'<Tool name="t{at}"><returnStruc>?</returnStruc></Tool>'
            for at, good in enumerate(keep)
        ]
        return f"<Tools><Item>{''.join(parts)}</Item></Tools>"

    found = RegistrySnapshot.read(text([not one for one in broken]), skip_invalid=True)
    good = "".join(tool(f"t{at}") for at, one in enumerate(broken) if not one)
    expected = RegistrySnapshot.read(f"<Tools><Item>{good}</Item></Tools>")
    assert found.fingerprint == expected.fingerprint
    assert len([one for one in found.diagnostics if one.severity == "error"]) == sum(broken)
