"""Two servers that write to one chat."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from chat_servers import Event
from killable_servers import Follower, Site, check_chats, is_end, serving
from toolweave import TextMessage
from toolweave.store import MessageStore


async def insist(site: Site, chat: str, name: str, count: int) -> tuple[dict[str, str], int]:
    """Post so many messages, retrying each until the chat is free.

    Returns:
        Message ids by the ids of the runs that answer them, and how often the chat was busy.
    """
    sent: dict[str, str] = {}
    busy = 0
    while len(sent) < count:
        text = json.dumps({"rounds": 1, "calls": 1, "words": 2})
        body = {"text": text, "messageId": f"{name}-{len(sent)}"}
        answer = await site.client.post(f"{site.url}/chats/{chat}/messages", json=body)
        if answer.status_code == 409:
            assert answer.json()["error"]["code"] == "chat_busy"
            busy += 1
            await asyncio.sleep(0.01)
            continue
        assert answer.status_code == 202, answer.text
        accepted: Event = answer.json()
        assert accepted["runId"] not in sent
        sent[accepted["runId"]] = accepted["messageId"]
    return sent, busy


async def take_turns(url: str, folder: Path, count: int) -> tuple[int, int]:
    """Let two servers answer so many messages each, in one chat.

    Returns:
        How often the chat was busy, and how many events each of two readers received.
    """
    effects = folder / "effects"
    config: dict[str, Any] = {
        "url": url,
        "effects": str(effects),
        "options": {"poll": 0.05},
        "limits": {"batch": 0.005},
    }
    async with (
        serving(**config) as one,
        serving(**config) as other,
        Site(one.url) as here,
        Site(other.url) as there,
    ):
        chat = await here.new_chat()
        followers = [Follower(site, chat) for site in (here, there)]

        async def read(follower: Follower) -> None:
            for _ in range(2 * count):
                assert (await follower.until_end())["stopReason"] == "completed"

        reading = [asyncio.create_task(read(each)) for each in followers]
        (mine, busy), (yours, also) = await asyncio.gather(
            insist(here, chat, "here", count), insist(there, chat, "there", count)
        )
        await asyncio.gather(*reading)
    assert busy + also, "they were never in each other's way"
    assert not mine.keys() & yours.keys()
    for each in followers:
        await check_chats(url, {chat: each.events}, effects)
    ended = [event["runId"] for event in followers[0].events if is_end(event)]
    assert sorted(ended) == sorted([*mine, *yours])
    async with MessageStore(url) as store:
        history = await store.load(chat)
    stored = [
        m.id or "" for m in history.messages if isinstance(m, TextMessage) and m.role == "user"
    ]
    assert sorted(stored) == sorted([*mine.values(), *yours.values()])
    return busy + also, len(followers[0].events)
