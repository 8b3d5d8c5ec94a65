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
from .redaction import concealed
from .sse import frame
from .tasks import end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from datetime import datetime

    from ..store import MessageStore
    from .limits import WebLimits

    Show = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_log = logging.getLogger("toolweave.web")

# How much is read or sent at once, as long as no single event is longer.
_PAGE_EVENTS = 128
_CHUNK_BYTES = 64_000
# How long to wait for word of the store before looking anyway, in seconds.
_LOOK = 5.0
# How often to look whether others have said something in a chat whose run is here, in seconds.
_LOOK_ASIDE = 0.2
# How long to leave a store alone that has failed, in seconds.
_PAUSE = 0.5


class FramedEvent(NamedTuple):
    """An event, and how it is sent."""

    sequence_number: int
    event: Mapping[str, Any]
    framed: bytes


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
        replays: asyncio.Semaphore,
        show: Show,
    ) -> None:
        self.chat_id = chat_id
        self.tail = 0
        """The number of the last event that is known here."""
        self.running: str | None = None
        """The run that goes on, as of that event."""
        self.local: Callable[[], Awaitable[None]] | None = None
        """What a run of this process wants called when others may have said something."""
        self._store = store
        self._limits = limits
        self._replays = replays
        self._show = show
        self._kept: list[FramedEvent] = []
        self._bytes = 0
        self._news = asyncio.Event()
        self._fetching = asyncio.Lock()
        self._behind = asyncio.Event()
        self.closed = False
        """Whether there will be no more events."""
        self._made: datetime | None = None
        self._watching: asyncio.Task[None] | None = None
        # Up to which change of the chat everything is known here.
        self._revision = -1

    async def open(self) -> None:
        """Finds out where the chat stands, and watches it from then on."""
        chat = await self._store.chat(self.chat_id)
        if chat is not None:
            self.tail, self._made = chat.last_event, chat.created
        # In this order: a run that ends meanwhile says so in an event that is not missed.
        run = await self._store.active_run(self.chat_id)
        self.running = None if run is None else run.run_id
        await self.catch_up()
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """Ends all readers, and stops watching."""
        self.end()
        if self._watching is not None:
            await end(self._watching)

    def end(self) -> None:
        """Ends all readers: there will be no more events."""
        self.closed = True
        self._tell()

    # What happens.

    def attend(self, look: Callable[[], Awaitable[None]]) -> None:
        """Has something called when others may have said something, from the next change on."""
        self.local = look
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
            if number > self.tail + 1:
                # Somebody else has said something in between.
                self._behind.set()
                break
            if number == self.tail + 1:
                self._keep(self._entry(event))
        self._tell()

    async def catch_up(self) -> None:
        """Reads what the store has and is not known here."""
        async with self._fetching:
            self._behind.clear()
            while True:
                events = await self._store.events(self.chat_id, after=self.tail, limit=_PAGE_EVENTS)
                # Asked last: as long as it is there, these are its own events.
                if events and await self._is_gone():
                    self.end()
                    return
                for event in events:
                    # A row that is lost leaves a gap, which is passed over.
                    if event["sequenceNumber"] > self.tail:
                        self._keep(self._entry(event))
                self._tell()
                if len(events) < _PAGE_EVENTS:
                    return

    def _entry(self, event: Mapping[str, Any]) -> FramedEvent:
        """An event of the store, made ready to be sent."""
        number = event["sequenceNumber"]
        event = self._show(event)
        return FramedEvent(number, event, frame([to_json(event)], number))

    def _keep(self, entry: FramedEvent) -> None:
        self.tail = entry.sequence_number
        event = entry.event
        if event["kind"] == "run":
            self.running = event["runId"] if event["status"] == "started" else None
        kept, limits = self._kept, self._limits
        kept.append(entry)
        self._bytes += len(entry.framed)
        dropped = 0
        while dropped < len(kept) - 1 and (
            self._bytes > limits.buffered_bytes or len(kept) - dropped > limits.buffered_events
        ):
            self._bytes -= len(kept[dropped].framed)
            dropped += 1
        del kept[:dropped]

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

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
                await asyncio.sleep(_PAUSE)

    async def _watch_once(self) -> None:
        async with self._store.watch(self.chat_id) as watch:
            while True:
                self._revision = watch.revision
                await self._look()
                while await watch.changed(_LOOK) and self.local is not None:
                    # What the run here writes comes by itself, and must not be looked for.
                    await self._wait_aside()
                    if watch.revision != self._revision:
                        break

    async def _look(self) -> None:
        before = self.tail
        await self.catch_up()
        if self.local is not None:
            await self.local()
        elif self.tail == before and await self._is_gone():
            self.end()

    async def _is_gone(self) -> bool:
        """Whether the chat was deleted; one that has its id since is another chat."""
        chat = await self._store.chat(self.chat_id)
        return chat is None or chat.created != self._made

    async def _wait_aside(self) -> None:
        try:
            await asyncio.wait_for(self._behind.wait(), _LOOK_ASIDE)
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
        while after >= self.tail:
            if self.closed or (self.running is None and not follow):
                return ()
            await self._news.wait()
        if self.closed:
            return ()
        first = self._kept[0].sequence_number if self._kept else self.tail + 1
        if after + 1 >= first:
            return _chunk(self._kept, bisect_right(self._kept, after, key=_number))
        return await self._replay(after)

    async def _replay(self, after: int) -> Sequence[FramedEvent]:
        async with self._replays:
            events = await self._store.events(self.chat_id, after=after, limit=_PAGE_EVENTS)
        found = [each for each in map(self._entry, events) if each.sequence_number <= self.tail]
        # Rows that are lost must not keep a reader from the end, or it comes back for ever.
        return found or [self._entry(placeholder_event(self.chat_id, self.tail))]


def _number(entry: FramedEvent) -> int:
    return entry.sequence_number


def _chunk(kept: Sequence[FramedEvent], start: int) -> Sequence[FramedEvent]:
    """Some events from a position on: at least one, and not many more bytes than fit a buffer."""
    end, length = start, 0
    while end < len(kept) and length < _CHUNK_BYTES:
        length += len(kept[end].framed)
        end += 1
    return kept[start:end]


class ChatChannels:
    """The feeds of this process, each for as long as somebody needs it.

    Args:
        store: Where the events are.
        limits: How much of each chat is kept.
        show: Turns an event of the store into what clients read.
    """

    def __init__(self, store: MessageStore, limits: WebLimits, show: Show = concealed) -> None:
        self._store = store
        self._limits = limits
        self._show = show
        self._replays = asyncio.Semaphore(8)
        self._feeds: dict[str, _Shared] = {}

    @asynccontextmanager
    async def of(self, chat_id: str) -> AsyncGenerator[ChatChannel, None]:
        """The feed of a chat, with all that the store has."""
        shared = self._feeds.get(chat_id)
        if shared is None or shared.feed.closed:
            shared = self._feeds[chat_id] = _Shared(
                ChatChannel(self._store, chat_id, self._limits, self._replays, self._show)
            )
        shared.users += 1
        try:
            async with shared.opening:
                if shared.opened:
                    await shared.feed.catch_up()
                else:
                    await shared.feed.open()
                    shared.opened = True
            yield shared.feed
        finally:
            shared.users -= 1
            if not shared.users:
                if self._feeds.get(chat_id) is shared:
                    del self._feeds[chat_id]
                await shared.feed.close()

    def publish(self, chat_id: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Tells those who read a chat of events that were just stored by this process."""
        shared = self._feeds.get(chat_id)
        if shared is not None and shared.opened:
            shared.feed.publish(events)

    def end(self, chat_id: str) -> None:
        """Ends the readers of a chat that is no more."""
        shared = self._feeds.pop(chat_id, None)
        if shared is not None:
            shared.feed.end()


class _Shared:
    """A feed, and how many need it."""

    __slots__ = ("feed", "opened", "opening", "users")

    def __init__(self, feed: ChatChannel) -> None:
        self.feed = feed
        self.users = 0
        self.opened = False
        self.opening = asyncio.Lock()
