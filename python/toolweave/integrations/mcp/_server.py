"""Tools served to MCP clients."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import anyio
import mcp_types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..._checks import check_items, check_text
from ..._core import ToolCall, ToolResult, __version__
from ...exceptions import ValidationError
from ...executor import ToolDeferred, ToolExecutor, ToolProgress, ToolQuestion
from ...executor._results import to_text
from ._conversion import call_result, object_fields, tool_definition
from ._elicitation import elicit_from_client

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from starlette.applications import Starlette

    from ...tools._toolset import ToolLike

log = logging.getLogger("toolweave.mcp")

LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""Values of the ``Host`` header for a server on the loopback interface."""

_Context = ServerRequestContext[Any, Any]


def mcp_server(
    tools: ToolExecutor | Iterable[ToolLike],
    *,
    name: str = "toolweave",
    version: str = __version__,
    instructions: str | None = None,
) -> Server[Any]:
    """Return an SDK server with the tools, for transports other than stdio and HTTP.

    Calls run in the executor: arguments are validated, and its limits, approvals and observers
    apply. The value that a tool returns becomes the text of the result, and its structured content
    if it is a JSON object. Progress is sent to the client, and cancellations by the client reach
    the tool.

    Args:
        tools: Tools, or an executor with tools, which may be shared.
        name: Name of the server.
        version: Version of the server; by default, that of toolweave.
        instructions: Instructions for the use of the tools, for clients.
    """
    check_text("name", name)
    check_text("version", version)
    check_text("instructions", instructions, none=True)
    executor = tools if isinstance(tools, ToolExecutor) else ToolExecutor(tools)
    service = _Service(executor)
    return _Server(
        name,
        version=version,
        instructions=instructions,
        on_list_tools=service.list_tools,
        on_call_tool=service.call_tool,
        on_subscriptions_listen=ListenHandler(service.bus),
    )


async def serve_stdio(
    tools: ToolExecutor | Iterable[ToolLike],
    *,
    name: str = "toolweave",
    instructions: str | None = None,
) -> None:
    """Serve a client over standard input and output until it disconnects.

    Meanwhile, the standard output of tools is redirected to standard error.

    Args:
        tools: Tools, or an executor with tools.
        name: Name of the server.
        instructions: Instructions for the use of the tools, for the client.
    """
    server = mcp_server(tools, name=name, instructions=instructions)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def http_app(
    tools: ToolExecutor | Iterable[ToolLike],
    *,
    name: str = "toolweave",
    instructions: str | None = None,
    path: str = "/mcp",
    allowed_hosts: Sequence[str] = LOOPBACK,
) -> Starlette:
    """Return an ASGI application that serves clients over streamable HTTP.

    It has no authentication; add that in front of it. If you mount it in another application, that
    application must run its lifespan.

    Args:
        tools: Tools, or an executor with tools.
        name: Name of the server.
        instructions: Instructions for the use of the tools, for clients.
        path: Path of the endpoint.
        allowed_hosts: Accepted values of the ``Host`` header, with ``:*`` for any port. This
            prevents web pages from reaching a local server by DNS rebinding.
    """
    check_text("path", path)
    hosts = list(check_items("allowed_hosts", allowed_hosts, str, "a sequence of strings"))
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return mcp_server(tools, name=name, instructions=instructions).streamable_http_app(
        streamable_http_path=path,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=origins,
        ),
    )


async def serve_http(
    tools: ToolExecutor | Iterable[ToolLike],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str = "toolweave",
    instructions: str | None = None,
    path: str = "/mcp",
) -> None:
    """Serve clients over streamable HTTP until interrupted. See `http_app` for more control.

    Args:
        tools: Tools, or an executor with tools.
        host: Address to listen on.
        port: Port to listen on; 0 for any free port.
        name: Name of the server.
        instructions: Instructions for the use of the tools, for clients.
        path: Path of the endpoint.
    """
    import uvicorn

    url_host = f"[{host}]" if ":" in host else host
    hosts = LOOPBACK if f"{url_host}:*" in LOOPBACK else (*LOOPBACK, f"{url_host}:*")
    app = http_app(tools, name=name, instructions=instructions, path=path, allowed_hosts=hosts)
    await uvicorn.Server(uvicorn.Config(app, host=host, port=port)).serve()


class _Server(Server[Any]):
    """Server that announces changes of its tools to older clients as well."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        return super().create_initialization_options(
            notification_options or NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
        )


class _Service:
    """Handlers of the requests of clients."""

    def __init__(self, executor: ToolExecutor) -> None:
        self.bus = InMemorySubscriptionBus()
        self._executor = executor
        self._numbers = itertools.count(1)
        self._version = executor.toolset.version

    async def list_tools(
        self, _context: _Context, _page: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(
            tools=[tool_definition(tool) for tool in self._executor.toolset]
        )

    async def call_tool(
        self, context: _Context, request: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        call = ToolCall(f"mcp-{next(self._numbers)}", request.name, request.arguments or {})
        # The SDK repeats a cancellation at every `await` until the task ends. In a separate task,
        # the executor can wait for its tools to end.
        serving = asyncio.create_task(self._serve(context, call))
        try:
            return await asyncio.shield(serving)
        except asyncio.CancelledError:
            serving.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({serving})
            raise

    async def _serve(self, context: _Context, call: ToolCall) -> mcp_types.CallToolResult:
        tool = self._executor.toolset.get(call.name)
        result: ToolResult | None = None
        report_count = 0
        async with self._executor.open() as run:
            run.submit(call)
            run.close()
            async for event in run:
                match event:
                    case ToolProgress(value=value):
                        report_count += 1
                        await _report_progress(context, value, report_count)
                    case ToolQuestion():
                        await self._ask(context, event)
                    case ToolDeferred():
                        text = "The result comes later, by another way"
                        result = ToolResult(call.id, call.name, text, is_error=True)
                    case ToolResult() if event.tool_call_id == call.id:
                        result = event
                    case _:
                        pass
        await self._announce_changes(context)
        assert result is not None  # noqa: S101 - the executor's promise, for type checkers
        return call_result(result, tool)

    async def _ask(self, context: _Context, event: ToolQuestion) -> None:
        answer, refused = await elicit_from_client(context, event.question, event.schema)
        try:
            self._executor.resolve(event.key, answer, is_error=refused)
        except ValidationError:
            # The client has not enforced the schema.
            message = "The user's answer does not fit the question"
            self._executor.resolve(event.key, message, is_error=True)

    async def _announce_changes(self, context: _Context) -> None:
        """Notify the client if a call has changed the tools."""
        version = self._executor.toolset.version
        if version == self._version:
            return
        self._version = version
        await self.bus.publish(ToolsListChanged())
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await context.session.send_tool_list_changed()


async def _report_progress(context: _Context, value: Any, number: int) -> None:
    """Send progress: the numbers and message in a value, or otherwise its text."""
    if _is_number(value):
        await context.session.report_progress(value)
        return
    fields = object_fields(value)
    progress, total, message = (fields.get(key) for key in ("progress", "total", "message"))
    if _is_number(progress):
        await context.session.report_progress(
            progress,
            total if _is_number(total) else None,
            message if isinstance(message, str) else None,
        )
        return
    await context.session.report_progress(number, None, to_text(value))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
