"""`toolweave score`: what it prints, and how it fails."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openai_endpoint import Reply, serving
from toolweave import RegistrySnapshot, ToolSelector
from toolweave.cli import main
from toolweave.testing import ScriptedModel, StreamRecorder

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


@pytest.fixture
def tools(tmp_path: Path) -> str:
    file = tmp_path / "tools.xml"
    file.write_text(XML, encoding="utf-8")
    return str(file)


def score(*arguments: str) -> int:
    return main(["score", *arguments])


def test_a_live_model_finds_the_tool_and_the_ranking_explains_it(
    tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply.of(COMPARE)) as endpoint:
        code = score(
            tools,
            "Compare X vs Y",
            "--type",
            "Recipe",
            "--model",
            endpoint.url,
            "--model-name",
            "m",
        )
    assert code == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '"Compare X vs Y" (Recipe) -> compare'
    assert lines[1] == "compare has the highest score, 93, which reaches the threshold of 70."
    assert lines[4].split(maxsplit=4) == [
        "1",
        "compare",
        "93",
        "Thing",
        '{"item1": "X", "item2": "Y"}',
    ]
    assert lines[5].split() == ["2", "search", "-", "Thing", "not", "named"]
    assert lines[-1].startswith("strategy choose, 1 call, ")
    assert lines[-1].endswith("11 tokens in and 7 out")
    [asked] = endpoint.requests
    assert asked["model"] == "m"
    assert asked["response_format"]["json_schema"]["schema"]["required"][0] == "tool"


def test_the_selection_is_printed_as_json(tools: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Reply.of('{"score": 91}'), Reply.of('{"score": "?"}')) as endpoint:
        arguments = ("--strategy", "each", "--max-concurrency", "1", "--json", "--timeout", "9")
        score(tools, "Soup", *arguments, "--model", endpoint.url, "--model-name", "m")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["tool"], found["score"], found["decision"]) == ("search", 91.0, "early_stop")
    assert (found["calls"], found["input_tokens"]) == (1, 11)
    assert [one["note"] for one in found["ranking"]] == [None, "not scored: another tool had won"]


def test_examples_are_measured_with_every_method(
    tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(tools, "--examples", "--model", "words", "--strategy", "all") == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "3 of 3 examples, asked of words"
    assert "no model" in lines[1]
    assert [line.split()[0] for line in lines[3:8]] == [
        "strategy",
        "each",
        "batch",
        "choose",
        "prefilter",
    ]
    each, batch = (
        dict(zip(lines[3].split()[:4], line.split(), strict=False)) for line in lines[4:6]
    )
    assert (each["share"], batch["calls"]) == (batch["share"], "1.00")
    assert lines[-1] == "No example has more than 3 tools to choose from."
    assert len(printed.err.splitlines()) == 12
    assert printed.err.startswith('each Thing "Find soups": search, ')


def test_a_sample_of_examples_is_measured_with_a_live_model(
    tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(*[Reply.of(COMPARE)] * 2) as endpoint:
        arguments = ("--examples", "--limit", "2", "--json", "--model-name", "m")
        assert score(tools, *arguments, "--model", endpoint.url) == 0
    found = json.loads(capsys.readouterr().out)
    [choose] = found["strategies"]
    assert (found["model"], found["examples"], choose["queries"]) == ("m", 3, 2)
    assert (choose["right"], choose["calls"], choose["input_tokens"]) == (1, 2, 22)
    assert found["recall_at_3"]["queries"] == 0


def test_a_replay_answers_like_the_recorded_model(
    tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = StreamRecorder(ScriptedModel(COMPARE, name="m1"))
    selector = ToolSelector(RegistrySnapshot.read(XML), recorder)
    asyncio.run(selector.select("Compare X vs Y"))
    recorder.save(tmp_path / "replies.json")
    assert score(tools, "Compare X vs Y", "--replay", str(tmp_path / "replies.json")) == 0
    assert "-> compare" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a QUERY or --examples"),
        (["x", "--examples"], "give either a QUERY or --examples"),
        (["x", "--limit", "3", "--model", "words"], "--limit requires --examples"),
        (["x", "--strategy", "all", "--model", "words"], "a QUERY takes one --strategy"),
        (["x"], "give one of --model URL"),
        (["x", "--model", "words", "--replay", "y"], "give one of --model URL"),
        (["x", "--model", "words", "--model-name", "m"], "--model-name requires --model URL"),
        (["x", "--replay", "none.json"], "cannot replay none.json"),
        (["x", "--model", "http://127.0.0.1:9/v1", "--api-key-env", "NO_SUCH_VAR"], "NO_SUCH_VAR"),
    ],
)
def test_invalid_usage_is_reported(
    tools: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(tools, *arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("toolweave score: ")
    assert message in err


def test_an_unreachable_endpoint_is_reported(
    tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(tools, "x", "--model", "http://127.0.0.1:9/v1") == 2
    assert "http://127.0.0.1:9/v1: " in capsys.readouterr().err


def test_a_model_that_gives_no_score_leaves_the_fallback_and_an_exit_code(
    tools: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply(status=400)) as endpoint:
        assert score(tools, "x", "--model", endpoint.url, "--model-name", "m") == 1
    printed = capsys.readouterr().out
    assert printed.startswith('"x" (Thing) -> search\nNo score could be had (ModelError: ')
    assert "1 call, " in printed


def test_an_invalid_file_is_reported_with_its_position(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.xml"
    file.write_text("<Tools>\n  <Thing>\n</Tools>")
    assert score(str(file), "x", "--model", "words") == 2
    assert f"{file}:3:" in capsys.readouterr().err
    assert score(str(tmp_path / "none.xml"), "x", "--model", "words") == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_file_without_examples_cannot_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text('<Tools><Thing><Tool name="search"><prompt>x</prompt></Tool></Thing></Tools>')
    assert score(str(file), "--examples", "--model", "words") == 2
    assert "has no examples of tools to choose between" in capsys.readouterr().err


def test_the_command_reads_standard_input(tools: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolweave", "score", "-", "Ramen or cake?", "--model", "words"],
        input=Path(tools).read_bytes(),
        capture_output=True,
        check=True,
    )
    assert b"-> " in done.stdout
