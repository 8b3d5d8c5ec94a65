"""Client and server for tools over MCP, the Model Context Protocol.

The tools of a server are a `Toolset` that follows its changes. They run like any other tools:
arguments are validated against the server's schema before they are sent, progress and questions
use `ToolContext`, and cancellations and timeouts of calls are sent to the server.

    async with connect_stdio("uvx", ["mcp-server-time"], timeout=20) as tools:
        executor = ToolExecutor(tools)

`connect_http` does the same over streamable HTTP. In the other direction, `serve_stdio`,
`serve_http` and `http_app` serve a toolset or an executor to any client, as does the command
``toolweave mcp my_module:my_tools``.

Needs the official SDK: ``pip install 'toolweave[mcp]'``.
"""

from __future__ import annotations

try:
    from mcp import Client as _Client
except ImportError as _err:
    raise ImportError(
        "toolweave.integrations.mcp needs version 2.3 or newer of the MCP SDK: "
        "pip install 'toolweave[mcp]'"
    ) from _err

from ..._public import claim_exports
from ._client import MCPTools, connect_http, connect_stdio
from ._listing_filter import ToolProblem
from ._server import http_app, mcp_server, serve_http, serve_stdio

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

claim_exports(globals())
