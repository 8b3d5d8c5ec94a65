"""Tools of an MCP server, as tools of ours."""

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

from .._loops import running_loop
from ..tools import Tool, ToolContext, Toolset
from .connection import Connection
from .definitions import build_tools
from .depth import limit_response_depth
from .listing_filter import ToolProblem

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import TransportStreams
    from typing_extensions import Self, Unpack

    from ..tools.options import ToolOptions

log = logging.getLogger("toolweave.mcp")

_HTTP_TIMEOUT = 30.0
# One record for each tool that is left out would be as many as the server likes.
_MAX_LOGGED = 20


class MCPTools(Toolset):
    """The tools of a server that is connected to. `connect_stdio` and `connect_http` make one.

    It follows the server: when that says that its tools have changed, they change here, and the
    next turn has the new ones. Tools of your own can be added to it.
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
        """What the server is called in messages."""
        self.problems: tuple[ToolProblem, ...] = ()
        """Tools of the server that are left out, and why."""
        self._prefix = prefix
        self._include = include
        self._options = options
        self._listed: dict[str, tuple[mcp_types.Tool, Tool[..., Any]]] = {}
        # Listings are taken one after the other, in the order in which they came.
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
        """Whether the server is there, as far as is known."""
        return self._connection.connected

    @property
    def instructions(self) -> str | None:
        """What the server says about the use of its tools, for a system prompt."""
        return self._connection.instructions

    async def refresh(self) -> None:
        """Asks the server for its tools, for servers that do not say when they change.

        Raises:
            ToolFailed: The connection is lost and is not made again.
            TransientToolError: The server cannot be reached.
        """
        await self._connection.refresh()

    async def __aenter__(self) -> Self:
        running_loop()
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def _send(
        self, tool: str, arguments: Mapping[str, Any], context: ToolContext, repeatable: bool
    ) -> mcp_types.CallToolResult:
        return await self._connection.call(tool, arguments, context, repeatable=repeatable)

    async def _update_tools(
        self, listing: list[mcp_types.Tool], problems: list[ToolProblem]
    ) -> None:
        """Makes the tools those that the server lists. One that stays the same stays itself."""
        async with self._update_lock:
            await self._replace_tools(listing, problems)

    async def _replace_tools(
        self, listing: list[mcp_types.Tool], problems: list[ToolProblem]
    ) -> None:
        wanted = [definition for definition in listing if self._is_included(definition)]
        ours = {tool.name for _, tool in self._listed.values()}
        tools, unusable = await build_tools(
            wanted,
            self._send,
            server=self.name,
            prefix=self._prefix,
            options=self._options,
            others=[tool.name for tool in self if tool.name not in ours],
        )
        self.problems = (*problems, *unusable)
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
                    problem = ToolProblem(name, f"the toolset has another tool named {tool.name!r}")
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
    """Starts a server and has its tools, for as long as the ``async with`` block lasts.

    Example:
        async with connect_stdio("uvx", ["mcp-server-time"]) as tools:
            agent = Agent(model, tools)

    Args:
        command: The program. It ends with the block, and so does whatever it started.
        args: Its arguments.
        env: Its environment, on top of a few variables such as ``PATH``: it does not get ours.
        cwd: Where it runs.
        stderr: Where what it logs goes; by default to our own standard error.
        name: What the server is called in messages; by default after the command.
        prefix: What the names of its tools begin with, before a ``_``.
        include: Which of its tools are used: their names at the server, or a function that is
            given the definition. By default all.
        connect_timeout: How long it may take to say what it offers, in seconds.
        reconnect: Whether a call starts the server anew where it has ended. A call that was under
            way then fails; it is not sent twice.
        **options: How the tools are run; see `ToolOptions`.

    Raises:
        ToolServerError: It cannot be started, or is no MCP server; raised by ``async with``.
    """
    parameters = StdioServerParameters(
        command=os.fspath(command),
        args=list(args),
        env=None if env is None else dict(env),
        cwd=None if cwd is None else Path(cwd),
    )
    return MCPTools(
        name or Path(parameters.command).name,
        lambda: _stdio(parameters, stderr),
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
    """Connects to a server over streamable HTTP, for as long as the ``async with`` block lasts.

    Args:
        url: The endpoint, such as ``http://localhost:8000/mcp``.
        headers: What each request carries besides, such as ``Authorization``.
        auth: What signs each request, such as an ``OAuthClientProvider`` of the SDK.
        name: What the server is called in messages; by default after its host.
        prefix: What the names of its tools begin with, before a ``_``.
        include: Which of its tools are used: their names at the server, or a function that is
            given the definition. By default all.
        connect_timeout: How long it may take to say what it offers, in seconds.
        reconnect: Whether a call connects anew where the connection was lost. A call that was
            under way then fails; it is not sent twice.
        **options: How the tools are run; see `ToolOptions`.

    Raises:
        ToolServerError: It cannot be reached, or is no MCP server; raised by ``async with``.
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
async def _stdio(
    parameters: StdioServerParameters, stderr: TextIO | None
) -> AsyncGenerator[TransportStreams, None]:
    async with stdio_client(parameters, stderr or sys.stderr) as streams:
        yield streams


@asynccontextmanager
async def _http(
    url: str, headers: Mapping[str, str] | None, auth: httpx2.Auth | None
) -> AsyncGenerator[TransportStreams, None]:
    # How long a tool may take is not for the transport to say.
    timeout = httpx2.Timeout(_HTTP_TIMEOUT, read=None)
    client = httpx2.AsyncClient(
        headers=headers,
        timeout=timeout,
        auth=auth,
        event_hooks={"response": [limit_response_depth]},
    )
    async with client, streamable_http_client(url, http_client=client) as streams:
        yield streams
