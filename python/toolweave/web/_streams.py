"""Streams of a chat's events: from any sequence number, in the format of any client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeAlias

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from ._bodies import cursor_of, query_flag
from ._errors import HttpError
from ._security import ConcurrencyLimiter
from ._sse import frame, retry
from .encoders import Encoder
from .encoders._ag_ui import AgUiEncoder
from .encoders._ai_sdk import AiSdkEncoder
from .encoders._requests import VERSION_HEADER, read_ai_sdk_version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from ..store import Chat, MessageStore, RunRecord
    from ._channels import ChatChannel, ChatChannels
    from ._limits import WebLimits
    from ._security import Client

Encoders: TypeAlias = Mapping[str, Callable[[], Encoder]]
"""Factories of encoders, by the name of the format."""

NATIVE = "native"
"""Name of the native format: toolweave's own stream events."""

ENCODERS: Encoders = {"ag-ui": AgUiEncoder, "ai-sdk": AiSdkEncoder}
"""Encoders of this package, in addition to the native format."""


class EventStreams:
    """Responses that stream events.

    Args:
        store: The store that holds the events.
        channels: The channels that publish events.
        encoders: Factories of encoders, by format, in addition to the native format.
        limits: The limits on the number of streams, with their heartbeat and timeouts.
    """

    def __init__(
        self, store: MessageStore, channels: ChatChannels, encoders: Encoders, limits: WebLimits
    ) -> None:
        self._store = store
        self._channels = channels
        self._encoders = encoders
        self._limits = limits
        self._slots = ConcurrencyLimiter(limits.streams, limits.streams_per_user, "streams")

    async def events_response(self, request: Request, client: Client, chat: Chat) -> Response:
        """Stream the events of a chat after the last one that the client has seen.

        Raises:
            HttpError: The format or the cursor is invalid, or there are too many streams.
        """
        cursor, follow = cursor_of(request), query_flag(request, "follow")
        format_ = request.query_params.get("format", NATIVE)
        if format_ != NATIVE:
            make = self._encoders.get(format_)
            if make is None:
                known = ", ".join([NATIVE, *self._encoders])
                raise HttpError(400, "unknown_format", f"`format` must be one of {known}.")
            run = await self._run_after(chat.chat_id, cursor)
            if run is None:
                return Response(status_code=204)
            return await self.run_response(run, make(), client, after=cursor)
        async with AsyncExitStack() as stack:
            channel = await self._open(chat.chat_id, client, stack)
            if cursor > channel.last_number:
                raise HttpError(
                    409,
                    "beyond_end",
                    f"`after` must be at most {channel.last_number}, the chat's last event.",
                )
            if cursor == channel.last_number and channel.active_run_id is None and not follow:
                return Response(status_code=204)
            chunks = self._native_chunks(channel, cursor, follow=follow)
            return _StreamResponse(chunks, stack.pop_all(), self._limits)
        raise AssertionError

    async def active_run_response(
        self, request: Request, client: Client, chat: Chat | None
    ) -> Response:
        """Stream the active run from its start, as clients of the AI SDK resume it.

        The response is 204 without an active run, and without a chat.
        """
        version = read_ai_sdk_version(request.headers.get(VERSION_HEADER))
        run = None if chat is None else await self._store.active_run(chat.chat_id)
        if run is None:
            return Response(status_code=204)
        return await self.run_response(run, AiSdkEncoder(version=version), client)

    async def run_response(
        self, run: RunRecord, encoder: Encoder, client: Client, *, after: int = 0
    ) -> Response:
        """Stream one run, in the format of an encoder.

        Args:
            run: The run.
            encoder: A new encoder.
            client: The client.
            after: Sequence number of the last event that the client has.
        """
        async with AsyncExitStack() as stack:
            channel = await self._open(run.chat_id, client, stack)
            chunks = self._encoded_chunks(channel, run, encoder, after)
            return _StreamResponse(
                chunks, stack.pop_all(), self._limits, encoder.media_type, encoder.headers
            )
        raise AssertionError

    async def _open(self, chat_id: str, client: Client, stack: AsyncExitStack) -> ChatChannel:
        stack.enter_context(self._slots.hold(client.quota_key))
        return await stack.enter_async_context(self._channels.open(chat_id))

    async def _run_after(self, chat_id: str, cursor: int) -> RunRecord | None:
        """Return the active run, or else the first run that the client has not read to its end."""
        run = await self._store.active_run(chat_id)
        if run is not None:
            return run
        for event in await self._store.events(chat_id, after=cursor, limit=100):
            run_id = event.get("runId")
            if isinstance(run_id, str):
                return await self._store.run(run_id)
        return None

    async def _native_chunks(
        self, channel: ChatChannel, cursor: int, *, follow: bool
    ) -> AsyncIterator[bytes]:
        yield retry(self._limits.retry)
        while framed_events := await channel.read(cursor, follow=follow):
            cursor = framed_events[-1].sequence_number
            yield b"".join(framed.data for framed in framed_events)

    async def _encoded_chunks(
        self, channel: ChatChannel, run: RunRecord, encoder: Encoder, after: int
    ) -> AsyncIterator[bytes]:
        yield retry(self._limits.retry)
        position, finished = run.first_event - 1, False
        while not finished and (framed_events := await channel.read(position)):
            chunk: list[bytes] = []
            for position, event, _ in framed_events:
                if event.get("status") == "started" and event.get("runId") != run.run_id:
                    # The end of the run is damaged.
                    finished = True
                    break
                payloads = encoder.encode(event)
                if payloads and position > after:
                    chunk.append(frame(payloads, position))
                if event.get("runId") == run.run_id and event.get("status") == "finished":
                    finished = True
                    break
            if chunk:
                yield b"".join(chunk)
        yield frame(encoder.close())


class _StreamResponse(EventSourceResponse):
    """A stream that releases its resources, however it ends."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        resources: AsyncExitStack,
        limits: WebLimits,
        media_type: str = "text/event-stream",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - its dicts have no types
            chunks,
            media_type=media_type,
            headers={"Cache-Control": "no-cache, no-transform", **(headers or {})},
            ping=limits.heartbeat,
            ping_message_factory=_heartbeat,
            send_timeout=limits.send_timeout,
            sep="\n",
        )
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._resources:
            await super().__call__(scope, receive, send)


def _heartbeat() -> ServerSentEvent:
    return ServerSentEvent(comment="", sep="\n")
