"""`toolweave eval --select`: selections of a model as cases, recorded and scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openai_endpoint import Reply, serving
from toolweave.cli import main

XML = """\
<Tools>
  <Thing>
    <Tool name="search">
      <example>Find soups</example>
      <prompt>The query: {request.query}. Finds things.</prompt>
      <returnStruc>{"score": "integer", "search_query": "what to search for"}</returnStruc>
    </Tool>
    <Tool name="compare">
      <example>Ramen or udon?</example>
      <example>Soup or cake?</example>
      <prompt>The query: {request.query}. Compares this or that.</prompt>
      <returnStruc>{"score": "integer", "item1": "one", "item2": "the other"}</returnStruc>
    </Tool>
  </Thing>
</Tools>
"""
COMPARE = '{"tool": "compare", "score": 93, "parameters": {"item1": "X", "item2": "Y"}}'
SEARCH = '{"tool": "search", "score": 90, "parameters": {"search_query": "soups"}}'


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "tools.xml"
    file.write_text(XML)
    return file


def command(tools: Path, *arguments: str) -> list[str]:
    replies = str(tools.parent / "replies.jsonl")
    return ["eval", "--select", str(tools), "--replies", replies, *arguments]


def outcomes(text: str) -> dict[str, str]:
    return {
        f"{each['way']} {each['case']}": each["outcome"] for each in json.loads(text)["outcomes"]
    }


def test_the_examples_of_a_registry_are_cases(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Invalid replies are requested twice.
    scripted = [SEARCH, SEARCH, "no idea", "no idea"]
    with serving(*map(Reply.of, scripted)) as endpoint:
        arguments = command(tools, "--model", endpoint.url, "--model-name", "m", "--json")
        assert main(arguments) == 0
        asked = len(endpoint.requests)
        first = capsys.readouterr().out
        assert outcomes(first) == {
            "choose Thing: Find soups": "right",
            "choose Thing: Ramen or udon?": "invented",
            "choose Thing: Soup or cake?": "invalid",
        }
        # The example is not in its own prompt.
        assert "Find soups" not in endpoint.prompts()[0][-1][1].split("# Query")[0]
        assert main(arguments) == 0
        assert len(endpoint.requests) == asked
    assert capsys.readouterr().out == first
    assert main(command(tools, "--rescore", "--json")) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(("reply", "outcome"), [("no idea", "invalid"), (" ", "empty")])
def test_a_fallback_that_happens_to_be_right_is_not_the_model_s_choice(
    reply: str, outcome: str, tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.write_text(XML.replace("Find soups", "Soups please"))
    queries = tools.parent / "queries.jsonl"
    lines = [{"query": "Cakes please", "tool": "search"}, {"query": "Good morning", "tool": None}]
    queries.write_text("\n".join(map(json.dumps, lines)))
    with serving(*map(Reply.of, [reply] * 4)) as endpoint:
        arguments = ("--model", endpoint.url, "--model-name", "m", "--queries", str(queries))
        assert main(command(tools, *arguments, "--json")) == 0
    assert set(outcomes(capsys.readouterr().out).values()) == {outcome}


def test_a_way_of_selecting_is_recommended(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(*map(Reply.of, [SEARCH, COMPARE, COMPARE])) as endpoint:
        assert main(command(tools, "--model", endpoint.url, "--model-name", "m")) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[-1] == "Recommended: choose"
    assert output.err.splitlines() == ["0/3", "3/3"]


def test_a_prompt_that_has_changed_is_asked_again(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*map(Reply.of, [SEARCH, COMPARE, COMPARE] * 2)) as endpoint:
        arguments = command(tools, "--model", endpoint.url, "--model-name", "m", "--json")
        main(arguments)
        # An example is in the prompts of the others, but the description is the same.
        tools.write_text(XML.replace("Soup or cake?", "Tea or cake?"))
        capsys.readouterr()
        assert main(command(tools, "--rescore")) == 2
        assert "have changed since the replies were recorded" in capsys.readouterr().err
        assert main(arguments) == 0
        assert len(endpoint.requests) == 6
    assert set(outcomes(capsys.readouterr().out).values()) == {"right"}


def test_queries_of_a_file_may_want_no_tool(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = tools.parent / "queries.jsonl"
    lines = [
        {"query": "Tea or coffee?", "tool": "compare", "type": "Recipe"},
        {"query": "Something with leeks", "tool": ["search", "compare"]},
        {"query": "Good morning", "tool": None},
    ]
    queries.write_text("\n".join(map(json.dumps, lines)))
    nothing = '{"tool": "search", "score": 10, "parameters": {"search_query": ""}}'
    with serving(*map(Reply.of, (COMPARE, SEARCH, nothing))) as endpoint:
        more = ("--queries", str(queries), "--html", str(tools.parent / "page.html"), "--json")
        assert main(command(tools, "--model", endpoint.url, "--model-name", "m", *more)) == 0
    assert set(outcomes(capsys.readouterr().out).values()) == {"right"}
    assert "Something with leeks" in (tools.parent / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "must have at least one query"),
        ('{"query": "x"}', "line 1: /tool: missing"),
        ('{"query": "x", "tool": "fly"}', "line 1: /tool: must be one of compare, search, got fly"),
        ('{"query": "x", "tool": null, "kind": 1}', 'line 1: .*unexpected "kind"'),
    ],
)
def test_an_invalid_query_is_an_error(
    line: str, message: str, tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    queries = tools.parent / "queries.jsonl"
    queries.write_text(line)
    (tools.parent / "replies.jsonl").write_text('{"case": "x", "way": "choose", "model": "m"}\n')
    assert main(command(tools, "--rescore", "--queries", str(queries))) == 2
    assert re.search(message, capsys.readouterr().err)


def test_an_unknown_method_is_an_error(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://127.0.0.1:9/v1"
    arguments = ("--model", url, "--model-name", "m", "--ways", "natural")
    assert main(command(tools, *arguments)) == 2
    assert "must be one of each, batch, choose, prefilter" in capsys.readouterr().err
