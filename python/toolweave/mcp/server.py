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

from .. import __version__
from .._checks import check_items, check_text
from .._core import ToolCall, ToolResult
from ..exceptions import ValidationError
from ..executor import ToolDeferred, ToolExecutor, ToolProgress, ToolQuestion
from ..executor.results import to_text
from .conversion import call_result, tool_definition
from .results import object_fields
from .server_elicitation import elicit_from_client

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from starlette.applications import Starlette

    from ..tools.toolset import ToolLike

log = logging.getLogger("toolweave.mcp")

LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""The hosts that a server on this machine alone is asked for."""

_Context = ServerRequestContext[Any, Any]


def mcp_server(
    tools: ToolExecutor | Iterable[ToolLike],
    *,
    name: str = "toolweave",
    version: str = __version__,
    instructions: str | None = None,
) -> Server[Any]:
    """The tools as a server of the SDK, for transports other than the two here.

    Calls run through the executor: arguments are validated, and its limits, approvals and
    observers hold. What a tool returns is the text of the answer, and its structured content if
    it is a JSON object. Progress goes to the client, and its cancellation reaches the tool.

    Args:
        tools: The tools, or an executor that has them. It may be shared with others.
        name: What the server is called.
        version: Its version.
        instructions: What a client should know of the use of the tools.
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
    """Serves a client at standard input and output, until it leaves.

    What tools print goes to standard error meanwhile.

    Args:
        tools: The tools, or an executor that has them.
        name: What the server is called.
        instructions: What the client should know of the use of the tools.
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
    """An ASGI application that serves clients over streamable HTTP.

    It has no authentication: put that in front of it. Mounted in another application, its
    lifespan has to be run by that one.

    Args:
        tools: The tools, or an executor that has them.
        name: What the server is called.
        instructions: What clients should know of the use of the tools.
        path: Where the endpoint is.
        allowed_hosts: Which values of the ``Host`` header are served, with ``:*`` for any port,
            so that no web page reaches a server on this machine by a name of its own.
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
    """Serves clients over streamable HTTP until it is interrupted. For more, see `http_app`.

    Args:
        tools: The tools, or an executor that has them.
        host: The address that it listens on.
        port: The port; 0 for any that is free.
        name: What the server is called.
        instructions: What clients should know of the use of the tools.
        path: Where the endpoint is.
    """
    import uvicorn

    written = f"[{host}]" if ":" in host else host
    hosts = LOOPBACK if f"{written}:*" in LOOPBACK else (*LOOPBACK, f"{written}:*")
    app = http_app(tools, name=name, instructions=instructions, path=path, allowed_hosts=hosts)
    await uvicorn.Server(uvicorn.Config(app, host=host, port=port)).serve()


class _Server(Server[Any]):
    """A server that says, to older clients as well, that its tools may change."""

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
    """Answers the requests of clients."""

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
        # The SDK cancels in a way that comes again at every `await`, until the task is through. In
        # a task of its own the executor can see its tools off.
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
        shown = 0
        async with self._executor.open() as run:
            run.submit(call)
            run.close()
            async for event in run:
                match event:
                    case ToolProgress(value=value):
                        shown += 1
                        await _report_progress(context, value, shown)
                    case ToolQuestion():
                        await self._ask(context, event)
                    case ToolDeferred():
                        later = "The result comes later, by another way"
                        result = ToolResult(call.id, call.name, later, is_error=True)
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
            # The client has not held its user to the schema.
            message = "The user's answer does not fit the question"
            self._executor.resolve(event.key, message, is_error=True)

    async def _announce_changes(self, context: _Context) -> None:
        """Says that there are other tools than before, if a tool has seen to that."""
        version = self._executor.toolset.version
        if version == self._version:
            return
        self._version = version
        await self.bus.publish(ToolsListChanged())
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await context.session.send_tool_list_changed()


async def _report_progress(context: _Context, value: Any, number: int) -> None:
    """Sends progress: the numbers and the message that a value has, or else its text."""
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
