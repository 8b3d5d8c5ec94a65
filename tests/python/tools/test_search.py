"""Keyword search for tools: ranking, result texts, and which tools are searchable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from toolweave.testing import RecordingObserver
from toolweave.tools._search import ToolIndex, found_tool_names, list_contracts, search_tool

WORDS = ["get", "Send", "mail", "Weather", "HTTP", "file", "x", "2", "É", "+", "a.b"]
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from(["", "_", ".", "-"]).map(lambda joint: joint.join(words))
)
texts = st.lists(st.sampled_from([*WORDS, "the", "mails", "of"]), max_size=6).map(" ".join)


@st.composite
def contracts(draw: st.DrawFn) -> list[tw.FunctionContract]:
    return [
        tw.FunctionContract(
            name,
            draw(st.none() | texts),
            draw(st.none() | st.just({"type": "object", "properties": {draw(names): {}}})),
        )
        for name in draw(st.lists(names, min_size=1, max_size=12, unique=True))
    ]


@given(contracts(), st.data())
def test_a_tool_is_found_first_by_its_own_name(
    tools: list[tw.FunctionContract], data: st.DataObject
) -> None:
    tool = data.draw(st.sampled_from(tools))
    assert ToolIndex(tools).search(tool.name)[0] is tool


@given(contracts(), texts | st.text(max_size=40), st.integers(1, 6))
def test_search_is_deterministic_and_respects_the_limit(
    tools: list[tw.FunctionContract], query: str, limit: int
) -> None:
    found = ToolIndex(tools).search(query, limit)
    assert len(found) <= limit
    assert len({tool.name for tool in found}) == len(found)
    assert ToolIndex(tools).search(query, limit) == found
    assert ToolIndex(tools).search(query, limit + 1)[:limit] == found


@given(contracts(), texts)
def test_found_tools_have_a_word_of_the_query(tools: list[tw.FunctionContract], query: str) -> None:
    for tool in ToolIndex(tools).search(query, 100):
        alone = ToolIndex([tool])
        assert any(alone.search(word) for word in query.split())


@given(contracts(), st.data())
def test_the_names_in_a_result_are_those_that_were_found(
    tools: list[tw.FunctionContract], data: st.DataObject
) -> None:
    query = data.draw(texts | st.sampled_from([tool.name for tool in tools]))
    found = [tool.name for tool in ToolIndex(tools).search(query)]
    assert found_tool_names(answer(tools, query)) == found


def answer(tools: list[tw.FunctionContract], query: str) -> str:
    tool = search_tool(tools, {tool.name for tool in tools})
    assert tool is not None
    text: str = asyncio.run(tool(query=query))
    return text


FILES = [
    tw.FunctionContract("readFile", "Reads a text file."),
    tw.FunctionContract("github.createIssue", "Opens an issue."),
    tw.FunctionContract("GitHubSearch", "Looks for code."),
    tw.FunctionContract(
        "send", "Tells somebody something.", {"type": "object", "properties": {"mailAddress": {}}}
    ),
    tw.FunctionContract("archive", "Puts away what was read: a file, a mail, an issue, or code."),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("file", ["readFile", "archive"]),
        ("FILES", ["readFile", "archive"]),
        ("create an issue", ["github.createIssue", "archive"]),
        ("issue", ["github.createIssue", "archive"]),
        ("git", ["GitHubSearch"]),
        ("github", ["github.createIssue", "GitHubSearch"]),
        ("address", ["send"]),
        ("archive", ["archive"]),
        ("quantum", []),
        ("", []),
    ],
)
def test_words_of_names_descriptions_and_parameters_are_found(query: str, found: list[str]) -> None:
    assert sorted(tool.name for tool in ToolIndex(FILES).search(query)) == sorted(found)
    assert [tool.name for tool in ToolIndex(FILES).search(query)][:1] == found[:1]


def test_tools_of_equal_rank_keep_their_order() -> None:
    tools = [tw.FunctionContract(f"mail.{letter}") for letter in "cabd"]
    assert ToolIndex(tools).search("mail") == tools


def test_a_result_has_the_contracts_in_markdown() -> None:
    text = answer(FILES, "file")
    assert text == (
        "Found `readFile`, `archive`. Call them as any other tool.\n\n"
        + tw.render_contracts([FILES[0], FILES[4]])
    )


def test_a_search_without_matches_lists_a_limited_number_of_tools() -> None:
    text = answer(FILES, "quantum")
    assert all(f"`{tool.name}`" in text for tool in FILES)
    assert found_tool_names(text) == []
    many = [tw.FunctionContract(f"Tool{number}") for number in range(300)]
    assert answer(many, "quantum").endswith("`Tool49` and 250 more.")


def test_only_the_first_line_of_a_result_counts_as_found() -> None:
    tools = [tw.FunctionContract("one", "Like Found `two`."), tw.FunctionContract("two")]
    assert found_tool_names(answer(tools, "one")) == ["one"]
    assert found_tool_names("No. Found `two`.") == []
    assert found_tool_names("Found `one`, `tw\n[truncated: 9 of 29 characters left out]") == ["one"]


def test_tools_can_be_listed_one_per_line() -> None:
    assert list_contracts([tw.FunctionContract("a", "Does\n this."), tw.FunctionContract("b")]) == (
        "- a: Does this.\n- b"
    )


def test_the_name_of_the_search_tool_is_unique() -> None:
    tools = [tw.FunctionContract(name) for name in ("find_tools", "find_tools_2", "x")]
    tool = search_tool(tools, {"x"})
    assert tool is not None
    assert tool.name == "find_tools_3"
    assert search_tool(tools, set()) is None


def test_a_toolset_has_the_names_of_searchable_tools() -> None:
    @tw.tool(defer_loading=True)
    def late() -> None: ...

    def early() -> None: ...

    definition: dict[str, Any] = {"name": "theirs", "input_schema": {"type": "object"}}
    tools = tw.Toolset(
        [late, early, {**definition, "defer_loading": True}], handlers={"theirs": lambda: 1}
    )
    assert tools.searchable == {"late", "theirs"}
    before = tools.snapshot()
    tools.remove("late")
    assert tools.searchable == {"theirs"}
    assert before.searchable == {"late", "theirs"}


def test_an_executor_runs_a_search_like_any_call() -> None:
    ran = RecordingObserver()
    tools = tw.Toolset([tw.tool(lambda: 1, name="late_one", defer_loading=True)])
    executor = tw.ToolExecutor(tools, observer=ran)

    def results(*calls: tw.ToolCall) -> list[tw.ToolResult]:
        return list(asyncio.run(executor.execute(calls)).tool_results)

    search = tw.ToolCall("c1", "find_tools", {"query": "late"})
    [found, other] = results(search, tw.ToolCall("c2", "find_tools", {"words": 1}))
    assert found_tool_names(found.result) == ["late_one"]
    assert other.error_code is tw.ErrorCode.INVALID_ARGUMENTS
    assert [call.name for call in ran.started] == ["find_tools"]
    assert len(ran.results) == 2
    # An added tool is found from the next reply on.
    tools.add(tw.tool(lambda: 2, name="later_one", defer_loading=True))
    assert found_tool_names(results(search)[0].result) == ["late_one"]
    again = tw.ToolCall("c3", "find_tools", {"query": "later"})
    assert found_tool_names(results(again)[0].result) == ["later_one"]
    tools.remove("late_one")
    tools.remove("later_one")
    assert results(search)[0].error_code is tw.ErrorCode.UNKNOWN_TOOL
