"""Connection to an MCP server, with reconnects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import MCPError
from mcp.client import InputRequiredRoundsExceededError, Transport
from pydantic import ValidationError

from ...exceptions import ToolFailed, ToolServerError, TransientToolError
from ._listing_filter import ToolProblem
from ._session import MCPSession, error_summary

if TYPE_CHECKING:
    from ...tools import ToolContext

log = logging.getLogger("toolweave.mcp")


class Connection:
    """A connection to a server that is reopened after it is lost.

    A call that was in flight when the connection was lost is never sent again, since the server may
    have run it. The next call reconnects.

    Args:
        name: Name of the server in messages.
        transport: Function that creates a transport, for each session.
        connect_timeout: Timeout of the handshake, in seconds.
        reconnect: If true, reconnect when the connection is lost.
        on_listing: Callback for each listing of tools.
    """

    def __init__(
        self,
        name: str,
        transport: Callable[[], Transport],
        *,
        connect_timeout: float,
        reconnect: bool,
        on_listing: Callable[[list[mcp_types.Tool], list[ToolProblem]], Awaitable[None]],
    ) -> None:
        self._name = name
        self._transport = transport
        self._timeout = connect_timeout
        self._reconnect = reconnect
        self._on_listing = on_listing
        self._session: MCPSession | None = None
        self._connecting = asyncio.Lock()
        self._closed = False
        self._stale = asyncio.Event()
        self._fresh = asyncio.Event()
        self._watchers: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> bool:
        """True if the server is connected, as far as is known."""
        return self._session is not None and not self._session.lost

    @property
    def instructions(self) -> str | None:
        """Instructions of the server for the use of its tools."""
        return None if self._session is None or self._session.lost else self._session.instructions

    async def open(self) -> None:
        """Connect, and list the tools.

        Raises:
            ToolServerError: The server cannot be reached, or does not implement the protocol.
        """
        session = MCPSession(self._transport(), self._mark_stale)
        try:
            await self._on_listing(*await self._first_listing(session))
        except BaseException:
            await session.close()
            raise
        self._session = session
        self._stale.clear()
        self._fresh.set()
        self._watchers = [
            asyncio.create_task(self._refresh_when_stale(session), name="toolweave-mcp-list")
        ]
        if session.announces_changes:
            self._watchers.append(
                asyncio.create_task(session.listen(), name="toolweave-mcp-listen")
            )

    async def _first_listing(
        self, session: MCPSession
    ) -> tuple[list[mcp_types.Tool], list[ToolProblem]]:
        try:
            await session.open(self._timeout)
            return await asyncio.wait_for(session.tools(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            raise ToolServerError(
                f"MCP server {self._name!r} did not answer within {self._timeout:g} seconds",
                self._name,
            ) from None
        except Exception as err:
            raise ToolServerError(
                f"MCP server {self._name!r} cannot be connected to: {error_summary(err)}",
                self._name,
            ) from err

    async def close(self) -> None:
        """Disconnect, and allow no reconnect."""
        self._closed = True
        await self._disconnect()

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext, repeatable: bool
    ) -> mcp_types.CallToolResult:
        """Call a tool.

        Raises:
            ToolFailed: The server rejected the call, or the connection was lost during it.
            TransientToolError: The connection was lost, and the call may be retried.
        """
        for attempt in (1, 2):
            session = await self._connected_session()
            try:
                result = await session.call(name, dict(arguments), context)
            except MCPError as err:
                if err.code == mcp_types.INVALID_REQUEST and err.message == "Session terminated":
                    # A restarted server does not know the session, and has not run the call.
                    if attempt == 1 and self._reconnect:
                        await self._drop(session)
                        continue
                    raise self._lost_error(repeatable=True) from err
                if session.lost or _is_connection_lost(err):
                    raise self._lost_error(repeatable=repeatable) from err
                raise ToolFailed(
                    f"MCP server {self._name!r} refused the call: {error_summary(err)}"
                ) from err
            except (ValidationError, InputRequiredRoundsExceededError) as err:
                raise ToolFailed(
                    f"MCP server {self._name!r} did not answer as the protocol says"
                ) from err
            if not self._fresh.is_set():
                # A tool that the call added must be available when the model reads the result.
                await self._wait_until_fresh()
            return result
        raise AssertionError("unreachable")

    async def refresh(self) -> None:
        """List the tools again.

        Raises:
            ToolFailed: The connection is lost, and reconnects are disabled.
            TransientToolError: The server cannot be reached.
        """
        session = await self._connected_session()
        await self._list(session)

    async def _connected_session(self) -> MCPSession:
        async with self._connecting:
            session = self._session
            if session is not None and not session.lost:
                return session
            if self._closed or not self._reconnect:
                raise ToolFailed(f"MCP server {self._name!r} is not connected any more")
            log.info("connecting again", extra={"server": self._name})
            await self._disconnect()
            try:
                await self.open()
            except ToolServerError as err:
                raise TransientToolError(str(err)) from err
            assert self._session is not None  # noqa: S101 - for type checkers
            return self._session

    async def _drop(self, session: MCPSession) -> None:
        async with self._connecting:
            if self._session is session:
                await self._disconnect()

    async def _disconnect(self) -> None:
        session, self._session = self._session, None
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher.cancel()
        if watchers:
            await asyncio.wait(watchers)
        if session is not None:
            await session.close()

    def _lost_error(self, *, repeatable: bool) -> ToolFailed | TransientToolError:
        message = f"MCP server {self._name!r} broke off while the tool was running"
        if repeatable:
            return TransientToolError(message)
        return ToolFailed(f"{message}; whether the tool has done its work is not known")

    def _mark_stale(self) -> None:
        self._fresh.clear()
        self._stale.set()

    async def _refresh_when_stale(self, session: MCPSession) -> None:
        try:
            while True:
                await self._stale.wait()
                self._stale.clear()
                try:
                    await self._list(session)
                except (MCPError, ValidationError) as err:
                    log.warning("tools could not be listed again: %s", error_summary(err))
                if not self._stale.is_set():
                    self._fresh.set()
        finally:
            self._fresh.set()  # Release waiters, since no further listing will come.

    async def _list(self, session: MCPSession) -> None:
        await self._on_listing(*await session.tools())

    async def _wait_until_fresh(self) -> None:
        try:
            await asyncio.wait_for(self._fresh.wait(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            log.warning("tools have changed, and the server does not list them")


def _is_connection_lost(err: MCPError) -> bool:
    # The SDK reports a lost connection with this code, which servers also use for their own
    # errors; the messages distinguish the two.
    return err.code == mcp_types.CONNECTION_CLOSED and err.message.startswith(
        ("Connection closed", "SSE stream")
    )
