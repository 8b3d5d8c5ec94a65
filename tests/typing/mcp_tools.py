"""Types of tools over MCP: read by mypy and pyright, never run."""

from __future__ import annotations

import mcp_types
from starlette.applications import Starlette
from typing_extensions import assert_type

from toolweave.executor import ToolExecutor
from toolweave.integrations.mcp import (
    MCPTools,
    ToolProblem,
    connect_http,
    connect_stdio,
    http_app,
    serve_stdio,
)
from toolweave.tools import Toolset


def reads_only(definition: mcp_types.Tool) -> bool:
    return bool(definition.annotations and definition.annotations.read_only_hint)


async def use() -> None:
    async with connect_stdio("server", ["--quiet"], include={"add"}, timeout=5.0) as tools:
        assert_type(tools, MCPTools)
        assert_type(tools.problems, tuple[ToolProblem, ...])
        assert_type(tools.instructions, str | None)
        toolset: Toolset = tools
        ToolExecutor(toolset)
    async with connect_http("http://localhost/mcp", include=reads_only, requires_approval=True):
        pass
    connect_http("http://localhost/mcp", timeout="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def serve(executor: ToolExecutor) -> None:
    assert_type(http_app([use]), Starlette)
    assert_type(http_app(executor, path="/tools"), Starlette)
    await serve_stdio(executor)
