"""Publishing of late results, which come after the run of their call has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import ToolAggregateMessage
from ..lifecycle import StreamEventMapper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..lifecycle import StreamEvent
    from ..store import MessageStore, StoredMessage
    from ._channels import ChatChannels


async def publish_late_results(
    store: MessageStore, channels: ChatChannels, chat_id: str, call_ids: Iterable[str]
) -> None:
    """Store results with their calls, and publish those that were not published before.

    The results of an active run are left to that run.

    Args:
        store: The store that holds the results.
        channels: The channels to publish to.
        chat_id: Id of the chat.
        call_ids: Ids of the calls; calls without a result are skipped.
    """
    wanted = set(call_ids)
    history = await store.load(chat_id)
    for stored in reversed(history.stored):
        message = stored.message
        if isinstance(message, ToolAggregateMessage):
            found = wanted & {result.tool_call_id for result in message.tool_results}
            events = await _new_events(store, chat_id, stored, message, found)
            if events:
                written = await store.write(chat_id, events=events, messages=[message])
                channels.publish(chat_id, written.events)
            wanted -= found
        if not wanted:
            return


async def _new_events(
    store: MessageStore,
    chat_id: str,
    stored: StoredMessage,
    aggregate: ToolAggregateMessage,
    calls: set[str],
) -> list[StreamEvent]:
    """Return the events for results that were not published since the run of their calls began."""
    if not calls:
        return []
    run = None if stored.run_id is None else await store.run(stored.run_id)
    after = 0 if run is None else run.first_event - 1
    published: set[Any] = set()
    while events := await store.events(chat_id, after=after, limit=500):
        published |= {each.get("messageId") for each in events if _is_result(each)}
        after = events[-1]["sequenceNumber"]
    mapper = StreamEventMapper(chat_id, stored.run_id or "")
    mapper.register_calls([aggregate])
    new = [
        event
        for result in aggregate.tool_results
        if result.tool_call_id in calls
        for event in mapper.map(result, generation_id=stored.generation_id)
        if event.get("messageId") not in published
    ]
    if new and len(aggregate.tool_results) == len(aggregate.tool_calls):
        new += mapper.map(aggregate, generation_id=stored.generation_id)
    return new


def _is_result(event: Mapping[str, Any]) -> bool:
    return event["kind"] == "tool_result" and event.get("done") is True
