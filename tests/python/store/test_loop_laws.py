"""The store never blocks the event loop for long, whatever the size of events and messages."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loop_watchdog import Watchdog, many
from stored_runs import text
from toolweave import TextMessage, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.store import MessageStore

EVENTS: dict[str, list[dict[str, Any]]] = {
    "many": [text("Hello") for _ in range(many(10_000))],
    "large": [text("word <é> " * 10_000) for _ in range(many(20))],
}


@pytest.mark.parametrize("events", EVENTS.values(), ids=list(EVENTS))
def test_events(tmp_path: Path, loop_watchdog: Watchdog, events: list[dict[str, Any]]) -> None:
    loop_watchdog.input(sum(len(each["delta"].encode()) for each in events))

    async def main() -> None:
        async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            chat = await store.create_chat()
            await store.write(chat.chat_id, events=events)
            found = await store.events(chat.chat_id, limit=None)
            assert [each["delta"] for each in found] == [each["delta"] for each in events]

    asyncio.run(main())


def test_messages(tmp_path: Path) -> None:
    call = ToolCall("call_0", "F", {"a": [1, 2, 3]})
    messages = [
        ToolAggregateMessage([call], [ToolResult("call_0", "F", "ok")], id=f"m{number}")
        if number % 2
        else TextMessage("Go on.", id=f"m{number}")
        for number in range(many(6_000))
    ]

    async def main() -> None:
        async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
            chat = await store.create_chat()
            await store.write(chat.chat_id, messages=messages)
            history = await store.load(chat.chat_id)
            assert len(history.messages) == len(messages)

    asyncio.run(main())
