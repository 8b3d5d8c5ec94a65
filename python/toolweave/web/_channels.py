"""Channels that publish the events of chats to the subscribers in this process.

There is one `ChatChannel` for each chat with a subscriber or a run in this process. It buffers the
latest events, framed and ready to be sent. New events come from the run if it is in this process,
or else from the store. The state of a subscriber is only the sequence number of the last event that
it got: a slow subscriber reads events that are no longer buffered from the store, so it costs no
more than a fast one and never delays the run.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from contextlib import asynccontextmanager, suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .._aio.tasks import cancel_and_wait
from ..store._reading import placeholder_event
from ._redaction import redact
from ._sse import frame, to_json

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from ..store import MessageStore
    from ._limits import WebLimits

    ClientView = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_log = logging.getLogger("toolweave.web")

# How much is read or sent at once, unless a single event is longer.
_PAGE_SIZE = 128
_CHUNK_BYTES = 64_000
# How long to wait for a change in the store before reading it anyway, in seconds.
_POLL_INTERVAL = 5.0
# How often to check for changes by other processes in a chat whose run is here, in seconds.
_GAP_TIMEOUT = 0.2
# How long to wait after a failure of the store, in seconds.
_RETRY_DELAY = 0.5


class FramedEvent(NamedTuple):
    """An event with its sequence number and its framed bytes."""

    sequence_number: int
    event: Mapping[str, Any]
    data: bytes


_NUMBER = attrgetter("sequence_number")


class ChatChannel:
    """The events of one chat. Created by `ChatChannels.open`.

    Args:
        store: The store that holds the events.
        chat_id: Id of the chat.
        limits: The limits of the server, with the size of the buffer.
        replay_slots: Limit on the subscribers that read old events from the store at once.
        client_view: Function that converts a stored event to the form that clients read.
    """

    def __init__(
        self,
        store: MessageStore,
        chat_id: str,
        limits: WebLimits,
        replay_slots: asyncio.Semaphore,
        client_view: ClientView,
    ) -> None:
        self.chat_id = chat_id
        self.last_number = 0
        """Sequence number of the last event that this process has."""
        self.active_run_id: str | None = None
        """Id of the run that is active after that event; None if none is."""
        self.on_change: Callable[[], Awaitable[None]] | None = None
        """Callback of a run in this process, called when other processes may have changed the chat.
        """
        self._store = store
        self._limits = limits
        self._replay_slots = replay_slots
        self._client_view = client_view
        self._buffer: list[FramedEvent] = []
        self._buffered_bytes = 0
        self._opening = asyncio.Lock()
        self._changed = asyncio.Event()
        self._fetching = asyncio.Lock()
        self._gap_found = asyncio.Event()
        self.closed = False
        """True once there are no more events."""
        self.users = 0
        """Number of subscribers and runs that use the channel."""
        self._created: datetime | None = None
        self._watch_task: asyncio.Task[None] | None = None
        # The revision of the chat up to which this process has seen all changes.
        self._revision = -1

    @property
    def is_open(self) -> bool:
        """True if the channel has been opened."""
        return self._watch_task is not None

    async def open(self) -> None:
        """Load the state of the chat, and watch it from then on; an open channel catches up."""
        async with self._opening:
            if not self.is_open:
                chat = await self._store.chat(self.chat_id)
                if chat is not None:
                    self.last_number, self._created = chat.last_event, chat.created
                # In this order: the end of a run that ends now is an event that is read below.
                run = await self._store.active_run(self.chat_id)
                self.active_run_id = None if run is None else run.run_id
            await self.catch_up()
            if self._watch_task is None:
                self._watch_task = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """End all subscriptions, and stop watching the chat."""
        self.end()
        if self._watch_task is not None:
            await cancel_and_wait(self._watch_task)

    def end(self) -> None:
        """End all subscriptions: there will be no more events."""
        self.closed = True
        self._notify()

    # Publishing.

    def attach_run(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Set the callback for changes that other processes may have made, from the next one on."""
        self.on_change = callback
        self._revision = -1

    def publish(self, events: Sequence[Mapping[str, Any]], revision: int = 0) -> None:
        """Publish events that this process has just stored.

        Args:
            events: The events.
            revision: Revision of the chat after these events, if they are its only change.
        """
        if revision == self._revision + 1:
            self._revision = revision
        for event in events:
            number = event["sequenceNumber"]
            if number > self.last_number + 1:
                # Another process has stored events in between.
                self._gap_found.set()
                break
            if number == self.last_number + 1:
                self._append(self._frame(event))
        self._notify()

    async def catch_up(self) -> None:
        """Read new events from the store."""
        async with self._fetching:
            self._gap_found.clear()
            while True:
                events = await self._store.events(
                    self.chat_id, after=self.last_number, limit=_PAGE_SIZE
                )
                # Checked after reading: if the chat still exists, the events are its own.
                if events and await self._is_deleted():
                    self.end()
                    return
                for event in events:
                    # A lost row leaves a gap, which is skipped.
                    if event["sequenceNumber"] > self.last_number:
                        self._append(self._frame(event))
                self._notify()
                if len(events) < _PAGE_SIZE:
                    return

    def _frame(self, event: Mapping[str, Any]) -> FramedEvent:
        """Return a stored event in the form that clients read, framed."""
        number = event["sequenceNumber"]
        event = self._client_view(event)
        return FramedEvent(number, event, frame([to_json(event)], number))

    def _append(self, framed: FramedEvent) -> None:
        self.last_number = framed.sequence_number
        event = framed.event
        if event["kind"] == "run":
            self.active_run_id = event["runId"] if event["status"] == "started" else None
        buffer, limits = self._buffer, self._limits
        buffer.append(framed)
        self._buffered_bytes += len(framed.data)
        dropped = 0
        while dropped < len(buffer) - 1 and (
            self._buffered_bytes > limits.buffered_bytes
            or len(buffer) - dropped > limits.buffered_events
        ):
            self._buffered_bytes -= len(buffer[dropped].data)
            dropped += 1
        del buffer[:dropped]

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _watch(self) -> None:
        while True:
            try:
                await self._watch_once()
            except Exception as error:  # noqa: BLE001, PERF203 - any failure may be temporary
                _log.warning(
                    "a chat cannot be watched at the moment",
                    exc_info=error,
                    extra={"chat_id": self.chat_id},
                )
                await asyncio.sleep(_RETRY_DELAY)

    async def _watch_once(self) -> None:
        async with self._store.watch(self.chat_id) as watch:
            while True:
                self._revision = watch.revision
                await self._poll()
                while await watch.changed(_POLL_INTERVAL) and self.on_change is not None:
                    # Events of the run in this process are published without reading the store.
                    with suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self._gap_found.wait(), _GAP_TIMEOUT)
                    if watch.revision != self._revision:
                        break

    async def _poll(self) -> None:
        before = self.last_number
        await self.catch_up()
        if self.on_change is not None:
            await self.on_change()
        elif self.last_number == before and await self._is_deleted():
            self.end()

    async def _is_deleted(self) -> bool:
        """Return True if the chat was deleted, even if a new chat has its id."""
        chat = await self._store.chat(self.chat_id)
        return chat is None or chat.created != self._created

    # Subscribing.

    async def read(self, after: int, *, follow: bool = False) -> Sequence[FramedEvent]:
        """Wait for the next event, and return it with some of those after it.

        Args:
            after: Sequence number to resume after.
            follow: True to wait for further runs as well.

        Returns:
            The events; empty if there are no more.
        """
        while after >= self.last_number:
            if self.closed or (self.active_run_id is None and not follow):
                return ()
            await self._changed.wait()
        if self.closed:
            return ()
        first = self._buffer[0].sequence_number if self._buffer else self.last_number + 1
        if after + 1 >= first:
            return _chunk(self._buffer, bisect_right(self._buffer, after, key=_NUMBER))
        return await self._replay(after)

    async def _replay(self, after: int) -> Sequence[FramedEvent]:
        async with self._replay_slots:
            events = await self._store.events(self.chat_id, after=after, limit=_PAGE_SIZE)
        found = [
            each for each in map(self._frame, events) if each.sequence_number <= self.last_number
        ]
        # Lost rows must not keep a subscriber from the end, or it would reconnect forever.
        return found or [self._frame(placeholder_event(self.chat_id, self.last_number))]


def _chunk(buffer: Sequence[FramedEvent], start: int) -> Sequence[FramedEvent]:
    """Return events from an index on: at least one, and otherwise up to the size of a chunk."""
    end, length = start, 0
    while end < len(buffer) and length < _CHUNK_BYTES:
        length += len(buffer[end].data)
        end += 1
    return buffer[start:end]


class ChatChannels:
    """The channels of this process, each kept while it has subscribers or a run.

    Args:
        store: The store that holds the events.
        limits: The limits of the server, with the size of a channel's buffer.
        client_view: Function that converts a stored event to the form that clients read.
    """

    def __init__(
        self, store: MessageStore, limits: WebLimits, client_view: ClientView = redact
    ) -> None:
        self._store = store
        self._limits = limits
        self._client_view = client_view
        self._replay_slots = asyncio.Semaphore(8)
        self._channels: dict[str, ChatChannel] = {}

    @asynccontextmanager
    async def open(self, chat_id: str) -> AsyncGenerator[ChatChannel, None]:
        """Open the channel of a chat, with all events of the store."""
        channel = self._channels.get(chat_id)
        if channel is None or channel.closed:
            channel = self._channels[chat_id] = ChatChannel(
                self._store, chat_id, self._limits, self._replay_slots, self._client_view
            )
        channel.users += 1
        try:
            await channel.open()
            yield channel
        finally:
            channel.users -= 1
            if not channel.users:
                if self._channels.get(chat_id) is channel:
                    del self._channels[chat_id]
                await channel.close()

    def publish(self, chat_id: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Publish events that this process has just stored to the subscribers of a chat."""
        channel = self._channels.get(chat_id)
        if channel is not None and channel.is_open:
            channel.publish(events)

    def end(self, chat_id: str) -> None:
        """End the subscriptions to a deleted chat."""
        channel = self._channels.pop(chat_id, None)
        if channel is not None:
            channel.end()
