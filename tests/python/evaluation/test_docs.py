"""The page `docs/explanation/evaluation.md`: scores of recorded replies, and its blocks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from markdown_blocks import blocks
from page_examples import examples
from paths import DOCS
from recorded_runs import RECORDED, Task, tasks
from toolweave.evaluation import Case, RawReply, Way, load_cases, load_replies, score
from toolweave.evaluation._text import report_lines

MODEL = "qwen2.5-coder-1.5b-instruct"
PAGE = (DOCS / "explanation/evaluation.md").read_text("utf-8")
FOLDER = RECORDED / "forms" / MODEL
WAYS = ("hermes", "json", "minimax_m2", "native", "pythonic", "qwen3_coder", "react")


def case_of(task: Task) -> Case:
    """Return a task as a case."""
    return Case.from_dict(
        {
            "id": task.name,
            "kind": task.name.partition("-")[0],
            "messages": [{"role": "user", "content": task.prompt}],
            "tools": [contract.to_dict() for contract in task.contracts()],
            "expected": [
                {
                    "name": call["name"],
                    "arguments": call["arguments"]
                    | {
                        name: "any" if values is None else [*values, None]
                        for name, values in call.get("optional", {}).items()
                    },
                }
                for call in task.calls
            ],
        }
    )


def replies_of(way: str) -> list[RawReply]:
    """Return the recorded replies in a form."""
    recorded: list[dict[str, Any]] = json.loads((FOLDER / f"{way}.json").read_text("utf-8"))[
        "replies"
    ]
    return [
        RawReply(
            reply["task"],
            way,
            MODEL,
            "".join(reply["deltas"]),
            finish=reply["finish_reason"],
            prompt_tokens=reply["usage"]["prompt_tokens"],
            completion_tokens=reply["usage"]["completion_tokens"],
        )
        for reply in recorded
    ]


def test_recorded_replies_have_the_scores_that_the_page_shows() -> None:
    replies = [reply for way in WAYS for reply in replies_of(way)]
    ways = [Way.named(way) for way in (*WAYS, "recovered")]
    report = asyncio.run(score([case_of(task) for task in tasks()], ways, replies))
    assert len(report.results) == 13 * 8
    shown = [block.code for block in blocks(PAGE)]
    printed = "\n".join(report_lines(report)) + "\n"
    assert printed in shown, printed


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for example in examples(PAGE):
        example.run("evaluation.md")
    assert capsys.readouterr().out == "1 1\n"
    assert len(load_replies("replies.jsonl")) == 2


def test_the_files_of_the_page_are_read(tmp_path: Path) -> None:
    case, reply, _ = (block.code for block in blocks(PAGE) if block.language == "json")
    (tmp_path / "cases.jsonl").write_text(json.dumps(json.loads(case)))
    (tmp_path / "replies.jsonl").write_text(json.dumps(json.loads(reply)))
    [case_read] = load_cases(tmp_path / "cases.jsonl")
    [reply_read] = load_replies(tmp_path / "replies.jsonl")
    assert reply_read.case == case_read.id
    unhashed = RawReply.from_json(reply_read.to_json().replace('"..."', "null"))
    report = asyncio.run(score([case_read], [Way.named("natural")], [unhashed]))
    assert report.totals("natural").right == 1
