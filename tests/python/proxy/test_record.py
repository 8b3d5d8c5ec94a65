"""Replies that the proxy records, read by the evaluation."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any

from toolweave.evaluation import Case, Way, load_replies, score

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Serve

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}
REPLY = "Let me see. <add>{a: '2'}</add>"


def test_recorded_replies_can_be_scored(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    for mode in ("natural", "recover"):
        url, _ = serve(REPLY, mode=mode, record=str(path))
        messages = [{"role": "user", "content": "Add."}]
        body = json.dumps({"model": "acme", "messages": messages, "tools": [TOOL]})
        with urllib.request.urlopen(f"{url}/chat/completions", body.encode()) as response:
            assert json.load(response)["choices"][0]["finish_reason"] == "tool_calls"
    replies = load_replies(path)
    assert [(reply.way, reply.model, reply.text) for reply in replies] == [
        ("natural", "acme", REPLY),
        ("native", "acme", REPLY),
    ]
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    cases = [
        Case.from_dict(
            {
                "id": line["case"],
                "messages": messages,
                "tools": [tool["function"] for tool in line["tools"]],
                "expected": [{"name": "add", "arguments": {"a": [2]}}],
            }
        )
        for line in recorded
    ]
    for way, case, reply in zip(("natural", "recovered"), cases, replies, strict=True):
        report = asyncio.run(score([case], [Way.named(way)], [reply]))
        assert report.table[0].right == 1
