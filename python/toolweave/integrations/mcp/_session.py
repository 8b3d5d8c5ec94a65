"""Session with an MCP server, held open by a task."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import Client, MCPError
from mcp.client import IncomingMessage, Transport
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from ..._aio.tasks import wait_until_done
from ..._core import __version__
from ._elicitation import answer_elicitation
from ._listing_filter import ListingFilter, ToolProblem, filtered, tools_of_page

if TYPE_CHECKING:
    from mcp.client import ClientRequestContext

    from ...tools import ToolContext

log = logging.getLogger("toolweave.mcp")

MAX_PAGES = 100
"""Maximum number of pages of `tools/list`."""

_RELISTEN_DELAY = 1.0
# The call that a request of the server belongs to, if the transport knows it.
_current_call: contextvars.ContextVar[ToolContext | None] = contextvars.ContextVar(
    "toolweave_mcp_calling", default=None
)


class MCPSession:
    """One session, from its handshake to its end. It cannot be reopened.

    The SDK's cancel scopes must be exited by the task that entered them, but a session may be
    closed by another task than the one that opened it. Therefore, the session has a task that
    enters them, waits, and exits.

    Args:
        transport: Transport to the server, not entered yet.
        on_tools_changed: Callback for changes of the server's tools.
    """

    def __init__(
        self,
        transport: Transport,
        on_tools_changed: Callable[[], None],
    ) -> None:
        self._on_tools_changed = on_tools_changed
        self._closing = asyncio.Event()
        self._calls: list[ToolContext] = []
        self._filter = ListingFilter(self._version)
        self._client = Client(
            filtered(transport, self._filter, self._closing.set),
            message_handler=self._on_message,
            elicitation_callback=self._elicit,
            client_info=mcp_types.Implementation(name="toolweave", version=__version__),
            cache=None,
        )
        self._task: asyncio.Task[None] | None = None

    @property
    def lost(self) -> bool:
        """True if the session has ended."""
        return self._closing.is_set() or self._task is None or self._task.done()

    @property
    def instructions(self) -> str | None:
        """Instructions of the server for the use of its tools."""
        return self._client.instructions

    @property
    def announces_changes(self) -> bool:
        """True if the server reports changes of its tools."""
        tools = self._client.server_capabilities.tools
        return bool(tools and tools.list_changed)

    async def open(self, timeout: float) -> None:
        """Connect and complete the handshake within `timeout` seconds.

        Raises:
            TimeoutError: The timeout has expired.
            Exception: Any exception of the transport or the SDK.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready), name="toolweave-mcp-link")
        try:
            await asyncio.wait_for(asyncio.shield(ready), timeout)
        except BaseException:
            self._task.cancel()
            await self.close()
            if ready.done() and not ready.cancelled():
                ready.exception()
            raise

    async def close(self) -> None:
        """End the session, and wait until everything is closed, including a server's process."""
        self._closing.set()
        if self._task is not None:
            # Every step of the SDK's shutdown has a timeout; returning earlier would leak the
            # process.
            cancellation = await wait_until_done(self._task)
            if cancellation is not None:
                raise cancellation

    async def tools(self) -> tuple[list[mcp_types.Tool], list[ToolProblem]]:
        """Return all pages of the server's tools, and the problems of omitted ones.

        Raises:
            MCPError: The server rejected the request, or the connection was lost.
            ValidationError: The response violates the protocol.
        """
        self._filter.problems.clear()
        tools: list[mcp_types.Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += tools_of_page(page)
            cursor = page.next_cursor
            if cursor is None:
                break
            if cursor in seen:
                self._filter.problems.append(
                    ToolProblem("", "the listing has no end: a page leads back to an earlier one")
                )
                break
            seen.add(cursor)
        else:
            message = f"the listing has more than {MAX_PAGES} pages; the rest is left out"
            self._filter.problems.append(ToolProblem("", message))
        return tools, list(self._filter.problems)

    async def call(
        self, name: str, arguments: dict[str, Any], context: ToolContext
    ) -> mcp_types.CallToolResult:
        """Call a tool. A cancellation is sent to the server.

        Raises:
            MCPError: The server rejected the request, or the connection was lost.
            ValidationError: The response violates the protocol.
            InputRequiredRoundsExceededError: The server asked too many questions.
        """

        async def report(progress: float, total: float | None, message: str | None) -> None:
            fields: dict[str, Any] = {"progress": progress}
            if total is not None:
                fields["total"] = total
            if message is not None:
                fields["message"] = message
            context.progress(fields)

        with self._track_call(context):
            return await self._client.call_tool(name, arguments, progress_callback=report)

    async def listen(self) -> None:
        """Keep a subscription to changes of tools, which newer protocol versions require."""
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return  # Older servers send notifications without a subscription.
        while not self.lost:
            try:
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        pass  # `_on_message` handles the event.
            except (MCPError, RuntimeError, TimeoutError) as err:
                log.debug("subscription to changes of tools ended: %s", err)
            await asyncio.sleep(_RELISTEN_DELAY)
            self._on_tools_changed()  # Missed events are not replayed.

    async def _run(self, ready: asyncio.Future[None]) -> None:
        _current_call.set(None)
        try:
            async with self._client:
                ready.set_result(None)
                await self._closing.wait()
        except BaseException as err:  # noqa: BLE001 - raised by `open`
            if not ready.done():
                ready.set_exception(root_cause(err))
            elif isinstance(err, Exception):
                log.warning("connection to an MCP server broke: %s", root_cause(err))
        finally:
            self._closing.set()

    def _version(self) -> str:
        try:
            return self._client.protocol_version
        except RuntimeError:
            return LATEST_HANDSHAKE_VERSION  # There is no listing before the handshake.

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._on_tools_changed()

    @contextmanager
    def _track_call(self, context: ToolContext) -> Generator[None, None, None]:
        token = _current_call.set(context)
        self._calls.append(context)
        try:
            yield
        finally:
            self._calls.remove(context)
            _current_call.reset(token)

    async def _elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        del context  # It has the request, but not the call.
        call = _current_call.get()
        if call is None and len(self._calls) == 1:
            (call,) = self._calls
        if call is None:
            # The calls may be of different users, so the question must not go to any of them.
            return mcp_types.ErrorData(
                code=mcp_types.INVALID_REQUEST,
                message=f"{len(self._calls)} calls are open, and the question belongs to none",
            )
        return await answer_elicitation(call, params)


def root_cause(err: BaseException) -> BaseException:
    """Return the first exception inside exception groups."""
    while True:
        nested: tuple[BaseException, ...] = getattr(err, "exceptions", ())
        if not nested:
            return err
        err = nested[0]


def error_summary(err: BaseException) -> str:
    """Return the first line of an error's text, truncated because the server controls it."""
    cause = root_cause(err)
    first = str(cause).strip().partition("\n")[0][:500]
    return first or type(cause).__name__
