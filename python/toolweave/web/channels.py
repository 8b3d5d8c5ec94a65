"""The events of a chat, for all who read it in this process.

There is one `ChatChannel` for each chat that somebody reads or runs here. It keeps the last events, as
bytes that are ready to be sent, and learns of new ones from the run in this process or, where the
run is another's, from the store. A reader is nothing but the number of the event that it saw last:
one who falls behind what is kept reads the store, so that a slow one costs no more than a fast one,
and never holds up the run.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..store.reading import placeholder_event
from .encoders.native import to_json
from .redaction import redact
from .sse import frame
from .tasks import cancel_and_wait

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from ..store import MessageStore
    from .limits import WebLimits

    ClientView = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_log = logging.getLogger("toolweave.web")

# How much is read or sent at once, as long as no single event is longer.
_PAGE_SIZE = 128
_CHUNK_BYTES = 64_000
# How long to wait for word of the store before looking anyway, in seconds.
_POLL_INTERVAL = 5.0
# How often to look whether others have said something in a chat whose run is here, in seconds.
_GAP_TIMEOUT = 0.2
# How long to leave a store alone that has failed, in seconds.
_RETRY_DELAY = 0.5


class FramedEvent(NamedTuple):
    """An event, and how it is sent."""

    sequence_number: int
    event: Mapping[str, Any]
    data: bytes


class ChatChannel:
    """The events of one chat. Made by `ChatChannels.of`.

    Args:
        store: Where the events are.
        chat_id: The chat.
        limits: How much is kept.
        replays: Lets so many readers read the store at once.
        show: Turns an event of the store into what clients read.
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
        """The number of the last event that is known here."""
        self.active_run_id: str | None = None
        """The run that goes on, as of that event."""
        self.on_change: Callable[[], Awaitable[None]] | None = None
        """What a run of this process wants called when others may have said something."""
        self._store = store
        self._limits = limits
        self._replay_slots = replay_slots
        self._client_view = client_view
        self._buffer: list[FramedEvent] = []
        self._buffered_bytes = 0
        self._changed = asyncio.Event()
        self._fetching = asyncio.Lock()
        self._gap_found = asyncio.Event()
        self.closed = False
        """Whether there will be no more events."""
        self._created: datetime | None = None
        self._watch_task: asyncio.Task[None] | None = None
        # Up to which change of the chat everything is known here.
        self._revision = -1

    async def open(self) -> None:
        """Finds out where the chat stands, and watches it from then on."""
        chat = await self._store.chat(self.chat_id)
        if chat is not None:
            self.last_number, self._created = chat.last_event, chat.created
        # In this order: a run that ends meanwhile says so in an event that is not missed.
        run = await self._store.active_run(self.chat_id)
        self.active_run_id = None if run is None else run.run_id
        await self.catch_up()
        self._watch_task = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """Ends all readers, and stops watching."""
        self.end()
        if self._watch_task is not None:
            await cancel_and_wait(self._watch_task)

    def end(self) -> None:
        """Ends all readers: there will be no more events."""
        self.closed = True
        self._notify()

    # What happens.

    def attach_run(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Has something called when others may have said something, from the next change on."""
        self.on_change = callback
        self._revision = -1

    def publish(self, events: Sequence[Mapping[str, Any]], revision: int = 0) -> None:
        """Takes events that were just stored by this process.

        Args:
            events: The events.
            revision: What the chat became, where nothing else has to be looked for.
        """
        if revision == self._revision + 1:
            self._revision = revision
        for event in events:
            number = event["sequenceNumber"]
            if number > self.last_number + 1:
                # Somebody else has said something in between.
                self._gap_found.set()
                break
            if number == self.last_number + 1:
                self._append(self._frame(event))
        self._notify()

    async def catch_up(self) -> None:
        """Reads what the store has and is not known here."""
        async with self._fetching:
            self._gap_found.clear()
            while True:
                events = await self._store.events(
                    self.chat_id, after=self.last_number, limit=_PAGE_SIZE
                )
                # Asked last: as long as it is there, these are its own events.
                if events and await self._is_deleted():
                    self.end()
                    return
                for event in events:
                    # A row that is lost leaves a gap, which is passed over.
                    if event["sequenceNumber"] > self.last_number:
                        self._append(self._frame(event))
                self._notify()
                if len(events) < _PAGE_SIZE:
                    return

    def _frame(self, event: Mapping[str, Any]) -> FramedEvent:
        """An event of the store, made ready to be sent."""
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
            except Exception as error:  # noqa: BLE001, PERF203 - whatever it is, it may pass
                _log.warning(
                    "a chat cannot be watched just now",
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
                    # What the run here writes comes by itself, and must not be looked for.
                    await self._wait_for_gap()
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
        """Whether the chat was deleted; one that has its id since is another chat."""
        chat = await self._store.chat(self.chat_id)
        return chat is None or chat.created != self._created

    async def _wait_for_gap(self) -> None:
        try:
            await asyncio.wait_for(self._gap_found.wait(), _GAP_TIMEOUT)
        except asyncio.TimeoutError:
            return

    # For readers.

    async def read(self, after: int, *, follow: bool = False) -> Sequence[FramedEvent]:
        """The next events, some at once; waits for the first.

        Args:
            after: The number of the event before them.
            follow: Whether to wait for further runs as well.

        Returns:
            The events; none if there will be no more.
        """
        while after >= self.last_number:
            if self.closed or (self.active_run_id is None and not follow):
                return ()
            await self._changed.wait()
        if self.closed:
            return ()
        first = self._buffer[0].sequence_number if self._buffer else self.last_number + 1
        if after + 1 >= first:
            return _chunk(self._buffer, bisect_right(self._buffer, after, key=_number))
        return await self._replay(after)

    async def _replay(self, after: int) -> Sequence[FramedEvent]:
        async with self._replay_slots:
            events = await self._store.events(self.chat_id, after=after, limit=_PAGE_SIZE)
        found = [
            each for each in map(self._frame, events) if each.sequence_number <= self.last_number
        ]
        # Rows that are lost must not keep a reader from the end, or it comes back for ever.
        return found or [self._frame(placeholder_event(self.chat_id, self.last_number))]


def _number(framed: FramedEvent) -> int:
    return framed.sequence_number


def _chunk(buffer: Sequence[FramedEvent], start: int) -> Sequence[FramedEvent]:
    """Some events from a position on: at least one, and not many more bytes than fit a buffer."""
    end, length = start, 0
    while end < len(buffer) and length < _CHUNK_BYTES:
        length += len(buffer[end].data)
        end += 1
    return buffer[start:end]


class ChatChannels:
    """The feeds of this process, each for as long as somebody needs it.

    Args:
        store: Where the events are.
        limits: How much of each chat is kept.
        show: Turns an event of the store into what clients read.
    """

    def __init__(
        self, store: MessageStore, limits: WebLimits, client_view: ClientView = redact
    ) -> None:
        self._store = store
        self._limits = limits
        self._client_view = client_view
        self._replay_slots = asyncio.Semaphore(8)
        self._channels: dict[str, _SharedChannel] = {}

    @asynccontextmanager
    async def of(self, chat_id: str) -> AsyncGenerator[ChatChannel, None]:
        """The feed of a chat, with all that the store has."""
        shared = self._channels.get(chat_id)
        if shared is None or shared.channel.closed:
            shared = self._channels[chat_id] = _SharedChannel(
                ChatChannel(
                    self._store, chat_id, self._limits, self._replay_slots, self._client_view
                )
            )
        shared.users += 1
        try:
            async with shared.opening:
                if shared.opened:
                    await shared.channel.catch_up()
                else:
                    await shared.channel.open()
                    shared.opened = True
            yield shared.channel
        finally:
            shared.users -= 1
            if not shared.users:
                if self._channels.get(chat_id) is shared:
                    del self._channels[chat_id]
                await shared.channel.close()

    def publish(self, chat_id: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Tells those who read a chat of events that were just stored by this process."""
        shared = self._channels.get(chat_id)
        if shared is not None and shared.opened:
            shared.channel.publish(events)

    def end(self, chat_id: str) -> None:
        """Ends the readers of a chat that is no more."""
        shared = self._channels.pop(chat_id, None)
        if shared is not None:
            shared.channel.end()


class _SharedChannel:
    """A feed, and how many need it."""

    __slots__ = ("channel", "opened", "opening", "users")

    def __init__(self, channel: ChatChannel) -> None:
        self.channel = channel
        self.users = 0
        self.opened = False
        self.opening = asyncio.Lock()
