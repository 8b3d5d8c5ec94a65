"""Publishing of late results, which come after the run of their call has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import ToolAggregateMessage
from ..lifecycle import StreamEventMapper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..store import MessageStore, StoredMessage
    from ._channels import ChatChannels


class LateResultPublisher:
    """Publisher of late results.

    Args:
        store: The store that holds the results.
        channels: The channels to publish to.
    """

    def __init__(self, store: MessageStore, channels: ChatChannels) -> None:
        self._store = store
        self._channels = channels

    async def publish(self, chat_id: str, call_ids: Iterable[str]) -> None:
        """Store results with their calls, and publish those that were not published before.

        The results of an active run are left to that run.

        Args:
            chat_id: Id of the chat.
            call_ids: Ids of the calls; calls without a result are skipped.
        """
        wanted = set(call_ids)
        history = await self._store.load(chat_id)
        for stored in reversed(history.stored):
            message = stored.message
            if isinstance(message, ToolAggregateMessage):
                found = wanted & {result.tool_call_id for result in message.tool_results}
                if found:
                    await self._publish(stored, message, found, chat_id)
                    wanted -= found
            if not wanted:
                return

    async def _publish(
        self, stored: StoredMessage, aggregate: ToolAggregateMessage, calls: set[str], chat_id: str
    ) -> None:
        published = await self._published_ids(chat_id, stored)
        mapper = StreamEventMapper(chat_id, stored.run_id or "")
        mapper.register_calls([aggregate])
        events = [
            event
            for result in aggregate.tool_results
            if result.tool_call_id in calls
            for event in mapper.map(result, generation_id=stored.generation_id)
            if event.get("messageId") not in published
        ]
        if not events:
            return
        if len(aggregate.tool_results) == len(aggregate.tool_calls):
            events += mapper.map(aggregate, generation_id=stored.generation_id)
        written = await self._store.write(chat_id, events=events, messages=[aggregate])
        self._channels.publish(chat_id, written.events)

    async def _published_ids(self, chat_id: str, stored: StoredMessage) -> set[Any]:
        """Return the ids of the result messages published since the run of a call began."""
        run = None if stored.run_id is None else await self._store.run(stored.run_id)
        after = 0 if run is None else run.first_event - 1
        published: set[Any] = set()
        while events := await self._store.events(chat_id, after=after, limit=500):
            published |= {each.get("messageId") for each in events if _is_result(each)}
            after = events[-1]["sequenceNumber"]
        return published


def _is_result(event: Mapping[str, Any]) -> bool:
    return event["kind"] == "tool_result" and event.get("done") is True
