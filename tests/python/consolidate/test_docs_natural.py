"""The examples of transcripts in docs/explanation/natural.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolweave as tw
from page_examples import Example, examples
from paths import DOCS
from toolweave.cli import main

PAGE = (DOCS / "explanation/natural.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", examples(PAGE), ids=lambda each: str(each.block.line))
def test_an_example_runs(example: Example) -> None:
    names: dict[str, Any] = {}
    exec(compile(example.block.code, "natural.md", "exec"), names)


def test_the_transcript_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = PAGE.split("```text\n## user")[1].split("```")[0]
    file = tmp_path / "transcript.md"
    file.write_text("## user" + block, encoding="utf-8")
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "GetWeather"}]', encoding="utf-8")
    assert main(["import", str(file), "--tools", str(tools)]) == 0
    question, text, calls = map(tw.message_from_json, capsys.readouterr().out.splitlines())
    assert isinstance(question, tw.TextMessage)
    assert (question.role, question.text) == (tw.Role.USER, "Is it warm in Oslo?")
    assert isinstance(text, tw.TextMessage)
    assert text.text == "Let me look."
    assert isinstance(calls, tw.ToolCallMessage)
    assert calls.tool_calls[0].arguments == {"city": "Oslo"}
