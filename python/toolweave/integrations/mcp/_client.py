"""Toolset of an MCP server."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

import httpx2
import mcp_types
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ..._aio.loops import running_loop
from ...tools import Tool, Toolset
from ._connection import Connection
from ._definitions import build_tools
from ._listing_filter import ToolProblem, limit_response_depth

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import TransportStreams
    from typing_extensions import Self, Unpack

    from ...tools._options import ToolOptions

log = logging.getLogger("toolweave.mcp")

_HTTP_TIMEOUT = 30.0
# Otherwise the server could cause any number of log records.
_MAX_LOGGED = 20


class MCPTools(Toolset):
    """Tools of a connected MCP server; see `connect_stdio` and `connect_http`.

    The toolset follows the server: when the server reports changes of its tools, the next turn uses
    the new ones. You can add your own tools to it.
    """

    def __init__(
        self,
        name: str,
        transport: Callable[[], Transport],
        *,
        prefix: str,
        include: Collection[str] | Callable[[mcp_types.Tool], bool] | None,
        connect_timeout: float,
        reconnect: bool,
        options: ToolOptions,
    ) -> None:
        super().__init__()
        self.name = name
        """Name of the server in messages."""
        self.problems: tuple[ToolProblem, ...] = ()
        """Omitted tools of the server, with the reasons."""
        self._prefix = prefix
        self._include = include
        self._options = options
        self._listed: dict[str, tuple[mcp_types.Tool, Tool[..., Any]]] = {}
        # Listings are processed one at a time, in the order of their arrival.
        self._update_lock = asyncio.Lock()
        self._connection = Connection(
            name,
            transport,
            connect_timeout=connect_timeout,
            reconnect=reconnect,
            on_listing=self._update_tools,
        )

    @property
    def connected(self) -> bool:
        """True if the server is connected, as far as is known."""
        return self._connection.connected

    @property
    def instructions(self) -> str | None:
        """Instructions of the server for the use of its tools, for a system prompt."""
        return self._connection.instructions

    async def refresh(self) -> None:
        """List the tools of the server again, for servers that do not report changes.

        Raises:
            ToolFailed: The connection is lost, and `reconnect` is False.
            TransientToolError: The server cannot be reached.
        """
        await self._connection.refresh()

    async def __aenter__(self) -> Self:
        running_loop()
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def _update_tools(
        self, listing: list[mcp_types.Tool], problems: list[ToolProblem]
    ) -> None:
        """Replace the tools by those of a listing. Unchanged tools remain the same objects."""
        async with self._update_lock:
            wanted = [definition for definition in listing if self._is_included(definition)]
            from_server = {tool.name for _, tool in self._listed.values()}
            tools, invalid = await build_tools(
                wanted,
                self._connection.call,
                server=self.name,
                prefix=self._prefix,
                options=self._options,
                others=[tool.name for tool in self if tool.name not in from_server],
            )
            self.problems = (*problems, *invalid)
            for problem in self.problems[:_MAX_LOGGED]:
                log.warning(
                    "a tool of an MCP server is left out: %s",
                    problem.message,
                    extra={"server": self.name, "tool": problem.name},
                )
            if len(self.problems) > _MAX_LOGGED:
                more = len(self.problems) - _MAX_LOGGED
                log.warning("%d more tools are left out", more, extra={"server": self.name})
            definitions = {definition.name: definition for definition in reversed(wanted)}
            before, self._listed = self._listed, {}
            for name, (definition, tool) in before.items():
                new = tools.get(name)
                if new is not None and definitions[name] == definition and new.name == tool.name:
                    self._listed[name] = definition, tool
                elif tool.name in self:
                    self.remove(tool.name)
            for name, tool in tools.items():
                if name not in self._listed:
                    if tool.name in self:
                        problem = ToolProblem(
                            name, f"the toolset has another tool named {tool.name!r}"
                        )
                        self.problems += (problem,)
                        continue
                    self.add(tool)
                    self._listed[name] = definitions[name], tool

    def _is_included(self, definition: mcp_types.Tool) -> bool:
        if self._include is None:
            return True
        if callable(self._include):
            return self._include(definition)
        return definition.name in self._include


def connect_stdio(
    command: str | os.PathLike[str],
    args: Iterable[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stderr: TextIO | None = None,
    name: str | None = None,
    prefix: str = "",
    include: Collection[str] | Callable[[mcp_types.Tool], bool] | None = None,
    connect_timeout: float = 30.0,
    reconnect: bool = True,
    **options: Unpack[ToolOptions],
) -> MCPTools:
    """Start a server and use its tools for the duration of an ``async with`` block.

    Example:
        async with connect_stdio("uvx", ["mcp-server-time"]) as tools:
            agent = Agent(model, tools)

    Args:
        command: Program to run. It is terminated with its child processes at the end of the block.
        args: Arguments of the program.
        env: Environment variables, in addition to a few such as ``PATH``. The program does not
            inherit the environment of this process.
        cwd: Working directory of the program.
        stderr: File for the standard error of the program; defaults to that of this process.
        name: Name of the server in messages; defaults to the name of the command.
        prefix: Prefix of the names of its tools, joined with ``_``.
        include: Names of the tools to use, as the server has them, or a predicate of definitions.
            Defaults to all.
        connect_timeout: Timeout for the handshake and the listing of tools, in seconds.
        reconnect: If true, a call restarts a server that has ended. Calls that were in flight
            fail; they are not sent again.
        **options: Options of the tools; see `ToolOptions`.

    Raises:
        ToolServerError: The server cannot be started, or does not implement MCP; raised by
            ``async with``.
    """
    parameters = StdioServerParameters(
        command=os.fspath(command),
        args=list(args),
        env=None if env is None else dict(env),
        cwd=None if cwd is None else Path(cwd),
    )
    return MCPTools(
        name or Path(parameters.command).name,
        lambda: stdio_client(parameters, stderr or sys.stderr),
        prefix=prefix,
        include=include,
        connect_timeout=connect_timeout,
        reconnect=reconnect,
        options=options,
    )


def connect_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
    name: str | None = None,
    prefix: str = "",
    include: Collection[str] | Callable[[mcp_types.Tool], bool] | None = None,
    connect_timeout: float = 30.0,
    reconnect: bool = True,
    **options: Unpack[ToolOptions],
) -> MCPTools:
    """Connect to a server over streamable HTTP for the duration of an ``async with`` block.

    Args:
        url: URL of the endpoint, such as ``http://localhost:8000/mcp``.
        headers: Further headers of each request, such as ``Authorization``.
        auth: Authentication of each request, such as an ``OAuthClientProvider`` of the SDK.
        name: Name of the server in messages; defaults to its host.
        prefix: Prefix of the names of its tools, joined with ``_``.
        include: Names of the tools to use, as the server has them, or a predicate of definitions.
            Defaults to all.
        connect_timeout: Timeout for the handshake and the listing of tools, in seconds.
        reconnect: If true, a call reconnects after the connection was lost. Calls that were in
            flight fail; they are not sent again.
        **options: Options of the tools; see `ToolOptions`.

    Raises:
        ToolServerError: The server cannot be reached, or does not implement MCP; raised by
            ``async with``.
    """
    return MCPTools(
        name or urlsplit(url).hostname or url,
        lambda: _http(url, headers, auth),
        prefix=prefix,
        include=include,
        connect_timeout=connect_timeout,
        reconnect=reconnect,
        options=options,
    )


@asynccontextmanager
async def _http(
    url: str, headers: Mapping[str, str] | None, auth: httpx2.Auth | None
) -> AsyncGenerator[TransportStreams, None]:
    # The timeouts of calls apply, not one of the transport.
    timeout = httpx2.Timeout(_HTTP_TIMEOUT, read=None)
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=timeout,
        auth=auth,
        event_hooks={"response": [limit_response_depth]},
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams
