"""A server that is connected to, and connected to again when it was lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import MCPError
from mcp.client import InputRequiredRoundsExceededError, Transport
from pydantic import ValidationError

from ..exceptions import ToolFailed, ToolServerError, TransientToolError
from .listing_filter import ToolProblem
from .session import MCPSession, error_summary

if TYPE_CHECKING:
    from ..tools import ToolContext

log = logging.getLogger("toolweave.mcp")


class Connection:
    """A server that is connected to, and connected to again after it was lost.

    A call that was under way when the server went is never sent twice: it may have been served.
    The next call connects anew.

    Args:
        name: What the server is called in messages.
        transport: Makes a way to the server, for each connection.
        connect_timeout: How long the handshake may take, in seconds.
        reconnect: Whether to connect again.
        on_listing: Given what the server lists, each time it is listed.
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
        """Whether the server is there, as far as is known."""
        return self._session is not None and not self._session.lost

    @property
    def instructions(self) -> str | None:
        """What the server says about the use of its tools."""
        return None if self._session is None or self._session.lost else self._session.instructions

    async def open(self) -> None:
        """Connects, and lists the tools.

        Raises:
            ToolServerError: The server cannot be reached, or does not answer as one.
        """
        session = MCPSession(self._transport(), self._mark_stale)
        try:
            await session.open(self._timeout)
            listing = await asyncio.wait_for(session.tools(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            await session.close()
            raise ToolServerError(
                f"MCP server {self._name!r} did not answer within {self._timeout:g} seconds",
                self._name,
            ) from None
        except Exception as err:
            await session.close()
            raise ToolServerError(
                f"MCP server {self._name!r} cannot be connected to: {error_summary(err)}",
                self._name,
            ) from err
        except BaseException:
            await session.close()
            raise
        try:
            await self._on_listing(*listing)
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

    async def close(self) -> None:
        """Disconnects for good."""
        self._closed = True
        await self._disconnect()

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext, *, repeatable: bool
    ) -> mcp_types.CallToolResult:
        """Calls a tool.

        Raises:
            ToolFailed: The server refuses the call, or was lost during it.
            TransientToolError: The server was lost, and the call may be sent again.
        """
        for attempt in (1, 2):
            session = await self._connected_session()
            try:
                result = await session.call(name, dict(arguments), context)
            except MCPError as err:
                if err.code == mcp_types.INVALID_REQUEST and err.message == "Session terminated":
                    # A restarted server knows nothing of the session, and did not look at the call.
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
                # A tool that the call brought is there when the model is told of it.
                await self._wait_until_fresh()
            return result
        raise AssertionError("unreachable")

    async def refresh(self) -> None:
        """Lists the tools again.

        Raises:
            ToolFailed: The connection is lost and is not made again.
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
        said = f"MCP server {self._name!r} broke off while the tool was running"
        if repeatable:
            return TransientToolError(said)
        return ToolFailed(f"{said}; whether the tool has done its work is not known")

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
            self._fresh.set()  # Nobody is left to wait for.

    async def _list(self, session: MCPSession) -> None:
        await self._on_listing(*await session.tools())

    async def _wait_until_fresh(self) -> None:
        try:
            await asyncio.wait_for(self._fresh.wait(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            log.warning("tools have changed, and the server does not list them")


def _is_connection_lost(err: MCPError) -> bool:
    # The SDK says with this code, which servers use for errors of their own as well, that no
    # answer will come; its messages tell the two apart.
    return err.code == mcp_types.CONNECTION_CLOSED and err.message.startswith(
        ("Connection closed", "SSE stream")
    )
