"""Tools over MCP, the Model Context Protocol: those of servers as ours, and ours as a server.

The tools of a server are a `Toolset` that follows it. They run like any other: arguments are
held to the server's schema before anything is sent, progress and questions come through
`ToolContext`, a call that is cancelled or takes too long is cancelled at the server.

    async with connect_stdio("uvx", ["mcp-server-time"], timeout=20) as tools:
        executor = ToolExecutor(tools)

`connect_http` does the same over streamable HTTP. The other way round, `serve_stdio`,
`serve_http` and `http_app` serve a toolset or an executor to any client, and so does the command
``toolweave mcp my_module:my_tools``.

This needs the official SDK: ``pip install 'toolweave[mcp]'``.
"""

from __future__ import annotations

try:
    from mcp import Client as _Client
except ImportError as _err:
    raise ImportError(
        "toolweave.mcp needs version 2.3 or newer of the MCP SDK: pip install 'toolweave[mcp]'"
    ) from _err

from .client import MCPTools, connect_http, connect_stdio
from .listing_filter import ToolProblem
from .server import http_app, mcp_server, serve_http, serve_stdio

del _Client

__all__ = [
    "MCPTools",
    "ToolProblem",
    "connect_http",
    "connect_stdio",
    "http_app",
    "mcp_server",
    "serve_http",
    "serve_stdio",
]
