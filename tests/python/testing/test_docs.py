"""The page `docs/how-to/testing.md`: its blocks run, and its failure is the one that is shown."""

from __future__ import annotations

import pytest

from markdown_blocks import blocks
from openai_endpoint import serving
from page_examples import examples
from paths import DOCS
from toolweave import ToolAggregateMessage, ToolCall, ToolResult
from toolweave.testing import call, expect_calls

pytest_plugins = ["pytester"]

PAGE = (DOCS / "how-to/testing.md").read_text("utf-8")


def test_its_blocks_run() -> None:
    for example in examples(PAGE):
        example.run("testing.md")


def test_its_failure_is_that_of_the_package() -> None:
    calls = [ToolCall(f"c{n}", "book", {"city": "Oslo", "nights": n}) for n in (2, 3)]
    results = [ToolResult(f"c{n}", "book", f"{n} nights in Oslo") for n in (2, 3)]
    with pytest.raises(AssertionError) as raised:
        expect_calls([ToolAggregateMessage(calls, results)], call("book", city="Bergen", nights=2))
    [shown] = [block.code for block in blocks(PAGE) if block.language == "text"]
    assert shown == f"AssertionError: {raised.value}\n"


def test_its_test_is_recorded_and_replayed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    [test] = [block.code for block in blocks(PAGE) if "def test_weather" in block.code]
    pytester.makepyfile(test_page=test)
    with serving('<weather>{"city": "Oslo"}</weather>', "It rains.") as endpoint:
        monkeypatch.setenv("MODEL_URL", endpoint.url)
        monkeypatch.setenv("KEY", "sk-0123456789")
        pytester.runpytest_inprocess("--toolweave-record=once").assert_outcomes(passed=1)
    monkeypatch.delenv("MODEL_URL")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
