"""Golden cases of ``tests/cases/completions``, which the reader in Rust passes as well."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paths import CASES
from toolweave import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)
from toolweave._core import ChunkReader

FOLDER = CASES / "completions"
GOLDEN = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text("utf-8"))
]


def written(update: Update) -> dict[str, Any]:
    if isinstance(update, TextDelta):
        return {"text": update.text}
    if isinstance(update, ReasoningDelta):
        return {"reasoning": update.text}
    if isinstance(update, ToolCallUpdate):
        fragment = {
            "id": update.tool_call_id,
            "index": update.index,
            "name": update.function_name,
            "arguments": update.function_args,
        }
        return {"fragment": fragment}
    if isinstance(update, UsageUpdate):
        counts = [update.input_tokens, update.output_tokens, update.cached_input_tokens]
        return {"usage": counts}
    assert isinstance(update, FinishUpdate)
    return {"finish": update.reason.value}


@pytest.mark.parametrize("case", GOLDEN)
def test_chunks_come_out_as_written(case: Any) -> None:
    reader = ChunkReader()
    updates = [update for chunk in case["chunks"] for update in reader.push(chunk)]
    updates.append(reader.finish())
    assert [written(update) for update in updates] == case["updates"]


def test_there_are_cases() -> None:
    assert len(GOLDEN) > 60
