"""No server holds the event loop for long, however much it lists or answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp.client.session
import pytest
from mcp_types import methods

from loop_watchdog import Watchdog, left_out, many
from mcp_processes import plain_server
from toolweave import ToolCall
from toolweave.executor import ToolExecutor
from toolweave.integrations.mcp._definitions import MAX_TOOLS


@pytest.fixture(autouse=True)
def without_the_sdk(monkeypatch: pytest.MonkeyPatch, loop_watchdog: Watchdog) -> None:
    """Disable the parts of the SDK that parse a whole line or result at once."""
    loop_watchdog.leave_out("mcp.client.stdio")

    class Methods:
        def __getattr__(self, name: str) -> Any:
            return getattr(methods, name)

        def validate_server_result(self, *arguments: Any) -> Any:
            with left_out():
                return methods.validate_server_result(*arguments)

    monkeypatch.setattr(mcp.client.session, "_methods", Methods())


OBJECT = {"type": "object"}
DETAILED: dict[str, Any] = {
    "type": "object",
    "properties": {f"p{number}": {"type": "string", "maxLength": 80} for number in range(8)},
    "required": ["p1", "p2"],
}
LISTED: dict[str, list[dict[str, Any]]] = {
    "detailed": [
        {"name": f"tool_{number}", "inputSchema": DETAILED, "outputSchema": DETAILED}
        for number in range(many(3 * MAX_TOOLS))
    ],
    "short": [{"name": f"t{number}", "inputSchema": OBJECT} for number in range(many(8000))],
    "unusable": [{"name": f"t{number}"} for number in range(many(8000))],
}


@pytest.mark.parametrize("listed", LISTED.values(), ids=list(LISTED))
def test_a_listing(tmp_path: Path, loop_watchdog: Watchdog, listed: list[dict[str, Any]]) -> None:
    loop_watchdog.input(len(json.dumps(listed)))
    server = plain_server({"pages": [{"tools": listed}]}, tmp_path)

    async def main() -> None:
        async with server as tools:
            usable = sum("inputSchema" in definition for definition in listed)
            assert len(tools) == min(usable, MAX_TOOLS)

    asyncio.run(main())


ROWS = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}
DEEP = json.loads("[" * 90 + "]" * 90)
ANSWERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "rows": (ROWS, {"result": [{"a": each, "b": "x"} for each in range(many(40_000))]}),
    "numbers": ({}, {"result": list(range(many(150_000)))}),
    "wrong": (ROWS, {"result": [{"a": "x"}] * many(60_000)}),
    "deep": ({}, {"result": [DEEP] * many(1_500)}),
    "text": ({"type": "string", "minLength": 4}, {"result": "word <é> " * many(100_000)}),
}


@pytest.mark.parametrize(("schema", "answer"), ANSWERS.values(), ids=list(ANSWERS))
def test_a_result(
    tmp_path: Path, loop_watchdog: Watchdog, schema: dict[str, Any], answer: dict[str, Any]
) -> None:
    loop_watchdog.input(len(json.dumps(answer)))
    whole = {"type": "object", "properties": {"result": schema}}
    listed = [
        {"name": "held", "inputSchema": OBJECT, "outputSchema": whole},
        {"name": "free", "inputSchema": OBJECT},
    ]
    answers = {each: {"content": [], "structuredContent": answer} for each in ("held", "free")}

    server = plain_server({"pages": [{"tools": listed}], "answers": answers}, tmp_path)

    async def main() -> None:
        async with server as tools:
            calls = [ToolCall(name, name, {}) for name in ("held", "free")]
            await ToolExecutor(tools).execute(calls)

    asyncio.run(main())
