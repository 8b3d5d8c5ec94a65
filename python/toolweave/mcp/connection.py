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
from .link import Link, sentence_of
from .screening import ToolProblem

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
        self._link: Link | None = None
        self._connecting = asyncio.Lock()
        self._closed = False
        self._stale = asyncio.Event()
        self._fresh = asyncio.Event()
        self._watchers: list[asyncio.Task[None]] = []

    @property
    def connected(self) -> bool:
        """Whether the server is there, as far as is known."""
        return self._link is not None and not self._link.lost

    @property
    def instructions(self) -> str | None:
        """What the server says about the use of its tools."""
        return None if self._link is None or self._link.lost else self._link.instructions

    async def open(self) -> None:
        """Connects, and lists the tools.

        Raises:
            ToolServerError: The server cannot be reached, or does not answer as one.
        """
        link = Link(self._transport(), self._mark_stale)
        try:
            await link.open(self._timeout)
            listing = await asyncio.wait_for(link.tools(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            await link.close()
            raise ToolServerError(
                f"MCP server {self._name!r} did not answer within {self._timeout:g} seconds",
                self._name,
            ) from None
        except Exception as err:
            await link.close()
            raise ToolServerError(
                f"MCP server {self._name!r} cannot be connected to: {sentence_of(err)}", self._name
            ) from err
        except BaseException:
            await link.close()
            raise
        try:
            await self._on_listing(*listing)
        except BaseException:
            await link.close()
            raise
        self._link = link
        self._stale.clear()
        self._fresh.set()
        self._watchers = [asyncio.create_task(self._keep_fresh(link), name="toolweave-mcp-list")]
        if link.announces_changes:
            self._watchers.append(asyncio.create_task(link.listen(), name="toolweave-mcp-listen"))

    async def close(self) -> None:
        """Disconnects for good."""
        self._closed = True
        await self._hang_up()

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext, *, repeatable: bool
    ) -> mcp_types.CallToolResult:
        """Calls a tool.

        Raises:
            ToolFailed: The server refuses the call, or was lost during it.
            TransientToolError: The server was lost, and the call may be sent again.
        """
        for attempt in (1, 2):
            link = await self._linked()
            try:
                result = await link.call(name, dict(arguments), context)
            except MCPError as err:
                if err.code == mcp_types.INVALID_REQUEST and err.message == "Session terminated":
                    # A restarted server knows nothing of the session, and did not look at the call.
                    if attempt == 1 and self._reconnect:
                        await self._drop(link)
                        continue
                    raise self._gone(repeatable=True) from err
                if link.lost or _is_broken_off(err):
                    raise self._gone(repeatable=repeatable) from err
                raise ToolFailed(
                    f"MCP server {self._name!r} refused the call: {sentence_of(err)}"
                ) from err
            except (ValidationError, InputRequiredRoundsExceededError) as err:
                raise ToolFailed(
                    f"MCP server {self._name!r} did not answer as the protocol says"
                ) from err
            if not self._fresh.is_set():
                # A tool that the call brought is there when the model is told of it.
                await self._catch_up()
            return result
        raise AssertionError("unreachable")

    async def refresh(self) -> None:
        """Lists the tools again.

        Raises:
            ToolFailed: The connection is lost and is not made again.
            TransientToolError: The server cannot be reached.
        """
        link = await self._linked()
        await self._list(link)

    async def _linked(self) -> Link:
        async with self._connecting:
            link = self._link
            if link is not None and not link.lost:
                return link
            if self._closed or not self._reconnect:
                raise ToolFailed(f"MCP server {self._name!r} is not connected any more")
            log.info("connecting again", extra={"server": self._name})
            await self._hang_up()
            try:
                await self.open()
            except ToolServerError as err:
                raise TransientToolError(str(err)) from err
            assert self._link is not None  # noqa: S101 - for type checkers
            return self._link

    async def _drop(self, link: Link) -> None:
        async with self._connecting:
            if self._link is link:
                await self._hang_up()

    async def _hang_up(self) -> None:
        link, self._link = self._link, None
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher.cancel()
        if watchers:
            await asyncio.wait(watchers)
        if link is not None:
            await link.close()

    def _gone(self, *, repeatable: bool) -> ToolFailed | TransientToolError:
        said = f"MCP server {self._name!r} broke off while the tool was running"
        if repeatable:
            return TransientToolError(said)
        return ToolFailed(f"{said}; whether the tool has done its work is not known")

    def _mark_stale(self) -> None:
        self._fresh.clear()
        self._stale.set()

    async def _keep_fresh(self, link: Link) -> None:
        try:
            while True:
                await self._stale.wait()
                self._stale.clear()
                try:
                    await self._list(link)
                except (MCPError, ValidationError) as err:
                    log.warning("tools could not be listed again: %s", sentence_of(err))
                if not self._stale.is_set():
                    self._fresh.set()
        finally:
            self._fresh.set()  # Nobody is left to wait for.

    async def _list(self, link: Link) -> None:
        await self._on_listing(*await link.tools())

    async def _catch_up(self) -> None:
        try:
            await asyncio.wait_for(self._fresh.wait(), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            log.warning("tools have changed, and the server does not list them")


def _is_broken_off(err: MCPError) -> bool:
    # The SDK says with this code, which servers use for errors of their own as well, that no
    # answer will come; its messages tell the two apart.
    return err.code == mcp_types.CONNECTION_CLOSED and err.message.startswith(
        ("Connection closed", "SSE stream")
    )
